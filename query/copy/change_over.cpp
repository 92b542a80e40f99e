// The target of a copy takes the place of its source, while clients use it.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/jobs/sleep.h"
#include "partitioning/engine.h"
#include "query/copy/copies.h"
#include "query/copy/copies_entry.h"
#include "query/copy/copy_catalog.h"
#include "query/project/projection_catalog.h"
#include "query/project/projection_target.h"

namespace octavo::query::copy {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds gate_look{1};
/// Between two attempts.
constexpr milliseconds retry_first{100};
constexpr milliseconds retry_max{2'000};

/// Keeps requests that write outside for its life.
class ClosedGate {
 public:
  explicit ClosedGate(Gate& gate) : gate_(gate) { gate_.close(); }
  ~ClosedGate() { gate_.open(); }
  ClosedGate(const ClosedGate&) = delete;
  ClosedGate& operator=(const ClosedGate&) = delete;

 private:
  Gate& gate_;
};

/// One change-over of a database at a time.
class OnlyOne {
 public:
  explicit OnlyOne(std::atomic<bool>& taken) : taken_(taken), is_first_(!taken.exchange(true)) {}
  ~OnlyOne() {
    if (is_first_) taken_.store(false);
  }
  OnlyOne(const OnlyOne&) = delete;
  OnlyOne& operator=(const OnlyOne&) = delete;
  explicit operator bool() const { return is_first_; }

 private:
  std::atomic<bool>& taken_;
  const bool is_first_;
};

}  // namespace

Expected<void> Copies::check_change_over(const CopyRecord& record) const {
  auto& catalog = source_.engine().catalog();
  OCTAVO_TRY(const auto target, project::open_target(source_.engine(), record.definition.target, record.target_tag));
  if (target->sequence_base() <= source_.sequence_base()) {
    return fail(
        ErrorCode::conflict,
        fmt::format("{} was not created by the copy: sequences and partition key ranges that clients know of {} "
                    "could mean something else there. Begin a copy with `create`.",
                    target->name(), source_.name()),
        "copy_positions");
  }
  OCTAVO_TRY(const auto readers, project::readers_of(catalog, source_.instance_tag()));
  OCTAVO_TRY(const auto owners, project::owners_of(catalog, source_.instance_tag()));
  if (!readers.empty() || !owners.owners.empty()) {
    return fail(ErrorCode::conflict,
                fmt::format("The {} {} {}, and would not follow the change-over: delete it, and create it again "
                            "afterwards.",
                            readers.empty() ? owners.owners.front().name : "projection " + readers.front(),
                            readers.empty() ? "writes into" : "reads", source_.name()),
                "copy_projections");
  }
  return {};
}

Task<Expected<Copies::ChangeOver>> Copies::change_over(std::string id, std::string former_name, milliseconds pause_max,
                                                       Clock::time_point deadline) {
  const auto keep_alive = source_.shared_from_this();
  const OnlyOne only_one(changes_over_);
  if (!only_one) co_return fail(ErrorCode::conflict, "The database is being changed over already.");
  OCTAVO_CO_TRY(const EntryPtr entry, co_await find_running(std::move(id)));
  if (!entry) co_return fail(ErrorCode::conflict, "The copy has ended.");
  const std::string name = source_.name();
  const CopyRecord record = view_of(*entry).record;
  milliseconds retry = retry_first;
  while (true) {
    auto check = [&] { return check_change_over(record); };
    OCTAVO_CO_TRY_VOID(co_await source_.engine().workers().run_blocking(std::move(check)));
    OCTAVO_CO_TRY_VOID(co_await reach(entry, source_.committed_sequence(), deadline));
    const auto begun = Clock::now();
    OCTAVO_CO_TRY(const bool is_done, co_await try_change_over(entry, former_name, pause_max));
    if (is_done) {
      ChangeOver done{name, std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begun)};
      spdlog::info("database {}: {} has taken its place, writes waited for {:.1f} ms", name, record.definition.target,
                   static_cast<double>(done.paused.count()) / 1000);
      co_return done;
    }
    if (Clock::now() + retry >= deadline) {
      co_return fail(
          ErrorCode::timeout,
          fmt::format("Each time, requests that write, or the rest of the documents, took longer than {} ms. Try "
                      "again when less is written, or with a longer `pause_max`.",
                      pause_max.count()));
    }
    co_await sleep_for(retry);
    retry = std::min(2 * retry, retry_max);
  }
}

// Writes that no request waits for may still be queued.
Task<Expected<bool>> Copies::write_all_queued() {
  for (const std::size_t partition_id : source_.partition_ids()) {
    const auto nothing = [](storage::PartitionTransaction&) -> Expected<bool> { return false; };
    const auto written = co_await source_.run_transaction_in(partition_id, nothing, 0);
    if (!written && written.error().code == ErrorCode::partition_split) co_return false;
    OCTAVO_CO_TRY_VOID(written);
  }
  co_return true;
}

Task<Expected<bool>> Copies::try_change_over(EntryPtr entry, std::string former_name, milliseconds pause_max) {
  const ClosedGate closed(source_.gate());
  const auto until = Clock::now() + pause_max;
  while (!source_.gate().is_empty()) {
    if (Clock::now() >= until) co_return false;
    co_await sleep_for(gate_look);
  }
  OCTAVO_CO_TRY(const bool are_written, co_await write_all_queued());
  if (!are_written) co_return false;
  const auto reached = co_await reach(entry, source_.committed_sequence(), until);
  if (!reached && reached.error().code == ErrorCode::timeout) co_return false;
  OCTAVO_CO_TRY_VOID(reached);
  if (Clock::now() >= until) co_return false;
  auto work = [&] { return hand_over_name(entry, former_name); };
  OCTAVO_CO_TRY_VOID(co_await source_.engine().workers().run_blocking(std::move(work)));
  co_return true;
}

Expected<void> Copies::hand_over_name(const EntryPtr& entry, const std::string& former_name) {
  const std::lock_guard changing(change_mutex_);
  if (entry->record.has_ended) return fail(ErrorCode::conflict, "The copy has ended.");
  auto& engine = source_.engine();
  OCTAVO_TRY(const auto target,
             project::open_target(engine, entry->record.definition.target, entry->record.target_tag));
  OCTAVO_TRY_VOID(target->make_durable());
  // Until it knows that no copy writes into it any more, it would refuse what clients write under the name.
  const ClosedGate closed(target->gate());
  const auto store = [&](const CopyRecord& record) {
    return engine.hand_over_name(source_, former_name, *target, facts_of_change_over(source_, record));
  };
  OCTAVO_TRY_VOID(end(entry, store));
  // Before the gate opens: requests that still hold the source must not write to it.
  if (auto* const extension = source_.extension()) extension->owners_changed();
  return {};
}

}  // namespace octavo::query::copy
