#include "partitioning/partition_split.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/folder.h"
#include "base/memory_retry.h"
#include "partitioning/engine.h"
#include "partitioning/keys/partition_key.h"

namespace octavo::partitioning {

namespace {

constexpr std::size_t batch_bytes = 4ULL << 20;
constexpr std::size_t batch_rows = 5'000;
// If this little is left, the writes may wait for it.
constexpr std::size_t rest_rows_max = 500;
// If writes are faster than this copies, they have to wait at the end; otherwise it would copy forever.
constexpr int catch_ups_max = 200;
constexpr std::chrono::milliseconds index_pause{50};
constexpr std::chrono::milliseconds catalog_pause{100};

/// Waits for a completion on a writer's thread. The callback owns the promise, as it may still be using it when the
/// waiting ends.
template <class Start>
Expected<void> await_writer(Start start) {
  const auto promise = std::make_shared<std::promise<Expected<void>>>();
  auto done = promise->get_future();
  start([promise](Expected<void> result) { promise->set_value(std::move(result)); });
  return done.get();
}

/// A split that was cut off may have left files under the name of the new partition.
Expected<void> remove_stray_partition(const std::filesystem::path& folder) {
  std::error_code error;
  storage::remove_folder(folder, error);
  if (!error) return {};
  return fail(ErrorCode::io_failure, fmt::format("{} is left over from an earlier split and cannot be removed: {}",
                                                 folder.string(), error.message()));
}

HashPosition middle_of(const storage::PartitionMapEntry& range) {
  return range.first + (range.last - range.first) / 2 + 1;
}

/// The highest setting of logical_partition_bytes_max. A damaged row may state any number, and sums must not overflow.
constexpr std::uint64_t bytes_counted_max = 1ULL << 50;

/// Bytes of documents by position, in coarse buckets.
class Histogram {
 public:
  Histogram(HashPosition first, HashPosition last)
      : first_(first), last_(last), width_((last - first) / bucket_count + 1) {}

  /// Ignores positions outside of the range. The buckets together may be wider than it, and a damaged row may have the
  /// key of another range.
  void add(HashPosition position, std::uint64_t bytes) {
    if (position < first_ || position > last_) return;
    const std::uint64_t counted = std::min(bytes, bytes_counted_max) + 1;
    buckets_[(position - first_) / width_] += counted;
    total_ += counted;
  }
  HashPosition begin_of(std::size_t bucket) const { return first_ + width_ * bucket; }
  std::uint64_t total() const { return total_; }
  HashPosition width() const { return width_; }

  /// The bucket that contains the middle of all bytes, and the number of bytes before it.
  std::pair<std::size_t, std::uint64_t> middle(std::uint64_t before, std::uint64_t half) const {
    std::size_t bucket = 0;
    while (bucket + 1 < bucket_count && before + buckets_[bucket] < half) before += buckets_[bucket++];
    return {bucket, before};
  }
  std::uint64_t in(std::size_t bucket) const { return buckets_[bucket]; }

 private:
  static constexpr std::size_t bucket_count = 4096;
  HashPosition first_;
  HashPosition last_;
  HashPosition width_;
  std::uint64_t total_ = 0;
  std::vector<std::uint64_t> buckets_ = std::vector<std::uint64_t>(bucket_count);
};

}  // namespace

PartitionSplit::PartitionSplit(std::shared_ptr<Database> database, std::size_t partition_id,
                               std::function<bool()> stopped, std::function<bool()> server_ends)
    : database_(std::move(database)),
      partition_id_(partition_id),
      stopped_(std::move(stopped)),
      server_ends_(server_ends ? std::move(server_ends) : stopped_) {}

PartitionSplit::~PartitionSplit() = default;

// Each pass narrows down the middle: three are enough for the 62 bits.
Expected<std::optional<HashPosition>> PartitionSplit::balanced_cut(const Database& database, std::size_t partition_id) {
  const auto* range = database.partition_map().range_of(partition_id);
  if (range == nullptr) return storage::PhysicalPartition::was_split();
  if (range->first == range->last) return std::nullopt;
  // Hashes of complete ids are spread evenly.
  if (!database.partitioned()) return middle_of(*range);
  OCTAVO_TRY(const auto snapshot, database.snapshot(partition_id));
  HashPosition first = range->first;
  HashPosition last = range->last;
  std::uint64_t before = 0;
  std::uint64_t total = 0;
  while (true) {
    Histogram histogram(first, last);
    OCTAVO_TRY_VOID(snapshot.for_each_partition([&](std::string_view key, const storage::DocumentStatistics& of) {
      histogram.add(hash_position_of_key(key, database.key_scheme()), of.external_bytes);
    }));
    if (total == 0) total = histogram.total();
    if (total == 0) return middle_of(*range);
    const auto [bucket, below] = histogram.middle(before, (total + 1) / 2);
    const std::uint64_t above = total - below - histogram.in(bucket);
    if (histogram.width() > 1 && (below == 0 || above == 0)) {
      // Nearly everything is in this bucket: cut inside it.
      before = below;
      first = histogram.begin_of(bucket);
      last = std::min(last, first + histogram.width() - 1);
      continue;
    }
    HashPosition cut = histogram.begin_of(bucket);
    // Cuts before or after the bucket, whichever leaves less on the larger side.
    if (below == 0 || (above != 0 && std::max(below + histogram.in(bucket), above) < total - below)) {
      if (above == 0) return std::nullopt;
      cut = histogram.begin_of(bucket + 1);
    }
    return cut;
  }
}

Expected<void> PartitionSplit::check_stopped() const {
  if (database_->deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  if (stopped_()) return fail(ErrorCode::timeout, "The split was stopped.");
  return {};
}

std::size_t PartitionSplit::half_of(std::string_view document_id) const {
  return hash_position(document_id, database_->partitioned(), database_->key_scheme()) < cut_ ? 0 : 1;
}

Expected<void> PartitionSplit::run() {
  const auto work = [&]() -> Expected<void> {
    OCTAVO_TRY_VOID(begin());
    OCTAVO_TRY_VOID(copy());
    return switch_over();
  };
  Expected<void> result;
  try {
    result = work();
  } catch (const std::bad_alloc&) {
    result = out_of_memory();
  } catch (const std::exception& error) {
    result = fail(ErrorCode::internal, error.what());
  }
  if (!ended_) until_memory_suffices([&] { give_up(); });
  return result;
}

Expected<void> PartitionSplit::begin() {
  const PartitionMap& map = database_->partition_map();
  const auto* range = map.range_of(partition_id_);
  if (range == nullptr) return fail(ErrorCode::bad_request, "This physical partition was split already.");
  if (range->first == range->last) {
    return fail(ErrorCode::bad_request, "This physical partition cannot be split any further.");
  }
  if (map.partition_id_end() + 1 > storage::partition_number_max) {
    return fail(ErrorCode::bad_request, "This database was split too often.");
  }
  source_ = map.partition(partition_id_);
  OCTAVO_TRY(const auto cut, balanced_cut(*database_, partition_id_));
  cut_ = cut ? *cut : middle_of(*range);
  auto ancestors = range->ancestors;
  ancestors.push_back(static_cast<std::uint32_t>(partition_id_));
  const auto number = static_cast<std::uint32_t>(map.partition_id_end());
  ranges_ = {{range->first, cut_ - 1, storage::partition_folder(number), ancestors},
             {cut_, range->last, storage::partition_folder(number + 1), ancestors}};

  stage_ = SplitStage::copying;
  auto partitions = map.partitions();
  for (const auto& target_range : ranges_) {
    OCTAVO_TRY_VOID(remove_stray_partition(database_->folder() / target_range.folder));
    targets_.push_back(database_->make_partition(target_range));
    OCTAVO_TRY_VOID(targets_.back()->create());
    partitions.push_back(targets_.back());
  }
  {
    // From here on they are partitions like the others, but in no range.
    const std::lock_guard lock(database_->facts_mutex_);
    database_->sequences_->grow(partitions.size());
    for (const auto& target : targets_) {
      target->set_revs_limit(database_->revs_limit());
      database_->attach(*target);
    }
    database_->meter_.set_partition_ids(map.partition_ids(), partitions.size());
    database_->publish(std::make_unique<const PartitionMap>(map.ranges(), std::move(partitions)));
  }
  if (database_->extension_) {
    for (const auto& target : targets_) {
      OCTAVO_TRY_VOID(database_->extension_->partition_added(target->options().partition_id));
    }
  }
  unfed_ = std::make_shared<storage::UnfedChanges>();
  source_->note_unfed(unfed_);
  OCTAVO_TRY(const auto snapshot, source_->snapshot());
  OCTAVO_TRY(const auto statistics, snapshot.statistics());
  expected_ = statistics.document_count + statistics.deleted_count;
  return {};
}

Expected<void> PartitionSplit::copy() {
  for (int catch_ups = 0; catch_ups < catch_ups_max;) {
    OCTAVO_TRY_VOID(check_stopped());
    OCTAVO_TRY(const bool little_left, copy_batch());
    if (little_left) stage_ = SplitStage::catching_up;
    if (stage_ != SplitStage::catching_up) continue;
    if (is_ready()) {
      if (little_left) return {};
      ++catch_ups;
    } else if (little_left) {
      std::this_thread::sleep_for(index_pause);
    }
  }
  return {};
}

bool PartitionSplit::is_ready() const {
  return !database_->extension_ || std::ranges::all_of(targets_, [&](const auto& target) {
    return database_->extension_->is_partition_ready(target->options().partition_id, partition_id_);
  });
}

// True: nearly everything was copied that the source had at the start of the call.
Expected<bool> PartitionSplit::copy_batch() {
  Halves halves;
  OCTAVO_TRY(const bool little_left, read_batch(halves));
  OCTAVO_TRY_VOID(adopt(std::move(halves)));
  return little_left;
}

Expected<bool> PartitionSplit::read_batch(Halves& halves) {
  // Takes the changes that are not in the feed before the snapshot, which then shows the result of all of them.
  auto unfed = unfed_->take();
  pending_.documents.merge(unfed.documents);
  pending_.local_documents.merge(unfed.local_documents);
  OCTAVO_TRY(const auto snapshot, source_->snapshot());
  const storage::CopyReader reader(source_->store(), snapshot.transaction());
  std::size_t bytes = 0;
  std::size_t rows = 0;
  const auto is_full = [&] { return bytes >= batch_bytes || rows >= batch_rows; };
  const auto take_document = [&](std::string_view id) -> Expected<void> {
    OCTAVO_TRY(auto document, reader.document(id));
    bytes += document.bytes();
    ++rows;
    halves[half_of(id)].documents.push_back(std::move(document));
    return {};
  };
  for (; !pending_.documents.empty() && !is_full(); pending_.documents.erase(pending_.documents.begin())) {
    OCTAVO_TRY_VOID(take_document(*pending_.documents.begin()));
  }
  for (; !pending_.local_documents.empty() && !is_full();
       pending_.local_documents.erase(pending_.local_documents.begin())) {
    OCTAVO_TRY(auto local, reader.local_document(*pending_.local_documents.begin()));
    bytes += local.value.size();
    ++rows;
    halves[half_of(local.id)].local_documents.push_back(std::move(local));
  }
  if (!locals_copied_ && !is_full()) {
    auto locals = reader.local_documents_after(local_position_, batch_bytes);
    locals_copied_ = locals.empty();
    if (!locals.empty()) local_position_ = locals.back().id;
    rows += locals.size();
    for (auto& local : locals) halves[half_of(local.id)].local_documents.push_back(std::move(local));
  }
  auto feed = snapshot.feed();
  std::optional<storage::FeedRow> row = feed.seek(position_ + 1);
  for (; row && !is_full(); row = feed.next()) {
    position_ = row->sequence;
    OCTAVO_TRY_VOID(take_document(row->id));
    copied_.fetch_add(1, std::memory_order_relaxed);
  }
  bool versions_left = true;
  if (!is_full()) {
    OCTAVO_TRY(auto versions, reader.versions_after(versions_position_, batch_bytes, versions_position_));
    versions_left = !versions.empty();
    rows += versions.size();
    for (auto& version : versions) halves[half_of(version.id)].versions.push_back(std::move(version));
  }
  return !row && !versions_left && locals_copied_ && rows <= rest_rows_max;
}

Expected<void> PartitionSplit::adopt(Halves halves) {
  for (std::size_t half = 0; half < halves.size(); ++half) {
    auto& copy = halves[half];
    if (copy.empty()) continue;
    OCTAVO_ASSERT(half < targets_.size());
    // Set only now that the copies no longer move: short ids are stored inside the string objects.
    for (auto& document : copy.documents) {
      document.partition_key = partition_key_of(document.id, database_->partitioned());
    }
    OCTAVO_TRY_VOID(await_writer([&](auto done) { targets_[half]->adopt(std::move(copy), std::move(done)); }));
  }
  return {};
}

Expected<void> PartitionSplit::switch_over() {
  OCTAVO_ASSERT(!sealed_ && !ended_);
  OCTAVO_TRY_VOID(await_writer([&](auto done) { source_->seal(std::move(done)); }));
  sealed_ = true;
  stage_ = SplitStage::switching;
  // An index may have been defined just now: it is built while writes continue.
  while (!is_ready()) {
    source_->unseal();
    sealed_ = false;
    OCTAVO_TRY_VOID(copy());
    OCTAVO_TRY_VOID(await_writer([&](auto done) { source_->seal(std::move(done)); }));
    sealed_ = true;
  }
  OCTAVO_TRY_VOID(end_copy());
  OCTAVO_TRY_VOID(check_stopped());
  OCTAVO_TRY_VOID(change_catalog());
  stage_ = SplitStage::done;
  return {};
}

Expected<void> PartitionSplit::end_copy() {
  while (true) {
    const auto before = std::pair(position_, versions_position_);
    OCTAVO_TRY(const bool little_left, copy_batch());
    if (little_left && pending_.documents.empty() && pending_.local_documents.empty() &&
        before == std::pair(position_, versions_position_)) {
      break;
    }
  }
  Halves last;
  {
    OCTAVO_TRY(const auto snapshot, source_->snapshot());
    storage::PartitionCopy::End end;
    OCTAVO_TRY(const storage::PartitionCounters counters, snapshot.counters());
    end.last_sequence = counters.last_sequence;
    end.purge_count = counters.purge_count;
    end.dropped_through = counters.dropped_through;
    if (source_->keeps_versions()) {
      OCTAVO_TRY(end.versions_since, snapshot.versions_since());
    }
    last[0].end = end;
    // The database sums the purges of all its partitions.
    end.purge_count = 0;
    last[1].end = end;
  }
  OCTAVO_TRY_VOID(adopt(std::move(last)));
  for (const auto& target : targets_) OCTAVO_TRY_VOID(target->store().sync());
  return {};
}

// Puts the new map into force, first on the disk, then in memory. Once it may be on the disk it cannot be taken back:
// what a restart would find counts.
Expected<void> PartitionSplit::change_catalog() {
  Database& database = *database_;
  auto& catalog = database.engine_.catalog();
  const std::lock_guard lock(database.facts_mutex_);
  const PartitionMap& map = database.partition_map();
  OCTAVO_ASSERT(sealed_ && ranges_.size() == 2);
  OCTAVO_ASSERT(map.range_of(partition_id_) != nullptr);
  storage::DatabaseRecord changed = database.record_;
  const auto& old = *map.range_of(partition_id_);
  const auto entry = std::ranges::find(changed.partition_map, old.folder, &storage::PartitionMapEntry::folder);
  OCTAVO_ASSERT(entry != changed.partition_map.end());
  *entry = ranges_[1];
  changed.partition_map.insert(entry, ranges_[0]);
  // Allocates before anything is decided.
  auto next = std::make_unique<const PartitionMap>(changed.partition_map, map.partitions());
  const auto successor = database.successor();
  database.maps_.reserve(database.maps_.size() + 1);
  if (auto replaced = catalog.replace(changed); !replaced) {
    const auto is_there = [&](const auto& stored) {
      return stored->has_value() && (*stored)->instance_tag == changed.instance_tag &&
             std::ranges::any_of((*stored)->partition_map,
                                 [&](const auto& range) { return range.folder == ranges_[0].folder; });
    };
    auto stored = catalog.find(database.name());
    // A stop of the split does not end this: until it is known what is on the disk, all writes of the partition wait.
    while (!stored && !database.deleted() && !server_ends_()) {
      std::this_thread::sleep_for(catalog_pause);
      stored = catalog.find(database.name());
    }
    is_unknown_ = !stored && !database.deleted();
    if (!stored || !is_there(stored)) return replaced;
  }
  database.record_.partition_map = std::move(changed.partition_map);
  until_memory_suffices([&] { database.meter_.set_partition_ids(next->partition_ids(), next->partition_id_end()); });
  database.publish(std::move(next));
  ended_ = true;
  if (database.extension_) until_memory_suffices([&] { database.extension_->partitions_changed(); });
  source_->hand_over(successor);
  return {};
}

void PartitionSplit::give_up() {
  // No files may be removed and nothing may be written: the next start finds out which partitions count.
  if (is_unknown_) return;
  if (source_) source_->note_unfed(nullptr);
  if (sealed_) source_->unseal();
  sealed_ = false;
  if (targets_.empty()) return;
  Database& database = *database_;
  const PartitionMap& map = database.partition_map();
  const bool joined = map.partition_id_end() > targets_.front()->options().partition_id;
  if (joined && database.extension_) {
    for (const auto& target : targets_) database.extension_->partition_removed(target->options().partition_id);
  }
  if (joined) {
    const std::lock_guard lock(database.facts_mutex_);
    auto partitions = map.partitions();
    for (const auto& target : targets_) partitions[target->options().partition_id].reset();
    database.publish(std::make_unique<const PartitionMap>(map.ranges(), std::move(partitions)));
  }
  for (const auto& target : targets_) {
    target->retire();
    target->discard();
  }
  targets_.clear();
}

}  // namespace octavo::partitioning
