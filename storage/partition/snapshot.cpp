#include "storage/partition/snapshot.h"

#include "base/byte_codec.h"
#include "base/read_failure.h"
#include "storage/document/document_rows.h"
#include "storage/document/expiry_schedule.h"
#include "storage/document/history.h"
#include "storage/logs/purge_log.h"
#include "storage/logs/replaced_log.h"

namespace octavo::storage {
namespace {

Tree tree_of(const Store& store, PartitionTree tree) {
  return store.tree(static_cast<std::size_t>(tree));
}

history::Trees history_trees_of(const Store& store) {
  return {tree_of(store, PartitionTree::histories), tree_of(store, PartitionTree::revisions)};
}

logical_rows::Trees logical_trees_of(const Store& store) {
  return {tree_of(store, PartitionTree::logical), tree_of(store, PartitionTree::feed),
          tree_of(store, PartitionTree::partitions)};
}

std::optional<FeedRow> to_feed_row(const std::optional<KeyValue>& row) {
  if (!row) return std::nullopt;
  const auto decoded = decode_feed_row(row->key, row->value);
  return decoded ? std::optional<FeedRow>(*decoded) : std::nullopt;
}

std::optional<LocalDocumentView> to_local(const std::optional<KeyValue>& row) {
  if (!row) return std::nullopt;
  ByteReader reader(row->value);
  const std::uint64_t edit = reader.u64();
  if (!reader.ok()) return std::nullopt;
  return LocalDocumentView{row->key, edit, reader.rest()};
}

}  // namespace

Expected<std::string_view> Snapshot::open_body(const StoredBody& body) const {
  if (!body.is_packed()) return body.bytes();
  return body.open(bodies_.emplace_back());
}

Expected<DocumentView> Snapshot::open(const DocumentRecord& record) const {
  OCTAVO_TRY(const std::string_view body, open_body(record.body));
  return DocumentView{record, body};
}

Expected<std::optional<DocumentView>> Snapshot::find(std::string_view id) const {
  OCTAVO_TRY(const auto record, find_record(id));
  if (!record) return std::nullopt;
  OCTAVO_TRY(const DocumentView document, open(*record));
  return document;
}

Expected<std::optional<DocumentRecord>> Snapshot::find_record(std::string_view id) const {
  OCTAVO_TRY(const auto record, find_stored_record(id));
  if (!record || expiry_.rule() == nullptr) return record;
  OCTAVO_TRY(const DocumentRecord seen, expiry_.seen(*record, bodies_.emplace_back()));
  return seen;
}

Expected<std::optional<DocumentRecord>> Snapshot::find_stored_record(std::string_view id) const {
  OCTAVO_TRY(const auto row, find_document_row(transaction_, *store_, id));
  if (!row) return std::nullopt;
  OCTAVO_TRY(const DocumentRecord record, decode_document(id, row->record));
  return record;
}

Expected<RevisionTree> Snapshot::revision_tree(const DocumentHead& document) const {
  return history::read(transaction_, history_trees_of(*store_), document);
}

Expected<RevisionTree> Snapshot::revision_branches(const DocumentHead& document) const {
  return history::read_branches(transaction_, history_trees_of(*store_), document);
}

Expected<std::optional<std::string_view>> Snapshot::leaf_body(const DocumentView& document,
                                                              const Revision& revision) const {
  if (revision == document.revision) return document.body;
  if (!document.has_conflicts) return std::nullopt;
  OCTAVO_TRY(const auto row,
             long_key::get(transaction_, tree_of(*store_, PartitionTree::leaves), leaf_key(document.id, revision)));
  if (!row) return std::nullopt;
  OCTAVO_TRY(const StoredBody stored, StoredBody::decode(*row));
  OCTAVO_TRY(const std::string_view body, open_body(stored));
  return body;
}

Expected<std::optional<std::string_view>> Snapshot::body_of(const DocumentView& document,
                                                            const RevisionTree::Node& node) const {
  if (node.leaf) return leaf_body(document, node.revision);
  OCTAVO_TRY(const auto stored,
             replaced_log::find(transaction_, tree_of(*store_, PartitionTree::replaced), document, node.revision));
  if (!stored) return std::nullopt;
  OCTAVO_TRY(const std::string_view body, open_body(*stored));
  return body;
}

Expected<std::vector<Revision>> Snapshot::replaced_revisions(const DocumentHead& document) const {
  return replaced_log::revisions_of(transaction_, tree_of(*store_, PartitionTree::replaced), document);
}

Expected<std::optional<LocalDocumentView>> Snapshot::find_local(std::string_view id) const {
  OCTAVO_TRY(const auto record, long_key::get(transaction_, tree_of(*store_, PartitionTree::local), id));
  if (!record) return std::nullopt;
  return to_local(KeyValue{id, *record});
}

Snapshot::RecordCursor Snapshot::records() const {
  return {LongKeyCursor(transaction_, tree_of(*store_, PartitionTree::documents)), expiry_};
}

Snapshot::RecordCursor Snapshot::stored_records() const {
  return {LongKeyCursor(transaction_, tree_of(*store_, PartitionTree::documents)), {}};
}

Expected<Snapshot::Expired> Snapshot::expired_documents(std::size_t rows_max) const {
  Expired expired;
  if (expiry_.rule() == nullptr) return expired;
  const ExpirySchedule schedule(transaction_, tree_of(*store_, PartitionTree::meta));
  OCTAVO_TRY(const Sequence last, last_sequence());
  OCTAVO_TRY(expired.whole, schedule.is_whole(*expiry_.rule(), last));
  if (!expired.whole) return expired;
  auto cursor = schedule.rows();
  BodyBuffer buffer;
  for (auto row = cursor.first(); row && expired.documents.size() < rows_max; row = cursor.next()) {
    if (row->expiration_s > expiry_.now_s()) {
      expired.next_expiration_s = row->expiration_s;
      break;
    }
    OCTAVO_TRY(const auto record, long_key::get(transaction_, tree_of(*store_, PartitionTree::documents), row->id));
    if (!record) continue;
    OCTAVO_TRY(const DocumentRecord stored, decode_document(row->id, *record));
    if (stored.sequence != row->sequence) continue;
    const auto document = open_document(stored, buffer);
    // A damaged document never expires; `octavo check` reports it.
    if (document && expiry_.applies_to(*document)) {
      expired.documents.push_back({std::string(row->id), stored.revision, row->expiration_s});
    }
  }
  return expired;
}

std::optional<DocumentRecord> Snapshot::RecordCursor::seen(const std::optional<KeyValue>& row) {
  if (!row) return std::nullopt;
  const auto record = decode_document(row->key, row->value);
  // A damaged row ends a walk, as the end does; `octavo check` reports it.
  if (!record) return std::nullopt;
  auto document = expiry_.seen(*record, body_);
  if (!document) throw ReadFailure(std::move(document).error());
  return *document;
}
Expected<std::optional<DocumentRecord>> Snapshot::RecordCursor::find(std::string_view id) {
  const auto row = cursor_.seek(id);
  if (!row || row->key != id) return std::nullopt;
  OCTAVO_TRY(const DocumentRecord record, decode_document(row->key, row->value));
  OCTAVO_TRY(const DocumentRecord document, expiry_.seen(record, body_));
  return document;
}
std::optional<DocumentRecord> Snapshot::RecordCursor::seek(std::string_view id) {
  return seen(cursor_.seek(id));
}
std::optional<DocumentRecord> Snapshot::RecordCursor::seek_back(std::string_view id) {
  return seen(cursor_.seek_back(id));
}
std::optional<DocumentRecord> Snapshot::RecordCursor::last() {
  return seen(cursor_.last());
}
std::optional<DocumentRecord> Snapshot::RecordCursor::next() {
  return seen(cursor_.next());
}
std::optional<DocumentRecord> Snapshot::RecordCursor::previous() {
  return seen(cursor_.previous());
}

Expected<std::optional<DocumentView>> Snapshot::DocumentCursor::find(std::string_view id) {
  OCTAVO_TRY(const auto record, records_.find(id));
  if (!record) return std::nullopt;
  OCTAVO_TRY(const DocumentView document, open_document(*record, body_));
  return document;
}
std::optional<DocumentView> Snapshot::DocumentCursor::opened(const std::optional<DocumentRecord>& record) {
  if (!record) return std::nullopt;
  auto document = open_document(*record, body_);
  // Not as the end: the walk would look complete, and a client can ask for the other documents.
  if (!document) throw ReadFailure(std::move(document).error());
  return *document;
}

Snapshot::LocalDocumentCursor Snapshot::local_documents() const {
  return LocalDocumentCursor(LongKeyCursor(transaction_, tree_of(*store_, PartitionTree::local)));
}
std::optional<LocalDocumentView> Snapshot::LocalDocumentCursor::seek(std::string_view id) {
  return to_local(cursor_.seek(id));
}
std::optional<LocalDocumentView> Snapshot::LocalDocumentCursor::next() {
  return to_local(cursor_.next());
}

std::optional<FeedRow> Snapshot::FeedCursor::accept(std::optional<Sequence> sequence, bool forward) {
  for (; sequence; sequence = forward ? sequences_->next() : sequences_->previous()) {
    std::string key;
    append_key_u64(key, *sequence);
    const auto row = rows_.seek(key);
    if (!row || row->key != key) continue;
    const auto decoded = decode_feed_row(row->key, row->value);
    // Format 1 may name a change of another logical partition.
    if (decoded && in_logical_partition(decoded->id, partition_key_)) return *decoded;
  }
  return std::nullopt;
}

std::optional<FeedRow> Snapshot::FeedCursor::seek(Sequence at_least) {
  if (sequences_) return accept(sequences_->seek(at_least), true);
  std::string key;
  append_key_u64(key, at_least);
  return to_feed_row(rows_.seek(key));
}
std::optional<FeedRow> Snapshot::FeedCursor::seek_back(Sequence at_most) {
  if (sequences_) return accept(sequences_->seek_back(at_most), false);
  std::string key;
  append_key_u64(key, at_most);
  return to_feed_row(rows_.seek_back(key));
}
std::optional<FeedRow> Snapshot::FeedCursor::next() {
  return sequences_ ? accept(sequences_->next(), true) : to_feed_row(rows_.next());
}
std::optional<FeedRow> Snapshot::FeedCursor::previous() {
  return sequences_ ? accept(sequences_->previous(), false) : to_feed_row(rows_.previous());
}

Snapshot::FeedCursor Snapshot::feed() const {
  return FeedCursor(Cursor(transaction_, tree_of(*store_, PartitionTree::feed)));
}
Snapshot::FeedCursor Snapshot::feed_of(std::string_view partition_key) const {
  if (partition_key.empty()) return feed();
  return {Cursor(transaction_, tree_of(*store_, PartitionTree::feed)),
          logical_rows::Feed(transaction_, logical_trees_of(*store_), partition_key), partition_key};
}

Expected<Sequence> Snapshot::last_change(std::string_view partition_key) const {
  return logical_rows::last_change(transaction_, logical_trees_of(*store_), partition_key);
}

Expected<std::optional<std::string>> Snapshot::unique_owner(std::string_view partition_key,
                                                            std::string_view digest) const {
  OCTAVO_TRY(const auto owner,
             logical_rows::unique_owner(transaction_, logical_trees_of(*store_), partition_key, digest));
  if (!owner) return std::nullopt;
  OCTAVO_TRY(const auto document, find_record(*owner));
  if (!document || document->deleted) return std::nullopt;
  return std::string(*owner);
}

Expected<PartitionCounters> Snapshot::counters() const {
  OCTAVO_TRY(const auto record, transaction_.get(tree_of(*store_, PartitionTree::meta), counters_key));
  if (!record) return PartitionCounters{};
  return decode_counters(*record);
}

Expected<DocumentStatistics> Snapshot::statistics() const {
  OCTAVO_TRY(const PartitionCounters known, counters());
  return known.documents;
}

Expected<DocumentStatistics> Snapshot::statistics_of(std::string_view partition_key) const {
  return logical_rows::statistics(transaction_, logical_trees_of(*store_), partition_key);
}

Expected<void> Snapshot::for_each_partition(
    FunctionRef<void(std::string_view partition_key, const DocumentStatistics&)> visit) const {
  return logical_rows::for_each(transaction_, logical_trees_of(*store_), visit);
}

Expected<Sequence> Snapshot::last_sequence() const {
  OCTAVO_TRY(const PartitionCounters known, counters());
  return known.last_sequence;
}

VersionLog Snapshot::versions() const {
  return {transaction_, tree_of(*store_, PartitionTree::meta)};
}

Expected<Sequence> Snapshot::versions_since() const {
  OCTAVO_TRY(const Sequence last, last_sequence());
  return versions().complete_since(last);
}

Expected<std::uint64_t> Snapshot::purge_count() const {
  OCTAVO_TRY(const PartitionCounters known, counters());
  return known.purge_count;
}

Expected<std::optional<std::vector<std::string>>> Snapshot::purged_after(Sequence sequence) const {
  OCTAVO_TRY(const PartitionCounters known, counters());
  const Tree meta = tree_of(*store_, PartitionTree::meta);
  OCTAVO_TRY(const Sequence since, purge_log::complete_since(transaction_, meta, known));
  if (since > sequence) return std::nullopt;
  std::vector<std::string> ids;
  purge_log::append_purged(transaction_, meta, sequence, ids);
  return ids;
}

std::optional<RowsEstimate> Snapshot::documents_estimate(std::string_view low, std::optional<std::string_view> high,
                                                         Closeness closeness) const {
  return transaction_.rows_estimate(tree_of(*store_, PartitionTree::documents), low, high, closeness);
}

std::optional<RowsEstimate> Snapshot::index_entries_estimate(std::string_view low, std::optional<std::string_view> high,
                                                             Closeness closeness) const {
  return transaction_.rows_estimate(tree_of(*store_, PartitionTree::index), low, high, closeness);
}

LongKeyCursor Snapshot::index_entries() const {
  return LongKeyCursor(transaction_, tree_of(*store_, PartitionTree::index));
}

Expected<std::optional<std::string_view>> Snapshot::index_entry(std::string_view key) const {
  return long_key::get(transaction_, tree_of(*store_, PartitionTree::index), key);
}

}  // namespace octavo::storage
