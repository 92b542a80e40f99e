#include "storage/partition/document_copy.h"

#include "storage/document/document_rows.h"
#include "storage/document/history.h"
#include "storage/document/revision_tree.h"
#include "storage/lmdb/long_key_tree.h"
#include "storage/logs/version_log.h"

namespace octavo::storage {

std::size_t DocumentCopy::bytes() const {
  constexpr std::size_t rows_overhead_bytes = 256;
  std::size_t bytes = id.size() + body.view().bytes().size() + ancestry.size() + rows_overhead_bytes;
  for (const auto* rows : {&histories, &leaves}) {
    for (const auto& [key, value] : *rows) bytes += key.size() + value.size();
  }
  return bytes;
}

std::size_t PartitionCopy::bytes() const {
  std::size_t bytes = 0;
  for (const auto& document : documents) bytes += document.bytes();
  for (const auto* rows : {&local_documents, &versions}) {
    for (const RowCopy& row : *rows) bytes += row.id.size() + row.key.size() + row.value.size();
  }
  return bytes;
}

Expected<DocumentCopy> CopyReader::document(std::string_view id) const {
  OCTAVO_TRY(const auto row, find_document_row(transaction_, trees_, id));
  if (!row) {
    DocumentCopy gone;
    gone.id = id;
    return gone;
  }
  OCTAVO_TRY(const DocumentRecord document, decode_document(id, row->record));
  return document_as(document, id);
}

Expected<DocumentCopy> CopyReader::document_as(const DocumentRecord& document, std::string_view as) const {
  DocumentCopy copy;
  copy.id = as;
  copy.exists = true;
  copy.revision = document.revision;
  copy.sequence = document.sequence;
  copy.modified_s = document.modified_s;
  copy.deleted = document.deleted;
  copy.has_conflicts = document.has_conflicts;
  copy.owner = document.owner;
  copy.body.assign(document.body);
  const history::Trees history_trees{tree(PartitionTree::histories), tree(PartitionTree::revisions)};
  OCTAVO_TRY(const RevisionTree revisions, history::read(transaction_, history_trees, document));
  auto stored = history::stored_form(as, revisions);
  encode_ancestry(copy.ancestry, stored.ancestry);
  copy.histories = std::move(stored.rows);
  if (!document.has_conflicts) return copy;
  for (const RevisionTree::Node* leaf : revisions.leaves()) {
    if (leaf->revision == document.revision) continue;
    OCTAVO_TRY(const auto body,
               long_key::get(transaction_, tree(PartitionTree::leaves), leaf_key(document.id, leaf->revision)));
    if (!body) {
      return fail(ErrorCode::corrupted, "A conflicting revision of " + std::string(document.id) + " is missing.");
    }
    copy.leaves.emplace_back(leaf_key(as, leaf->revision), *body);
  }
  return copy;
}

Expected<RowCopy> CopyReader::local_document(std::string_view id) const {
  RowCopy copy{.id = std::string(id), .key = std::string(id), .value = {}};
  OCTAVO_TRY(const auto record, long_key::get(transaction_, tree(PartitionTree::local), id));
  if (record) copy.value = *record;
  return copy;
}

std::vector<RowCopy> CopyReader::local_documents_after(std::string_view after, std::size_t bytes_max) const {
  std::vector<RowCopy> rows;
  LongKeyCursor cursor(transaction_, tree(PartitionTree::local));
  std::size_t bytes = 0;
  auto row = cursor.seek(after);
  if (row && row->key == after) row = cursor.next();
  for (; row && bytes < bytes_max; row = cursor.next()) {
    bytes += row->key.size() + row->value.size();
    rows.push_back({.id = std::string(row->key), .key = std::string(row->key), .value = std::string(row->value)});
  }
  return rows;
}

Expected<std::vector<RowCopy>> CopyReader::versions_after(Sequence after, std::size_t bytes_max, Sequence& last) const {
  std::vector<RowCopy> rows;
  Cursor cursor(transaction_, tree(PartitionTree::meta));
  std::size_t bytes = 0;
  for (auto row = cursor.seek(version_key(after + 1)); row && is_version_key(row->key) && bytes < bytes_max;
       row = cursor.next()) {
    OCTAVO_TRY(const VersionRow version, decode_version(row->key, row->value));
    last = version.sequence;
    bytes += row->key.size() + row->value.size();
    rows.push_back({.id = std::string(version.id), .key = std::string(row->key), .value = std::string(row->value)});
  }
  return rows;
}

}  // namespace octavo::storage
