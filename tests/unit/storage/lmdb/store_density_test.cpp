// How densely a store is filled: the estimate against what a compaction makes of the file.
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "storage/lmdb/store.h"
#include "storage/lmdb/store_compaction.h"
#include "support/temporary_folder.h"

namespace octavo::storage {
namespace {

class DenseRows {
 public:
  DenseRows() : store_(options_in(folder_)) { REQUIRE(store_.create()); }

  void put(std::size_t tree, const std::vector<std::pair<std::string, std::string>>& rows) {
    REQUIRE(store_.write(32 << 20, [&](WriteTransaction& transaction) -> Expected<void> {
      for (const auto& [key, value] : rows) OCTAVO_TRY_VOID(transaction.put(store_.tree(tree), key, value));
      return {};
    }));
  }
  void erase(const std::vector<std::string>& keys) {
    REQUIRE(store_.write(1 << 20, [&](WriteTransaction& transaction) -> Expected<void> {
      for (const auto& key : keys) OCTAVO_TRY_VOID(transaction.erase(store_.tree(0), key));
      return {};
    }));
  }
  Density density() {
    auto density = store_.density();
    REQUIRE(density);
    return *std::move(density);
  }
  Store& store() { return store_; }

 private:
  static Store::Options options_in(const octavo::tests::TemporaryFolder& folder) {
    Store::Options options;
    options.folder = folder.path() / "store";
    options.trees = {"rows", "others"};
    options.durability = config::Durability::ephemeral;
    return options;
  }

  octavo::tests::TemporaryFolder folder_;
  Store store_;
};

/// The estimate lies this close to the size of the file after the compaction.
void check_estimate(DenseRows& rows) {
  const auto estimate = static_cast<double>(rows.density().dense_bytes);
  REQUIRE(StoreCompaction(rows.store(), {}).run());
  const auto file = static_cast<double>(rows.store().sizes()->file_bytes);
  INFO("estimated: " << estimate << ", true: " << file);
  CHECK(estimate > 0.75 * file);
  CHECK(estimate < 1.25 * file);
}

}  // namespace

TEST_CASE("an empty store has no bytes in rows") {
  DenseRows rows;
  const auto density = rows.density();
  CHECK(density.row_bytes == std::vector<std::uint64_t>{0, 0});
  CHECK(density.dense_bytes <= density.file_bytes);
}

TEST_CASE("the bytes of the rows of a small tree are exact, also those of long values") {
  DenseRows rows;
  rows.put(0, {{"a", "1"}, {"bb", std::string(100, 'x')}, {"ccc", std::string(70'000, 'y')}});
  rows.put(1, {{"d", ""}});
  CHECK(rows.density().row_bytes == std::vector<std::uint64_t>{1 + 1 + 2 + 100 + 3 + 70'000, 1});
}

TEST_CASE("the size after a compaction is estimated for trees that were changed at random") {
  DenseRows rows;
  std::mt19937 random(7);
  std::vector<std::pair<std::string, std::string>> all;
  std::uint64_t bytes = 0;
  for (int i = 0; i < 20'000; ++i) {
    all.emplace_back(std::to_string(random()), std::string(50 + random() % 300, 'x'));
  }
  rows.put(0, all);
  SECTION("random keys") {}
  SECTION("most are erased") {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i % 10 != 0) keys.push_back(all[i].first);
    }
    rows.erase(keys);
  }
  SECTION("one half of the keys is erased, and there are values in pages of their own") {
    std::vector<std::string> keys;
    for (const auto& [key, value] : all) {
      if (key < "2") keys.push_back(key);
    }
    rows.erase(keys);
    for (int i = 0; i < 200; ++i) rows.put(1, {{std::to_string(i), std::string(9'000, 'z')}});
  }
  {
    const auto transaction = rows.store().read();
    REQUIRE(transaction);
    Cursor cursor(*transaction, rows.store().tree(0));
    for (auto row = cursor.first(); row; row = cursor.next()) bytes += row->key.size() + row->value.size();
  }
  const auto estimate = static_cast<double>(rows.density().row_bytes.front());
  CHECK(estimate > 0.75 * static_cast<double>(bytes));
  CHECK(estimate < 1.25 * static_cast<double>(bytes));
  check_estimate(rows);
  // What was compacted just now is dense.
  const auto density = rows.density();
  CHECK(density.sparse_bytes() <= density.file_bytes / 10 + 8 * 4096);
}

}  // namespace octavo::storage
