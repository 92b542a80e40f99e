#include "storage/lmdb/long_key_tree.h"

#include <map>
#include <random>

#include <catch2/catch.hpp>

#include "support/temporary_folder.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::TemporaryFolder;

namespace {

Store::Options long_key_options(const TemporaryFolder& folder) {
  Store::Options options;
  options.folder = folder.path() / "store";
  options.trees = {"tree"};
  options.durability = config::Durability::ephemeral;
  return options;
}

/// Keys of all lengths around the limit, many with a common 480-byte prefix.
std::string random_key(std::mt19937& random) {
  std::string key;
  if (random() % 2) key.resize(480, 'p');
  const std::size_t length = random() % 2 ? random() % 4 : random() % 1200;
  for (std::size_t i = 0; i < length; ++i) key.push_back(static_cast<char>("ab\0\xFF"[random() % 4]));
  if (key.empty()) key.push_back('x');
  return key;
}

}  // namespace

TEST_CASE("keys of any length sort, are found, stepped over and erased as in a std::map") {
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
          OCTAVO_TRY_VOID(writer.put(key, value, old_bytes));
          model[key] = value;
        }
      }
      return {};
    }));

    auto transaction = store.read();
    REQUIRE(transaction);
    LongKeyCursor forward(*transaction, tree);
    auto row = forward.seek("");
    for (const auto& [key, value] : model) {
      REQUIRE(row);
      REQUIRE(row->key == key);
      REQUIRE(row->value == value);
      row = forward.next();
    }
    REQUIRE_FALSE(row);

    LongKeyCursor backward(*transaction, tree);
    row = backward.last();
    for (auto entry = model.rbegin(); entry != model.rend(); ++entry) {
      REQUIRE(row);
      REQUIRE(row->key == entry->first);
      row = backward.previous();
    }
    REQUIRE_FALSE(row);

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
  }
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

TEST_CASE("a long run of keys with one beginning is walked part by part, in both directions and with turns") {
  TemporaryFolder folder;
  Store store(long_key_options(folder));
  REQUIRE(store.create());
  const Tree tree = store.tree(0);
  std::mt19937 random(11);
  std::map<std::string, std::string> model;
  model["a"] = "before";
  model[std::string(480, 'p')] = "the prefix itself";
  model["z"] = "after";
  for (int i = 0; i < 3000; ++i) {
    // Some keys are so long that few of them fit a part.
    model[std::string(600, 'p') + std::to_string(random() % 1'000'000) + std::string(i % 50 == 0 ? 5'000 : 0, 'x')] =
        std::to_string(i);
  }
  REQUIRE(store.write(64 << 20, [&](WriteTransaction& transaction) -> Expected<void> {
    for (const auto& [key, value] : model) OCTAVO_TRY_VOID(long_key::put(transaction, tree, key, value));
    return {};
  }));
  auto transaction = store.read();
  REQUIRE(transaction);

  LongKeyCursor forward(*transaction, tree);
  auto row = forward.seek("");
  for (const auto& [key, value] : model) {
    REQUIRE(row);
    REQUIRE(row->key == key);
    REQUIRE(row->value == value);
    row = forward.next();
  }
  REQUIRE_FALSE(row);

  LongKeyCursor backward(*transaction, tree);
  row = backward.last();
  for (auto entry = model.rbegin(); entry != model.rend(); ++entry) {
    REQUIRE(row);
    REQUIRE(row->key == entry->first);
    row = backward.previous();
  }
  REQUIRE_FALSE(row);

  LongKeyCursor turning(*transaction, tree);
  for (int round = 0; round < 30; ++round) {
    const std::string wanted = std::string(600, 'p') + std::to_string(random() % 1'000'000);
    auto expected = model.lower_bound(wanted);
    row = turning.seek(wanted);
    for (int step = 0; step < 300; ++step) {
      if (expected == model.end()) {
        REQUIRE_FALSE(row);
        break;
      }
      REQUIRE(row);
      REQUIRE(row->key == expected->first);
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
