#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "storage/document/document.h"
#include "storage/partition/document_transaction.h"

namespace octavo::storage {

class DocumentWriter;
struct DocumentCopy;

/// The calls that a transaction's task may make, on the writer's thread of a physical partition.
class PartitionTransaction final : public DocumentTransaction {
 public:
  explicit PartitionTransaction(DocumentWriter& writer) : writer_(writer) {}
  Expected<std::optional<DocumentView>> find(std::string_view id) override;
  /// Does the same as find(), without opening the body.
  Expected<std::optional<DocumentRecord>> find_record(std::string_view id);
  Expected<EditOutcome> apply(const DocumentWrite& write) override;
  /// See DocumentWriter::adopt_as_new.
  Expected<Refusal> adopt(const DocumentCopy& copy);
  /// Deletes the document with all its conflicting revisions, also one that clients may not delete.
  Expected<void> remove(const std::string& id, std::string_view partition_key);
  std::int64_t now_s() const;  ///< the time stamped on the edits
  /// See logical_rows::last_change.
  Expected<Sequence> last_change(std::string_view partition_key) const;
  /// The physical partition's purge count, including purges earlier in the same commit.
  std::uint64_t purge_count() const;

 private:
  DocumentWriter& writer_;
};

}  // namespace octavo::storage
