#include "storage/lmdb/long_key_tree.h"

#include <array>
#include <map>
#include <random>
#include <string>

#include <catch2/catch.hpp>

#include "storage/lmdb/store_compaction.h"
#include "support/digest_row.h"
#include "support/temporary_folder.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::put_digest_row;
using octavo::tests::TemporaryFolder;

namespace {

using KeysAndValues = std::map<std::string, std::string>;

Store::Options long_key_options(const TemporaryFolder& folder) {
  Store::Options options;
  options.folder = folder.path() / "store";
  options.trees = {"tree", std::string(tree_of_long_keys)};
  options.durability = config::Durability::ephemeral;
  return options;
}

/// Keys of all lengths around the limit, many with a common prefix of 480 bytes or of a multiple.
std::string random_key(std::mt19937& random) {
  std::string key(480 * (random() % 4), 'p');
  const std::size_t length = random() % 2 ? random() % 4 : random() % 1200;
  for (std::size_t i = 0; i < length; ++i) key.push_back(static_cast<char>("ab\0\xFF"[random() % 4]));
  if (key.empty()) key.push_back('x');
  return key;
}

/// How many rows of the tree are in the form of older versions.
std::size_t count_digest_rows(const Transaction& transaction, Tree tree) {
  constexpr std::size_t digest_row_key_bytes = long_key::prefix_bytes + 16;
  std::size_t rows = 0;
  Cursor cursor(transaction, tree);
  for (auto row = cursor.first(); row; row = cursor.next()) rows += row->key.size() == digest_row_key_bytes ? 1 : 0;
  return rows;
}

void require_sound(const Transaction& transaction, Tree tree) {
  const std::array trees{tree};
  REQUIRE(long_key::find_damaged_levels(transaction, trees).value_or("") == "");
}

void require_rows(const Transaction& transaction, Tree tree, const KeysAndValues& model) {
  LongKeyCursor forward(transaction, tree);
  auto row = forward.seek("");
  for (const auto& [key, value] : model) {
    REQUIRE(row);
    REQUIRE(row->key == key);
    REQUIRE(row->value == value);
    row = forward.next();
  }
  REQUIRE_FALSE(row);

  LongKeyCursor backward(transaction, tree);
  row = backward.last();
  for (auto entry = model.rbegin(); entry != model.rend(); ++entry) {
    REQUIRE(row);
    REQUIRE(row->key == entry->first);
    REQUIRE(row->value == entry->second);
    row = backward.previous();
  }
  REQUIRE_FALSE(row);

  REQUIRE(long_key::count(transaction, tree) == model.size());
  require_sound(transaction, tree);
}

/// A key of a run whose keys have one beginning of `levels` * 480 bytes.
std::string numbered_key(std::size_t levels, int number) {
  return std::string(levels * long_key::prefix_bytes, 'p') + std::to_string(100'000 + number);
}

/// Writes keys of two levels, every `old_share`th of them in the old form; 0: none of them.
KeysAndValues fill_run(Store& store, int keys, int old_share) {
  KeysAndValues model;
  for (int i = 0; i < keys; ++i) model[numbered_key(2, i)] = std::to_string(i);
  REQUIRE(store.write(16 << 20, [&](WriteTransaction& transaction) -> Expected<void> {
    int number = 0;
    // Those in the old form at last, because each write of another one converts some.
    for (const auto& [key, value] : model) {
      const bool is_old = old_share > 0 && number++ % old_share == 0;
      if (!is_old) OCTAVO_TRY_VOID(long_key::put(transaction, store.tree(0), key, value));
    }
    number = 0;
    for (const auto& [key, value] : model) {
      const bool is_old = old_share > 0 && number++ % old_share == 0;
      if (is_old) OCTAVO_TRY_VOID(put_digest_row(transaction, store.tree(0), key, value));
    }
    return {};
  }));
  return model;
}

}  // namespace

TEST_CASE("keys of any length sort, are found, stepped over and erased as in a std::map, in both forms") {
  TemporaryFolder folder;
  Store store(long_key_options(folder));
  REQUIRE(store.create());
  const Tree tree = store.tree(0);
  std::mt19937 random(7);
  std::map<std::string, std::string> model;
  for (int round = 0; round < 20; ++round) {
    REQUIRE(store.write(1 << 20, [&](WriteTransaction& transaction) -> Expected<void> {
      LongKeyWriter writer(transaction, tree);
      for (int i = 0; i < 60; ++i) {
        const std::string key = random_key(random);
        if (random() % 4 == 0 && !model.empty()) {
          const auto victim = model.lower_bound(key) == model.end() ? model.begin() : model.lower_bound(key);
          OCTAVO_TRY(const bool there, writer.erase(victim->first));
          CHECK(there);
          model.erase(victim);
        } else {
          const std::string value = std::to_string(random()) + std::string(random() % 4 == 0 ? 1300 : 0, 'v');
          const auto known = model.find(key);
          const auto old_bytes = known == model.end() ? std::nullopt : std::optional(known->second.size());
          const bool as_older = key.size() > long_key::prefix_bytes && !old_bytes && random() % 3 == 0;
          OCTAVO_TRY_VOID(as_older ? put_digest_row(transaction, tree, key, value) : writer.put(key, value, old_bytes));
          model[key] = value;
        }
      }
      return {};
    }));

    auto transaction = store.read();
    REQUIRE(transaction);
    require_rows(*transaction, tree, model);
    for (int i = 0; i < 40; ++i) {
      const std::string probe = random_key(random);
      LongKeyCursor cursor(*transaction, tree);
      const auto at_least = model.lower_bound(probe);
      const auto found = cursor.seek(probe);
      REQUIRE(found.has_value() == (at_least != model.end()));
      if (found) REQUIRE(found->key == at_least->first);
      const auto after = model.upper_bound(probe);
      const auto found_back = cursor.seek_back(probe);
      REQUIRE(found_back.has_value() == (after != model.begin()));
      if (found_back) REQUIRE(found_back->key == std::prev(after)->first);
      const auto got = long_key::get(*transaction, tree, probe);
      REQUIRE(got);
      REQUIRE(got->has_value() == model.contains(probe));
    }
    for (const auto& [key, value] : model) {
      const auto got = long_key::get(*transaction, tree, key);
      REQUIRE(got);
      REQUIRE(*got);
      REQUIRE(**got == value);
    }
  }
  CHECK(store.write(1 << 20, [&](WriteTransaction& transaction) -> Expected<void> {
    for (const auto& [key, value] : model) {
      OCTAVO_TRY(const bool there, long_key::erase(transaction, tree, key));
      CHECK(there);
      OCTAVO_TRY(const bool still_there, long_key::erase(transaction, tree, key));
      CHECK_FALSE(still_there);
    }
    return {};
  }));
  const auto transaction = store.read();
  REQUIRE(transaction);
  CHECK(count_rows(*transaction, tree) == 0);
  CHECK(count_rows(*transaction, store.tree(1)) == 1);  // the last number given
}

TEST_CASE("new rows in the order of their keys fill the pages") {
  TemporaryFolder folder;
  Store store(long_key_options(folder));
  REQUIRE(store.create());
  const Tree tree = store.tree(0);
  const std::string value(1100, 'v');  // three fit into a page
  for (int group = 0; group < 10; ++group) {
    REQUIRE(store.write(1 << 20, [&](WriteTransaction& transaction) -> Expected<void> {
      LongKeyWriter writer(transaction, tree);
      for (int i = 0; i < 90; ++i) {
        OCTAVO_TRY_VOID(writer.put(std::to_string(1000 + 90 * group + i), value, std::nullopt));
      }
      return {};
    }));
  }
  constexpr std::uint64_t leaves = 900 / 3;
  constexpr std::uint64_t other_pages_max = 20;
  CHECK(store.sizes()->used_bytes <= 4096 * (leaves + other_pages_max));
}

TEST_CASE("a row behind the last one is put where it belongs, whatever was undone and erased before") {
  TemporaryFolder folder;
  Store store(long_key_options(folder));
  REQUIRE(store.create());
  const Tree tree = store.tree(0);
  REQUIRE(store.write(1 << 20, [&](WriteTransaction& transaction) -> Expected<void> {
    LongKeyWriter writer(transaction, tree);
    const auto put_and_undo = [&]() -> Expected<bool> {
      OCTAVO_TRY_VOID(writer.put("x", "2", std::nullopt));
      return false;
    };
    OCTAVO_TRY_VOID(writer.put("b", "1", std::nullopt));
    OCTAVO_TRY_VOID(transaction.nested(put_and_undo));
    OCTAVO_TRY_VOID(writer.put("m", "3", std::nullopt));
    OCTAVO_TRY_VOID(writer.put(std::string(600, 'y'), "4", std::nullopt));
    OCTAVO_TRY_VOID(writer.put("n", "5", std::nullopt));
    OCTAVO_TRY_VOID(writer.put("z", "6", std::nullopt));
    OCTAVO_TRY_VOID(writer.erase("z"));
    OCTAVO_TRY_VOID(writer.put("yy", "7", std::nullopt));
    return writer.put("a", "8", std::nullopt);
  }));
  auto transaction = store.read();
  REQUIRE(transaction);
  LongKeyCursor cursor(*transaction, tree);
  std::string values;
  for (auto row = cursor.seek(""); row; row = cursor.next()) values += row->value;
  CHECK(values == "813574");
}

TEST_CASE("a run of keys with one beginning is walked in both directions and with turns, in either form and in both") {
  const int old_share = GENERATE(0, 1, 3);
  CAPTURE(old_share);
  TemporaryFolder folder;
  Store store(long_key_options(folder));
  REQUIRE(store.create());
  const Tree tree = store.tree(0);
  std::mt19937 random(11);
  KeysAndValues model;
  model["a"] = "before";
  model[std::string(480, 'p')] = "the prefix itself";
  model["z"] = "after";
  for (int i = 0; i < 3000; ++i) {
    // Some keys are so long that few of them fit a part.
    model[std::string(600, 'p') + std::to_string(random() % 1'000'000) + std::string(i % 50 == 0 ? 5'000 : 0, 'x')] =
        std::to_string(i);
  }
  REQUIRE(store.write(64 << 20, [&](WriteTransaction& transaction) -> Expected<void> {
    // Those in the old form at last, because each write of another one converts some.
    for (const bool old_form : {false, true}) {
      int number = 0;
      for (const auto& [key, value] : model) {
        const bool is_old = old_share > 0 && ++number % old_share == 0 && key.size() > long_key::prefix_bytes;
        if (is_old != old_form) continue;
        OCTAVO_TRY_VOID(is_old ? put_digest_row(transaction, tree, key, value)
                               : long_key::put(transaction, tree, key, value));
      }
    }
    return {};
  }));
  auto transaction = store.read();
  REQUIRE(transaction);
  CHECK((count_digest_rows(*transaction, tree) > 0) == (old_share > 0));
  require_rows(*transaction, tree, model);

  LongKeyCursor turning(*transaction, tree);
  for (int round = 0; round < 20; ++round) {
    const std::string wanted = std::string(600, 'p') + std::to_string(random() % 1'000'000);
    auto expected = model.lower_bound(wanted);
    auto row = turning.seek(wanted);
    for (int step = 0; step < 60; ++step) {
      if (expected == model.end()) {
        REQUIRE_FALSE(row);
        break;
      }
      REQUIRE(row);
      REQUIRE(row->key == expected->first);
      REQUIRE(row->value == expected->second);
      if (random() % 40 < 25 || expected == model.begin()) {
        ++expected;
        row = turning.next();
      } else {
        --expected;
        row = turning.previous();
      }
    }
    const auto above = model.upper_bound(wanted);
    row = turning.seek_back(wanted);
    REQUIRE(row);
    REQUIRE(row->key == std::prev(above)->first);
  }
}

TEST_CASE("a seek into a run reads a few rows for each 480 bytes of the key, whatever the size of the run") {
  const int keys = GENERATE(100, 10'000);
  CAPTURE(keys);
  constexpr std::size_t levels = 2;
  TemporaryFolder folder;
  Store store(long_key_options(folder));
  REQUIRE(store.create());
  const KeysAndValues model = fill_run(store, keys, 0);
  const auto transaction = store.read();
  REQUIRE(transaction);
  LongKeyCursor cursor(*transaction, store.tree(0));
  const auto rows_read_by = [&](auto call) {
    const std::uint64_t before = cursor.long_rows_read();
    call();
    return cursor.long_rows_read() - before;
  };
  constexpr std::uint64_t rows_of_seek_max = 4 * (levels + 1);
  for (int i = 0; i < keys; i += keys / 50) {
    const std::string key = numbered_key(levels, i);
    CHECK(rows_read_by([&] { REQUIRE(cursor.seek(key)->key == key); }) <= rows_of_seek_max);
    CHECK(rows_read_by([&] { REQUIRE(cursor.seek_back(key)->key == key); }) <= rows_of_seek_max);
    const std::string beside = key + std::string(2'000, 'x');
    CHECK(rows_read_by([&] { cursor.seek(beside); }) <= rows_of_seek_max);
    CHECK(rows_read_by([&] { REQUIRE(cursor.seek_back(beside)->key == key); }) <= rows_of_seek_max);
  }
  CHECK(rows_read_by([&] { cursor.seek(numbered_key(1, 0)); }) <= rows_of_seek_max);
  CHECK(rows_read_by([&] { CHECK_FALSE(cursor.seek(std::string(3'000, 'q'))); }) <= rows_of_seek_max);
  CHECK(rows_read_by([&] {
          std::size_t found = 0;
          for (auto row = cursor.seek(""); row; row = cursor.next()) ++found;
          CHECK(found == model.size());
        }) <= model.size() + rows_of_seek_max);
}

TEST_CASE("writes of a run convert its rows in the old form, a few each time") {
  TemporaryFolder folder;
  Store store(long_key_options(folder));
  REQUIRE(store.create());
  const Tree tree = store.tree(0);
  constexpr int keys = 200;
  KeysAndValues model = fill_run(store, keys, 1);
  std::size_t old_rows = keys;
  for (int i = 0; i < keys / 10; ++i) {
    const std::string key = numbered_key(2, i * 7 % keys);
    const std::string other = numbered_key(2, (i * 7 + 3) % keys);
    REQUIRE(store.write(1 << 20, [&](WriteTransaction& transaction) -> Expected<void> {
      model[key] = "written again";
      OCTAVO_TRY_VOID(long_key::put_over(transaction, tree, key, model[key], 1));
      OCTAVO_TRY(const bool there, long_key::erase(transaction, tree, other));
      CHECK(there == (model.erase(other) > 0));
      return {};
    }));
    const auto transaction = store.read();
    REQUIRE(transaction);
    const std::size_t left = count_digest_rows(*transaction, tree);
    CHECK(left <= old_rows);
    CHECK(old_rows - left <= 2 * 17);
    old_rows = left;
    require_rows(*transaction, tree, model);
  }
  CHECK(old_rows == 0);
}

TEST_CASE("a small range and one between long keys is counted, and a large one has an estimate") {
  TemporaryFolder folder;
  Store store(long_key_options(folder));
  REQUIRE(store.create());
  const Tree tree = store.tree(0);
  REQUIRE(store.write(1 << 20, [&](WriteTransaction& transaction) -> Expected<void> {
    for (int i = 0; i < 100; ++i) {
      OCTAVO_TRY_VOID(long_key::put(transaction, tree, std::to_string(100 + i), ""));
      OCTAVO_TRY_VOID(long_key::put(transaction, tree, numbered_key(2, i), ""));
    }
    return {};
  }));
  const auto transaction = store.read();
  REQUIRE(transaction);
  const auto some = transaction->rows_estimate(tree, numbered_key(2, 10), numbered_key(2, 20));
  REQUIRE(some);
  CHECK(some->rows == 10);
  CHECK(some->exact);
  CHECK_FALSE(transaction->rows_estimate(tree, "a", std::nullopt));
  const auto all = transaction->rows_estimate(tree, "", std::nullopt);
  REQUIRE(all);
  CHECK_FALSE(all->exact);
  CHECK(transaction->rows_estimate(tree, "a", "b")->exact);
  CHECK(transaction->rows_estimate(tree, "100", "110")->rows == 10);
}

TEST_CASE("a compaction keeps long keys in both forms") {
  TemporaryFolder folder;
  Store store(long_key_options(folder));
  REQUIRE(store.create());
  const KeysAndValues model = fill_run(store, 1'000, 2);
  REQUIRE(StoreCompaction(store, {}).run());
  const auto transaction = store.read();
  REQUIRE(transaction);
  CHECK(count_digest_rows(*transaction, store.tree(0)) == 500);
  require_rows(*transaction, store.tree(0), model);
}

TEST_CASE("levels that no key leads to, and rows that lead nowhere, are reported") {
  TemporaryFolder folder;
  Store store(long_key_options(folder));
  REQUIRE(store.create());
  const std::array trees{store.tree(0)};
  const Tree levels = store.tree(1);
  fill_run(store, 10, 0);
  const auto problem_after = [&](auto change) {
    std::string problem;
    REQUIRE_FALSE(store.write(1 << 20, [&](WriteTransaction& transaction) -> Expected<void> {
      OCTAVO_TRY_VOID(change(transaction));
      problem = long_key::find_damaged_levels(transaction, trees).value_or("");
      return fail(ErrorCode::internal, "undo it");
    }));
    return problem;
  };
  const auto first_row_of = [](const Transaction& transaction, Tree tree) {
    return std::string(Cursor(transaction, tree).first()->key);
  };
  CHECK(problem_after([](WriteTransaction&) -> Expected<void> { return {}; }) == "");
  CHECK(problem_after([&](WriteTransaction& transaction) -> Expected<void> {
          OCTAVO_TRY_VOID(transaction.erase(trees[0], first_row_of(transaction, trees[0])));
          return {};
        }) == "long keys: 12 rows, of which 1 belong to keys");
  CHECK(problem_after([&](WriteTransaction& transaction) -> Expected<void> {
          OCTAVO_TRY_VOID(transaction.erase(levels, first_row_of(transaction, levels)));
          return {};
        }) == "long keys: the last number is missing");
  CHECK(problem_after([&](WriteTransaction& transaction) {
          return transaction.put(trees[0], std::string(480, 'q') + '\0', std::string("\x02\0\0\0\0\0\0\0", 8));
        }) == "long keys: more than one row leads to level 2");
  CHECK(problem_after([&](WriteTransaction& transaction) {
          return transaction.put(trees[0], std::string(480, 'q') + '\0', std::string("\x09\0\0\0\0\0\0\0", 8));
        }) == "long keys: a row of level 0 leads to no level");
}
