#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/document/document.h"
#include "storage/document/document_record.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

/// All that a physical partition stores of one document, apart from its files: for another partition to take over.
struct DocumentCopy {
  std::string id;
  std::string_view partition_key;  ///< view into `id`, set by the caller, who knows the database; else empty
  bool exists = false;             ///< false: the document does not exist (any more)
  Revision revision;
  Sequence sequence = 0;
  std::int64_t modified_s = 0;
  bool deleted = false;
  bool has_conflicts = false;
  std::uint32_t owner = 0;
  std::string ancestry;  ///< as DocumentView::ancestry, in the present form even if it is stored in an earlier one
  OwnedBody body;        ///< as stored: neither opened nor packed on the way
  std::vector<std::pair<std::string, std::string>> histories;  ///< rows of its history
  std::vector<std::pair<std::string, std::string>> leaves;     ///< rows of the leaves that are not the winner

  std::size_t bytes() const;
};

/// A row to be copied unchanged, and the id of its document.
struct RowCopy {
  std::string id;
  std::string key;
  std::string value;
};

/// What one physical partition takes over from another in one transaction.
struct PartitionCopy {
  std::vector<DocumentCopy> documents;
  std::vector<RowCopy> local_documents;  ///< without a value: it does not exist (any more)
  std::vector<RowCopy> versions;
  /// Only in the last copy: the end of the feed, and the other counters.
  struct End {
    Sequence last_sequence = 0;
    std::uint64_t purge_count = 0;
    Sequence dropped_through = 0;
    std::optional<Sequence> versions_since;  ///< nullopt: versions are not kept
  };
  std::optional<End> end;

  std::size_t bytes() const;
  bool empty() const { return documents.empty() && local_documents.empty() && versions.empty() && !end; }
};

/// Reads copies from the store of a physical partition. Documents are copied as stored: an expired document that
/// was not deleted yet is live. Lives as long as the transaction.
class CopyReader {
 public:
  CopyReader(const Store& trees, const Transaction& transaction) : trees_(trees), transaction_(transaction) {}
  /// Errors: corrupted, io_failure.
  Expected<DocumentCopy> document(std::string_view id) const;
  /// Does the same for a document whose record was read in this transaction, and that gets another id, `as`.
  Expected<DocumentCopy> document_as(const DocumentRecord& document, std::string_view as) const;
  Expected<RowCopy> local_document(std::string_view id) const;
  /// Local documents after `after` in byte order, about `bytes_max` bytes of them; empty: there are no more.
  std::vector<RowCopy> local_documents_after(std::string_view after, std::size_t bytes_max) const;
  /// About `bytes_max` bytes of the rows of the log of versions with sequences above `after`; sets `last` to the last
  /// row's sequence.
  Expected<std::vector<RowCopy>> versions_after(Sequence after, std::size_t bytes_max, Sequence& last) const;

 private:
  Tree tree(PartitionTree name) const { return trees_.tree(static_cast<std::size_t>(name)); }
  const Store& trees_;
  const Transaction& transaction_;
};

}  // namespace octavo::storage
