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
#include "query/project/projection_takeover.h"
#include "query/project/target/projection_target.h"

namespace octavo::query::copy {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds gate_look{1};
/// Between two attempts.
constexpr milliseconds retry_first{100};
constexpr milliseconds retry_max{2'000};

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

Expected<void> Copies::prepare_change_over(const CopyRecord& record) const {
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
  OCTAVO_TRY_VOID(project::take_over_projections(catalog, source_, *target, keeps_ids(*target, record)));
  return succession_.carry == nullptr ? Expected<void>{} : succession_.carry(source_, *target);
}

bool Copies::keeps_ids(const partitioning::Database& target, const CopyRecord& record) const {
  const auto into = read_form_(target);
  return into && !(*into)->keeps_key_in_body() && !record.definition.key;
}

Task<Expected<Copies::ChangeOver>> Copies::change_over(std::string id, ChangeOverRequest request,
                                                       Clock::time_point deadline) {
  const auto keep_alive = source_.shared_from_this();
  const OnlyOne only_one(changes_over_);
  if (!only_one) co_return fail(ErrorCode::conflict, "The database is being changed over already.");
  OCTAVO_CO_TRY(const EntryPtr entry, co_await find_running(std::move(id)));
  if (!entry) co_return fail(ErrorCode::conflict, "The copy has ended.");
  const std::string name = source_.name();
  const CopyRecord record = view_of(*entry).record;
  if (request.former_name.empty()) request.former_name = former_name_of(source_);
  milliseconds retry = retry_first;
  while (true) {
    if (stopping_->load()) co_return fail(ErrorCode::not_found, "Database does not exist.");
    auto check = [&] { return prepare_change_over(record); };
    OCTAVO_CO_TRY_VOID(co_await source_.engine().workers().run_blocking(std::move(check)));
    OCTAVO_CO_TRY_VOID(co_await reach(entry, source_.committed_sequence(), deadline));
    // So that none of their batches makes writers wait longer.
    auto hold = [&] { return project::hold_readers(source_); };
    OCTAVO_CO_TRY(auto held, co_await source_.engine().workers().run_blocking(std::move(hold)));
    const auto begun = Clock::now();
    OCTAVO_CO_TRY(const auto changed, co_await try_change_over(entry, request));
    if (changed) {
      ChangeOver done{name, std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begun)};
      auto tell = [&]() -> Expected<void> {
        project::tell_readers(source_, *changed);
        return {};
      };
      OCTAVO_CO_TRY_VOID(co_await source_.engine().workers().run_blocking(std::move(tell)));
      spdlog::info("database {}: {} has taken its place, writes waited for {:.1f} ms", name, record.definition.target,
                   static_cast<double>(done.paused.count()) / 1000);
      co_return done;
    }
    held.clear();
    if (Clock::now() + retry >= deadline) {
      co_return fail(
          ErrorCode::timeout,
          fmt::format("Each time, requests that write, or the rest of the documents, took longer than {} ms. Try "
                      "again when less is written, or with a longer `pause_max`.",
                      request.pause_max.count()));
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

Task<Expected<std::optional<std::vector<std::string>>>> Copies::try_change_over(EntryPtr entry,
                                                                                const ChangeOverRequest& request) {
  const ClosedGate closed(source_.gate());
  const auto until = Clock::now() + request.pause_max;
  while (!source_.gate().is_empty()) {
    if (Clock::now() >= until) co_return std::nullopt;
    co_await sleep_for(gate_look);
  }
  OCTAVO_CO_TRY(const bool are_written, co_await write_all_queued());
  if (!are_written) co_return std::nullopt;
  const auto reached = co_await reach(entry, source_.committed_sequence(), until);
  if (!reached && reached.error().code == ErrorCode::timeout) co_return std::nullopt;
  OCTAVO_CO_TRY_VOID(reached);
  if (Clock::now() >= until) co_return std::nullopt;
  auto work = [&] { return hand_over_name(entry, request); };
  OCTAVO_CO_TRY(auto changed, co_await source_.engine().workers().run_blocking(std::move(work)));
  co_return std::optional(std::move(changed));
}

Expected<std::vector<std::string>> Copies::hand_over_name(const EntryPtr& entry, const ChangeOverRequest& request) {
  const std::lock_guard changing(change_mutex_);
  if (entry->record.has_ended) return fail(ErrorCode::conflict, "The copy has ended.");
  auto& engine = source_.engine();
  OCTAVO_TRY(const auto target,
             project::open_target(engine, entry->record.definition.target, entry->record.target_tag));
  OCTAVO_TRY_VOID(target->make_durable());
  // Until it knows that no copy writes into it any more, it would refuse what clients write under the name.
  const ClosedGate closed(target->gate());
  std::vector<std::string> changed;
  const auto store = [&](const CopyRecord& record) {
    const auto facts = [&]() -> Expected<std::vector<storage::FactChange>> {
      OCTAVO_TRY(auto takeover,
                 project::take_over_projections(engine.catalog(), source_, *target, keeps_ids(*target, record)));
      changed = std::move(takeover.sources);
      auto all = facts_of_change_over(source_, record);
      all.insert(all.end(), takeover.facts.begin(), takeover.facts.end());
      if (succession_.former_key == nullptr) return all;
      OCTAVO_TRY(auto key, succession_.former_key(source_, *target, request.grace.value_or(grace_default)));
      if (key) all.push_back(*std::move(key));
      return all;
    };
    return engine.hand_over_name(source_, request.former_name, *target, facts);
  };
  OCTAVO_TRY_VOID(end(entry, store));
  // Before the gate opens: requests that still hold the source must not write to it.
  if (auto* const extension = source_.extension()) extension->owners_changed();
  return changed;
}

}  // namespace octavo::query::copy
