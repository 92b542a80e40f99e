#pragma once

#include <cstdint>
#include <string>

#include <catch2/catch.hpp>

#include "storage/lmdb/store.h"
#include "support/temporary_folder.h"

namespace octavo::storage {

/// A store of one tree in a temporary folder, with rows of about 3,000 bytes, of which all but some are erased.
class SparseStore {
 public:
  explicit SparseStore(int rows, int rows_left = 1) : store_(options_in(folder_)) {
    REQUIRE(store_.create());
    REQUIRE(store_.write(static_cast<std::size_t>(rows) * 4096, [&](WriteTransaction& transaction) -> Expected<void> {
      for (int i = 0; i < rows; ++i) {
        OCTAVO_TRY_VOID(transaction.append(store_.tree(0), key(i), std::string(3'000, 'x')));
      }
      return {};
    }));
    erase_rows(rows_left, rows);
  }

  void erase_rows(int first, int end) {
    REQUIRE(store_.write(1 << 20, [&](WriteTransaction& transaction) -> Expected<void> {
      for (int i = first; i < end; ++i) OCTAVO_TRY_VOID(transaction.erase(store_.tree(0), key(i)));
      return {};
    }));
  }
  Store& store() { return store_; }
  std::uint64_t file_bytes() { return Store::file_bytes_in(store_.options().folder).value_or(0); }

 private:
  static std::string key(int i) { return std::to_string(1'000'000 + i); }
  static Store::Options options_in(const octavo::tests::TemporaryFolder& folder) {
    Store::Options options;
    options.folder = folder.path() / "store";
    options.trees = {"rows"};
    options.durability = config::Durability::ephemeral;
    return options;
  }

  octavo::tests::TemporaryFolder folder_;
  Store store_;
};

}  // namespace octavo::storage
