#include "partitioning/partition_move.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/folder.h"
#include "base/jobs/run_guarded.h"
#include "base/memory_retry.h"
#include "partitioning/engine.h"
#include "partitioning/keys/partition_key.h"
#include "partitioning/keys/range_parts.h"
#include "partitioning/moves/byte_histogram.h"

namespace octavo::partitioning {

namespace {

// If writes are faster than this copies, they have to wait at the end; otherwise it would copy forever.
constexpr int catch_ups_max = 200;
constexpr std::chrono::milliseconds index_pause{50};
constexpr std::chrono::milliseconds catalog_pause{100};

/// Starts something that completes on a writer's thread. The callback owns the promise, as it may still be using it
/// when the waiting ends.
template <class Start>
std::future<Expected<void>> start_on_writer(Start start) {
  const auto promise = std::make_shared<std::promise<Expected<void>>>();
  auto done = promise->get_future();
  start([promise](Expected<void> result) { promise->set_value(std::move(result)); });
  return done;
}

/// A move that was cut off may have left files under the name of the new partition.
Expected<void> remove_stray_partition(const std::filesystem::path& folder) {
  std::error_code error;
  storage::remove_folder(folder, error);
  if (!error) return {};
  return fail(ErrorCode::io_failure,
              fmt::format("{} is left over from an earlier split or merge and cannot be removed: {}", folder.string(),
                          error.message()));
}

HashPosition middle_of(const storage::PartitionMapEntry& range) {
  return range.first + (range.last - range.first) / 2 + 1;
}

}  // namespace

PartitionMove::PartitionMove(std::shared_ptr<Database> database, std::vector<std::size_t> sources,
                             std::function<bool()> stopped, std::function<bool()> server_ends)
    : database_(std::move(database)),
      source_ids_(std::move(sources)),
      stopped_(std::move(stopped)),
      server_ends_(server_ends ? std::move(server_ends) : stopped_) {
  OCTAVO_ASSERT(source_ids_.size() == 1 || source_ids_.size() == 2);
}

PartitionMove::~PartitionMove() = default;

// Each pass narrows down the middle: three are enough for the 62 bits.
Expected<std::optional<HashPosition>> PartitionMove::balanced_cut(const Database& database, std::size_t partition_id) {
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
    ByteHistogram histogram(first, last);
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

Expected<void> PartitionMove::check_merge(const Database& database, std::size_t partition_id, std::size_t other) {
  const PartitionMap& map = database.partition_map();
  const auto* low = map.range_of(partition_id);
  const auto* high = map.range_of(other);
  if (low == nullptr || high == nullptr) {
    return fail(ErrorCode::bad_request, "One of these physical partitions was split or merged already.");
  }
  if (low->first > high->first) std::swap(low, high);
  if (low->last + 1 != high->first) {
    return fail(ErrorCode::bad_request, "Only neighbours can be merged, and these ranges do not touch.");
  }
  const std::size_t needed = database.extension() != nullptr ? database.extension()->partitions_needed() : 1;
  if (map.size() <= needed) {
    return fail(ErrorCode::bad_request, fmt::format("The throughput needs {} physical partitions.", needed));
  }
  std::uint64_t bytes = 0;
  for (const std::size_t one : {partition_id, other}) {
    OCTAVO_TRY(const auto sizes, map.partition(one)->store().sizes());
    bytes += sizes.used_bytes;
  }
  const std::uint64_t bytes_max = database.engine_.settings().physical_partition_bytes_max / 100 * merged_percent_max;
  if (bytes <= bytes_max) return {};
  return fail(ErrorCode::bad_request,
              fmt::format("Together they have {} bytes, more than {}, which is {} % of the size at which a physical "
                          "partition is split.",
                          bytes, bytes_max, merged_percent_max));
}

Expected<void> PartitionMove::check_stopped() const {
  if (database_->deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  if (stopped_()) return fail(ErrorCode::timeout, is_merge() ? "The merge was stopped." : "The split was stopped.");
  return {};
}

Expected<void> PartitionMove::run() {
  const auto work = [&]() -> Expected<void> {
    OCTAVO_TRY_VOID(begin());
    OCTAVO_TRY_VOID(copy());
    return switch_over();
  };
  auto result = run_guarded(is_merge() ? "merge" : "split", work);
  if (!ended_) until_memory_suffices([&] { give_up(); });
  return result;
}

Expected<void> PartitionMove::begin() {
  const PartitionMap& map = database_->partition_map();
  OCTAVO_TRY_VOID(is_merge() ? begin_merge(map) : begin_split(map));
  stage_ = MoveStage::copying;
  OCTAVO_TRY_VOID(add_targets(map));
  std::uint64_t expected = 0;
  std::vector<ContentReader::Source> read;
  for (const auto& source : sources_) {
    OCTAVO_TRY(const auto snapshot, source->snapshot());
    OCTAVO_TRY(const auto statistics, snapshot.statistics());
    expected += statistics.document_count + statistics.deleted_count;
    read.push_back({source, map.range_of(source->options().partition_id)->last});
  }
  expected_ = expected;
  std::vector<HashPosition> ends;
  for (const auto& range : ranges_) ends.push_back(range.last);
  reader_ = std::make_unique<ContentReader>(std::move(read), std::move(ends),
                                            HashedBy{database_->partitioned(), database_->key_scheme()}, copied_);
  return {};
}

Expected<void> PartitionMove::begin_split(const PartitionMap& map) {
  const std::size_t partition_id = source_ids_.front();
  const auto* range = map.range_of(partition_id);
  if (range == nullptr) {
    return fail(ErrorCode::bad_request, "This physical partition was split or merged already.");
  }
  if (range->first == range->last) {
    return fail(ErrorCode::bad_request, "This physical partition cannot be split any further.");
  }
  if (map.partition_id_end() + 1 > storage::partition_number_max) {
    return fail(ErrorCode::bad_request, "This database was split too often.");
  }
  sources_.push_back(map.partition(partition_id));
  OCTAVO_TRY(const auto balanced, balanced_cut(*database_, partition_id));
  const HashPosition cut = balanced ? *balanced : middle_of(*range);
  auto ancestors = range->ancestors;
  ancestors.push_back(static_cast<std::uint32_t>(partition_id));
  const auto number = static_cast<std::uint32_t>(map.partition_id_end());
  ranges_ = {{range->first, cut - 1, storage::partition_folder(number), ancestors},
             {cut, range->last, storage::partition_folder(number + 1), ancestors}};
  return {};
}

Expected<void> PartitionMove::begin_merge(const PartitionMap& map) {
  OCTAVO_TRY_VOID(check_merge(*database_, source_ids_.front(), source_ids_.back()));
  if (map.partition_id_end() > storage::partition_number_max) {
    return fail(ErrorCode::bad_request, "This database was split and merged too often.");
  }
  std::set<std::uint32_t> ancestors;  // in the order of their creation
  storage::PartitionMapEntry merged{hash_space_end, 0, {}, {}};
  for (const std::size_t partition_id : source_ids_) {
    const auto& range = *map.range_of(partition_id);
    merged.first = std::min(merged.first, range.first);
    merged.last = std::max(merged.last, range.last);
    ancestors.insert(range.ancestors.begin(), range.ancestors.end());
    ancestors.insert(static_cast<std::uint32_t>(partition_id));
    sources_.push_back(map.partition(partition_id));
  }
  merged.ancestors.assign(ancestors.begin(), ancestors.end());
  merged.folder = storage::partition_folder(static_cast<std::uint32_t>(map.partition_id_end()));
  ranges_ = {std::move(merged)};
  return {};
}

Expected<void> PartitionMove::add_targets(const PartitionMap& map) {
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
    database_->publish(std::make_unique<const PartitionMap>(map.ranges(), std::move(partitions), map.former()));
  }
  if (database_->extension_) {
    for (const auto& target : targets_) {
      OCTAVO_TRY_VOID(database_->extension_->partition_added(target->options().partition_id));
    }
  }
  return {};
}

Expected<void> PartitionMove::copy() {
  for (int catch_ups = 0; catch_ups < catch_ups_max;) {
    OCTAVO_TRY_VOID(check_stopped());
    OCTAVO_TRY(const bool little_left, copy_batch());
    if (little_left) stage_ = MoveStage::catching_up;
    if (stage_ != MoveStage::catching_up) continue;
    if (is_ready()) {
      if (little_left) return {};
      ++catch_ups;
    } else if (little_left) {
      std::this_thread::sleep_for(index_pause);
    }
  }
  return {};
}

bool PartitionMove::is_ready() const {
  auto* const extension = database_->extension_.get();
  return extension == nullptr || std::ranges::all_of(targets_, [&](const auto& target) {
           return std::ranges::all_of(source_ids_, [&](std::size_t source) {
             return extension->is_partition_ready(target->options().partition_id, source);
           });
         });
}

// True: nearly everything was copied that the sources had at the start of the call.
Expected<bool> PartitionMove::copy_batch() {
  ContentReader::Copies copies;
  OCTAVO_TRY(const bool little_left, reader_->read(copies));
  OCTAVO_TRY_VOID(adopt(std::move(copies)));
  return little_left;
}

Expected<void> PartitionMove::adopt(ContentReader::Copies copies) {
  for (std::size_t i = 0; i < copies.size(); ++i) {
    auto& copy = copies[i];
    if (copy.empty()) continue;
    OCTAVO_ASSERT(i < targets_.size());
    // Set only now that the copies no longer move: short ids are stored inside the string objects.
    for (auto& document : copy.documents) {
      document.partition_key = partition_key_of(document.id, database_->partitioned());
    }
    OCTAVO_TRY_VOID(start_on_writer([&](auto done) { targets_[i]->adopt(std::move(copy), std::move(done)); }).get());
  }
  return {};
}

// All at once: pauses one after the other would add up, and a request over both sources would meet both worlds.
Expected<void> PartitionMove::seal() {
  std::vector<std::future<Expected<void>>> started;
  started.reserve(sources_.size());
  Expected<void> result;
  sealed_ = true;  // what is sealed in part is unsealed like the whole
  try {
    for (const auto& source : sources_) {
      started.push_back(start_on_writer([&](auto done) { source->seal(std::move(done)); }));
    }
  } catch (const std::bad_alloc&) {
    result = out_of_memory();
  }
  // A partition whose marker is still in its queue would be sealed later, and stay so.
  for (auto& one : started) {
    auto ended = one.get();
    if (!ended && result) result = std::move(ended);
  }
  return result;
}

void PartitionMove::unseal() {
  for (const auto& source : sources_) source->unseal();
  sealed_ = false;
}

Expected<void> PartitionMove::switch_over() {
  OCTAVO_ASSERT(!sealed_ && !ended_);
  OCTAVO_TRY_VOID(seal());
  stage_ = MoveStage::switching;
  // An index may have been defined just now: it is built while writes continue.
  while (!is_ready()) {
    unseal();
    OCTAVO_TRY_VOID(copy());
    OCTAVO_TRY_VOID(seal());
  }
  OCTAVO_TRY_VOID(end_copy());
  OCTAVO_TRY_VOID(check_stopped());
  OCTAVO_TRY_VOID(change_catalog());
  stage_ = MoveStage::done;
  return {};
}

Expected<void> PartitionMove::end_copy() {
  while (true) {
    const auto before = reader_->position();
    OCTAVO_TRY(const bool little_left, copy_batch());
    if (little_left && reader_->position() == before) break;
  }
  OCTAVO_TRY(auto last, reader_->read_ends());
  OCTAVO_TRY_VOID(adopt(std::move(last)));
  for (const auto& target : targets_) OCTAVO_TRY_VOID(target->store().sync());
  return {};
}

// Puts the new map into force, first on the disk, then in memory. Once it may be on the disk it cannot be taken back:
// what a restart would find counts.
Expected<void> PartitionMove::change_catalog() {
  Database& database = *database_;
  auto& catalog = database.engine_.catalog();
  const std::lock_guard lock(database.facts_mutex_);
  const PartitionMap& map = database.partition_map();
  OCTAVO_ASSERT(sealed_ && ranges_.size() == targets_.size());
  storage::DatabaseRecord changed = database.record_;
  replace_ranges(changed, ranges_);
  // Allocates before anything is decided.
  auto next = std::make_unique<const PartitionMap>(changed.partition_map, map.partitions(), changed.former);
  const auto successor = database.successor();
  database.maps_.reserve(database.maps_.size() + 1);
  if (auto replaced = catalog.replace(changed); !replaced) {
    const auto is_there = [&](const auto& stored) {
      return stored->has_value() && (*stored)->instance_tag == changed.instance_tag &&
             std::ranges::any_of((*stored)->partition_map,
                                 [&](const auto& range) { return range.folder == ranges_[0].folder; });
    };
    auto stored = catalog.find(database.name());
    // A stop of the move does not end this: until it is known what is on the disk, all writes of the sources wait.
    while (!stored && !database.deleted() && !server_ends_()) {
      std::this_thread::sleep_for(catalog_pause);
      stored = catalog.find(database.name());
    }
    is_unknown_ = !stored && !database.deleted();
    if (!stored || !is_there(stored)) return replaced;
  }
  // Not the tag, which other threads read.
  database.record_.partition_map = std::move(changed.partition_map);
  database.record_.former = std::move(changed.former);
  database.record_.created_q = changed.created_q;
  until_memory_suffices([&] { database.meter_.set_partition_ids(next->partition_ids(), next->partition_id_end()); });
  database.publish(std::move(next));
  ended_ = true;
  if (database.extension_) until_memory_suffices([&] { database.extension_->partitions_changed(); });
  for (const auto& source : sources_) source->hand_over(successor);
  return {};
}

void PartitionMove::give_up() {
  // No files may be removed and nothing may be written: the next start finds out which partitions count.
  if (is_unknown_) return;
  reader_.reset();
  if (sealed_) unseal();
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
    database.publish(std::make_unique<const PartitionMap>(map.ranges(), std::move(partitions), map.former()));
  }
  for (const auto& target : targets_) {
    target->retire();
    target->discard();
  }
  targets_.clear();
}

}  // namespace octavo::partitioning
