#include "storage/lmdb/internal/tree_size.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "storage/lmdb/long_key_tree.h"
#include "support/temporary_folder.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::TemporaryFolder;

namespace {

/// A tree "rows" and, as a model, the keys that are in it.
struct Rows {
  TemporaryFolder folder;
  Store store{options(folder)};
  std::set<std::string> keys;

  Rows() { REQUIRE(store.create()); }

  static Store::Options options(const TemporaryFolder& folder) {
    Store::Options options;
    options.folder = folder.path() / "store";
    options.trees = {"other", "rows", std::string(tree_of_long_keys)};
    options.durability = config::Durability::ephemeral;
    return options;
  }
  void change(const std::vector<std::string>& some, bool put) {
    REQUIRE(store.write(16 << 20, [&](WriteTransaction& transaction) -> Expected<void> {
      for (const auto& key : some) {
        if (put) {
          OCTAVO_TRY_VOID(long_key::put(transaction, store.tree(1), key, "v"));
        } else {
          OCTAVO_TRY(const bool there, long_key::erase(transaction, store.tree(1), key));
          CHECK(there);
        }
      }
      return {};
    }));
    for (const auto& key : some) {
      if (put) {
        keys.insert(key);
      } else {
        keys.erase(key);
      }
    }
  }
  std::size_t count(const std::string& low, const std::optional<std::string>& high) const {
    if (high && low >= *high) return 0;
    const auto end = high ? keys.lower_bound(*high) : keys.end();
    return static_cast<std::size_t>(std::distance(keys.lower_bound(low), end));
  }
};

std::string number_key(std::size_t number) {
  std::string digits = std::to_string(number);
  return std::string(8 - digits.size(), '0') + digits;
}

double factor_between(double a, double b) {
  return std::max((a + 1) / (b + 1), (b + 1) / (a + 1));
}

/// Factors by which the sizes of random ranges are wrong, sorted; every size that is called exact must be.
std::vector<double> factors(Rows& rows, std::size_t numbers_max, std::mt19937& random,
                            unsigned samples = TreeSize::few) {
  const auto transaction = rows.store.read();
  REQUIRE(transaction);
  const auto tree = TreeSize::open(*transaction, "rows");
  REQUIRE(tree);
  std::vector<double> found;
  for (int i = 0; i < 400; ++i) {
    std::string low = number_key(random() % numbers_max);
    std::string high = number_key(random() % numbers_max);
    if (high < low) std::swap(low, high);
    const auto size = tree->range(low, high, samples);
    REQUIRE(size);
    const auto actual = rows.count(low, high);
    if (size->exact) CHECK(size->entries == actual);
    found.push_back(factor_between(static_cast<double>(size->entries), static_cast<double>(actual)));
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

TEST_CASE("the size of a range is right within a factor of 1.5, written in order or at random") {
  for (const bool in_order : {true, false}) {
    CAPTURE(in_order);
    Rows rows;
    std::mt19937 random(3);
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < 100'000; ++i) keys.push_back(number_key(i));
    if (!in_order) std::shuffle(keys.begin(), keys.end(), random);
    for (std::size_t i = 0; i < keys.size(); i += 10'000)
      rows.change({keys.begin() + i, keys.begin() + i + 10'000}, true);
    const auto found = factors(rows, 100'000, random);
    CHECK(found[found.size() * 99 / 100] < 1.5);
    CHECK(found.back() < 2);
  }
}

TEST_CASE("the size of a range follows deletes at once, and stays right within a factor of 1.5") {
  std::mt19937 random(5);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < 100'000; ++i) keys.push_back(number_key(i));
  Rows rows;
  std::vector<std::string> some;
  unsigned samples = TreeSize::few;
  SECTION("of most rows at the front") {
    rows.change(keys, true);
    for (std::size_t i = 0; i < 50'000; ++i) {
      if (random() % 10 != 0) some.push_back(keys[i]);
    }
  }
  SECTION("of half of the rows, which were written in order") {
    rows.change(keys, true);
    std::ranges::copy_if(keys, std::back_inserter(some), [&](const auto&) { return random() % 2 == 0; });
  }
  SECTION("of half of the rows, which were written at random") {
    std::ranges::shuffle(keys, random);
    for (std::size_t i = 0; i < keys.size(); i += 10'000)
      rows.change({keys.begin() + i, keys.begin() + i + 10'000}, true);
    std::ranges::copy_if(keys, std::back_inserter(some), [&](const auto&) { return random() % 2 == 0; });
  }
  SECTION("of every second run of 1,000 rows, if more pages are read") {
    rows.change(keys, true);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i / 1'000 % 2 != 0) some.push_back(keys[i]);
    }
    samples = TreeSize::many;
  }
  rows.change(some, false);
  const auto found = factors(rows, 100'000, random, samples);
  CHECK(found[found.size() * 99 / 100] < 1.5);
}

TEST_CASE("small ranges are known exactly, and an empty tree has none") {
  Rows rows;
  {
    const auto transaction = rows.store.read();
    const auto size = TreeSize::open(*transaction, "rows")->range("", std::nullopt);
    CHECK(size->entries == 0);
    CHECK(size->exact);
  }
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < 20'000; ++i) keys.push_back(number_key(i));
  rows.change(keys, true);
  const auto transaction = rows.store.read();
  const auto tree = TreeSize::open(*transaction, "rows");
  for (const std::size_t width : {0, 1, 10, 100}) {
    for (std::size_t low = 0; low < 19'900; low += 611) {
      const auto size = tree->range(number_key(low), number_key(low + width));
      CHECK(size->exact);
      CHECK(size->entries == width);
    }
  }
  CHECK(tree->range("b", "a")->entries == 0);
  CHECK(tree->range(number_key(19'990), std::nullopt)->entries == 10);
}

TEST_CASE("ranges whose bounds are longer than LMDB's keys are estimated") {
  Rows rows;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < 300; ++i) keys.push_back(std::string(477, 'x') + std::to_string(100 + i) + "and more");
  keys.push_back("a");
  keys.push_back("z");
  rows.change(keys, true);
  const auto transaction = rows.store.read();
  const auto tree = TreeSize::open(*transaction, "rows");
  CHECK_FALSE(tree->range(keys[5], keys[9])->exact);
  CHECK(factor_between(static_cast<double>(tree->range("b", "y")->entries), 300) < 1.5);
}

TEST_CASE("a tree that is not there has no size") {
  Rows rows;
  const auto transaction = rows.store.read();
  CHECK_FALSE(TreeSize::open(*transaction, "nothing"));
}

TEST_CASE("damaged pages make a size unknown or wrong, and nothing outside of the file is read") {
  constexpr std::size_t page_bytes = 4096;
  constexpr std::size_t header_bytes = 16;
  constexpr std::size_t offsets_damaged = 8;  // bytes of the offsets of entries at the beginning of a page
  Rows rows;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < 20'000; ++i) keys.push_back(number_key(i));
  rows.change(keys, true);
  const auto transaction = rows.store.read();
  const auto tree = TreeSize::open(*transaction, "rows");
  REQUIRE(tree);
  // LMDB has mapped the file, so what is written to it is seen by the tree.
  const auto path = rows.folder.path() / "store" / "data.mdb";
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::string image(std::filesystem::file_size(path), '\0');
  file.read(image.data(), static_cast<std::streamsize>(image.size()));
  std::size_t unknown = 0;
  std::size_t known = 0;
  const auto read_all = [&] {
    const std::pair<std::string, std::optional<std::string>> ranges[] = {{number_key(1), number_key(19'999)},
                                                                         {number_key(7'000), number_key(7'040)},
                                                                         {number_key(10'000), std::nullopt}};
    for (const auto& [low, high] : ranges) ++(tree->range(low, high, TreeSize::many) ? known : unknown);
    ++(tree->leaf_content(64, 1) ? known : unknown);
  };
  for (std::size_t page = 2; page < image.size() / page_bytes; ++page) {
    for (std::size_t at = page * page_bytes; at < page * page_bytes + header_bytes + offsets_damaged; ++at) {
      for (const char damaged : {'\0', static_cast<char>(image[at] ^ 0x80), static_cast<char>(image[at] ^ 1), '\xFF'}) {
        file.seekp(static_cast<std::streamoff>(at)).put(damaged).flush();
        read_all();
      }
      file.seekp(static_cast<std::streamoff>(at)).put(image[at]).flush();
    }
  }
  CHECK(unknown > 1'000);
  unknown = 0;
  read_all();
  CHECK(unknown == 0);
}

TEST_CASE("a transaction estimates the rows of a range, and knows those of a whole tree") {
  Rows rows;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < 20'000; ++i) keys.push_back(number_key(i));
  rows.change(keys, true);
  const auto transaction = rows.store.read();
  REQUIRE(transaction);
  const auto whole = transaction->rows_estimate(rows.store.tree(1), {}, std::nullopt);
  REQUIRE(whole);
  CHECK(whole->rows == 20'000);
  CHECK(whole->exact);
  CHECK(count_rows(*transaction, rows.store.tree(1)) == 20'000);
  const auto other = transaction->rows_estimate(rows.store.tree(0), {}, std::nullopt);
  REQUIRE(other);
  CHECK(other->rows == 0);
  const auto some = transaction->rows_estimate(rows.store.tree(1), number_key(100), number_key(110));
  REQUIRE(some);
  CHECK(some->rows == 10);
  const auto many = transaction->rows_estimate(rows.store.tree(1), number_key(0), number_key(10'000), Closeness::close);
  REQUIRE(many);
  CHECK(factor_between(static_cast<double>(many->rows), 10'000) < 1.5);
}
