// What the document writer logs: versions of documents, and replaced revisions.
#include <optional>
#include <string_view>

#include "base/assert.h"
#include "storage/logs/version_log.h"
#include "storage/partition/document_writer.h"

namespace octavo::storage {

// Logs the change as readers see it: only winners, and none that has expired.
Expected<void> DocumentWriter::log_versions(std::string_view id, const Before& before,
                                            const std::optional<DocumentView>& after, Sequence sequence,
                                            Sequence expired_at) {
  const bool lived = before.exists && !before.document.deleted;
  const bool lives = after && !after->deleted;
  OCTAVO_ASSERT(!before.exists || before.json);
  VersionRow row;
  OCTAVO_ASSERT(sequence != 0);
  row.id = id;
  row.time_s = environment_.now_s;
  row.previous_sequence = lived ? before.document.sequence : 0;
  // A losing or purged edit has moved the document to a later sequence without a row in the log.
  if (lived) {
    const auto previous = VersionLog(transaction_, tree(PartitionTree::meta)).rows().seek(row.previous_sequence);
    const bool logged = previous && previous->sequence == row.previous_sequence && previous->id == id;
    if (!logged) row.previous_sequence = 0;
  }
  if (lived && (!before.live || !lives)) {
    row.operation = before.live ? VersionOperation::removed : VersionOperation::expired;
    row.sequence = expired_at != 0 ? expired_at : sequence;
    row.revision = after && expired_at == 0 ? after->revision : before.document.revision;
    row.body = *before.json;
    row.body_revision = before.document.revision;
    row.body_time_s = before.document.modified_s;
    OCTAVO_TRY_VOID(VersionLog::append(transaction_, tree(PartitionTree::meta), row));
  }
  if (!lives || (before.live && before.document.revision == after->revision)) return {};
  row.operation = before.live ? VersionOperation::replaced : VersionOperation::created;
  row.sequence = sequence;
  row.revision = after->revision;
  if (!before.live) row.previous_sequence = 0;
  row.body = after->body;
  row.body_revision = after->revision;
  return VersionLog::append(transaction_, tree(PartitionTree::meta), row);
}

void DocumentWriter::keep_replaced(const Before& before, const RevisionTree& after, Sequence sequence) {
  if (!before.exists || environment_.replaced.kept_s == 0) return;
  replaced_log::Entry entry;
  entry.sequence = sequence;
  entry.previous = before.document.sequence;
  // What has expired is not shown again.
  const bool expired = !before.live && !before.document.deleted;
  const RevisionTree::Node* former = after.find(before.document.revision);
  if (!expired && (former == nullptr || !former->leaf)) {
    entry.revision = before.document.revision;
    entry.id = before.document.id;
    entry.body = before.document.body;
  }
  replaced_.append(entry);
}

}  // namespace octavo::storage
