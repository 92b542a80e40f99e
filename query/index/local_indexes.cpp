#include "query/index/local_indexes.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include <spdlog/spdlog.h>

#include "partitioning/partition_key.h"
#include "query/index/index_entry.h"
#include "storage/byte_codec.h"
#include "storage/document_record.h"
#include "storage/memory_retry.h"

namespace octavo::query {

namespace {

using storage::ByteReader;
using storage::ByteWriter;

constexpr std::size_t kIdentityBytes = 32;

// A chunk holds the writer: documents wait behind it. Short while requests are waiting, longer while none are.
constexpr std::size_t kChunkDocumentsMax = 20'000;
constexpr std::size_t kChunkBytesMax = 16ULL << 20;
constexpr std::chrono::milliseconds kBusyChunk{10};
constexpr std::chrono::milliseconds kIdleChunk{30};
constexpr std::size_t kDropRowsMax = 10'000;

void append_u32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

std::uint32_t read_u32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4 && i < bytes.size(); ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string registry_key(char kind) {
  return std::string{0, 0, 0, 0, kind};
}

std::string registry_key(std::uint32_t number) {
  std::string key = registry_key('I');
  append_u32(key, number);
  return key;
}

std::string encode_index(const LocalIndexes::Index& index) {
  std::string value = index.definition->identity;
  value.resize(kIdentityBytes, '0');
  ByteWriter writer(value);
  writer.u8(static_cast<std::uint8_t>(index.stage));
  writer.sized_bytes(index.cursor);
  value += boost::json::serialize(index.definition->def_to_json());
  return value;
}

Expected<LocalIndexes::Index> decode_index(std::uint32_t number, std::string_view value) {
  const auto damaged = [number] {
    return fail(ErrorCode::corrupted, "The record of local index " + std::to_string(number) + " is damaged.");
  };
  ByteReader reader(value);
  LocalIndexes::Index index;
  index.number = number;
  IndexDefinition definition;
  definition.partitioned = true;
  definition.identity = reader.bytes(kIdentityBytes);
  index.stage = static_cast<LocalIndexes::Stage>(reader.u8());
  index.cursor = reader.sized_bytes();
  if (!reader.ok() || index.stage > LocalIndexes::Stage::dropping) return damaged();
  const auto def = parse_json(reader.rest());
  if (!def || !def->is_object() || !def->get_object().contains("fields")) return damaged();
  OCTAVO_TRY(definition.fields, parse_ordered_fields(def->get_object().at("fields")));
  if (const auto* filter = def->get_object().if_contains("partial_filter_selector")) {
    OCTAVO_TRY(definition.partial_filter, Selector::parse(*filter));
  }
  index.definition = std::make_shared<const IndexDefinition>(std::move(definition));
  return index;
}

std::uint64_t new_stamp() {
  static thread_local std::mt19937_64 random{std::random_device{}()};
  return random();
}

Expected<void> put_stamp(storage::WriteTransaction& transaction, storage::Tree tree) {
  std::string value;
  ByteWriter(value).u64(new_stamp());
  return transaction.put(tree, registry_key('S'), value);
}

struct Entry {
  std::string key;
  std::string value;
};

}  // namespace

/// What one task did, for when it is durable. Reset at the start of each attempt.
struct LocalIndexes::Chunk {
  std::optional<std::vector<IndexDefinitionPtr>> reconciled;
  std::shared_ptr<const Indexes> indexes;
  bool set_changed = false;  ///< an index was added, became ready, or went
  bool more = false;
  std::uint64_t documents = 0;  ///< indexed by this chunk
  std::uint64_t total = 0;      ///< in the partition
  std::vector<std::uint32_t> built;
};

struct LocalIndexes::Progress {
  std::uint32_t number = 0;
  std::uint64_t done = 0;
  ActiveTasks::Handle handle;
};

LocalIndexes::LocalIndexes(storage::PhysicalPartition& partition, ActiveTasks* tasks, std::string database)
    : partition_(partition.weak_from_this()), tasks_(tasks), database_(std::move(database)) {}

LocalIndexes::~LocalIndexes() = default;

std::string LocalIndexes::entry_prefix(std::uint32_t number, std::string_view partition_key) {
  std::string prefix;
  prefix.reserve(partition_key.size() + 64);
  append_u32(prefix, number);
  prefix += partition_key;
  prefix += ':';
  return prefix;
}

Expected<bool> LocalIndexes::is_ready(const storage::Snapshot& snapshot, std::uint32_t number) {
  OCTAVO_TRY(const auto value, snapshot.index_entry(registry_key(number)));
  return value && value->size() > kIdentityBytes && (*value)[kIdentityBytes] == static_cast<char>(Stage::ready);
}

Expected<LocalIndexes::Indexes> LocalIndexes::load(const storage::Transaction& transaction, storage::Tree tree) {
  Indexes indexes;
  const std::string prefix = registry_key('I');
  storage::Cursor cursor(transaction, tree);
  for (auto row = cursor.seek(prefix); row && row->key.starts_with(prefix); row = cursor.next()) {
    OCTAVO_TRY(auto index, decode_index(read_u32(row->key.substr(prefix.size())), row->value));
    indexes.push_back(std::move(index));
  }
  return indexes;
}

Expected<void> LocalIndexes::refresh_cache(const storage::Transaction& transaction, storage::Tree tree) {
  OCTAVO_TRY(const auto value, transaction.get(tree, registry_key('S')));
  const std::uint64_t stamp = value ? ByteReader(*value).u64() : 0;
  if (cached_ && stamp == cached_stamp_) return {};
  OCTAVO_TRY(cache_, load(transaction, tree));
  std::erase_if(cache_, [](const Index& index) { return index.stage == Stage::dropping; });
  cached_stamp_ = stamp;
  cached_ = true;
  return {};
}

Expected<void> LocalIndexes::document_changed(storage::WriteTransaction& transaction, storage::Tree index_tree,
                                              const storage::DocumentChange& change) {
  if (change.partition_key.empty() || storage::is_design_id(change.id)) return {};
  OCTAVO_TRY_VOID(refresh_cache(transaction, index_tree));
  if (cache_.empty()) return {};

  const auto read = [&](DocumentParser& parser, std::optional<std::string_view> body,
                        const storage::Revision& revision) -> std::optional<IndexedDocument> {
    if (!body) return std::nullopt;
    const auto root = parser.parse(*body);
    // A damaged body has no entries; the document itself is what must not fail here.
    if (!root) return std::nullopt;
    return IndexedDocument{*root, *body, change.id, revision};
  };
  const auto before = read(before_parser_, change.before, change.before_revision);
  const auto after = read(after_parser_, change.after, change.after_revision);

  std::string old_key, old_value, new_key, new_value;
  for (const Index& index : cache_) {
    const std::string prefix = entry_prefix(index.number, change.partition_key);
    old_key = prefix;
    new_key = prefix;
    old_value.clear();
    new_value.clear();
    const bool had = before && append_index_entry(*index.definition, *before, old_key, old_value);
    const bool has = after && append_index_entry(*index.definition, *after, new_key, new_value);
    // An unchanged row is written all the same while the index is being built: it may not be there yet.
    if (had && has && old_key == new_key && old_value == new_value && index.stage == Stage::ready) continue;
    if (had && !(has && old_key == new_key)) {
      OCTAVO_TRY_VOID(storage::long_key::erase(transaction, index_tree, old_key));
    }
    if (has) OCTAVO_TRY_VOID(storage::long_key::put(transaction, index_tree, new_key, new_value));
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
    // What is on disk serves queries at once; the writer's queue may be long.
    if (const auto partition = partition_.lock(); partition && !published_) {
      if (const auto snapshot = partition->snapshot()) {
        const auto tree = partition->environment().tree(static_cast<std::size_t>(storage::PartitionTree::index));
        if (auto loaded = load(snapshot->transaction(), tree)) {
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

// What was to be reconciled still is, unless something newer is.
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
    if (result && !shut_down_) {
      if (chunk->indexes) published_ = chunk->indexes;
      if (chunk->indexes) try_to_report(*chunk, *chunk->indexes);
      if (chunk->set_changed || chunk->reconciled) changed = changed_;
      again = chunk->more || wanted_.has_value();
    } else if (!result && !shut_down_) {
      spdlog::warn("database {}: building local indexes waits: {}", database_, result.error().reason);
      if (chunk->reconciled && !wanted_) wanted_ = std::move(chunk->reconciled);
      stalled_.store(true);
    }
    running_ = again;
  }
  // Whoever waits for an index is told by this alone.
  if (changed) until_memory_suffices([&] { changed(); });
  calling.unlock();
  if (again) step();
}

// What was done stays done; what comes next waits for resume().
void LocalIndexes::stall(const char* reason) {
  spdlog::warn("database {}: building local indexes waits: {}", database_, reason);
  const std::lock_guard lock(mutex_);
  running_ = false;
  stalled_.store(true);
}

// A line in _active_tasks, which may be missing where memory is short.
void LocalIndexes::try_to_report(const Chunk& chunk, const Indexes& indexes) {
  try {
    report(chunk, indexes);
  } catch (const std::bad_alloc&) {
    progress_.clear();
  }
}

// Under the mutex.
void LocalIndexes::report(const Chunk& chunk, const Indexes& indexes) {
  if (!tasks_) return;
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
      progress_.push_back(std::make_unique<Progress>(Progress{number, 0, tasks_->start(std::move(task))}));
      found = std::prev(progress_.end());
    }
    (*found)->done += chunk.documents;
    (*found)->handle.report((*found)->done, chunk.total);
  }
}

Expected<void> LocalIndexes::run_reconcile(storage::WriteTransaction& transaction, storage::Tree tree,
                                           const std::vector<IndexDefinitionPtr>& wanted, Chunk& chunk) {
  OCTAVO_TRY(Indexes all, load(transaction, tree));
  const auto is_wanted = [&](const Index& index) {
    return std::ranges::any_of(
        wanted, [&](const auto& definition) { return definition->identity == index.definition->identity; });
  };
  for (Index& index : all) {
    if (index.stage == Stage::dropping || is_wanted(index)) continue;
    index.stage = Stage::dropping;
    OCTAVO_TRY_VOID(transaction.put(tree, registry_key(index.number), encode_index(index)));
    chunk.set_changed = true;
  }
  OCTAVO_TRY(const auto last, transaction.get(tree, registry_key('N')));
  std::uint32_t number = last ? read_u32(*last) : 0;
  const std::uint32_t number_before = number;
  for (const auto& definition : wanted) {
    const bool known = std::ranges::any_of(all, [&](const Index& index) {
      return index.stage != Stage::dropping && index.definition->identity == definition->identity;
    });
    if (known) continue;
    Index index{++number, Stage::building, definition, {}};
    OCTAVO_TRY_VOID(transaction.put(tree, registry_key(index.number), encode_index(index)));
    all.push_back(std::move(index));
    chunk.set_changed = true;
  }
  if (number != number_before) {
    std::string value;
    append_u32(value, number);
    OCTAVO_TRY_VOID(transaction.put(tree, registry_key('N'), value));
  }
  if (chunk.set_changed) OCTAVO_TRY_VOID(put_stamp(transaction, tree));
  // The first chunk goes into the same transaction: an index on an empty or small partition is ready at once.
  const bool set_changed = chunk.set_changed;
  OCTAVO_TRY_VOID(run_chunk(transaction, tree, chunk));
  chunk.set_changed = chunk.set_changed || set_changed;
  return {};
}

Expected<void> LocalIndexes::run_chunk(storage::WriteTransaction& transaction, storage::Tree tree, Chunk& chunk) {
  OCTAVO_TRY(Indexes all, load(transaction, tree));
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
  // Those at the same point are built together: each document is read and parsed once.
  const std::string from = std::ranges::find(all, Stage::building, &Index::stage)->cursor;
  std::vector<Index*> group;
  for (Index& index : all) {
    if (index.stage == Stage::building && index.cursor == from) group.push_back(&index);
  }
  // The snapshot shows what is committed; nothing else writes while this transaction is open.
  OCTAVO_TRY(const storage::Snapshot snapshot, partition->snapshot());
  OCTAVO_TRY(const auto statistics, snapshot.statistics());
  chunk.total = statistics.document_count + statistics.deleted_count;

  const auto deadline = std::chrono::steady_clock::now() + (partition->queued_bytes() == 0 ? kIdleChunk : kBusyChunk);
  auto cursor = snapshot.documents();
  auto document = cursor.seek(from);
  if (document && !from.empty() && document->id == from) document = cursor.next();
  std::vector<Entry> entries;
  std::size_t bytes = 0;
  std::string last = from;
  DocumentParser parser;
  for (; document && chunk.documents < kChunkDocumentsMax && bytes < kChunkBytesMax; document = cursor.next()) {
    if (chunk.documents % 64 == 63 && std::chrono::steady_clock::now() > deadline) break;
    ++chunk.documents;
    last = document->id;
    if (document->deleted || storage::is_design_id(document->id)) continue;
    const auto root = parser.parse(document->body);
    if (!root) continue;
    const std::string_view key = partitioning::partition_key_of(document->id, true);
    const IndexedDocument indexed{*root, document->body, document->id, document->revision};
    for (const Index* index : group) {
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
  for (Index* index : group) {
    index->cursor = last;
    if (!document) {
      index->stage = Stage::ready;
      index->cursor.clear();
      chunk.set_changed = true;
    }
    chunk.built.push_back(index->number);
    OCTAVO_TRY_VOID(transaction.put(tree, registry_key(index->number), encode_index(*index)));
  }
  return chunk.set_changed ? put_stamp(transaction, tree) : Expected<void>{};
}

Expected<void> LocalIndexes::drop(storage::WriteTransaction& transaction, storage::Tree tree, const Index& index,
                                  Chunk& chunk) {
  std::string prefix;
  append_u32(prefix, index.number);
  std::vector<std::string> keys;
  {
    storage::Cursor cursor(transaction, tree);
    for (auto row = cursor.seek(prefix); row && row->key.starts_with(prefix) && keys.size() < kDropRowsMax;
         row = cursor.next()) {
      keys.emplace_back(row->key);
    }
  }
  for (const std::string& key : keys) OCTAVO_TRY_VOID(transaction.erase(tree, key));
  if (keys.size() < kDropRowsMax) {
    OCTAVO_TRY_VOID(transaction.erase(tree, registry_key(index.number)));
    chunk.set_changed = true;
  }
  return {};
}

}  // namespace octavo::query
