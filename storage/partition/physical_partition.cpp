#include "storage/partition/physical_partition.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <thread>

#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/jobs/run_guarded.h"
#include "base/memory_retry.h"
#include "base/read_failure.h"
#include "base/unix_time.h"
#include "storage/document/expiry_schedule.h"
#include "storage/lmdb/store_preparation.h"
#include "storage/logs/version_log.h"
#include "storage/partition/document_observer.h"
#include "storage/partition/document_writer.h"
#include "storage/partition/unfed_changes.h"
#include "storage/partition/unique_keys.h"
#include "storage/upgrade/format_upgrade.h"

namespace octavo::storage {
namespace {

/// Failures that may concern one request rather than the disk. The group's requests are then run again one by one, so
/// that a damaged document, or one too large for the available memory, fails only its own write. Never after a failure
/// of the disk: the group may be stored nevertheless, and would then conflict with itself.
bool may_be_one_request(ErrorCode code) {
  return code != ErrorCode::disk_full && code != ErrorCode::io_failure && code != ErrorCode::not_found;
}

}  // namespace

PhysicalPartition::PhysicalPartition(Options options, WriterPool& writers)
    : options_(std::move(options)), writers_(writers), large_partitions_(options_.logical_partition_bytes_max) {
  Store::Options store;
  store.folder = options_.folder;
  store.trees.assign(partition_tree_names.begin(), partition_tree_names.end());
  store.durability = options_.durability;
  store.capacity_bytes_initial = options_.capacity_bytes_initial;
  store.faults = options_.faults;
  store_ = std::make_unique<Store>(std::move(store));
}

PhysicalPartition::~PhysicalPartition() = default;

Expected<void> PhysicalPartition::create() {
  if (Store::exists_in(options_.folder)) {
    return fail(ErrorCode::io_failure, options_.folder.string() + " has the files of another partition.");
  }
  return store_->create();
}

void PhysicalPartition::attach(std::shared_ptr<SequenceAllocator> sequences, CommitListener on_commit) {
  OCTAVO_ASSERT(sequences != nullptr);
  OCTAVO_ASSERT(sequences_ == nullptr);
  sequences_ = std::move(sequences);
  on_commit_ = std::move(on_commit);
}

void PhysicalPartition::set_observer(std::shared_ptr<DocumentObserver> observer) {
  std::lock_guard<std::mutex> lock(queue_mutex_);
  observer_ = std::move(observer);
}

Expected<Snapshot> PhysicalPartition::snapshot() const {
  if (discarded_.load(std::memory_order_relaxed)) return was_split();
  OCTAVO_TRY(ReadTransaction transaction, store_->read());
  return Snapshot(*store_, std::move(transaction), expiry());
}

std::unexpected<Error> PhysicalPartition::was_split() {
  return fail(ErrorCode::partition_split, "The physical partition was split or merged; send the request again.");
}

void PhysicalPartition::set_time_to_live(std::shared_ptr<const TimeToLive> rule) {
  const bool some = rule != nullptr;
  time_to_live_.store(std::move(rule), std::memory_order_release);
  has_time_to_live_.store(some, std::memory_order_release);
}

Expiry PhysicalPartition::expiry() const {
  if (!has_time_to_live_.load(std::memory_order_acquire)) return {};
  return {time_to_live_.load(std::memory_order_acquire), unix_now_s()};
}

// Runs a task that can be done in parts; its result true: there is more to do.
void PhysicalPartition::run_part(std::move_only_function<Expected<bool>(WriteTransaction&, Tree meta)> part,
                                 std::move_only_function<void(Expected<bool>)> done) {
  const auto more = std::make_shared<bool>(false);
  run_index_task(
      [this, more, part = std::move(part)](WriteTransaction& transaction, Tree) mutable -> Expected<void> {
        OCTAVO_TRY(*more, part(transaction, store_->tree(static_cast<std::size_t>(PartitionTree::meta))));
        return {};
      },
      [more, done = std::move(done)](Expected<void> result) mutable {
        if (result) {
          done(*more);
        } else {
          done(std::unexpected(std::move(result).error()));
        }
      });
}

void PhysicalPartition::trim_versions(std::int64_t before_s, std::size_t rows_max,
                                      std::move_only_function<void(Expected<bool>)> done) {
  OCTAVO_ASSERT(rows_max > 0);  // otherwise there is always more to do
  run_part(
      [before_s, rows_max](WriteTransaction& transaction, Tree meta) {
        return VersionLog::trim(transaction, meta, before_s, unix_now_s(), rows_max);
      },
      std::move(done));
}

// Runs outside the groups of writes: it takes no sequences, and nothing of it is logged.
void PhysicalPartition::drop_tombstones(std::vector<Tombstone> tombstones,
                                        std::move_only_function<void(Expected<void>)> done) {
  OCTAVO_ASSERT(tombstones.size() <= tombstones_dropped_max);
  const auto dropped = std::make_shared<const std::vector<Tombstone>>(std::move(tombstones));
  auto drop_all = [this, dropped](WriteTransaction& transaction, Tree) -> Expected<void> {
    DocumentWriter writer(transaction, {.trees = *store_,
                                        .sequences = *sequences_,
                                        .partition_id = options_.partition_id,
                                        .replaced = replaced_.load(std::memory_order_relaxed)});
    OCTAVO_TRY_VOID(writer.begin());
    for (const Tombstone& tombstone : *dropped) OCTAVO_TRY_VOID(writer.drop(tombstone));
    return writer.finish();
  };
  run_index_task(std::move(drop_all), [this, dropped, done = std::move(done)](Expected<void> result) mutable {
    // Like in note_unfed_of, a split that has copied the tombstones must remove them again, whatever the result was.
    if (const auto unfed = unfed_changes()) {
      until_memory_suffices([&] {
        for (const Tombstone& tombstone : *dropped) unfed->add_document(tombstone.id);
      });
    }
    done(std::move(result));
  });
}

Expected<bool> PhysicalPartition::run_part_and_wait(
    std::move_only_function<Expected<bool>(WriteTransaction&, Tree meta)> part) {
  // Shared: it is used until the call that keeps it returns, perhaps after this thread has the result.
  const auto promise = std::make_shared<std::promise<Expected<bool>>>();
  auto done = promise->get_future();
  run_part(std::move(part), [promise](Expected<bool> more) { promise->set_value(std::move(more)); });
  return done.get();
}

Expected<void> PhysicalPartition::drop_replaced(const StorePreparation& preparation) {
  constexpr std::size_t rows_per_group = 100;
  return run_guarded("dropping replaced bodies", [&]() -> Expected<void> {
    while (!preparation.is_stopped()) {
      OCTAVO_TRY(const bool more, run_part_and_wait([this](WriteTransaction& transaction, Tree) {
                   const Tree log = store_->tree(static_cast<std::size_t>(PartitionTree::replaced));
                   return replaced_log::erase_oldest(transaction, log, rows_per_group);
                 }));
      if (!more) break;
    }
    return {};
  });
}

Expected<void> PhysicalPartition::upgrade_rows(StorePreparation& preparation) {
  return run_guarded("upgrading rows", [&] { return upgrade_in_steps(preparation); });
}

// Old rows are looked for outside the groups of writes, which only write them again: so most of the work holds up no
// other writes. Nothing is written without old rows, but the mark.
Expected<void> PhysicalPartition::upgrade_in_steps(StorePreparation& preparation) {
  constexpr std::size_t rows_per_group = 1024;
  constexpr std::size_t row_bytes = 40;
  format_upgrade::Walk walk(*store_);
  bool has_logical_rows = false;
  {
    OCTAVO_TRY(const ReadTransaction transaction, store_->read());
    OCTAVO_TRY(const bool is_marked, format_upgrade::is_marked(transaction, *store_));
    if (is_marked) return {};
    preparation.expect_rows(walk.rows_expected(transaction));
    Cursor cursor(transaction, store_->tree(static_cast<std::size_t>(PartitionTree::partitions)));
    has_logical_rows = cursor.first().has_value();
  }
  while (has_logical_rows) {
    if (preparation.is_stopped()) return {};
    const auto begun = StorePreparation::Clock::now();
    OCTAVO_TRY(has_logical_rows, run_part_and_wait([this](WriteTransaction& transaction, Tree) {
                 return format_upgrade::move_logical_rows(transaction, *store_, rows_per_group);
               }));
    preparation.rest(begun, rows_per_group * row_bytes);
  }
  while (!preparation.is_stopped()) {
    const auto begun = StorePreparation::Clock::now();
    std::optional<format_upgrade::OldRows> rows;
    {
      OCTAVO_TRY(const ReadTransaction transaction, store_->read());
      OCTAVO_TRY(rows, walk.next(transaction));
    }
    const bool is_end = !rows.has_value();
    const auto write = [this, &rows](WriteTransaction& transaction, Tree) -> Expected<bool> {
      OCTAVO_TRY_VOID(rows ? format_upgrade::rewrite(transaction, *store_, *rows)
                           : format_upgrade::mark(transaction, *store_));
      return false;
    };
    if (is_end || !rows->keys.empty()) OCTAVO_TRY_VOID(run_part_and_wait(write));
    if (is_end) break;
    preparation.note_rows(walk.rows_read());
    preparation.rest(begun, rows->bytes);
  }
  return {};
}

void PhysicalPartition::make_expiry_schedule(std::size_t rows_max, std::move_only_function<void(Expected<bool>)> done) {
  OCTAVO_ASSERT(rows_max > 0);
  run_part(
      [this, rows_max](WriteTransaction& transaction, Tree meta) -> Expected<bool> {
        const Expiry now = expiry();
        if (now.rule() == nullptr) return false;
        OCTAVO_TRY(const auto record, transaction.get(meta, counters_key));
        PartitionCounters counters;
        if (record) {
          OCTAVO_TRY(counters, decode_counters(*record));
        }
        const Tree documents = store_->tree(static_cast<std::size_t>(PartitionTree::documents));
        return ExpirySchedule::make(transaction, meta, documents, *now.rule(), counters.last_sequence, rows_max);
      },
      std::move(done));
}

bool PhysicalPartition::drain() noexcept {
  std::vector<Job> group;
  until_memory_suffices([&] { group = take_group(); });
  if (group.size() == 1 && std::holds_alternative<SealJob>(group.front().work)) {
    {
      // It stays marked as scheduled, so no other call schedules it.
      std::lock_guard<std::mutex> lock(queue_mutex_);
      OCTAVO_ASSERT(!sealed_);
      sealed_ = true;
    }
    complete(group.front(), {});
    return false;
  }
  if (!group.empty()) {
    OCTAVO_ASSERT(sequences_ != nullptr);  // attach() comes before any write
    const Sequence watermark = sequences_->watermark();
    const Outcome outcome = commit_group(group);
    if (!outcome.committed && group.size() > 1 && may_be_one_request(outcome.committed.error().code)) {
      for (Job& job : group) {
        const std::span<Job> alone(&job, 1);
        const Outcome single = commit_group(alone);
        note_unfed_of(alone);
        finish_group(alone, single, watermark);
      }
    } else {
      note_unfed_of(group);
      finish_group(group, outcome, watermark);
    }
  }
  std::lock_guard<std::mutex> lock(queue_mutex_);
  OCTAVO_ASSERT(scheduled_ && !sealed_);
  scheduled_ = !queue_.empty();
  return scheduled_;
}

Expected<void> PhysicalPartition::run_documents(DocumentWriter& writer, DocumentsJob& job) {
  if (job.options.atomic) return run_atomic_documents(writer, job);
  job.results.clear();
  job.results.reserve(job.writes.size());
  for (const DocumentWrite& write : job.writes) {
    OCTAVO_TRY(EditOutcome outcome, writer.apply(write));
    job.results.push_back(std::move(outcome));
  }
  return {};
}

Expected<void> PhysicalPartition::run_atomic_documents(DocumentWriter& writer, DocumentsJob& job) {
  const EditOutcome not_written = fail(ErrorCode::precondition_failed, "not written");
  bool accepted = true;
  job.results.assign(job.writes.size(), not_written);
  for (std::size_t i = 0; i < job.writes.size(); ++i) {
    OCTAVO_TRY(Refusal refusal, writer.check(job.writes[i]));
    if (!refusal) continue;
    accepted = false;
    job.results[i] = std::unexpected(*std::move(refusal));
  }
  if (!accepted) return {};
  const auto apply_all = [&]() -> Expected<bool> {
    OCTAVO_ASSERT(job.results.size() == job.writes.size());
    for (std::size_t i = 0; i < job.writes.size(); ++i) {
      OCTAVO_TRY(job.results[i], writer.apply(job.writes[i]));
      if (job.results[i]) continue;
      std::fill_n(job.results.begin(), i, not_written);
      return false;
    }
    return true;
  };
  // Edits that check() accepts one by one may still be refused when they are applied: two have the same unique value,
  // together they exceed the size of a logical partition, or a replicated branch has the edit's revision already.
  return writer.all_or_nothing(apply_all);
}

Expected<void> PhysicalPartition::run_job(DocumentWriter& writer, Job& job) {
  if (auto* documents = std::get_if<DocumentsJob>(&job.work)) return run_documents(writer, *documents);
  if (auto* local = std::get_if<LocalJob>(&job.work)) {
    OCTAVO_TRY(local->result, writer.apply_local(local->write));
    return {};
  }
  if (auto* transaction = std::get_if<TransactionJob>(&job.work)) {
    return writer.all_or_nothing([&]() -> Expected<bool> {
      PartitionTransaction inside(writer);
      return transaction->task(inside);
    });
  }
  OCTAVO_ASSERT(std::holds_alternative<PurgeJob>(job.work));
  auto& purge = std::get<PurgeJob>(job.work);
  purge.purged.clear();
  for (const PurgeRequest& request : purge.requests) {
    OCTAVO_TRY(std::vector<Revision> purged, writer.purge(request));
    purge.purged.push_back(std::move(purged));
  }
  return {};
}

PhysicalPartition::Outcome PhysicalPartition::commit_group(std::span<Job> group) noexcept {
  try {
    if (retired_.load(std::memory_order_acquire)) {
      return {.committed = fail(ErrorCode::not_found, "Database does not exist.")};
    }
    auto* index_job = std::get_if<IndexJob>(&group.front().work);
    if (index_job == nullptr) return commit_documents(group);
    OCTAVO_ASSERT(group.size() == 1);  // its transaction has no other job
    // The tree is known only inside the transaction: before the store's first use it has no handles.
    return {.committed = store_->write(1 << 20, [&](WriteTransaction& transaction) {
      return index_job->task(transaction, store_->tree(static_cast<std::size_t>(PartitionTree::index)));
    })};
  } catch (const std::bad_alloc&) {
    return {.committed = out_of_memory()};
  } catch (const ReadFailure& failure) {
    return {.committed = std::unexpected(copy_when_memory_suffices(failure.error()))};
  } catch (const std::exception& error) {
    spdlog::error("partition {}: unexpected exception: {}", options_.folder.c_str(), error.what());
    return {.committed = std::unexpected(Error{ErrorCode::internal, {}, {}})};
  }
}

std::shared_ptr<DocumentObserver> PhysicalPartition::observer() {
  std::lock_guard<std::mutex> lock(queue_mutex_);
  return observer_;
}

std::shared_ptr<UnfedChanges> PhysicalPartition::unfed_changes() {
  std::lock_guard<std::mutex> lock(queue_mutex_);
  return unfed_;
}

PhysicalPartition::Outcome PhysicalPartition::commit_documents(std::span<Job> group) {
  const std::shared_ptr<DocumentObserver> watching = observer();
  const std::shared_ptr<const DocumentOwners> known_owners = owners();
  std::size_t bytes = 0;
  for (const Job& job : group) bytes += job.bytes;
  const DocumentWriter::Environment writer_environment{
      .trees = *store_,
      .sequences = *sequences_,
      .partition_id = options_.partition_id,
      .observer = watching.get(),
      .unique_keys = unique_keys_.get(),
      .owners = known_owners.get(),
      .revs_limit = revs_limit_.load(std::memory_order_relaxed),
      .logical_partition_bytes_max = options_.logical_partition_bytes_max,
      .large_partitions = &large_partitions_,
      .now_s = unix_now_s(),
      .expiry = expiry(),
      .keeps_versions = keeps_versions(),
      .replaced = replaced_.load(std::memory_order_relaxed),
      .compression = options_.compression};

  SequenceAllocator::Group sequences(*sequences_, options_.partition_id);
  Outcome outcome;
  const auto begun = std::chrono::steady_clock::now();
  outcome.committed = store_->write(bytes, [&](WriteTransaction& transaction) -> Expected<void> {
    DocumentWriter writer(transaction, writer_environment);
    OCTAVO_TRY_VOID(writer.begin());
    for (Job& job : group) OCTAVO_TRY_VOID(run_job(writer, job));
    OCTAVO_TRY_VOID(writer.finish());
    outcome.design_documents_changed = writer.design_documents_changed();
    return {};
  });
  outcome.visible = outcome.committed.has_value();
  if (outcome.committed) writers_.count_commit(group.size(), std::chrono::steady_clock::now() - begun);
  const bool news = writers_.note_commit(outcome.committed);
  if (outcome.committed && news) spdlog::info("writes succeed again");
  if (!outcome.committed) {
    const Error& error = outcome.committed.error();
    if (news) {
      spdlog::error("partition {}: a group of {} requests was not written: {}", options_.folder.string(), group.size(),
                    reason_of(error));
    }
    if (error.code == ErrorCode::io_failure || error.code == ErrorCode::disk_full) {
      outcome.visible = is_stored(sequences.highest());
    }
  }
  if (outcome.visible) sequences.mark_committed();
  return outcome;
}

// Whether a group is stored although its commit failed; the feed must then continue past it.
bool PhysicalPartition::is_stored(Sequence highest) const {
  if (highest == 0) return false;
  const auto now = snapshot();
  if (!now) return false;  // no other reader can read it either
  const auto last = now->last_sequence();
  return last && *last >= highest;
}

void PhysicalPartition::finish_group(std::span<Job> group, const Outcome& outcome, Sequence watermark_before) noexcept {
  // A failed group may have held back what other partitions committed meanwhile.
  const bool feed_grew = outcome.visible || sequences_->watermark() > watermark_before;
  if (feed_grew && on_commit_) {
    try {
      on_commit_(outcome.design_documents_changed);
    } catch (const std::exception& error) {
      spdlog::error("partition {}: telling of a commit failed: {}", options_.folder.c_str(), error.what());
    }
  }
  for (Job& job : group) complete(job, outcome.committed);
}

// Called after the commit, whatever its result: the split that copies the partition reads a later snapshot.
void PhysicalPartition::note_unfed_of(std::span<const Job> group) noexcept {
  const std::shared_ptr<UnfedChanges> unfed = unfed_changes();
  if (!unfed) return;
  until_memory_suffices([&] {
    for (const Job& job : group) {
      if (const auto* local = std::get_if<LocalJob>(&job.work)) {
        unfed->add_local_document(local->write.id);
      } else if (const auto* purge = std::get_if<PurgeJob>(&job.work)) {
        for (const PurgeRequest& request : purge->requests) unfed->add_document(request.id);
      }
    }
  });
}

void PhysicalPartition::complete(Job& job, const Expected<void>& committed) noexcept {
  if (auto* documents = std::get_if<DocumentsJob>(&job.work)) {
    if (!committed) {
      until_memory_suffices(
          [&] { documents->results.assign(documents->writes.size(), std::unexpected(committed.error())); });
    }
    OCTAVO_ASSERT(documents->results.size() == documents->writes.size());
    documents->done(std::move(documents->results));
  } else if (auto* local = std::get_if<LocalJob>(&job.work)) {
    if (!committed) local->result = std::unexpected(copy_when_memory_suffices(committed.error()));
    local->done(std::move(local->result));
  } else if (auto* purge = std::get_if<PurgeJob>(&job.work)) {
    if (committed) {
      OCTAVO_ASSERT(purge->purged.size() == purge->requests.size());
      purge->done(std::move(purge->purged));
    } else {
      purge->done(std::unexpected(copy_when_memory_suffices(committed.error())));
    }
  } else {
    auto verdict = copy_when_memory_suffices(committed);
    if (auto* transaction = std::get_if<TransactionJob>(&job.work)) {
      transaction->done(std::move(verdict));
    } else if (auto* seal = std::get_if<SealJob>(&job.work)) {
      seal->done(std::move(verdict));
    } else {
      std::get<IndexJob>(job.work).done(std::move(verdict));
    }
  }
}

}  // namespace octavo::storage
