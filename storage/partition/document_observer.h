#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "storage/document/revision.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

/// One change of one document, as reported to the observer.
struct DocumentChange {
  std::string_view id;
  std::string_view partition_key;
  std::optional<std::string_view> before;  ///< body of the live winner before; nullopt: there was none
  std::optional<std::string_view> after;   ///< body of the live winner after; nullopt: deleted or purged
  Revision before_revision;                ///< meaningful with `before`
  Revision after_revision;                 ///< meaningful with `after`
  /// Documents of the logical partition that are not deleted, after the change; 0 without partition key.
  std::uint64_t partition_documents = 0;
};

/// Keeps derived data (local indexes) in step with the documents, inside the document's transaction. Called on the
/// writer's thread, never by two threads at once for one partition. The views point to copies outside the memory map.
class DocumentObserver {
 public:
  virtual ~DocumentObserver() = default;
  /// Whether document_changed() has anything to do in this transaction: if not, it is not called, and bodies need not
  /// be opened for it.
  virtual Expected<bool> reads_changes(const Transaction& transaction, Tree index_tree) = 0;
  /// Returns the number of index rows put or erased; a row that is kept in two orders counts once. An error aborts the
  /// transaction (all its writes fail).
  virtual Expected<std::uint32_t> document_changed(WriteTransaction& transaction, Tree index_tree,
                                                   const DocumentChange& change) = 0;
};

}  // namespace octavo::storage
