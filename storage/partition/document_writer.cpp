#include "storage/partition/document_writer.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "storage/document/expiry_schedule.h"
#include "storage/lmdb/long_key_tree.h"
#include "storage/logs/purge_log.h"
#include "storage/logs/version_log.h"
#include "storage/upgrade/format_upgrade.h"

namespace octavo::storage {
namespace {

/// Formats as "20 GiB", in the largest unit that divides `bytes`.
std::string size_text(std::uint64_t bytes) {
  constexpr std::array<std::pair<int, std::string_view>, 4> units{
      {{40, " TiB"}, {30, " GiB"}, {20, " MiB"}, {10, " KiB"}}};
  for (const auto& [shift, unit] : units) {
    if (bytes != 0 && bytes % (std::uint64_t{1} << shift) == 0)
      return std::to_string(bytes >> shift) + std::string(unit);
  }
  return std::to_string(bytes) + " bytes";
}

}  // namespace

Expected<void> DocumentWriter::begin() {
  OCTAVO_ASSERT(partitions_.empty());
  OCTAVO_TRY(const auto record, transaction_.get(tree(PartitionTree::meta), counters_key));
  if (record) {
    OCTAVO_TRY(counters_, decode_counters(*record));
  } else {
    OCTAVO_TRY_VOID(format_upgrade::mark(transaction_, environment_.trees));
  }
  if (environment_.observer != nullptr) {
    // The same for the whole group: what changes the observer's indexes has a transaction of its own.
    OCTAVO_TRY(is_observed_, environment_.observer->reads_changes(transaction_, tree(PartitionTree::index)));
  }
  reads_bodies_ = is_observed_ || environment_.unique_keys != nullptr || environment_.expiry.rule() != nullptr ||
                  environment_.keeps_versions;
  OCTAVO_TRY_VOID(purge_log::begin_group(transaction_, tree(PartitionTree::meta), counters_));
  if (const TimeToLive* rule = environment_.expiry.rule()) {
    OCTAVO_TRY_VOID(
        ExpirySchedule::begin_group(transaction_, tree(PartitionTree::meta), *rule, counters_.last_sequence));
  }
  if (!environment_.keeps_versions) return {};
  return VersionLog::begin_group(transaction_, tree(PartitionTree::meta), counters_.last_sequence);
}

Expected<DocumentWriter::Before> DocumentWriter::load(std::string_view id) {
  Before before;
  OCTAVO_TRY(const auto row, find_document_row(transaction_, environment_.trees, id));
  if (!row) return before;
  OCTAVO_TRY(before.document, decode_document(id, row->record));
  before.exists = true;
  before.row = FormerRow{row->tree, row->record.size()};
  old_body_.assign(before.document.body);
  before.document.body = old_body_.view();
  old_ancestry_.assign(before.document.ancestry);
  before.document.ancestry = old_ancestry_;
  before.live = !before.document.deleted;
  if (before.live && environment_.expiry.rule() != nullptr) {
    OCTAVO_TRY(const std::string_view json, open_body(before));
    before.live = !environment_.expiry.applies_to(DocumentView{before.document, json});
  }
  return before;
}

Expected<std::string_view> DocumentWriter::open_body(Before& before) {
  if (!before.json) {
    OCTAVO_TRY(before.json, before.document.body.open(old_json_));
  }
  return *before.json;
}

Expected<std::string_view> DocumentWriter::open_body(const NewBody& body) {
  if (body.json) return *body.json;
  return body.stored.open(new_json_);
}

Expected<DocumentWriter::NewBody> DocumentWriter::body_of(const DocumentWrite& write) {
  NewBody body{StoredBody::of_json(write.body), write.body, write.deleted ? 0 : write.owner};
  if (write.packed) {
    if (write.packed->empty()) return body;
    OCTAVO_TRY(body.stored, StoredBody::of_packed(*write.packed));
    return body;
  }
  // Mostly an edit that a task makes on this thread. All other writes wait meanwhile: some 10 us for a body of 2 KB.
  if (environment_.compression == config::Compression::none || !may_pack(write.body)) return body;
  packed_ = pack_body(write.body);
  if (packed_.empty()) return body;
  OCTAVO_TRY(body.stored, StoredBody::of_packed(packed_));
  return body;
}

Expected<logical_rows::Partition*> DocumentWriter::logical_partition(std::string_view partition_key) {
  OCTAVO_ASSERT(!partition_key.empty());
  if (last_partition_ != partitions_.end() && last_partition_->first == partition_key) return &last_partition_->second;
  auto known = partitions_.find(partition_key);
  if (known == partitions_.end()) {
    OCTAVO_TRY(auto partition, logical_rows::load(transaction_, logical_trees(), partition_key));
    known = partitions_.emplace(std::string(partition_key), std::move(partition)).first;
  }
  if (former_partitions_ && !former_partitions_->contains(partition_key)) former_partitions_->insert(*known);
  last_partition_ = known;
  return &known->second;
}

Expected<Sequence> DocumentWriter::last_change(std::string_view partition_key) const {
  const auto known = partitions_.find(partition_key);
  if (known == partitions_.end()) return logical_rows::last_change(transaction_, logical_trees(), partition_key);
  return logical_rows::last_change(transaction_, logical_trees(), partition_key, known->second);
}

Expected<Refusal> DocumentWriter::check_quota(std::string_view partition_key, std::size_t body_bytes,
                                              const Before& before) {
  if (partition_key.empty()) return std::nullopt;
  OCTAVO_TRY(const logical_rows::Partition* partition, logical_partition(partition_key));
  const std::uint64_t stored_bytes = partition->record.statistics.external_bytes;
  const std::uint64_t old_bytes = before.exists ? before.document.body.size() : 0;
  if (body_bytes > old_bytes && stored_bytes + body_bytes - old_bytes > environment_.logical_partition_bytes_max) {
    return Refusal(Error{ErrorCode::partition_full,
                         "Partition key reached maximum size of " +
                             size_text(environment_.logical_partition_bytes_max) +
                             " (database.logical_partition_bytes_max): delete documents or use another partition key.",
                         {}});
  }
  return std::nullopt;
}

Expected<std::optional<DocumentView>> DocumentWriter::find(std::string_view id) {
  OCTAVO_TRY(const auto record, find_record(id));
  if (!record) return std::nullopt;
  OCTAVO_TRY(const DocumentView document, open_document(*record, found_json_));
  return document;
}

Expected<std::optional<DocumentRecord>> DocumentWriter::find_record(std::string_view id) {
  OCTAVO_TRY(const auto row, find_document_row(transaction_, environment_.trees, id));
  if (!row) return std::nullopt;
  OCTAVO_TRY(const DocumentRecord stored, decode_document(id, row->record));
  OCTAVO_TRY(const DocumentRecord document, environment_.expiry.seen(stored, found_json_));
  return document;
}

Expected<void> DocumentWriter::all_or_nothing(FunctionRef<Expected<bool>()> body) {
  OCTAVO_ASSERT(!former_partitions_);
  const PartitionCounters counters = counters_;
  const bool design_documents_changed = design_documents_changed_;
  const std::size_t replaced = replaced_.entries();
  former_partitions_.emplace();
  last_partition_ = partitions_.end();
  bool kept = false;
  OCTAVO_TRY_VOID(transaction_.nested([&]() -> Expected<bool> {
    OCTAVO_TRY(kept, body());
    return kept;
  }));
  const PartitionsByKey former = *std::exchange(former_partitions_, std::nullopt);
  if (kept) return {};
  // Sequences that were allocated are not used again, not even after a restart.
  const Sequence last = counters_.last_sequence;
  counters_ = counters;
  counters_.last_sequence = last;
  replaced_.cut(replaced);
  for (const auto& [partition_key, partition] : former) partitions_[partition_key] = partition;
  design_documents_changed_ = design_documents_changed;
  return {};
}

// Refuses if another document of the logical partition has one of the unique values.
Expected<Refusal> DocumentWriter::check_unique(std::string_view id, std::string_view partition_key,
                                               std::string_view json) {
  if (environment_.unique_keys == nullptr || partition_key.empty()) return std::nullopt;
  for (const std::string& digest : environment_.unique_keys->digests(json)) {
    OCTAVO_TRY(const auto owner, logical_rows::unique_owner(transaction_, logical_trees(), partition_key, digest));
    if (!owner || *owner == id) continue;
    const std::string owner_id(*owner);
    OCTAVO_TRY(const auto document, find_record(owner_id));
    if (document && !document->deleted) {
      return Refusal(Error{ErrorCode::unique_key_violated, "Unique index constraint violation.", {}});
    }
  }
  return std::nullopt;
}

Expected<void> DocumentWriter::move_unique(const DocumentChange& change, bool expired) {
  if (environment_.unique_keys == nullptr || change.partition_key.empty()) return {};
  const logical_rows::Trees trees = logical_trees();
  std::vector<std::string> before;
  std::vector<std::string> after;
  if (change.before) before = environment_.unique_keys->digests(*change.before);
  if (change.after) after = environment_.unique_keys->digests(*change.after);
  for (const std::string& digest : before) {
    if (std::ranges::find(after, digest) != after.end()) continue;
    OCTAVO_TRY_VOID(logical_rows::release_unique(transaction_, trees, change.partition_key, digest, change.id));
  }
  for (const std::string& digest : after) {
    if (!expired && std::ranges::find(before, digest) != before.end()) continue;
    OCTAVO_TRY_VOID(logical_rows::take_unique(transaction_, trees, change.partition_key, digest, change.id));
  }
  return {};
}

Expected<void> DocumentWriter::put_leaf(std::string_view id, const Revision& revision, const StoredBody& body) {
  record_.clear();
  body.encode(record_);
  return long_key::put(transaction_, tree(PartitionTree::leaves), leaf_key(id, revision), record_);
}

Expected<DocumentWriter::NewBody> DocumentWriter::place_leaf_bodies(std::string_view id, const Before& before,
                                                                    const RevisionTree& after, const Revision& winner,
                                                                    const std::optional<Revision>& new_revision,
                                                                    const NewBody& new_body) {
  const Tree leaves = tree(PartitionTree::leaves);
  NewBody winner_body;
  if (new_revision && winner == *new_revision) {
    winner_body = new_body;
  } else if (before.exists && winner == before.document.revision) {
    winner_body = {before.document.body, before.json, before.document.owner};
  } else {
    OCTAVO_TRY(const auto stored, long_key::get(transaction_, leaves, leaf_key(id, winner)));
    if (!stored) return fail(ErrorCode::corrupted, "A conflicting revision of " + std::string(id) + " is missing.");
    OCTAVO_TRY(const StoredBody body, StoredBody::decode(*stored));
    promoted_body_.assign(body);
    winner_body = {promoted_body_.view(), std::nullopt, 0};
  }
  if (before.exists && before.document.has_conflicts) {
    // Rows of leaves that are no longer leaves, or that are now stored in the document's own row.
    OCTAVO_ASSERT(before.tree.has_value());
    for (const RevisionTree::Node* leaf : before.tree->leaves()) {
      if (leaf->revision == before.document.revision) continue;
      if (leaf->revision == winner || !after.is_leaf(leaf->revision)) {
        OCTAVO_TRY_VOID(long_key::erase(transaction_, leaves, leaf_key(id, leaf->revision)));
      }
    }
  }
  if (new_revision && winner != *new_revision) {
    OCTAVO_TRY_VOID(put_leaf(id, *new_revision, new_body.stored));
  }
  if (before.exists && winner != before.document.revision && after.is_leaf(before.document.revision)) {
    OCTAVO_TRY_VOID(put_leaf(id, before.document.revision, before.document.body));
  }
  return winner_body;
}

Expected<void> DocumentWriter::move_in_feed(std::string_view partition_key, const Before& before, const FeedRow* row) {
  std::string key;
  logical_rows::Partition* partition = nullptr;
  if (!partition_key.empty()) {
    OCTAVO_TRY(partition, logical_partition(partition_key));
  }
  if (before.exists) {
    append_key_u64(key, before.document.sequence);
    OCTAVO_TRY_VOID(transaction_.erase(tree(PartitionTree::feed), key));
    if (partition != nullptr) {
      OCTAVO_TRY_VOID(
          logical_rows::remove(transaction_, logical_trees(), partition_key, *partition, before.document.sequence));
    }
  }
  if (row == nullptr) return {};
  key.clear();
  append_key_u64(key, row->sequence);
  record_.clear();
  encode_feed_row(record_, *row);
  OCTAVO_TRY_VOID(transaction_.append(tree(PartitionTree::feed), key, record_));
  if (partition == nullptr) return {};
  return logical_rows::add(transaction_, logical_trees(), partition_key, *partition, row->sequence);
}

Expected<void> DocumentWriter::count(std::string_view id, std::string_view partition_key, const Before& before,
                                     const DocumentRecord* after) {
  const auto adjust = [&](DocumentStatistics& statistics) {
    if (before.exists) {
      --(before.document.deleted ? statistics.deleted_count : statistics.document_count);
      statistics.external_bytes -=
          std::min<std::uint64_t>(statistics.external_bytes, id.size() + before.document.body.size());
    }
    if (after != nullptr) {
      ++(after->deleted ? statistics.deleted_count : statistics.document_count);
      statistics.external_bytes += id.size() + after->body.size();
    }
  };
  adjust(counters_.documents);
  if (!partition_key.empty()) {
    OCTAVO_TRY(logical_rows::Partition * partition, logical_partition(partition_key));
    adjust(partition->record.statistics);
  }
  return {};
}

Expected<void> DocumentWriter::remove_all(std::string_view id, const Before& before) {
  OCTAVO_ASSERT(before.row);
  OCTAVO_TRY_VOID(rows_.erase(id, *before.row));
  OCTAVO_TRY_VOID(history::remove(transaction_, history_trees(), before.document));
  if (!before.document.has_conflicts) return {};
  OCTAVO_ASSERT(before.tree.has_value());
  for (const RevisionTree::Node* leaf : before.tree->leaves()) {
    if (leaf->revision == before.document.revision) continue;
    OCTAVO_TRY_VOID(long_key::erase(transaction_, tree(PartitionTree::leaves), leaf_key(id, leaf->revision)));
  }
  return {};
}

Expected<void> DocumentWriter::schedule_expiration(const Before& before, const DocumentView* after) {
  const TimeToLive* rule = environment_.expiry.rule();
  if (rule == nullptr) return {};
  std::optional<DocumentView> former;
  if (before.exists) {
    OCTAVO_ASSERT(before.json.has_value());
    former = DocumentView{before.document, *before.json};
  }
  return ExpirySchedule::move(transaction_, tree(PartitionTree::meta), *rule, former ? &*former : nullptr, after);
}

Sequence DocumentWriter::next_sequence() {
  const Sequence sequence = environment_.sequences.next(environment_.partition_id);
  counters_.last_sequence = std::max(counters_.last_sequence, sequence);
  return sequence;
}

Expected<Sequence> DocumentWriter::store(std::string_view id, std::string_view partition_key, Before& before,
                                         const RevisionTree& after, std::span<const Revision> growth,
                                         const std::optional<Revision>& new_revision, const NewBody& new_body) {
  OCTAVO_ASSERT(partition_key.empty() || in_logical_partition(id, partition_key));
  OCTAVO_ASSERT(before.exists || !before.live);
  const RevisionTree::Node* winner = after.winner();
  OCTAVO_ASSERT((winner == nullptr) == after.empty());
  // An expired document that is written again before it was deleted gets two versions: its expiry, and the new one.
  const bool expired = before.exists && !before.document.deleted && !before.live;
  const bool two = environment_.keeps_versions && expired && winner != nullptr && !winner->deleted;
  const Sequence expired_at = two ? next_sequence() : 0;
  const Sequence sequence = next_sequence();
  OCTAVO_ASSERT(sequence > expired_at);
  std::optional<DocumentView> stored;  // if bodies are read
  if (is_design_id(id)) design_documents_changed_ = true;

  DocumentChange change;
  change.id = id;
  change.partition_key = partition_key;
  if (before.exists && reads_bodies_) OCTAVO_TRY_VOID(open_body(before));
  if (before.exists && reads_bodies_ && !before.document.deleted) {
    change.before = before.json;
    change.before_revision = before.document.revision;
  }

  if (winner == nullptr) {
    OCTAVO_TRY_VOID(remove_all(id, before));
    OCTAVO_TRY_VOID(move_in_feed(partition_key, before, nullptr));
    OCTAVO_TRY_VOID(count(id, partition_key, before, nullptr));
  } else {
    OCTAVO_TRY(const NewBody body, place_leaf_bodies(id, before, after, winner->revision, new_revision, new_body));
    DocumentRecord document;
    document.id = id;
    document.revision = winner->revision;
    document.sequence = sequence;
    document.modified_s = environment_.now_s;
    document.deleted = winner->deleted;
    document.has_conflicts =
        std::count_if(after.nodes().begin(), after.nodes().end(), [](const auto& node) { return node.leaf; }) > 1;
    OCTAVO_TRY_VOID(store_history(id, before, after, growth));
    document.ancestry = ancestry_;
    document.body = body.stored;
    document.owner = body.owner;
    record_.clear();
    encode_document(record_, document);
    OCTAVO_TRY_VOID(rows_.put(id, record_, document.deleted, before.row));
    const FeedRow row{sequence, id, winner->revision, winner->deleted, document.has_conflicts};
    OCTAVO_TRY_VOID(move_in_feed(partition_key, before, &row));
    OCTAVO_TRY_VOID(count(id, partition_key, before, &document));
    keep_replaced(before, after, sequence);
    if (reads_bodies_) {
      OCTAVO_TRY(const std::string_view json, open_body(body));
      stored = DocumentView{document, json};
      if (!document.deleted) {
        change.after = json;
        change.after_revision = document.revision;
      }
    }
  }
  OCTAVO_TRY_VOID(schedule_expiration(before, stored ? &*stored : nullptr));
  if (environment_.keeps_versions) OCTAVO_TRY_VOID(log_versions(id, before, stored, sequence, expired_at));
  const std::uint64_t writes_before = transaction_.writes();
  OCTAVO_TRY_VOID(move_unique(change, expired));
  index_rows_ = static_cast<std::uint32_t>(transaction_.writes() - writes_before);
  if (is_observed_ && (change.before || change.after)) {
    if (!partition_key.empty()) {
      OCTAVO_TRY(const logical_rows::Partition* partition, logical_partition(partition_key));
      change.partition_documents = partition->record.statistics.document_count;
    }
    OCTAVO_TRY(const std::uint32_t rows,
               environment_.observer->document_changed(transaction_, tree(PartitionTree::index), change));
    index_rows_ += rows;
  }
  return sequence;
}

Expected<std::uint64_t> DocumentWriter::apply_local(const LocalDocumentWrite& write) {
  const Tree local = tree(PartitionTree::local);
  if (write.deleted) {
    OCTAVO_TRY_VOID(long_key::erase(transaction_, local, write.id));
    return std::uint64_t{0};
  }
  const std::uint64_t edit = write.base_edit;
  record_.clear();
  ByteWriter writer(record_);
  writer.u64(edit + 1);
  writer.bytes(write.body);
  OCTAVO_TRY_VOID(long_key::put(transaction_, local, write.id, record_));
  return edit + 1;
}

Expected<void> DocumentWriter::finish() {
  std::size_t former_rows_left = logical_rows::former_rows_per_group;
  for (auto& [partition_key, partition] : partitions_) {
    OCTAVO_TRY_VOID(logical_rows::store(transaction_, logical_trees(), partition_key, partition, former_rows_left));
    if (environment_.large_partitions == nullptr) continue;
    environment_.large_partitions->note(partition_key, partition.record.statistics.external_bytes);
  }
  OCTAVO_TRY_VOID(replaced_.finish(environment_.replaced, environment_.now_s, counters_.documents.external_bytes));
  if (environment_.expiry.rule() != nullptr) {
    OCTAVO_TRY_VOID(ExpirySchedule::end_group(transaction_, tree(PartitionTree::meta), counters_.last_sequence));
  }
  if (environment_.keeps_versions) {
    OCTAVO_TRY_VOID(VersionLog::end_group(transaction_, tree(PartitionTree::meta), counters_.last_sequence));
  }
  record_.clear();
  encode_counters(record_, counters_);
  return transaction_.put(tree(PartitionTree::meta), counters_key, record_);
}

}  // namespace octavo::storage
