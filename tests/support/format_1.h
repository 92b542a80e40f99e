#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_codec.h"
#include "storage/document/document_rows.h"
#include "storage/document/history.h"
#include "storage/document/logical_rows.h"
#include "storage/lmdb/long_key_tree.h"
#include "storage/upgrade/format_upgrade.h"
#include "support/partition_fixture.h"

namespace octavo::tests {

/// Lets the partition say no longer that it has no rows of format 1.
inline Expected<void> erase_format_mark(PartitionFixture& fixture, storage::WriteTransaction& transaction) {
  const auto meta = static_cast<std::size_t>(storage::PartitionTree::meta);
  OCTAVO_TRY_VOID(transaction.erase(fixture.partition().store().tree(meta), storage::format_upgrade::mark_key));
  return {};
}

/// Puts the record of a deleted document where a data folder of format 1 has it.
inline void move_to_documents(PartitionFixture& fixture, std::string_view id) {
  using storage::PartitionTree;
  storage::Store& store = fixture.partition().store();
  const auto tree = [&](PartitionTree name) { return store.tree(static_cast<std::size_t>(name)); };
  const auto moved = store.write(0, [&](storage::WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY_VOID(erase_format_mark(fixture, transaction));
    OCTAVO_TRY(const auto stored, storage::long_key::get(transaction, tree(PartitionTree::tombstones), id));
    if (!stored) return fail(ErrorCode::not_found, "the document is not deleted");
    const std::string record(*stored);
    OCTAVO_TRY_VOID(storage::long_key::erase(transaction, tree(PartitionTree::tombstones), id));
    return storage::long_key::put(transaction, tree(PartitionTree::documents), id, record);
  });
  if (!moved) throw std::runtime_error(moved.error().reason);
}

/// A revision tree as format 1 stored it, each node with its parent and its whole hash.
inline std::string tree_of_format_1(const storage::RevisionTree& tree) {
  std::string bytes;
  ByteWriter writer(bytes);
  writer.u8(1);
  writer.varint(tree.nodes().size());
  for (const auto& node : tree.nodes()) {
    const bool digest = node.revision.hash.is_digest();
    writer.u8(static_cast<std::uint8_t>((node.leaf ? 1 : 0) | (node.deleted ? 2 : 0) | (digest ? 4 : 0) |
                                        (node.parent < 0 ? 16 : 0)));
    if (node.parent >= 0) writer.varint(static_cast<std::uint64_t>(node.parent));
    writer.varint(node.revision.generation);
    if (digest) {
      writer.bytes(node.revision.hash.bytes());
    } else {
      writer.sized_bytes(node.revision.hash.bytes());
    }
  }
  return bytes;
}

/// `document` has JSON, not a packed body.
inline std::string record_of_format_1(const storage::DocumentRecord& document, bool has_history) {
  const bool text = !document.revision.hash.is_digest();
  std::string bytes;
  ByteWriter writer(bytes);
  writer.u8(1);
  writer.u8(static_cast<std::uint8_t>((document.deleted ? 1 : 0) | (has_history ? 2 : 0) |
                                      (document.has_conflicts ? 4 : 0) | (text ? 8 : 0)));
  writer.u64(document.sequence);
  writer.u48(static_cast<std::uint64_t>(document.modified_s));
  storage::write_revision(writer, document.revision);
  if (document.body.bytes() != "{}") writer.bytes(document.body.bytes());
  return bytes;
}

/// Stores the document and its history as a data folder of format 1 has them.
inline void store_as_format_1(PartitionFixture& fixture, std::string_view id) {
  using storage::PartitionTree;
  namespace long_key = storage::long_key;
  storage::Store& store = fixture.partition().store();
  const auto tree = [&](PartitionTree name) { return store.tree(static_cast<std::size_t>(name)); };
  const auto changed = store.write(0, [&](storage::WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY_VOID(erase_format_mark(fixture, transaction));
    OCTAVO_TRY(const auto row, storage::find_document_row(transaction, store, id));
    if (!row) return fail(ErrorCode::not_found, "there is no such document");
    const std::string stored(row->record);
    OCTAVO_TRY(storage::DocumentRecord document, storage::decode_document(id, stored));
    storage::BodyBuffer buffer;
    OCTAVO_TRY(const std::string_view body, document.body.open(buffer));
    document.body = storage::StoredBody::of_json(body);
    const storage::history::Trees trees{tree(PartitionTree::histories), tree(PartitionTree::revisions)};
    OCTAVO_TRY(const storage::RevisionTree revisions, storage::history::read(transaction, trees, document));
    OCTAVO_TRY_VOID(storage::history::remove(transaction, trees, document));
    OCTAVO_TRY_VOID(long_key::erase(transaction, tree(row->tree), id));
    const bool has_history = revisions.nodes().size() > 1;
    OCTAVO_TRY_VOID(
        long_key::put(transaction, tree(PartitionTree::documents), id, record_of_format_1(document, has_history)));
    if (!has_history) return {};
    return long_key::put(transaction, trees.revisions, id, tree_of_format_1(revisions));
  });
  if (!changed) throw std::runtime_error(changed.error().reason);
}

/// Stores the statistics, the feed and the unique keys of a logical partition as a data folder of format 1 has them.
inline void store_logical_as_format_1(PartitionFixture& fixture, std::string_view partition_key) {
  using storage::PartitionTree;
  storage::Store& store = fixture.partition().store();
  const auto tree = [&](PartitionTree name) { return store.tree(static_cast<std::size_t>(name)); };
  const auto changed = store.write(0, [&](storage::WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY_VOID(erase_format_mark(fixture, transaction));
    const storage::logical_rows::Trees trees{tree(PartitionTree::logical), tree(PartitionTree::feed),
                                             tree(PartitionTree::partitions)};
    OCTAVO_TRY(const auto statistics, storage::logical_rows::statistics(transaction, trees, partition_key));
    std::vector<storage::Sequence> sequences;
    storage::logical_rows::Feed feed(transaction, trees, partition_key);
    for (auto sequence = feed.seek(0); sequence; sequence = feed.next()) sequences.push_back(*sequence);
    const std::string name = storage::logical_name(partition_key);
    std::vector<std::pair<std::string, std::string>> rows;
    {
      storage::Cursor cursor(transaction, trees.logical);
      for (auto row = cursor.seek(name); row && row->key.starts_with(name); row = cursor.next()) {
        rows.emplace_back(row->key, row->value);
      }
    }
    for (const auto& [key, value] : rows) {
      OCTAVO_TRY_VOID(transaction.erase(trees.logical, key));
      if (storage::parse_logical_row_key(key)->kind != storage::LogicalRowKey::Kind::unique_key) continue;
      const std::string digest = key.substr(name.size() + 1);
      OCTAVO_TRY_VOID(transaction.put(trees.partitions, storage::partition_unique_key(partition_key, digest), value));
    }
    for (const storage::Sequence sequence : sequences) {
      std::string key = storage::partition_feed_prefix(partition_key);
      append_key_u64(key, sequence);
      OCTAVO_TRY_VOID(transaction.put(trees.partitions, key, {}));
    }
    std::string record;
    storage::encode_statistics(record, statistics);
    return storage::long_key::put(transaction, trees.partitions, storage::partition_statistics_key(partition_key),
                                  record);
  });
  if (!changed) throw std::runtime_error(changed.error().reason);
}

}  // namespace octavo::tests
