#include "query/index/local/local_indexes.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "base/memory_retry.h"
#include "partitioning/keys/partition_key.h"
#include "query/index/automatic_rows.h"
#include "query/index/index_entry.h"
#include "query/index/local/local_index_chunk.h"
#include "query/index/local/local_index_registry.h"
#include "storage/document/document_record.h"

namespace octavo::query {

namespace {

// One document's write does not create separate rows for a larger logical partition: other writes would wait too long.
constexpr std::uint64_t scoped_at_once_max = 8 * scoped_documents_min;

}  // namespace

LocalIndexes::LocalIndexes(storage::PhysicalPartition& partition, ActiveTasks* tasks, std::string database,
                           bool partitioned)
    : partition_(partition.weak_from_this()),
      tasks_(tasks),
      database_(std::move(database)),
      partitioned_(partitioned) {}

LocalIndexes::~LocalIndexes() = default;

std::string LocalIndexes::entry_prefix(std::uint32_t number, std::string_view partition_key) {
  std::string prefix;
  prefix.reserve(partition_key.size() + 64);
  registry::append_u32(prefix, number);
  prefix += partition_key;
  prefix += ':';
  return prefix;
}

Expected<bool> LocalIndexes::is_ready(const storage::Snapshot& snapshot, std::uint32_t number) {
  OCTAVO_TRY(const auto value, snapshot.index_entry(registry::key(number)));
  return value && registry::says_ready(*value);
}

std::uint32_t LocalIndexes::find_ready(const storage::Snapshot& snapshot, std::string_view identity) {
  const std::string prefix = registry::key('I');
  auto cursor = snapshot.index_entries();
  for (auto row = cursor.seek(prefix); row && row->key.starts_with(prefix); row = cursor.next()) {
    if (row->value.starts_with(identity) && registry::says_ready(row->value)) {
      return registry::read_u32(row->key.substr(prefix.size()));
    }
  }
  return 0;
}

Expected<void> LocalIndexes::refresh_cache(const storage::Transaction& transaction, storage::Tree tree) {
  OCTAVO_TRY(const auto value, transaction.get(tree, registry::key('S')));
  const std::uint64_t stamp = value ? ByteReader(*value).u64() : 0;
  if (cached_ && stamp == cached_stamp_) return {};
  OCTAVO_TRY(cache_, registry::load(transaction, tree));
  std::erase_if(cache_, [](const Index& index) { return index.stage == Stage::dropping; });
  cached_stamp_ = stamp;
  cached_ = true;
  return {};
}

Expected<bool> LocalIndexes::reads_changes(const storage::Transaction& transaction, storage::Tree index_tree) {
  OCTAVO_TRY_VOID(refresh_cache(transaction, index_tree));
  return !cache_.empty();
}

Expected<std::uint32_t> LocalIndexes::document_changed(storage::WriteTransaction& transaction, storage::Tree index_tree,
                                                       const storage::DocumentChange& change) {
  std::uint32_t rows = 0;
  if (storage::is_design_id(change.id)) return rows;
  OCTAVO_TRY_VOID(refresh_cache(transaction, index_tree));
  if (cache_.empty()) return rows;

  const auto read = [&](DocumentParser& parser, std::optional<std::string_view> body,
                        const storage::Revision& revision) -> std::optional<IndexedDocument> {
    if (!body) return std::nullopt;
    const auto root = parser.parse(*body);
    // A damaged body has no entries; the write of the document must not fail for it.
    if (!root) return std::nullopt;
    return IndexedDocument{*root, *body, change.id, revision};
  };
  const auto before = read(before_parser_, change.before, change.before_revision);
  const auto after = read(after_parser_, change.after, change.after_revision);

  std::string old_key, old_value, new_key, new_value;
  for (const Index& index : cache_) {
    if (index.definition->automatic) {
      OCTAVO_TRY(const std::uint32_t changed, change_automatic(transaction, index_tree, index, change, before, after));
      rows += changed;
      continue;
    }
    if (change.partition_key.empty()) continue;
    const std::string prefix = entry_prefix(index.number, change.partition_key);
    old_key = prefix;
    new_key = prefix;
    old_value.clear();
    new_value.clear();
    const bool had = before && append_index_entry(*index.definition, *before, old_key, old_value);
    const bool has = after && append_index_entry(*index.definition, *after, new_key, new_value);
    // While the index is being built an unchanged row is written nevertheless, as it may not exist yet.
    if (had && has && old_key == new_key && old_value == new_value && index.stage == Stage::ready) continue;
    if (had && !(has && old_key == new_key)) {
      OCTAVO_TRY_VOID(storage::long_key::erase(transaction, index_tree, old_key));
      ++rows;
    }
    if (has) {
      OCTAVO_TRY_VOID(storage::long_key::put(transaction, index_tree, new_key, new_value));
      ++rows;
    }
  }
  return rows;
}

Expected<std::uint32_t> LocalIndexes::change_automatic(storage::WriteTransaction& transaction, storage::Tree index_tree,
                                                       const Index& index, const storage::DocumentChange& change,
                                                       const std::optional<IndexedDocument>& before,
                                                       const std::optional<IndexedDocument>& after) {
  const AutomaticIndex& automatic = *index.definition->automatic;
  entries_before_.clear();
  entries_after_.clear();
  if (before) automatic.entries_of(*before, entries_before_);
  if (after) automatic.entries_of(*after, entries_after_);
  AutomaticRows rows(transaction, index_tree, index.number);
  const bool rewrite = index.stage != Stage::ready;
  if (automatic.absent_path()) {
    // The entries of a logical partition are adjacent in any case. They are not charged, as queries ask for them.
    OCTAVO_TRY_VOID(rows.change(change.id, change.partition_key, entries_before_, entries_after_, false, rewrite));
    return std::uint32_t{0};
  }
  OCTAVO_TRY(const bool scoped, rows.is_scoped(change.partition_key));
  OCTAVO_TRY(const std::uint32_t changed,
             rows.change(change.id, change.partition_key, entries_before_, entries_after_, scoped, rewrite));
  // Building will index documents that it has not reached yet; in the logical partition it is in, only the rest.
  const bool reached = index.stage == Stage::ready || change.id <= index.cursor ||
                       storage::in_logical_partition(index.cursor, change.partition_key);
  if (!scoped && after && !before && reached && change.partition_documents >= scoped_documents_min &&
      change.partition_documents <= scoped_at_once_max) {
    OCTAVO_TRY_VOID(scope_partition(transaction, index_tree, index, change.partition_key));
  }
  return changed;
}

// A logical partition has become large: its documents, including the changed one, get separate rows.
Expected<void> LocalIndexes::scope_partition(storage::WriteTransaction& transaction, storage::Tree index_tree,
                                             const Index& index, std::string_view partition_key) {
  const auto partition = partition_.lock();
  if (!partition) return {};
  const auto documents = partition->store().tree(static_cast<std::size_t>(storage::PartitionTree::documents));
  const std::string prefix = std::string(partition_key) + ':';
  std::vector<std::pair<std::string, std::string>> bodies;  // copies, as writing invalidates a cursor's views
  {
    storage::LongKeyCursor cursor(transaction, documents);
    storage::BodyBuffer buffer;
    for (auto row = cursor.seek(prefix); row && row->key.starts_with(prefix); row = cursor.next()) {
      OCTAVO_TRY(const auto document, storage::decode_document(row->key, row->value));
      if (document.deleted) continue;
      // A damaged body has no entries.
      if (const auto body = document.body.open(buffer)) bodies.emplace_back(row->key, *body);
    }
  }
  AutomaticRows rows(transaction, index_tree, index.number);
  OCTAVO_TRY_VOID(rows.mark_scoped(partition_key));
  DocumentParser parser;  // a separate one: the other indexes still read the change's document from after_parser_
  for (const auto& [id, body] : bodies) {
    const auto root = parser.parse(body);
    if (!root) continue;
    index.definition->automatic->entries_of({*root, body, id, {}}, entries_after_);
    OCTAVO_TRY_VOID(rows.put_scoped(id, partition_key, entries_after_));
  }
  return {};
}

void LocalIndexes::reconcile(std::vector<IndexDefinitionPtr> wanted, std::function<void()> changed) {
  {
    const std::lock_guard lock(mutex_);
    if (shut_down_) return;
    named_ = wanted;
    wanted_ = std::move(wanted);
    changed_ = std::move(changed);
    // Indexes on disk serve queries at once; the writer's queue may be long.
    if (const auto partition = partition_.lock(); partition && !published_) {
      if (const auto snapshot = partition->snapshot()) {
        const auto tree = partition->store().tree(static_cast<std::size_t>(storage::PartitionTree::index));
        if (auto loaded = registry::load(snapshot->transaction(), tree)) {
          published_ = std::make_shared<const Indexes>(*std::move(loaded));
        }
      }
    }
    if (running_) return;
    running_ = true;
  }
  step();
}

void LocalIndexes::resume() {
  if (!stalled_.load(std::memory_order_relaxed)) return;
  {
    const std::lock_guard lock(mutex_);
    if (running_ || shut_down_ || !stalled_.exchange(false)) return;
    running_ = true;
  }
  step();
}

std::shared_ptr<const LocalIndexes::Indexes> LocalIndexes::indexes() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

Expected<std::vector<IndexDefinitionPtr>> LocalIndexes::stored_absences() const {
  std::vector<IndexDefinitionPtr> absences;
  const auto partition = partition_.lock();
  if (!partition) return absences;
  OCTAVO_TRY(const auto snapshot, partition->snapshot());
  const auto tree = partition->store().tree(static_cast<std::size_t>(storage::PartitionTree::index));
  OCTAVO_TRY(const Indexes all, registry::load(snapshot.transaction(), tree));
  for (const Index& index : all) {
    const auto& automatic = index.definition->automatic;
    const bool is_absence = automatic && automatic->absent_path();
    // With its name, which the registry does not have.
    if (is_absence && index.stage != Stage::dropping) absences.push_back(automatic_definition(automatic));
  }
  return absences;
}

void LocalIndexes::shut_down() {
  const std::lock_guard calling(callback_mutex_);
  const std::lock_guard lock(mutex_);
  shut_down_ = true;
  changed_ = nullptr;
  wanted_.reset();
  progress_.clear();
}

void LocalIndexes::step() {
  std::shared_ptr<Chunk> chunk;
  try {
    chunk = std::make_shared<Chunk>();
    {
      const std::lock_guard lock(mutex_);
      chunk->reconciled = std::exchange(wanted_, std::nullopt);
    }
    enqueue(chunk);
  } catch (const std::bad_alloc& error) {
    if (chunk) put_back(*chunk);
    stall(error.what());
  }
}

void LocalIndexes::enqueue(const std::shared_ptr<Chunk>& chunk) {
  const auto partition = partition_.lock();
  if (!partition) return;
  auto self = shared_from_this();
  partition->run_index_task(
      [self, chunk](storage::WriteTransaction& transaction, storage::Tree tree) -> Expected<void> {
        chunk->set_changed = chunk->more = false;
        chunk->documents = 0;
        chunk->built.clear();
        {
          const std::lock_guard lock(self->mutex_);
          if (self->shut_down_) return {};
        }
        if (chunk->reconciled) return self->run_reconcile(transaction, tree, *chunk->reconciled, *chunk);
        return self->run_chunk(transaction, tree, *chunk);
      },
      [self, chunk](const Expected<void>& result) { self->finished(chunk, result); });
}

// Restores the definitions to reconcile, unless newer ones exist.
void LocalIndexes::put_back(Chunk& chunk) {
  const std::lock_guard lock(mutex_);
  if (chunk.reconciled && !wanted_) wanted_ = std::move(chunk.reconciled);
}

void LocalIndexes::finished(const std::shared_ptr<Chunk>& chunk, const Expected<void>& result) {
  std::unique_lock calling(callback_mutex_);
  std::function<void()> changed;
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    OCTAVO_ASSERT(running_);
    if (result && !shut_down_) {
      if (chunk->indexes) published_ = chunk->indexes;
      if (chunk->indexes) try_to_report(*chunk, *chunk->indexes);
      if (chunk->set_changed || chunk->reconciled) changed = changed_;
      again = chunk->more || wanted_.has_value();
    } else if (!result && !shut_down_) {
      spdlog::warn("database {}: building local indexes waits: {}", database_, reason_of(result.error()));
      if (chunk->reconciled && !wanted_) wanted_ = std::move(chunk->reconciled);
      stalled_.store(true);
    }
    running_ = again;
  }
  // Callers that wait for an index are notified only here.
  if (changed) until_memory_suffices([&] { changed(); });
  calling.unlock();
  if (again) step();
}

// What is done stays done; the rest waits for resume().
void LocalIndexes::stall(const char* reason) {
  spdlog::warn("database {}: building local indexes waits: {}", database_, reason);
  const std::lock_guard lock(mutex_);
  running_ = false;
  stalled_.store(true);
}

// Updates a line in _active_tasks, which may be missing if memory is short.
void LocalIndexes::try_to_report(const Chunk& chunk, const Indexes& indexes) {
  try {
    report(chunk, indexes);
  } catch (const std::bad_alloc&) {
    progress_.clear();
  }
}

std::uint32_t LocalIndexes::automatic_progress_percent(std::string_view identity) const {
  const std::lock_guard lock(mutex_);
  if (!published_) return 0;
  const auto index = std::ranges::find(*published_, identity, [](const Index& each) -> std::string_view {
    return each.stage == Stage::dropping ? std::string_view() : std::string_view(each.definition->identity);
  });
  if (index == published_->end()) return 0;
  if (index->stage == Stage::ready) return 100;
  const auto found = std::ranges::find(progress_, index->number, [](const auto& progress) { return progress->number; });
  if (found == progress_.end() || (*found)->total == 0) return 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(99, (*found)->done * 100 / (*found)->total));
}

// Call with mutex_ held.
void LocalIndexes::report(const Chunk& chunk, const Indexes& indexes) {
  std::erase_if(progress_, [&](const auto& progress) {
    return std::ranges::none_of(indexes, [&](const Index& index) {
      return index.number == progress->number && index.stage == Stage::building;
    });
  });
  for (const std::uint32_t number : chunk.built) {
    auto found = std::ranges::find(progress_, number, [](const auto& progress) { return progress->number; });
    if (found == progress_.end()) {
      const auto index = std::ranges::find(indexes, number, &Index::number);
      if (index == indexes.end() || index->stage != Stage::building) continue;
      const auto named = std::ranges::find(named_, index->definition->identity,
                                           [](const auto& definition) { return definition->identity; });
      const IndexDefinition& shown = named == named_.end() ? *index->definition : **named;
      ActiveTask task;
      task.type = "indexer";
      task.database = database_;
      task.design_document = shown.design_document;
      task.index = shown.name;
      task.phase = "build";
      progress_.push_back(std::make_unique<Progress>(
          Progress{number, 0, 0, tasks_ != nullptr ? tasks_->start(std::move(task)) : ActiveTasks::Handle()}));
      found = std::prev(progress_.end());
    }
    (*found)->done += chunk.documents;
    (*found)->total = chunk.total;
    if (tasks_ != nullptr) (*found)->handle.report((*found)->done, chunk.total);
  }
}

}  // namespace octavo::query
