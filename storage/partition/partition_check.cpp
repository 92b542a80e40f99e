#include "storage/partition/partition_check.h"

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/byte_codec.h"
#include "storage/document/document_record.h"
#include "storage/document/document_rows.h"
#include "storage/document/expiry_schedule.h"
#include "storage/document/history.h"
#include "storage/document/logical_rows.h"
#include "storage/lmdb/long_key_tree.h"
#include "storage/logs/replaced_log.h"
#include "storage/logs/version_log.h"
#include "storage/partition/snapshot.h"
#include "storage/upgrade/format_upgrade.h"

namespace octavo::storage {
namespace {

/// Checks one snapshot once.
class PartitionChecker {
 public:
  PartitionChecker(const PhysicalPartition& partition, const Snapshot& snapshot, bool partitioned,
                   const TimeToLive* time_to_live)
      : partition_(partition),
        snapshot_(snapshot),
        transaction_(snapshot.transaction()),
        partitioned_(partitioned),
        time_to_live_(time_to_live) {}

  CheckReport run() {
    check_space();
    check_documents(PartitionTree::documents, "documents");
    check_documents(PartitionTree::tombstones, "tombstones");
    check_feed();
    check_logical_partitions();
    check_strays(PartitionTree::revisions, "revisions", tree_rows_seen_);
    check_strays(PartitionTree::histories, "histories", history_rows_seen_);
    check_strays(PartitionTree::leaves, "leaves", leaves_seen_);
    check_versions();
    check_replaced();
    check_expirations();
    check_long_keys();
    check_counters();
    check_format();
    return std::move(report_);
  }

 private:
  Tree tree(PartitionTree name) const { return partition_.store().tree(static_cast<std::size_t>(name)); }

  // nullopt: there is none, or its record is damaged.
  std::optional<DocumentRecord> record_of(std::string_view id) const {
    const auto row = find_document_row(transaction_, partition_.store(), id);
    if (!row || !*row) return std::nullopt;
    const auto document = decode_document(id, (*row)->record);
    return document ? std::optional(*document) : std::nullopt;
  }

  void check_space() {
    if (auto lost = partition_.store().lost_space(transaction_)) report_.add(*std::move(lost));
  }

  void check_documents(PartitionTree name, std::string_view label) {
    LongKeyCursor cursor(transaction_, tree(name));
    for (auto row = cursor.seek(""); row; row = cursor.next()) {
      const std::string id(row->key);
      const auto document = decode_document(id, row->value);
      if (!document) {
        report_.add(fmt::format("{} '{}': {}", label, id, document.error().reason));
        continue;
      }
      if (name == PartitionTree::tombstones) check_tombstone(*document);
      const bool misplaced = document->deleted && name == PartitionTree::documents;
      if (misplaced || is_record_of_format_1(row->value)) ++report_.rows_of_format_1;
      check_body(label, id, document->body);
      ++report_.documents;
      count(id, *document);
      check_history(id, *document);
      std::string feed_key;
      append_key_u64(feed_key, document->sequence);
      const auto feed = transaction_.get(tree(PartitionTree::feed), feed_key);
      if (!feed || !*feed) {
        report_.add(fmt::format("{} '{}': no feed row {}", label, id, document->sequence));
      }
      if (document->sequence > highest_sequence_) highest_sequence_ = document->sequence;
    }
  }

  void check_body(std::string_view label, std::string_view id, const StoredBody& body) {
    if (const auto json = body.open(body_); !json) {
      report_.add(fmt::format("{} '{}': {}", label, id, json.error().reason));
    }
  }

  // A row in `documents` may be deleted: format 1 left it there.
  void check_tombstone(const DocumentHead& document) {
    if (!document.deleted) report_.add(fmt::format("tombstones '{}': the document is not deleted", document.id));
    const auto other = long_key::get(transaction_, tree(PartitionTree::documents), document.id);
    if (other && *other) report_.add(fmt::format("tombstones '{}': there is a row in documents, too", document.id));
  }

  void count(std::string_view id, const DocumentRecord& document) {
    const auto add_to = [&](DocumentStatistics& statistics) {
      ++(document.deleted ? statistics.deleted_count : statistics.document_count);
      statistics.external_bytes += id.size() + document.body.size();
    };
    add_to(counted_.documents);
    const std::size_t colon = id.find(':');
    if (partitioned_ && colon != std::string_view::npos && !id.starts_with("_design/")) {
      add_to(counted_partitions_[std::string(id.substr(0, colon))]);
    }
  }

  void check_history(const std::string& id, const DocumentHead& document) {
    const auto stored = snapshot_.revision_tree(document);
    if (!stored) {
      report_.add(fmt::format("histories '{}': {}", id, stored.error().reason));
      return;
    }
    if (document.has_tree_row) ++tree_rows_seen_;
    if (const auto keys = history::keys(document)) history_rows_seen_ += keys->size();
    const RevisionTree::Node* winner = stored->winner();
    if (winner == nullptr || winner->revision != document.revision || winner->deleted != document.deleted) {
      report_.add(fmt::format("histories '{}': the winner is not the document's revision {}", id,
                              document.revision.to_string()));
    }
    const auto leaves = stored->leaves();
    if ((leaves.size() > 1) != document.has_conflicts) {
      report_.add(fmt::format("histories '{}': {} leaves do not fit its conflict mark", id, leaves.size()));
    }
    for (const RevisionTree::Node* leaf : leaves) {
      if (leaf->revision == document.revision) continue;
      const auto row = long_key::get(transaction_, tree(PartitionTree::leaves), leaf_key(id, leaf->revision));
      if (!row || !*row) {
        report_.add(fmt::format("leaves '{}': no body of revision {}", id, leaf->revision.to_string()));
        continue;
      }
      ++leaves_seen_;
      const auto body = StoredBody::decode(**row);
      if (!body) {
        report_.add(fmt::format("leaves '{}': {}", id, body.error().reason));
      } else {
        check_body("leaves", id, *body);
      }
    }
  }

  // The log's newest row of a document must agree with the document.
  void check_versions() {
    Cursor cursor(transaction_, tree(PartitionTree::meta));
    for (auto row = cursor.first(); row; row = cursor.next()) {
      if (!is_version_key(row->key)) continue;
      const auto version = decode_version(row->key, row->value);
      if (!version) {
        report_.add(fmt::format("versions {}: {}", read_key_u64(row->key.substr(1)), version.error().reason));
        continue;
      }
      const auto document = record_of(version->id);
      if (!document || document->sequence > version->sequence) continue;  // purged, or changed since
      if (document->sequence < version->sequence || document->revision != version->revision ||
          document->deleted != version->removes()) {
        report_.add(fmt::format("versions {}: does not agree with document '{}'", version->sequence, version->id));
      }
    }
  }

  void check_replaced() {
    std::uint64_t total = 0;
    Sequence last = 0;
    Cursor cursor(transaction_, tree(PartitionTree::replaced));
    for (auto found = cursor.first(); found; found = cursor.next()) {
      const auto problem = [&](std::string_view text) {
        report_.add(fmt::format("replaced {}: {}", read_key_u64(found->key), text));
      };
      auto row = replaced_log::decode(found->value);
      if (!row || row->entries.empty()) {
        problem("the row is damaged");
        continue;
      }
      if (row->total < total) problem("its sum of bytes is too small");
      total = row->total;
      bool first = true;
      while (!row->entries.empty()) {
        const auto entry = replaced_log::next_entry(row->entries);
        if (!entry || entry->sequence <= last || (first && entry->sequence != read_key_u64(found->key))) {
          problem("an entry is damaged");
          break;
        }
        if (!entry->body.open(body_)) problem("a body is damaged");
        last = entry->sequence;
        first = false;
      }
    }
  }

  // A complete schedule has every document that expires, and no others.
  void check_expirations() {
    const auto last = snapshot_.last_sequence();
    if (time_to_live_ == nullptr || !last) return;
    const ExpirySchedule schedule(transaction_, tree(PartitionTree::meta));
    const auto whole = schedule.is_whole(*time_to_live_, *last);
    if (!whole) report_.add("expirations: " + whole.error().reason);
    if (!whole || !*whole) return;
    std::uint64_t expected = 0;
    LongKeyCursor documents(transaction_, tree(PartitionTree::documents));
    for (auto row = documents.seek(""); row; row = documents.next()) {
      const auto record = decode_document(row->key, row->value);
      if (!record || record->deleted) continue;
      const auto document = open_document(*record, body_);
      if (!document) continue;
      const auto expiration_s = time_to_live_->expires_s(*document);
      if (!expiration_s) continue;
      ++expected;
      const auto known = schedule.has(*expiration_s, *document);
      if (!known || !*known) report_.add(fmt::format("expirations: that of document '{}' is missing", row->key));
    }
    std::uint64_t found = 0;
    auto rows = schedule.rows();
    for (auto row = rows.first(); row; row = rows.next()) ++found;
    if (found != expected) {
      report_.add(fmt::format("expirations: {} rows for {} documents that expire", found, expected));
    }
  }

  void check_feed() {
    const auto counters = snapshot_.counters();
    const Sequence dropped_through = counters ? counters->dropped_through : 0;
    Cursor cursor(transaction_, tree(PartitionTree::feed));
    for (auto row = cursor.first(); row; row = cursor.next()) {
      ++report_.feed_rows;
      const auto change = decode_feed_row(row->key, row->value);
      if (!change) {
        report_.add(fmt::format("feed {}: {}", read_key_u64(row->key), change.error().reason));
        continue;
      }
      if (change->deleted && change->sequence <= dropped_through) {
        report_.add(
            fmt::format("feed {}: a tombstone, though those up to {} were dropped", change->sequence, dropped_through));
      }
      const auto document = record_of(change->id);
      if (!document) {
        report_.add(fmt::format("feed {}: document '{}' does not exist", change->sequence, change->id));
      } else if (document->sequence != change->sequence || document->revision != change->revision ||
                 document->deleted != change->deleted || document->has_conflicts != change->has_conflicts) {
        report_.add(fmt::format("feed {}: does not agree with document '{}'", change->sequence, change->id));
      }
    }
  }

  void check_logical_partitions() {
    check_logical_rows();
    check_former_rows();
    // One record for each logical partition, and one sequence for each of its documents.
    std::uint64_t expected = 0;
    for (const auto& [key, statistics] : counted_partitions_) {
      const std::uint64_t documents = statistics.document_count + statistics.deleted_count;
      expected += documents;
      if (damaged_names_.contains(logical_name(key))) continue;
      std::uint64_t found = 0;
      auto cursor = snapshot_.feed_of(key);
      for (auto row = cursor.seek(1); row; row = cursor.next()) ++found;
      if (found != documents) {
        report_.add(fmt::format("logical '{}': {} rows of its feed for {} documents", key, found, documents));
      }
    }
    if (logical_records_ != counted_partitions_.size()) {
      report_.add(
          fmt::format("logical: {} records for {} logical partitions", logical_records_, counted_partitions_.size()));
    }
    if (logical_sequences_ != expected) {
      report_.add(fmt::format("logical: {} sequences for {} documents", logical_sequences_, expected));
    }
  }

  /// The rows of one logical partition, as far as they were read.
  struct LogicalRows {
    std::string name;
    std::string key;  ///< for people
    bool has_record = false;
    std::optional<Sequence> end;  ///< chunks are below it
    Sequence last = 0;            ///< of the chunks
  };

  void check_logical_rows() {
    LogicalRows rows;
    Cursor cursor(transaction_, tree(PartitionTree::logical));
    for (auto row = cursor.first(); row; row = cursor.next()) {
      const auto row_key = parse_logical_row_key(row->key);
      if (!row_key) {
        report_.add("logical: the key of a row is damaged");
        continue;
      }
      if (row_key->name != rows.name) {
        rows = {};
        rows.name = row_key->name;
        rows.key = rows.name.substr(0, rows.name.size() - 1);
      }
      switch (row_key->kind) {
        case LogicalRowKey::Kind::record:
          check_logical_record(rows, row->value);
          break;
        case LogicalRowKey::Kind::chunk:
          check_feed_chunk(rows, row_key->first, row->value);
          break;
        case LogicalRowKey::Kind::unique_key:
          check_unique_key(row->value);
      }
      const bool other_rows = row_key->kind != LogicalRowKey::Kind::unique_key;
      if (other_rows && !rows.has_record) {
        report_.add(fmt::format("logical '{}': there is no record", rows.key));
      }
    }
  }

  void check_logical_record(LogicalRows& rows, std::string_view value) {
    rows.has_record = true;
    ++logical_records_;
    const auto record = decode_logical_record(rows.name, value);
    const auto key = key_of_logical_record(rows.name, value);
    if (!record || !key || logical_name(*key) != rows.name) {
      damaged_names_.insert(rows.name);
      report_.add(fmt::format("logical '{}': the record is damaged", rows.key));
      return;
    }
    rows.key = *key;
    logical_sequences_ += record->newest.size();
    if (!record->newest.empty()) rows.end = record->newest.front();
    if (record->newest.size() > logical_rows::newest_max) {
      report_.add(fmt::format("logical '{}': {} sequences in the record", rows.key, record->newest.size()));
    }
  }

  void check_feed_chunk(LogicalRows& rows, Sequence first, std::string_view value) {
    const auto chunk = decode_feed_chunk(first, value);
    if (!chunk || chunk->sequences.empty()) {
      damaged_names_.insert(rows.name);
      report_.add(fmt::format("logical '{}': the chunk {} is damaged", rows.key, first));
      return;
    }
    logical_sequences_ += chunk->sequences.size();
    if (chunk->sequences.size() > logical_rows::chunk_max) {
      report_.add(fmt::format("logical '{}': {} sequences in the chunk {}", rows.key, chunk->sequences.size(), first));
    }
    if (first <= rows.last || (rows.end && chunk->sequences.back() >= *rows.end)) {
      report_.add(fmt::format("logical '{}': the chunk {} overlaps another one", rows.key, first));
    }
    rows.last = chunk->sequences.back();
  }

  void check_unique_key(std::string_view id) {
    const auto owner = record_of(id);
    if (!owner || owner->deleted) {
      report_.add(fmt::format("logical: a unique key belongs to '{}', which does not exist", id));
    }
  }

  // Rows that format 1 had instead.
  void check_former_rows() {
    Cursor cursor(transaction_, tree(PartitionTree::partitions));
    for (auto row = cursor.first(); row; row = cursor.next()) {
      ++report_.rows_of_format_1;
      if (is_partition_unique_key(row->key)) {
        check_unique_key(row->value);
      } else {
        ++(partition_of_statistics(row->key) ? logical_records_ : logical_sequences_);
      }
    }
  }

  void check_strays(PartitionTree name, std::string_view label, std::uint64_t expected) {
    const std::uint64_t rows = long_key::count(transaction_, tree(name));
    if (rows != expected)
      report_.add(fmt::format("{}: {} rows, of which {} belong to documents", label, rows, expected));
  }

  void check_long_keys() {
    std::vector<Tree> trees;
    for (std::size_t i = 0; i < partition_tree_count; ++i) {
      if (static_cast<PartitionTree>(i) != PartitionTree::long_keys) trees.push_back(partition_.store().tree(i));
    }
    if (auto problem = long_key::find_damaged_levels(transaction_, trees)) report_.add(*std::move(problem));
    for (const Tree& tree : trees) report_.rows_of_format_1 += long_key::count_old_forms(transaction_, tree);
  }

  void check_format() {
    report_.rows_of_format_1 += tree_rows_seen_;
    const auto is_marked = format_upgrade::is_marked(transaction_, partition_.store());
    if (!is_marked) report_.add("format: " + is_marked.error().reason);
    if (is_marked && *is_marked && report_.rows_of_format_1 > 0) {
      report_.add(
          fmt::format("format: {} rows of format 1, though it says that there are none", report_.rows_of_format_1));
    }
  }

  void check_counters() {
    const auto stored = snapshot_.counters();
    if (!stored) {
      report_.add("counters: " + stored.error().reason);
      return;
    }
    compare("counters", stored->documents, counted_.documents);
    if (stored->last_sequence < highest_sequence_) {
      report_.add(fmt::format("counters: last sequence {} is below {}", stored->last_sequence, highest_sequence_));
    }
    for (const auto& [key, counted] : counted_partitions_) {
      const auto statistics = snapshot_.statistics_of(key);
      compare("logical '" + key + "'", statistics ? *statistics : DocumentStatistics{}, counted);
    }
  }

  void compare(const std::string& where, const DocumentStatistics& stored, const DocumentStatistics& counted) {
    if (stored.document_count != counted.document_count || stored.deleted_count != counted.deleted_count ||
        stored.external_bytes != counted.external_bytes) {
      report_.add(fmt::format("{}: says {} documents, {} deleted, {} bytes; there are {}, {}, {}", where,
                              stored.document_count, stored.deleted_count, stored.external_bytes,
                              counted.document_count, counted.deleted_count, counted.external_bytes));
    }
  }

  const PhysicalPartition& partition_;
  const Snapshot& snapshot_;
  const ReadTransaction& transaction_;
  bool partitioned_;
  const TimeToLive* time_to_live_;
  CheckReport report_;
  PartitionCounters counted_;
  std::map<std::string, DocumentStatistics> counted_partitions_;
  std::set<std::string> damaged_names_;  ///< of logical partitions
  std::uint64_t logical_records_ = 0;
  std::uint64_t logical_sequences_ = 0;
  std::uint64_t tree_rows_seen_ = 0;
  std::uint64_t history_rows_seen_ = 0;
  std::uint64_t leaves_seen_ = 0;
  BodyBuffer body_;  ///< scratch, reused
  Sequence highest_sequence_ = 0;
};

}  // namespace

Expected<CheckReport> check_partition(const PhysicalPartition& partition, bool partitioned,
                                      const TimeToLive* time_to_live) {
  OCTAVO_TRY(const Snapshot snapshot, partition.snapshot());
  return PartitionChecker(partition, snapshot, partitioned, time_to_live).run();
}

}  // namespace octavo::storage
