#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "storage/lmdb/long_key_tree.h"
#include "support/partition_fixture.h"

namespace octavo::tests {

/// Puts the record of a deleted document where a data folder of format 1 has it.
inline void move_to_documents(PartitionFixture& fixture, std::string_view id) {
  using storage::PartitionTree;
  storage::Store& store = fixture.partition().store();
  const auto tree = [&](PartitionTree name) { return store.tree(static_cast<std::size_t>(name)); };
  const auto moved = store.write(0, [&](storage::WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY(const auto stored, storage::long_key::get(transaction, tree(PartitionTree::tombstones), id));
    if (!stored) return fail(ErrorCode::not_found, "the document is not deleted");
    const std::string record(*stored);
    OCTAVO_TRY_VOID(storage::long_key::erase(transaction, tree(PartitionTree::tombstones), id));
    return storage::long_key::put(transaction, tree(PartitionTree::documents), id, record);
  });
  if (!moved) throw std::runtime_error(moved.error().reason);
}

}  // namespace octavo::tests
