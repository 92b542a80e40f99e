#include "query/database/automatic_check.h"

#include <optional>
#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include "base/byte_codec.h"
#include "partitioning/keys/partition_key.h"
#include "query/index/automatic_rows.h"
#include "query/index/local/local_indexes.h"
#include "storage/document/document_record.h"

namespace octavo::query {

namespace {

// The entries that a document should have.
struct KnownDocument {
  std::string id;
  bool is_unreadable = false;  // reported elsewhere
  std::unordered_set<std::string> entries;
};

/// Checks one physical partition's rows.
class AutomaticCheck {
 public:
  AutomaticCheck(partitioning::Database& database, const IndexView& index, std::size_t partition_id,
                 const storage::Snapshot& snapshot, storage::CheckReport& report)
      : automatic_(*index.definition->automatic),
        number_(index.numbers[partition_id]),
        partitioned_(database.partitioned()),
        snapshot_(snapshot),
        report_(report),
        tree_(database.physical_partition(partition_id)
                  .store()
                  .tree(static_cast<std::size_t>(storage::PartitionTree::documents))) {}

  Expected<void> run() {
    OCTAVO_TRY_VOID(look_for_entries());
    OCTAVO_TRY_VOID(look_for_documents(AutomaticRows::everything_prefix(number_), false));
    std::string scoped = AutomaticRows::everything_prefix(number_);
    scoped.back() = '\x02';
    return look_for_documents(scoped, true);
  }

 private:
  Expected<bool> is_scoped(std::string_view partition_key) {
    if (partition_key.empty()) return false;
    OCTAVO_TRY(const auto mark, snapshot_.index_entry(AutomaticRows::scoped_mark(number_, partition_key)));
    return mark.has_value();
  }

  Expected<void> look_for_entries() {
    storage::LongKeyCursor cursor(snapshot_.transaction(), tree_);
    for (auto row = cursor.seek({}); row; row = cursor.next()) {
      OCTAVO_TRY(const auto document, storage::decode_document(row->key, row->value));
      if (document.deleted || storage::is_design_id(document.id)) continue;
      const auto json = document.body.open(buffer_);
      if (!json) continue;  // reported elsewhere
      const auto body = parser_.parse(*json);
      if (!body) continue;
      const auto key = partitioning::partition_key_of(document.id, partitioned_);
      OCTAVO_TRY(const bool scoped, is_scoped(key));
      automatic_.entries_of({*body, *json, document.id, document.revision}, entries_);
      for (std::size_t i = 0; i < entries_.size(); ++i) {
        OCTAVO_TRY_VOID(expect(AutomaticRows::everything_prefix(number_), entries_[i], document.id));
        if (scoped) OCTAVO_TRY_VOID(expect(AutomaticRows::scoped_prefix(number_, key), entries_[i], document.id));
      }
    }
    return {};
  }

  Expected<void> expect(std::string row, std::string_view entry, std::string_view id) {
    row.append(entry).append(id);
    OCTAVO_TRY(const auto value, snapshot_.index_entry(row));
    if (!value || *value != automatic_row_value(id)) {
      report_.add(fmt::format("automatic index: no entry for a value of document '{}'", id));
    }
    return {};
  }

  // Each row must belong to its document.
  Expected<void> look_for_documents(const std::string& prefix, bool scoped) {
    auto cursor = snapshot_.index_entries();
    for (auto row = cursor.seek(prefix); row && row->key.starts_with(prefix); row = cursor.next()) {
      ByteReader value(row->value);
      const std::uint64_t id_size = value.varint();
      if (!value.ok() || id_size + prefix.size() > row->key.size()) {
        report_.add("automatic index: a row is damaged");
        continue;
      }
      const std::string_view id = row->key.substr(row->key.size() - id_size);
      std::string_view entry = row->key.substr(prefix.size(), row->key.size() - prefix.size() - id_size);
      if (scoped) {
        const std::string own = std::string(partitioning::partition_key_of(id, partitioned_)) + ':';
        if (!entry.starts_with(own)) {
          report_.add(fmt::format("automatic index: document '{}' stands in another partition", id));
          continue;
        }
        entry.remove_prefix(own.size());
      }
      OCTAVO_TRY(const bool has, document_has(id, entry));
      if (!has) report_.add(fmt::format("automatic index: an entry that document '{}' does not have", id));
    }
    return {};
  }

  Expected<bool> document_has(std::string_view id, std::string_view entry) {
    if (!known_ || known_->id != id) OCTAVO_TRY_VOID(learn(id));
    return known_->is_unreadable || known_->entries.contains(std::string(entry));
  }

  // Rows of a document with many values at a path are adjacent: its entries are computed once for all of them.
  Expected<void> learn(std::string_view id) {
    known_.emplace().id = id;
    OCTAVO_TRY(const auto record, storage::long_key::get(snapshot_.transaction(), tree_, id));
    if (!record) return {};
    OCTAVO_TRY(const auto document, storage::decode_document(id, *record));
    if (document.deleted) return {};
    known_->is_unreadable = true;
    const auto json = document.body.open(buffer_);
    if (!json) return {};
    const auto body = parser_.parse(*json);
    if (!body) return {};
    known_->is_unreadable = false;
    automatic_.entries_of({*body, *json, document.id, document.revision}, entries_);
    for (std::size_t i = 0; i < entries_.size(); ++i) known_->entries.emplace(entries_[i]);
    return {};
  }

  const AutomaticIndex& automatic_;
  const std::uint32_t number_;
  const bool partitioned_;
  const storage::Snapshot& snapshot_;
  storage::CheckReport& report_;
  const storage::Tree tree_;
  DocumentParser parser_;
  storage::BodyBuffer buffer_;
  AutomaticIndex::Entries entries_;
  std::optional<KnownDocument> known_;
};

}  // namespace

Expected<void> check_automatic_index(partitioning::Database& database, const IndexView& index,
                                     storage::CheckReport& report) {
  for (const std::size_t partition_id : database.partition_ids()) {
    OCTAVO_TRY(const storage::Snapshot snapshot, database.snapshot(partition_id));
    OCTAVO_TRY(const bool ready, LocalIndexes::is_ready(snapshot, index.numbers[partition_id]));
    if (!ready) continue;  // replaced meanwhile
    OCTAVO_TRY_VOID(AutomaticCheck(database, index, partition_id, snapshot, report).run());
  }
  return {};
}

}  // namespace octavo::query
