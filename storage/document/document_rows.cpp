#include "storage/document/document_rows.h"

namespace octavo::storage {

Expected<std::optional<DocumentRow>> find_document_row(const Transaction& transaction, const Store& trees,
                                                       std::string_view id) {
  for (const PartitionTree name : {PartitionTree::documents, PartitionTree::tombstones}) {
    OCTAVO_TRY(const auto record, long_key::get(transaction, trees.tree(static_cast<std::size_t>(name)), id));
    if (record) return DocumentRow{*record, name};
  }
  return std::nullopt;
}

DocumentRows::DocumentRows(WriteTransaction& transaction, const Store& trees)
    : live_(transaction, trees.tree(static_cast<std::size_t>(PartitionTree::documents))),
      deleted_(transaction, trees.tree(static_cast<std::size_t>(PartitionTree::tombstones))) {}

Expected<void> DocumentRows::put(std::string_view id, std::string_view record, bool deleted,
                                 std::optional<FormerRow> former) {
  const PartitionTree name = deleted ? PartitionTree::tombstones : PartitionTree::documents;
  if (former && former->tree != name) {
    OCTAVO_TRY_VOID(erase(id, *former));
    former.reset();
  }
  return rows_of(name).put(id, record, former ? std::optional(former->record_bytes) : std::nullopt);
}

Expected<void> DocumentRows::erase(std::string_view id, const FormerRow& former) {
  OCTAVO_TRY_VOID(rows_of(former.tree).erase(id));
  return {};
}

}  // namespace octavo::storage
