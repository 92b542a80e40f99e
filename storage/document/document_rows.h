#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "storage/document/document_record.h"
#include "storage/lmdb/long_key_tree.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

/// The record of a live document is in the tree `documents`, that of a deleted one in `tombstones`. So a deletion
/// erases a row of `documents`, and pages that become empty are used again. A row that only becomes small keeps its
/// page, however empty that is. Besides, listings read no deleted documents.
///
/// Format 1 left the records of deleted documents in `documents`. They are found there until they are next written.
struct DocumentRow {
  std::string_view record;  ///< see decode_document
  PartitionTree tree = PartitionTree::documents;
};

/// A row that is to be replaced or erased.
struct FormerRow {
  PartitionTree tree = PartitionTree::documents;
  std::size_t record_bytes = 0;
};

/// nullopt: the document was never written, or was purged.
Expected<std::optional<DocumentRow>> find_document_row(const Transaction& transaction, const Store& trees,
                                                       std::string_view id);

/// Changes the rows of documents in one write transaction.
class DocumentRows {
 public:
  /// `transaction` must outlive this.
  DocumentRows(WriteTransaction& transaction, const Store& trees);

  /// `former`: the document's present row, if it has one.
  Expected<void> put(std::string_view id, std::string_view record, bool deleted, std::optional<FormerRow> former);
  Expected<void> erase(std::string_view id, const FormerRow& former);

 private:
  LongKeyWriter& rows_of(PartitionTree name) { return name == PartitionTree::tombstones ? deleted_ : live_; }

  LongKeyWriter live_;
  LongKeyWriter deleted_;
};

}  // namespace octavo::storage
