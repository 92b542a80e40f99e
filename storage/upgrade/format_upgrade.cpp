#include "storage/upgrade/format_upgrade.h"

#include <array>
#include <limits>
#include <string_view>

#include "base/byte_codec.h"
#include "storage/document/ancestry.h"
#include "storage/document/document_rows.h"
#include "storage/document/history.h"
#include "storage/document/logical_rows.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::storage::format_upgrade {
namespace {

constexpr char present_format = 2;
/// Limits of one step of a walk: a snapshot must end soon, and a group of writes holds up those of clients.
constexpr std::size_t rows_read_max = 4096;
constexpr std::size_t rows_found_max = 256;
constexpr std::size_t bytes_found_max = 1 << 20;
/// The trees that may have old rows, apart from `partitions` and `revisions`: their rows go with what they belong to.
constexpr std::array walked_trees{PartitionTree::documents, PartitionTree::tombstones, PartitionTree::leaves,
                                  PartitionTree::local,     PartitionTree::index,      PartitionTree::histories};

Tree tree_of(const Store& trees, PartitionTree name) {
  return trees.tree(static_cast<std::size_t>(name));
}

bool has_records(PartitionTree name) {
  return name == PartitionTree::documents || name == PartitionTree::tombstones;
}

std::unexpected<Error> damaged_partition() {
  return fail(ErrorCode::corrupted, "A row of a logical partition is damaged.");
}

Expected<bool> is_old(const Transaction& transaction, const Store& trees, PartitionTree name, std::string_view key,
                      std::string_view value) {
  if (has_records(name)) {
    if (is_record_of_format_1(value)) return true;
    OCTAVO_TRY(const DocumentRecord document, decode_document(key, value));
    if (document.deleted && name == PartitionTree::documents) return true;
  }
  return long_key::has_old_form(transaction, tree_of(trees, name), key);
}

/// How much is written for an old row.
Expected<std::size_t> bytes_of(const Transaction& transaction, const Store& trees, PartitionTree name,
                               std::string_view key, std::string_view value) {
  std::size_t bytes = key.size() + value.size();
  if (has_records(name) && is_record_of_format_1(value)) {
    OCTAVO_TRY(const auto tree, long_key::get(transaction, tree_of(trees, PartitionTree::revisions), key));
    if (tree) bytes += tree->size();
  }
  return bytes;
}

/// The record in the present form. Moves the document's history, if that has a row in `revisions`.
Expected<std::string> present_record(WriteTransaction& transaction, const Store& trees,
                                     const DocumentRecord& document) {
  const history::Trees history_trees{tree_of(trees, PartitionTree::histories),
                                     tree_of(trees, PartitionTree::revisions)};
  OCTAVO_TRY(const RevisionTree revisions, history::read(transaction, history_trees, document));
  OCTAVO_TRY(const Ancestry ancestry, history::replace(transaction, history_trees, document.id, &document, revisions));
  std::string ancestry_bytes;
  encode_ancestry(ancestry_bytes, ancestry);
  DocumentRecord present = document;
  present.ancestry = ancestry_bytes;
  present.has_tree_row = false;
  std::string record;
  encode_document(record, present);
  return record;
}

/// The logical partition of a document that is in one. nullopt: it is in none.
std::optional<std::string> partition_key_of(std::string_view id) {
  const std::size_t colon = id.find(':');
  if (colon == 0 || colon == std::string_view::npos) return std::nullopt;
  return std::string(id.substr(0, colon));
}

/// Moves the statistics of a logical partition, and as many of its newest sequences as are left.
Expected<void> move_partition(WriteTransaction& transaction, const logical_rows::Trees& trees, std::string_view key,
                              std::size_t& rows_left) {
  OCTAVO_TRY(logical_rows::Partition partition, logical_rows::load(transaction, trees, key));
  partition.changed = true;
  return logical_rows::store(transaction, trees, key, partition, rows_left);
}

Expected<void> move_unique(WriteTransaction& transaction, const logical_rows::Trees& trees, std::string_view row_key,
                           std::string_view id) {
  const auto key = partition_key_of(id);
  constexpr std::size_t hash_and_kind_bytes = sizeof(std::uint64_t) + 1;
  const std::string_view digest = row_key.substr(hash_and_kind_bytes);
  if (!key || digest.size() != unique_digest_bytes || partition_unique_key(*key, digest) != row_key) {
    return damaged_partition();
  }
  OCTAVO_TRY(const auto known, transaction.get(trees.logical, unique_key_row(logical_name(*key), digest)));
  if (!known) return logical_rows::take_unique(transaction, trees, *key, digest, id);
  OCTAVO_TRY_VOID(transaction.erase(trees.partitions, row_key));
  return {};
}

/// Moves sequences of the logical partition with the newest of these rows, whose keys begin with `prefix`. Several may
/// share it; that one has no later rows here, so that its own are found first.
Expected<void> move_sequences(WriteTransaction& transaction, const logical_rows::Trees& trees, std::string_view prefix,
                              std::size_t& rows_left) {
  std::string newest(prefix);
  append_key_u64(newest, std::numeric_limits<Sequence>::max());
  {
    Cursor cursor(transaction, trees.partitions);
    const auto row = cursor.seek_back(newest);
    if (!row || row->key.size() != newest.size() || !row->key.starts_with(prefix)) return damaged_partition();
    newest.assign(row->key);
  }
  const std::string feed_key = newest.substr(prefix.size());
  OCTAVO_TRY(const auto record, transaction.get(trees.feed, feed_key));
  if (!record) {
    // Readers skip it, as it names no change.
    --rows_left;
    OCTAVO_TRY_VOID(transaction.erase(trees.partitions, newest));
    return {};
  }
  OCTAVO_TRY(const FeedRow change, decode_feed_row(feed_key, *record));
  const auto key = partition_key_of(change.id);
  if (!key || partition_feed_prefix(*key) != prefix) return damaged_partition();
  OCTAVO_TRY_VOID(move_partition(transaction, trees, *key, rows_left));
  OCTAVO_TRY(const auto left, transaction.get(trees.partitions, newest));
  if (left) return damaged_partition();  // otherwise this would never end
  return {};
}

}  // namespace

Expected<bool> is_marked(const Transaction& transaction, const Store& trees) {
  OCTAVO_TRY(const auto format, transaction.get(tree_of(trees, PartitionTree::meta), mark_key));
  return format && format->size() == 1 && format->front() == present_format;
}

Expected<void> mark(WriteTransaction& transaction, const Store& trees) {
  return transaction.put(tree_of(trees, PartitionTree::meta), mark_key, std::string_view(&present_format, 1));
}

std::uint64_t Walk::rows_expected(const ReadTransaction& transaction) const {
  std::uint64_t rows = 0;
  for (const PartitionTree name : walked_trees) {
    const auto estimate = transaction.rows_estimate(tree_of(trees_, name), {}, std::nullopt);
    if (estimate) rows += estimate->rows;
  }
  return rows;
}

Expected<std::optional<OldRows>> Walk::next(const Transaction& transaction) {
  if (tree_ == walked_trees.size()) return std::nullopt;
  OldRows found{.tree = walked_trees[tree_], .keys = {}, .bytes = 0};
  LongKeyCursor cursor(transaction, tree_of(trees_, found.tree));
  auto row = cursor.seek(last_key_);
  if (row && !last_key_.empty() && row->key == last_key_) row = cursor.next();
  for (std::size_t rows = 0; row && rows < rows_read_max; row = cursor.next()) {
    if (found.keys.size() == rows_found_max || found.bytes >= bytes_found_max) return found;
    ++rows;
    ++rows_read_;
    last_key_.assign(row->key);
    OCTAVO_TRY(const bool old, is_old(transaction, trees_, found.tree, last_key_, row->value));
    if (!old) continue;
    OCTAVO_TRY(const std::size_t bytes, bytes_of(transaction, trees_, found.tree, last_key_, row->value));
    found.bytes += bytes;
    found.keys.push_back(last_key_);
  }
  if (!row) {
    ++tree_;
    last_key_.clear();
  }
  return found;
}

Expected<void> rewrite(WriteTransaction& transaction, const Store& trees, const OldRows& rows) {
  const Tree tree = tree_of(trees, rows.tree);
  DocumentRows documents(transaction, trees);
  for (const std::string& key : rows.keys) {
    OCTAVO_TRY(const auto stored, long_key::get(transaction, tree, key));
    if (!stored) continue;
    const std::string value(*stored);
    OCTAVO_TRY(const bool old, is_old(transaction, trees, rows.tree, key, value));
    if (!old) continue;
    if (!has_records(rows.tree)) {
      OCTAVO_TRY_VOID(long_key::put(transaction, tree, key, value));
      continue;
    }
    OCTAVO_TRY(const DocumentRecord document, decode_document(key, value));
    std::string record = value;
    if (is_record_of_format_1(value)) {
      OCTAVO_TRY(record, present_record(transaction, trees, document));
    }
    OCTAVO_TRY_VOID(documents.put(key, record, document.deleted, FormerRow{rows.tree, value.size()}));
  }
  return {};
}

Expected<bool> move_logical_rows(WriteTransaction& transaction, const Store& trees, std::size_t rows_max) {
  const logical_rows::Trees logical_trees{tree_of(trees, PartitionTree::logical), tree_of(trees, PartitionTree::feed),
                                          tree_of(trees, PartitionTree::partitions)};
  for (std::size_t rows_left = rows_max; rows_left > 0;) {
    std::string key;
    std::string value;
    {
      LongKeyCursor cursor(transaction, logical_trees.partitions);
      const auto row = cursor.seek({});
      if (!row) return false;
      key.assign(row->key);
      value.assign(row->value);
    }
    if (const auto partition = partition_of_statistics(key)) {
      --rows_left;
      OCTAVO_TRY_VOID(move_partition(transaction, logical_trees, *partition, rows_left));
      // The logical partition may have a record in `logical` besides.
      OCTAVO_TRY_VOID(long_key::erase(transaction, logical_trees.partitions, key));
    } else if (is_partition_unique_key(key)) {
      --rows_left;
      OCTAVO_TRY_VOID(move_unique(transaction, logical_trees, key, value));
    } else if (key.size() > sizeof(Sequence)) {
      const std::string_view prefix = std::string_view(key).substr(0, key.size() - sizeof(Sequence));
      OCTAVO_TRY_VOID(move_sequences(transaction, logical_trees, prefix, rows_left));
    } else {
      return damaged_partition();
    }
  }
  return true;
}

}  // namespace octavo::storage::format_upgrade
