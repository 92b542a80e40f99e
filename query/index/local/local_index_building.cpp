// How local indexes are built and dropped: LocalIndexes' work in the writer's queue.
#include <algorithm>
#include <chrono>
#include <utility>

#include "partitioning/keys/partition_key.h"
#include "query/index/automatic_rows.h"
#include "query/index/index_entry.h"
#include "query/index/local/local_index_chunk.h"
#include "query/index/local/local_index_registry.h"
#include "query/index/local/local_indexes.h"
#include "storage/document/document_record.h"

namespace octavo::query {

namespace {

// A chunk occupies the writer while documents wait behind it. Short while requests are waiting, longer otherwise.
constexpr std::size_t chunk_documents_max = 20'000;
constexpr std::size_t chunk_bytes_max = 16ULL << 20;
constexpr std::chrono::milliseconds busy_chunk{10};
constexpr std::chrono::milliseconds idle_chunk{30};
constexpr std::size_t drop_rows_max = 10'000;

struct Entry {
  std::string key;
  std::string value;
};

Entry automatic_row(std::string prefix, std::string_view text, std::string_view id) {
  return {std::move(prefix.append(text).append(id)), automatic_row_value(id)};
}

/// Which logical partitions have separate rows: looked up once for all documents of one, as they are adjacent. `from`:
/// the last document indexed before.
class PartitionScopes {
 public:
  explicit PartitionScopes(std::string_view from) : from_(from) {}

  Expected<bool> is_scoped(AutomaticRows& rows, const storage::Snapshot& snapshot, std::string_view partition_key,
                           std::uint32_t number) {
    if (partition_key.empty()) return false;
    if (known_ && number == number_ && partition_key == partition_key_) return scoped_;
    OCTAVO_TRY(scoped_, rows.is_scoped(partition_key));
    // If building entered a partition without such rows, only a write adds them, for all of its documents.
    if (!scoped_ && !storage::in_logical_partition(from_, partition_key)) {
      OCTAVO_TRY(const auto statistics, snapshot.statistics_of(partition_key));
      scoped_ = statistics.document_count >= scoped_documents_min;
      if (scoped_) OCTAVO_TRY_VOID(rows.mark_scoped(partition_key));
    }
    known_ = true;
    number_ = number;
    partition_key_ = partition_key;
    return scoped_;
  }

 private:
  const std::string_view from_;
  bool known_ = false;
  bool scoped_ = false;
  std::uint32_t number_ = 0;
  std::string partition_key_;
};

}  // namespace

Expected<void> LocalIndexes::run_reconcile(storage::WriteTransaction& transaction, storage::Tree tree,
                                           const std::vector<IndexDefinitionPtr>& wanted, Chunk& chunk) {
  OCTAVO_TRY(Indexes all, registry::load(transaction, tree));
  const auto is_wanted = [&](const Index& index) {
    return std::ranges::any_of(
        wanted, [&](const auto& definition) { return definition->identity == index.definition->identity; });
  };
  // The automatic index of the former policy serves queries until that of the new policy is ready.
  const bool replaced_later = std::ranges::any_of(wanted, [&](const auto& definition) {
    return is_of_policy(*definition) && std::ranges::none_of(all, [&](const Index& index) {
             return index.stage == Stage::ready && index.definition->identity == definition->identity;
           });
  });
  for (Index& index : all) {
    if (index.stage == Stage::dropping || is_wanted(index)) continue;
    if (replaced_later && is_of_policy(*index.definition) && index.stage == Stage::ready) continue;
    index.stage = Stage::dropping;
    OCTAVO_TRY_VOID(registry::put(transaction, tree, index));
    chunk.set_changed = true;
  }
  std::uint32_t number = 0;  // the last one given; 0: not read yet, as no index is new
  for (const auto& definition : wanted) {
    const bool known = std::ranges::any_of(all, [&](const Index& index) {
      return index.stage != Stage::dropping && index.definition->identity == definition->identity;
    });
    if (known) continue;
    if (number == 0) {
      OCTAVO_TRY(number, registry::last_number(transaction, tree, all));
    }
    Index index{++number, Stage::building, definition, {}};
    OCTAVO_TRY_VOID(registry::put(transaction, tree, index));
    all.push_back(std::move(index));
    chunk.set_changed = true;
  }
  if (number != 0) {
    std::string value;
    registry::append_u32(value, number);
    OCTAVO_TRY_VOID(transaction.put(tree, registry::key('N'), value));
  }
  if (chunk.set_changed) OCTAVO_TRY_VOID(registry::put_stamp(transaction, tree));
  // The first chunk is part of this transaction: an index on an empty or small partition is ready at once.
  const bool set_changed = chunk.set_changed;
  OCTAVO_TRY_VOID(run_chunk(transaction, tree, chunk));
  chunk.set_changed = chunk.set_changed || set_changed;
  return {};
}

Expected<void> LocalIndexes::run_chunk(storage::WriteTransaction& transaction, storage::Tree tree, Chunk& chunk) {
  OCTAVO_TRY(Indexes all, registry::load(transaction, tree));
  const auto building = std::ranges::find(all, Stage::building, &Index::stage);
  const auto dropping = std::ranges::find(all, Stage::dropping, &Index::stage);
  if (building != all.end()) {
    OCTAVO_TRY_VOID(build(transaction, tree, all, chunk));
  } else if (dropping != all.end()) {
    OCTAVO_TRY_VOID(drop(transaction, tree, *dropping, chunk));
    if (chunk.set_changed) all.erase(dropping);
  }
  chunk.more = std::ranges::any_of(all, [](const Index& index) { return index.stage != Stage::ready; });
  chunk.indexes = std::make_shared<const Indexes>(std::move(all));
  return {};
}

Expected<void> LocalIndexes::build(storage::WriteTransaction& transaction, storage::Tree tree, Indexes& all,
                                   Chunk& chunk) {
  const auto partition = partition_.lock();
  if (!partition) return {};
  // Indexes at the same point are built together: each document is read and parsed once.
  const std::string from = std::ranges::find(all, Stage::building, &Index::stage)->cursor;
  std::vector<Index*> group;
  for (Index& index : all) {
    if (index.stage == Stage::building && index.cursor == from) group.push_back(&index);
  }
  // The snapshot shows the committed state; nothing else writes while this transaction is open.
  OCTAVO_TRY(const storage::Snapshot snapshot, partition->snapshot());
  OCTAVO_TRY(const auto statistics, snapshot.statistics());
  chunk.total = statistics.document_count;

  const auto deadline = std::chrono::steady_clock::now() + (partition->queued_bytes() == 0 ? idle_chunk : busy_chunk);
  auto cursor = snapshot.stored_records();
  storage::BodyBuffer buffer;
  auto document = cursor.seek(from);
  if (document && !from.empty() && document->id == from) document = cursor.next();
  std::vector<Entry> entries;
  AutomaticIndex::Entries found;
  PartitionScopes scopes(from);
  std::size_t bytes = 0;
  std::string last = from;
  DocumentParser parser;
  for (; document && chunk.documents < chunk_documents_max && bytes < chunk_bytes_max; document = cursor.next()) {
    if (chunk.documents % 64 == 63 && std::chrono::steady_clock::now() > deadline) break;
    ++chunk.documents;
    last = document->id;
    if (document->deleted || storage::is_design_id(document->id)) continue;
    const auto body = document->body.open(buffer);
    if (!body) continue;
    const auto root = parser.parse(*body);
    if (!root) continue;
    const std::string_view key = partitioned_ ? partitioning::partition_key_of(document->id, true) : std::string_view();
    const IndexedDocument indexed{*root, *body, document->id, document->revision};
    for (const Index* index : group) {
      if (index->definition->automatic) {
        AutomaticRows rows(transaction, tree, index->number);
        const AutomaticIndex& automatic = *index->definition->automatic;
        bool scoped = false;
        if (!automatic.absent_path()) {
          OCTAVO_TRY(scoped, scopes.is_scoped(rows, snapshot, key, index->number));
        }
        automatic.entries_of(indexed, found);
        for (std::size_t i = 0; i < found.size(); ++i) {
          const std::string_view text = found[i];
          bytes += 2 * (text.size() + document->id.size());
          entries.push_back(automatic_row(AutomaticRows::everything_prefix(index->number), text, document->id));
          if (scoped)
            entries.push_back(automatic_row(AutomaticRows::scoped_prefix(index->number, key), text, document->id));
        }
        continue;
      }
      if (key.empty()) continue;
      Entry entry{entry_prefix(index->number, key), {}};
      if (!append_index_entry(*index->definition, indexed, entry.key, entry.value)) continue;
      bytes += entry.key.size() + entry.value.size();
      entries.push_back(std::move(entry));
    }
  }
  std::ranges::sort(entries, {}, &Entry::key);
  for (const Entry& entry : entries) {
    OCTAVO_TRY_VOID(storage::long_key::put(transaction, tree, entry.key, entry.value));
  }
  bool moved = false;
  for (Index* index : group) {
    index->cursor = last;
    if (!document) {
      index->stage = Stage::ready;
      index->cursor.clear();
      chunk.set_changed = true;
    }
    // Writers of documents must know how far this has got.
    moved = moved || index->definition->automatic != nullptr;
    chunk.built.push_back(index->number);
    OCTAVO_TRY_VOID(registry::put(transaction, tree, *index));
  }
  return chunk.set_changed || moved ? registry::put_stamp(transaction, tree) : Expected<void>{};
}

Expected<void> LocalIndexes::drop(storage::WriteTransaction& transaction, storage::Tree tree, const Index& index,
                                  Chunk& chunk) {
  std::string prefix;
  registry::append_u32(prefix, index.number);
  std::vector<std::string> keys;
  {
    storage::LongKeyCursor cursor(transaction, tree);
    for (auto row = cursor.seek(prefix); row && row->key.starts_with(prefix) && keys.size() < drop_rows_max;
         row = cursor.next()) {
      keys.emplace_back(row->key);
    }
  }
  for (const std::string& key : keys) OCTAVO_TRY_VOID(storage::long_key::erase(transaction, tree, key));
  if (keys.size() < drop_rows_max) {
    OCTAVO_TRY_VOID(transaction.erase(tree, registry::key(index.number)));
    chunk.set_changed = true;
  }
  return {};
}

}  // namespace octavo::query
