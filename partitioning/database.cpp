#include "partitioning/database.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/completion.h"
#include "base/folder.h"
#include "base/jobs/turns.h"
#include "partitioning/engine.h"
#include "partitioning/keys/range_parts.h"

namespace octavo::partitioning {
using storage::PhysicalPartition;

namespace {

std::size_t partition_id_end_of(const std::vector<storage::PartitionMapEntry>& ranges) {
  std::size_t end = 0;
  for (const auto& range : ranges) {
    end = std::max<std::size_t>(end, storage::partition_number(range.folder).value() + std::size_t{1});
  }
  return end;
}

}  // namespace

Database::Database(Engine& engine, storage::DatabaseRecord record)
    : engine_(engine),
      record_(std::move(record)),
      folder_(engine.data_folder_.database(record_.instance_tag)),
      meter_(*this, PartitionMap(record_.partition_map).partition_ids(), partition_id_end_of(record_.partition_map)),
      turns_(std::make_shared<Turns>()),
      revs_limit_(record_.revs_limit) {
  set_name(record_.name);
  definition_.store(std::make_shared<const DatabaseDefinition>(record_.definition));
  std::vector<std::shared_ptr<PhysicalPartition>> partitions(partition_id_end_of(record_.partition_map));
  for (const storage::PartitionMapEntry& range : record_.partition_map) {
    auto partition = make_partition(range);
    partitions[partition->options().partition_id] = std::move(partition);
  }
  publish(std::make_unique<const PartitionMap>(record_.partition_map, std::move(partitions), record_.former));
}

void Database::set_name(std::string_view name) {
  names_.push_back(std::make_unique<const std::string>(name));
  name_.store(names_.back().get(), std::memory_order_release);
}

// Called with facts_mutex_ held.
void Database::renamed(const std::string& name) {
  record_.name = name;
  set_name(name);
  // What was parsed of it may mention the name.
  definition_.store(std::make_shared<const DatabaseDefinition>(record_.definition), std::memory_order_release);
}

void Database::replaced() {
  times_replaced_.fetch_add(1, std::memory_order_acq_rel);
  changes_.notify_all();
}

std::shared_ptr<PhysicalPartition> Database::make_partition(const storage::PartitionMapEntry& range) const {
  const config::Settings& settings = engine_.settings();
  PhysicalPartition::Options options;
  options.folder = folder_ / range.folder;
  options.partition_id = storage::partition_number(range.folder).value();
  options.durability = settings.durability;
  options.compression = settings.compression;
  options.capacity_bytes_initial = settings.map_bytes_initial;
  // One partition cannot take the room of all.
  options.queue_bytes_max = settings.queued_bytes_max / 2;
  options.logical_partition_bytes_max = settings.logical_partition_bytes_max;
  options.faults = engine_.faults();
  auto partition = std::make_shared<PhysicalPartition>(std::move(options), engine_.writers_);
  partition->set_revs_limit(revs_limit());
  return partition;
}

void Database::publish(std::unique_ptr<const PartitionMap> map) {
  OCTAVO_ASSERT(map != nullptr && map->size() > 0);
  maps_.push_back(std::move(map));
  map_.store(maps_.back().get(), std::memory_order_release);
}

// Removes folders of unfinished splits and merges, and those of former partitions that were not removed yet.
void Database::remove_stray_partitions() const {
  std::error_code error;
  for (const std::string& entry : storage::folder_entries(folder_, error)) {
    const auto number = storage::partition_number(entry);
    if (!number || partition_map().range_of(*number) != nullptr) continue;
    storage::remove_folder(folder_ / entry, error);
    if (error) break;
  }
  if (error) {
    spdlog::warn("database {}: files of an earlier split or merge could not be removed: {}", name(), error.message());
  }
}

Database::~Database() {
  shut_down();
}

Expected<void> Database::open(const ExtensionFactory& extensions) {
  const PartitionMap& map = partition_map();
  storage::Sequence last = record_.sequence_base;
  for (const std::size_t partition_id : map.partition_ids()) {
    const auto& partition = map.partition(partition_id);
    OCTAVO_TRY(const storage::Snapshot snapshot, partition->snapshot());
    OCTAVO_TRY(const storage::PartitionCounters counters, snapshot.counters());
    last = std::max(last, counters.last_sequence);
    if (counters.dropped_through != 0) expect_dropped_tombstones();
  }
  sequences_ = std::make_shared<storage::SequenceAllocator>(map.partition_id_end(), last);
  OCTAVO_TRY(auto security, engine_.catalog().fact("security", name()));
  if (security) security_.store(std::make_shared<const std::string>(std::move(*security)));
  for (const std::size_t partition_id : map.partition_ids()) attach(*map.partition(partition_id));
  if (extensions) extension_ = extensions(*this);
  return {};
}

void Database::attach(PhysicalPartition& partition) {
  // Writes hold the partition, and the coroutine that awaits a write holds the database; writes queued without waiting
  // are drained by shut_down before the database is destroyed.
  partition.attach(sequences_, [weak = weak_from_this()](bool design_documents_changed) {
    if (const auto database = weak.lock()) database->on_commit(design_documents_changed);
  });
}

void Database::on_commit(bool design_documents_changed) {
  engine_.note_commit();
  if (extension_) {
    if (design_documents_changed) extension_->design_documents_changed();
    extension_->committed();
  }
  changes_.notify_all();
  until_memory_suffices([this] { engine_.updates().record_commit(name_, deleted_); });
}

void Database::mark_deleted() {
  deleted_.store(true, std::memory_order_release);
  for (const auto& partition : partition_map().partitions()) {
    if (partition) partition->retire();
  }
  changes_.notify_all();
}

void Database::shut_down() {
  if (extension_) extension_->shut_down();
}

DocumentTarget Database::target_of(std::string_view document_id) const {
  return DocumentTarget::of_document(partition_map(), document_id, record_.partitioned, record_.key_scheme);
}

DocumentTarget Database::target_of_partition_key(std::string_view partition_key) const {
  return DocumentTarget::of_logical_partition(partition_map(), partition_key, record_.key_scheme);
}

std::size_t Database::locate_document(std::string_view document_id) const {
  return locate_document(partition_map(), document_id);
}

std::size_t Database::locate_document(const PartitionMap& map, std::string_view document_id) const {
  if (map.size() == 1) return map.partition_ids().front();
  return map.locate(hash_position(document_id, record_.partitioned, record_.key_scheme));
}

std::size_t Database::locate_partition_key(std::string_view partition_key) const {
  return locate_partition_key(partition_map(), partition_key);
}

std::size_t Database::locate_partition_key(const PartitionMap& map, std::string_view partition_key) const {
  if (map.size() == 1) return map.partition_ids().front();
  return map.locate(hash_position_of_key(partition_key, record_.key_scheme));
}

Expected<storage::Snapshot> Database::snapshot(std::size_t partition_id) const {
  if (deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  const auto& partition = partition_map().partition(partition_id);
  if (!partition) return PhysicalPartition::was_split();
  return partition->snapshot();
}

Expected<storage::Snapshot> Database::snapshot(const DocumentTarget& target) const {
  return snapshot(locate(target));
}

Expected<storage::Snapshot> Database::snapshot_for_document(std::string_view document_id) const {
  return snapshot(locate_document(document_id));
}

Expected<storage::Snapshot> Database::snapshot_for_partition_key(std::string_view partition_key) const {
  return snapshot(locate_partition_key(partition_key));
}

std::string Database::format_sequence(storage::Sequence sequence) const {
  return fmt::format("{}-{}", sequence, feed_tag());
}

Expected<FeedPosition> Database::parse_sequence(std::string_view text) const {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  if (text == "now") {
    const storage::Sequence now = watermark();
    return FeedPosition{now, now};
  }
  const auto read_number = [](std::string_view& rest, storage::Sequence& number) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return error == std::errc{};
  };
  FeedPosition position;
  std::string_view tag = text;
  if (!read_number(tag, position.sequence) || (!tag.empty() && (tag.front() != '-' || tag.size() == 1))) {
    return fail(ErrorCode::bad_request, "Malformed sequence supplied in 'since' parameter.");
  }
  position.floor = position.sequence;
  if (!tag.empty()) {
    tag.remove_prefix(1);
    // A sequence of another incarnation, or of the time before a backup was put back, has no meaning here: start again,
    // so that nothing is missed.
    if (!tag.starts_with(feed_tag())) return FeedPosition{};
    tag.remove_prefix(feed_tag().size());
    if (!tag.empty()) {
      if (tag.front() != '.') return FeedPosition{};
      tag.remove_prefix(1);
      storage::Sequence floor = 0;
      if (!read_number(tag, floor) || !tag.empty()) return FeedPosition{};
      position.floor = std::max(position.floor, floor);
    }
  }
  // Nor has one beyond the end: the database has lost changes, for example by a restore from a backup, and has reused
  // these numbers. Clients get at most the watermark, which is never beyond the end.
  if (position.floor > committed_sequence()) return FeedPosition{};
  if (position.sequence == 0) position.floor = watermark();
  return position;
}

Task<bool> Database::wait_for_change(storage::Sequence after, std::chrono::steady_clock::time_point deadline) {
  const auto keep_alive = shared_from_this();
  const std::uint32_t replaced_before = times_replaced();
  while (true) {
    const std::uint64_t epoch = changes_.epoch();
    if (watermark() > after) co_return true;
    if (deleted() || times_replaced() != replaced_before) co_return false;
    const bool notified = co_await changes_.wait(epoch, deadline);
    if (!notified) co_return watermark() > after;
  }
}

Expected<storage::DocumentStatistics> Database::statistics() const {
  storage::DocumentStatistics sum;
  for (const std::size_t partition_id : partition_ids()) {
    OCTAVO_TRY(const storage::Snapshot part, snapshot(partition_id));
    OCTAVO_TRY(const storage::DocumentStatistics statistics, part.statistics());
    sum.document_count += statistics.document_count;
    sum.deleted_count += statistics.deleted_count;
    sum.external_bytes += statistics.external_bytes;
  }
  return sum;
}

Expected<storage::Store::Sizes> Database::file_sizes() const {
  storage::Store::Sizes sum;
  const PartitionMap& map = partition_map();
  for (const std::size_t partition_id : map.partition_ids()) {
    OCTAVO_TRY(const storage::Store::Sizes sizes, map.partition(partition_id)->store().sizes());
    sum.file_bytes += sizes.file_bytes;
    sum.used_bytes += sizes.used_bytes;
  }
  return sum;
}

Expected<std::uint64_t> Database::purge_count() const {
  OCTAVO_TRY(const HiddenDeletions hidden, hidden_deletions());
  return hidden.purge_count;
}

Expected<HiddenDeletions> Database::hidden_deletions() const {
  HiddenDeletions hidden;
  for (const std::size_t partition_id : partition_ids()) {
    OCTAVO_TRY(const storage::Snapshot part, snapshot(partition_id));
    OCTAVO_TRY(const storage::PartitionCounters counters, part.counters());
    hidden.purge_count += counters.purge_count;
    hidden.dropped_through = std::max(hidden.dropped_through, counters.dropped_through);
  }
  return hidden;
}

std::uint32_t Database::created_q() const {
  const std::lock_guard lock(facts_mutex_);
  return partitioning::created_q(record_);
}

Expected<void> Database::set_revs_limit(std::uint32_t limit) {
  std::lock_guard<std::mutex> lock(facts_mutex_);
  storage::DatabaseRecord changed = record_;
  changed.revs_limit = limit;
  const auto replaced = engine_.catalog().replace(changed);
  if (!replaced) {
    if (replaced.error().code == ErrorCode::not_found) return replaced;
    // A failed disk may have stored it: use the value that a restart would find.
    const auto stored = engine_.catalog().find(name());
    if (!stored || !*stored) return replaced;
    limit = (*stored)->revs_limit;
  }
  record_.revs_limit = limit;
  revs_limit_.store(limit, std::memory_order_relaxed);
  for (const auto& partition : partition_map().partitions()) {
    if (partition) partition->set_revs_limit(limit);
  }
  return replaced;
}

Expected<void> Database::set_definition(std::string text) {
  std::lock_guard<std::mutex> lock(facts_mutex_);
  if (deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  storage::DatabaseRecord changed = record_;
  changed.definition = std::move(text);
  const auto replaced = engine_.catalog().replace(changed);
  if (!replaced) {
    if (replaced.error().code == ErrorCode::not_found) return replaced;
    // A failed disk may have stored it: use what a restart would find.
    auto stored = engine_.catalog().find(name());
    if (!stored || !*stored) return replaced;
    changed.definition = std::move((*stored)->definition);
  }
  record_.definition = std::move(changed.definition);
  definition_.store(std::make_shared<const DatabaseDefinition>(record_.definition), std::memory_order_release);
  if (extension_) extension_->definition_changed();
  return replaced;
}

std::shared_ptr<const std::string> Database::security() const {
  return security_.load(std::memory_order_acquire);
}

Expected<void> Database::set_security(std::string json) {
  std::lock_guard<std::mutex> lock(facts_mutex_);
  if (deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  auto next = std::make_shared<std::string>(std::move(json));
  const auto written = engine_.catalog().set_fact_of(record_, "security", *next);
  if (!written) {
    if (written.error().code == ErrorCode::not_found) return written;
    // A failed disk may have stored it here, too.
    auto stored = engine_.catalog().fact("security", name());
    if (!stored || !*stored) return written;
    *next = **std::move(stored);
  }
  security_.store(std::move(next), std::memory_order_release);
  return written;
}

Expected<storage::Sequence> Database::visible_sequence() const {
  storage::Sequence shown = 0;
  const PartitionMap* map = nullptr;
  while (std::exchange(map, &partition_map()) != &partition_map()) {
    for (const std::size_t partition_id : map->partition_ids()) {
      if (!sequences_->in_flight(partition_id)) continue;
      OCTAVO_TRY(const storage::Snapshot part, snapshot(partition_id));
      OCTAVO_TRY(const storage::Sequence last, part.last_sequence());
      shown = std::max(shown, last);
    }
  }
  // This includes a commit that ended meanwhile.
  return std::max(shown, sequences_->committed());
}

std::vector<storage::CompactionQueue::Target> Database::partition_targets() {
  const PartitionMap& map = partition_map();
  std::vector<storage::CompactionQueue::Target> targets;
  for (const std::size_t partition_id : map.partition_ids()) {
    PhysicalPartition* const partition = map.partition(partition_id).get();
    targets.push_back({.owner = shared_from_this(),
                       .database = name(),
                       .name = fmt::format("physical partition {}", partition_id),
                       .store = &partition->store(),
                       .is_gone = [this, partition_id] { return deleted() || !is_current(partition_id); },
                       .prepare = [partition](storage::StorePreparation& preparation) -> Expected<void> {
                         OCTAVO_TRY_VOID(partition->drop_replaced(preparation));
                         return partition->upgrade_rows(preparation);
                       }});
  }
  return targets;
}

std::vector<storage::CompactionQueue::Target> Database::compaction_targets() {
  std::vector<storage::CompactionQueue::Target> targets = partition_targets();
  if (extension_) std::ranges::move(extension_->compaction_targets(), std::back_inserter(targets));
  return targets;
}

Expected<void> Database::compact() {
  if (deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  std::vector<storage::CompactionQueue::Target> targets = partition_targets();
  if (extension_) {
    OCTAVO_TRY_VOID(extension_->load_indexes());
    std::ranges::copy_if(extension_->compaction_targets(), std::back_inserter(targets),
                         &storage::CompactionQueue::Target::with_documents);
  }
  return engine_.compactions().add(std::move(targets));
}

Expected<void> Database::compact_indexes(std::string_view design_document) {
  if (deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  if (!extension_) return {};
  OCTAVO_TRY_VOID(extension_->load_indexes());
  auto targets = extension_->compaction_targets();
  std::erase_if(targets, [&](const auto& target) { return target.design_document != design_document; });
  return engine_.compactions().add(std::move(targets));
}

bool Database::is_compacting() const {
  return engine_.compactions().is_compacting(this);
}

bool Database::is_compacting(std::string_view design_document) const {
  return engine_.compactions().is_compacting(this, design_document);
}

Expected<void> Database::make_durable() {
  bool durable = engine_.settings().durability == config::Durability::commit;
  if (durable) {
    // A running sync has ended once the watermark has passed.
    OCTAVO_TRY(const storage::Sequence shown, visible_sequence());
    durable = watermark() >= shown;
  }
  if (durable) return {};
  const PartitionMap& map = partition_map();
  for (const std::size_t partition_id : map.partition_ids()) {
    OCTAVO_TRY_VOID(map.partition(partition_id)->store().sync());
  }
  return {};
}

std::size_t Database::open_store_count() const {
  const auto own =
      std::ranges::count_if(partition_map().partitions(), [](const auto& p) { return p && p->store().is_open(); });
  return static_cast<std::size_t>(own) + (extension_ ? extension_->open_store_count() : 0);
}

std::uint64_t Database::last_used_ms() const {
  std::uint64_t newest = extension_ ? extension_->last_used_ms() : 0;
  for (const auto& partition : partition_map().partitions()) {
    if (partition) newest = std::max(newest, partition->store().last_used_ms());
  }
  return newest;
}

std::size_t Database::close_idle(std::uint64_t last_used_before_ms) {
  std::size_t closed = extension_ ? extension_->close_idle(last_used_before_ms) : 0;
  for (const auto& partition : partition_map().partitions()) {
    if (!partition) continue;
    storage::Store& store = partition->store();
    if (!store.is_open() || store.last_used_ms() > last_used_before_ms) continue;
    if (store.close_if_idle()) ++closed;
  }
  return closed;
}

}  // namespace octavo::partitioning
