#include "storage/document/document_rows.h"

#include "base/assert.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::storage {

Expected<std::optional<DocumentRow>> find_document_row(const Transaction& transaction, const Store& trees,
                                                       std::string_view id) {
  for (const PartitionTree name : {PartitionTree::documents, PartitionTree::tombstones}) {
    OCTAVO_TRY(const auto record, long_key::get(transaction, trees.tree(static_cast<std::size_t>(name)), id));
    if (record) return DocumentRow{*record, name};
  }
  return std::nullopt;
}

Expected<void> DocumentRows::put(std::string_view id, std::string_view record, bool deleted,
                                 std::optional<PartitionTree> before) {
  const PartitionTree after = deleted ? PartitionTree::tombstones : PartitionTree::documents;
  if (before && *before != after) OCTAVO_TRY_VOID(erase(id, *before));
  return long_key::put(transaction_, tree(after), id, record);
}

Expected<void> DocumentRows::erase(std::string_view id, PartitionTree before) {
  OCTAVO_TRY(const bool existed, long_key::erase(transaction_, tree(before), id));
  OCTAVO_ASSERT(existed);
  return {};
}

}  // namespace octavo::storage
