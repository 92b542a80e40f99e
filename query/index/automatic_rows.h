#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "query/index/automatic_index.h"
#include "storage/lmdb/store.h"

namespace octavo::query {

/// Logical partitions with at least this many documents have separate rows.
inline constexpr std::uint64_t scoped_documents_min = 64;

/// The rows of an automatic index in a physical partition's index tree.
///
/// Format (rows of an automatic index):
///   number:u32be 01 entry id                       → id_size:varint   every entry, in one order for all documents
///   number:u32be 02 partition key ':' entry id     → id_size:varint   the same, for large logical partitions only
///   number:u32be 03 partition key                  → (empty)          which logical partitions have such
///
/// A query of everything reads the first kind. A query of one logical partition reads the second kind if it exists, and
/// otherwise the first kind, where entries of equal values are ordered by ids and therefore by partitions: it seeks
/// past the others'. Small partitions therefore cost no second set of rows, and a range or an order within a large one
/// costs only what it reads.
class AutomaticRows {
 public:
  AutomaticRows(storage::WriteTransaction& transaction, storage::Tree tree, std::uint32_t number)
      : transaction_(transaction), tree_(tree), number_(number) {}

  static std::string everything_prefix(std::uint32_t number);
  static std::string scoped_prefix(std::uint32_t number, std::string_view partition_key);
  static std::string scoped_mark(std::uint32_t number, std::string_view partition_key);

  Expected<bool> is_scoped(std::string_view partition_key) const;
  Expected<void> mark_scoped(std::string_view partition_key);

  /// Changes the rows from the entries before (empty: the document is new) to those after; returns the number of
  /// entries that differ, except the additional ones of strings, which are not charged. `rewrite`: also writes
  /// unchanged ones. `scoped`: also writes rows of the second kind.
  Expected<std::uint32_t> change(std::string_view id, std::string_view partition_key,
                                 const AutomaticIndex::Entries& before, const AutomaticIndex::Entries& after,
                                 bool scoped, bool rewrite);
  /// Writes rows of the second kind only.
  Expected<void> put_scoped(std::string_view id, std::string_view partition_key,
                            const AutomaticIndex::Entries& entries);

 private:
  Expected<void> put(const std::string& prefix, std::string_view entry, std::string_view id);
  Expected<void> erase(const std::string& prefix, std::string_view entry, std::string_view id);

  storage::WriteTransaction& transaction_;
  const storage::Tree tree_;
  const std::uint32_t number_;
  std::string key_;
};

/// Value of a row: the size of the id at the end of its key.
std::string automatic_row_value(std::string_view id);

}  // namespace octavo::query
