#include "query/project/projection.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/unix_time.h"
#include "partitioning/engine.h"
#include "partitioning/scan.h"
#include "query/javascript/interruption.h"
#include "query/project/internal/projection_inputs.h"
#include "query/project/internal/rows_of_target.h"
#include "query/project/target/projection_target.h"
#include "query/project/target/target_writer.h"

namespace octavo::query::project {

namespace {

using Clock = std::chrono::steady_clock;

// A checkpoint that moves without a change of rows is stored only now and then: after a restart those changes are read
// again, without effect.
constexpr storage::Sequence unstored_changes_max = 50'000;
// Their bodies are in memory together.
constexpr std::size_t rows_per_step = 200;
constexpr std::size_t error_bytes_max = 500;

javascript::ProgramPtr transform_of(const partitioning::Database& source, const ProjectionRecord& record) {
  const std::string& function = record.definition.transform;
  if (function.empty()) return nullptr;
  std::vector<javascript::Program::Function> functions{{"projection " + record.name + " transform", function}};
  return std::make_shared<const javascript::Program>(source.instance_tag(), std::move(functions), std::string(),
                                                     javascript::Program::Kind::transform);
}

std::unexpected<Error> stopped() {
  return fail(ErrorCode::overloaded, "The projection is being stopped.");
}

}  // namespace

Projection::Projection(partitioning::Database& source, ProjectionRecord record, Options options)
    : source_(source),
      record_(std::move(record)),
      options_(std::move(options)),
      state_(std::make_shared<ProjectionState>(
          ProjectionState::Options{.folder = source.folder() / ("projection-" + record_.identity),
                                   .durability = source.engine().settings().durability,
                                   .faults = source.engine().faults(),
                                   .newest = record_.definition.newest ? record_.definition.newest->count : 0,
                                   .joins = record_.definition.joins.size()})),
      transform_(transform_of(source, record_)),
      joins_(record_.definition.joins.size()) {}

Projection::~Projection() = default;

Expected<void> Projection::open() {
  OCTAVO_TRY_VOID(state_->open());
  const std::lock_guard working(work_mutex_);
  OCTAVO_TRY(const auto replaced_through, state_->switched_through());
  state_->set_hidden(options_.is_hidden && !replaced_through);
  opened_at_ = source_.watermark();
  take_numbers();
  const auto numbers = state_->numbers();
  target_sequence_ = numbers.target_sequence;
  has_pending_.store(numbers.outbox_rows > 0, std::memory_order_release);
  if (numbers.checkpoint > source_.watermark()) {
    spdlog::warn("projection {} of {} knows changes that the database has lost: it begins again", record_.name,
                 source_.name());
    begin_again();
  }
  if (numbers.checkpoint == source_.watermark()) complete_through_.store(numbers.checkpoint, std::memory_order_release);
  return {};
}

void Projection::take_numbers() {
  const auto numbers = state_->numbers();
  checkpoint_.store(numbers.checkpoint, std::memory_order_release);
  purge_count_.store(numbers.purge_count, std::memory_order_release);
}

std::uint64_t Projection::purge_count() const {
  // The follower then calls remove_purged(), which begins again.
  if (must_begin_again_.load(std::memory_order_acquire)) return unknown_purges;
  return purge_count_.load(std::memory_order_acquire);
}

storage::Sequence Projection::complete_through() const {
  if (must_begin_again_.load(std::memory_order_acquire)) return 0;
  const storage::Sequence through = complete_through_.load(std::memory_order_acquire);
  if (!has_pending_.load(std::memory_order_acquire)) return through;
  const storage::Sequence read = checkpoint();
  return std::min(through, read > 0 ? read - 1 : 0);
}

storage::Sequence Projection::knows_deletions_through() const {
  return std::max(checkpoint(), purge_scan_.scanned_through());
}

// Called by everything that writes rows.
Expected<std::shared_ptr<partitioning::Database>> Projection::open_target() const {
  if (has_ended_) return fail(ErrorCode::overloaded, "Another definition of the projection takes over.");
  if (is_held_) {
    return fail(ErrorCode::overloaded, "A database that the projection reads is being changed over: try again.");
  }
  return project::open_target(source_.engine(), record_.definition.target, record_.target_tag);
}

ProjectionState::Batch Projection::next_batch() const {
  ProjectionState::Batch batch;
  batch.checkpoint = checkpoint();
  batch.purge_count = purge_count_.load(std::memory_order_acquire);
  batch.target_sequence = target_sequence_;
  batch.refused = refused_;
  return batch;
}

// Makes the writes of the last batch, unless that is done.
Expected<void> Projection::deliver(partitioning::Database& target) {
  if (!has_pending_.load(std::memory_order_acquire)) return {};
  if (pending_.empty()) {
    OCTAVO_TRY(pending_, state_->outbox());
  }
  if (!wait_for_throughput(target, *options_.stopping)) {
    return fail(ErrorCode::overloaded, "The throughput of " + target.name() + " is used up.");
  }
  const std::size_t count = pending_.size();
  // After an error they are read from the store again.
  OCTAVO_TRY(auto written, write_rows(target, record_.owner, std::exchange(pending_, {})));
  refused_ = std::move(written.refused);
  target_sequence_ = target.watermark();
  has_pending_.store(false, std::memory_order_release);
  writes_.fetch_add(count, std::memory_order_relaxed);
  request_units_.fetch_add(written.request_units, std::memory_order_relaxed);
  return {};
}

// Stores the batch and makes its writes. The writes of the batch before must have been made.
Expected<void> Projection::commit(ProjectionState::Batch batch, partitioning::Database& target) {
  OCTAVO_ASSERT(!has_pending_.load());
  OCTAVO_TRY(const auto reader, Reader::open(*this, target));
  const auto evaluate = [&](std::string_view id) { return reader->evaluate(id); };
  const auto make_durable = [this]() -> Expected<void> {
    for (const auto& join : joins_) {
      if (join) OCTAVO_TRY_VOID(join->database().make_durable());
    }
    return source_.make_durable();
  };
  OCTAVO_TRY_VOID(decide(batch, evaluate, make_durable));
  OCTAVO_TRY_VOID(deliver(target));
  // They are counted, and tried again, although nothing else may follow.
  return refused_.empty() ? Expected<void>{} : decide(next_batch(), evaluate, make_durable);
}

// After an error the batch may be stored all the same: then its writes are in the outbox.
Expected<void> Projection::decide(const ProjectionState::Batch& batch, ProjectionState::Evaluate evaluate,
                                  FunctionRef<Expected<void>()> make_durable) {
  pending_.clear();
  has_pending_.store(true, std::memory_order_release);
  OCTAVO_TRY(pending_, state_->commit(batch, evaluate, make_durable));
  refused_.clear();
  has_pending_.store(!pending_.empty(), std::memory_order_release);
  take_numbers();
  return {};
}

void Projection::note_error(std::string_view document, std::string_view reason) {
  const std::lock_guard lock(error_mutex_);
  last_error_document_ = document;
  last_error_ = reason.substr(0, error_bytes_max);
  last_error_s_ = unix_now_s();
}

Expected<std::size_t> Projection::apply(const FeedChanges& changes) {
  const std::lock_guard working(work_mutex_);
  OCTAVO_TRY(const auto target, open_target());
  OCTAVO_TRY_VOID(deliver(*target));
  OCTAVO_TRY(const auto reader, Reader::open(*this, *target));
  ProjectionState::Batch batch = next_batch();
  std::size_t bytes = 0;
  const auto until = Clock::now() + apply_time;
  for (const FeedDocument& document : changes.documents) {
    if (!batch.changes.empty() && (bytes > outbox_bytes_max || Clock::now() >= until)) break;
    SourceChange change{document.id, {}};
    OCTAVO_TRY(change.result, reader->evaluate(document));
    bytes += document.id.size() + change.result.bytes();
    batch.changes.push_back(std::move(change));
  }
  const std::size_t count = batch.changes.size();
  const storage::Sequence reached = changes.checkpoint_after(count);
  batch.checkpoint = reached;
  const storage::Sequence stored = state_->numbers().checkpoint;
  const bool is_due = reached > stored + unstored_changes_max || stored < changes.dropped_through;
  OCTAVO_TRY(const bool has_effect, state_->has_effect(batch.changes));
  if (has_effect || is_due || !refused_.empty()) OCTAVO_TRY_VOID(commit(std::move(batch), *target));
  changes_.fetch_add(count, std::memory_order_relaxed);
  checkpoint_.store(reached, std::memory_order_release);
  if (state_->numbers().fan_outs > 0) {
    OCTAVO_TRY(const bool more, fan_out(*target));
    if (more) options_.wake();
  }
  if (changes.complete && count == changes.documents.size()) {
    complete_through_.store(reached, std::memory_order_release);
    if (reached >= source_.watermark()) current_at_.store(Clock::now(), std::memory_order_relaxed);
  }
  return count;
}

Expected<void> Projection::check_target() {
  const std::lock_guard working(work_mutex_);
  OCTAVO_TRY(const auto target, open_target());
  if (target->watermark() >= target_sequence_) return {};
  spdlog::warn("projection {} of {} has written rows that {} has lost: it begins again", record_.name, source_.name(),
               target->name());
  begin_again();
  return {};
}

// Documents that left no trace in the feed.
Expected<void> Projection::remove(std::vector<std::string> gone, std::uint64_t purge_count) {
  const std::lock_guard working(work_mutex_);
  OCTAVO_TRY(const auto target, open_target());
  OCTAVO_TRY_VOID(deliver(*target));
  ProjectionState::Batch batch = next_batch();
  batch.purge_count = purge_count;
  for (std::string& id : gone) batch.changes.push_back({std::move(id), {}});
  return commit(std::move(batch), *target);
}

Expected<bool> Projection::remove_known(const KnownPurges& purges) {
  if (checkpoint() < purges.since || purge_count() == unknown_purges) return false;
  OCTAVO_TRY_VOID(remove(purges.gone, purges.purge_count));
  purge_scan_.reset();
  return true;
}

Expected<bool> Projection::remove_purged(const GoneDocuments& gone, std::size_t documents_max) {
  if (must_begin_again_.load(std::memory_order_acquire)) {
    OCTAVO_TRY_VOID(restart());
    return false;
  }
  const auto remove_some = [&](std::vector<std::string> found, std::uint64_t count) {
    return remove(std::move(found), count);
  };
  return purge_scan_.run(state_->store(), state_->sources(), purge_count(), gone, documents_max, remove_some);
}

Expected<void> Projection::retry_refused() {
  if (state_->numbers().occupied == 0) return {};
  const javascript::StoppableCalls calls(*options_.stopping);
  const std::lock_guard working(work_mutex_);
  OCTAVO_TRY(const auto target, open_target());
  OCTAVO_TRY_VOID(deliver(*target));
  std::string after;
  while (!options_.stopping->load()) {
    ProjectionState::Batch batch = next_batch();
    OCTAVO_TRY(batch.again, state_->refused_after(after, rows_per_step));
    if (batch.again.empty()) break;
    after = batch.again.back();
    OCTAVO_TRY_VOID(commit(std::move(batch), *target));
  }
  return {};
}

// Rows that the target has of this projection, and that it does not know of: an older copy of the state was restored.
Expected<void> Projection::remove_strays(partitioning::Database& target) {
  partitioning::DocumentRange range;
  range.as_stored = true;
  partitioning::DocumentScan scan(target, range);
  while (!options_.stopping->load()) {
    std::vector<std::string> own;
    const auto visit = [&](const storage::DocumentRecord& record, const storage::Snapshot&) {
      if (record.owner == record_.owner && !record.deleted) own.emplace_back(record.id);
      return partitioning::Visit::next;
    };
    OCTAVO_TRY(const auto state, scan.run_records(partitioning::ScanBudget::worker_slice(), visit));
    std::vector<RowWrite> deletions;
    for (std::string& id : own) {
      OCTAVO_TRY(const bool is_known, state_->has_row(id));
      if (!is_known) deletions.push_back({std::move(id), true, {}});
    }
    if (!deletions.empty()) OCTAVO_TRY_VOID(write_rows(target, record_.owner, std::move(deletions)));
    if (state == partitioning::ScanState::done) return {};
  }
  return stopped();
}

Expected<void> Projection::restart() {
  const std::lock_guard working(work_mutex_);
  OCTAVO_TRY(const auto target, open_target());
  OCTAVO_TRY_VOID(deliver(*target));
  // Those that a hidden one does not know of are replaced later.
  if (!is_hidden()) OCTAVO_TRY_VOID(remove_strays(*target));
  ProjectionState::Batch batch = next_batch();
  batch.begins_again = true;
  batch.checkpoint = 0;
  batch.purge_count = unknown_purges;
  OCTAVO_TRY_VOID(commit(std::move(batch), *target));
  for (const auto& join : joins_) {
    if (join) join->begin_again();
  }
  complete_through_.store(0, std::memory_order_release);
  purge_scan_.reset();
  must_begin_again_.store(false, std::memory_order_release);
  return {};
}

Expected<void> Projection::remove_rows(ProjectionState* former) {
  const std::lock_guard working(work_mutex_);
  if (has_ended_) return {};
  OCTAVO_TRY(const auto target, open_target());
  // The rows that it was deleting are known from these writes only.
  OCTAVO_TRY_VOID(deliver(*target));
  if (record_.takes_over()) OCTAVO_TRY_VOID(remove_strays(*target));
  for (ProjectionState* const state : {state_.get(), former}) {
    std::string after;
    while (state != nullptr) {
      if (options_.stopping->load()) return stopped();
      OCTAVO_TRY(const auto ids, state->rows_after(after, rows_per_step));
      if (ids.empty()) break;
      after = ids.back();
      std::vector<RowWrite> deletions;
      for (const std::string& id : ids) deletions.push_back({id, true, {}});
      OCTAVO_TRY_VOID(write_rows(*target, record_.owner, std::move(deletions)));
    }
  }
  has_ended_ = true;
  return {};
}

Expected<void> Projection::end_writing() {
  const std::lock_guard working(work_mutex_);
  if (has_ended_) return {};
  OCTAVO_TRY(const auto target, open_target());
  OCTAVO_TRY_VOID(deliver(*target));
  has_ended_ = true;
  return {};
}

void Projection::give_up_writing() {
  const std::lock_guard working(work_mutex_);
  has_ended_ = true;
}

void Projection::hold(bool is_held) {
  const std::lock_guard working(work_mutex_);
  is_held_ = is_held;
}

void Projection::show() {
  const std::lock_guard working(work_mutex_);
  state_->set_hidden(false);
}

Expected<void> Projection::replace_rows(ProjectionState* former) {
  const javascript::StoppableCalls calls(*options_.stopping);
  std::optional<RowsOfTarget> of_target;
  const auto former_after = [&](partitioning::Database& target, std::string_view after) -> Expected<FormerRows> {
    if (former == nullptr) {
      if (!of_target) of_target.emplace(target, record_.owner, after);
      return of_target->after(after, rows_per_step);
    }
    OCTAVO_TRY(auto ids, former->rows_after(after, rows_per_step));
    const bool are_all = ids.size() < rows_per_step;
    std::string through = are_all ? std::string() : ids.back();
    return FormerRows{std::move(ids), std::move(through)};
  };
  while (!options_.stopping->load()) {
    const std::lock_guard working(work_mutex_);
    OCTAVO_TRY(const auto target, open_target());
    OCTAVO_TRY_VOID(deliver(*target));
    OCTAVO_TRY(const auto done, state_->switched_through());
    const std::string after = done.value_or(std::string());
    ProjectionState::Batch batch = next_batch();
    OCTAVO_TRY(batch.again, state_->candidates_after(after, rows_per_step));
    OCTAVO_TRY(auto former_rows, former_after(*target, after));
    batch.former = std::move(former_rows.ids);
    // Up to where both lists are complete; empty: there are no more.
    std::string through = std::move(former_rows.through);
    const bool has_more = batch.again.size() == rows_per_step;
    if (has_more && (through.empty() || batch.again.back() < through)) through = batch.again.back();
    if (!through.empty()) {
      for (auto* ids : {&batch.again, &batch.former}) {
        ids->erase(std::ranges::upper_bound(*ids, through), ids->end());
      }
    }
    batch.switched_through = through;
    OCTAVO_TRY_VOID(commit(std::move(batch), *target));
    if (through.empty()) return {};
  }
  return stopped();
}

bool Projection::is_nearly_current() const {
  constexpr storage::Sequence nearly = 1'000;
  const auto is_near = [](const FeedConsumer& consumer, const partitioning::Database& database) {
    return consumer.checkpoint() + nearly >= database.watermark() && consumer.purge_count() != unknown_purges;
  };
  return is_near(*this, source_) && state_->numbers().fan_outs == 0 &&
         std::ranges::all_of(joins_, [&](const auto& join) { return join && is_near(*join, join->database()); });
}

bool Projection::has_caught_up() const {
  const auto has = [](const auto& join) { return join && join->complete_through() >= join->opened_at(); };
  return complete_through() >= opened_at_ && std::ranges::all_of(joins_, has);
}

Projection::Status Projection::status() const {
  Status status;
  status.numbers = state_->numbers();
  status.numbers.checkpoint = std::max(status.numbers.checkpoint, checkpoint());
  status.has_pending_writes = has_pending_.load(std::memory_order_acquire);
  if (complete_through() < source_.watermark()) {
    status.lag_seconds =
        std::chrono::duration<double>(Clock::now() - current_at_.load(std::memory_order_relaxed)).count();
  }
  for (const auto& join : joins_) {
    JoinStatus shown;
    if (join) shown = {join->checkpoint(), join->complete_through(), join->database().shared_from_this()};
    status.joins.push_back(std::move(shown));
  }
  status.state_bytes = storage::Store::file_bytes_in(state_->folder()).value_or(0);
  status.changes = changes_.load(std::memory_order_relaxed);
  status.writes = writes_.load(std::memory_order_relaxed);
  status.request_units = request_units_.load(std::memory_order_relaxed);
  const std::lock_guard lock(error_mutex_);
  status.last_error_document = last_error_document_;
  status.last_error = last_error_;
  status.last_error_s = last_error_s_;
  return status;
}

}  // namespace octavo::query::project
