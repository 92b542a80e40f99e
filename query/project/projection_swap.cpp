// The part of Projections by which a database with the rows of a changed definition takes the place of the target.
#include <algorithm>
#include <thread>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/jobs/run_guarded.h"
#include "partitioning/engine.h"
#include "partitioning/scan.h"
#include "query/project/internal/projection_entry.h"
#include "query/project/projection_catalog.h"
#include "query/project/projection_takeover.h"
#include "query/project/target/copy_writer.h"
#include "query/project/target/projection_target.h"
#include "storage/partition/document_copy.h"

namespace octavo::query::project {

namespace {

using Clock = std::chrono::steady_clock;

/// How long requests that write design documents may keep the names from changing.
constexpr std::chrono::milliseconds gate_wait_max{60};
constexpr std::chrono::milliseconds gate_poll{1};
constexpr std::chrono::milliseconds former_retry{2'000};

Expected<std::vector<std::string>> design_ids_of(partitioning::Database& database) {
  partitioning::DocumentRange range;
  range.start = std::string(storage::design_prefix);
  range.as_stored = true;
  partitioning::DocumentScan scan(database, range);
  std::vector<std::string> ids;
  const auto visit = [&](const storage::DocumentRecord& record, const storage::Snapshot&) {
    if (!storage::is_design_id(record.id)) return partitioning::Visit::stop;
    ids.emplace_back(record.id);
    return partitioning::Visit::next;
  };
  auto state = partitioning::ScanState::more;
  while (state == partitioning::ScanState::more) {
    OCTAVO_TRY(state, scan.run_records(partitioning::ScanBudget::worker_slice(), visit));
  }
  return ids;
}

Expected<std::vector<storage::DocumentCopy>> copies_of(partitioning::Database& database,
                                                       const std::vector<std::string>& ids) {
  std::vector<storage::DocumentCopy> copies;
  const auto& map = database.partition_map();
  for (const std::string& id : ids) {
    const std::size_t partition_id = database.locate_document(map, id);
    OCTAVO_TRY(const auto snapshot, database.snapshot(partition_id));
    const storage::CopyReader reader(map.partition(partition_id)->store(), snapshot.transaction());
    OCTAVO_TRY(auto copy, reader.document(id));
    if (copy.exists) copies.push_back(std::move(copy));
  }
  return copies;
}

}  // namespace

Expected<void> Projections::create_next_target(const EntryPtr& entry, const NewTarget& new_target) {
  auto& catalog = database_.engine().catalog();
  const auto create = [&]() -> Expected<void> {
    OCTAVO_TRY(const auto created, new_target.create(entry->record.next->target->name));
    OCTAVO_TRY(const std::uint32_t owner, add_next_target(catalog, database_, *created, entry->record));
    OCTAVO_TRY_VOID(change(entry, [&](ProjectionRecord& record) {
      record.next->target->tag = created->instance_tag();
      record.next->target->owner = owner;
    }));
    // Before the first row: clients must not change it.
    if (auto* const extension = created->extension()) extension->owners_changed();
    return {};
  };
  auto created = create();
  if (created) return {};
  const auto dropped = drop_next(entry);
  if (!dropped) {
    spdlog::error("database {}: the changed definition of the projection {} stays: {}", database_.name(),
                  entry->record.name, reason_of(dropped.error()));
  }
  return created;
}

// Design documents, and what the APIs keep beside the documents.
Expected<void> Projections::carry_over(partitioning::Database& former, partitioning::Database& successor) const {
  OCTAVO_TRY(const auto ids, design_ids_of(former));
  OCTAVO_TRY(auto copies, copies_of(former, ids));
  if (!copies.empty()) OCTAVO_TRY_VOID(write_copies(successor, std::move(copies), {}));
  return carry_ == nullptr ? Expected<void>{} : carry_(former, successor);
}

// Rows of the former target are not written until the new ones are as new as they are: a reader must not see a row
// become older. False: it is to be called again.
Expected<bool> Projections::swap_target(const EntryPtr& entry, const EntryPtr& next) {
  auto& engine = database_.engine();
  const auto continue_writing = [&] {
    next->holding.reset();
    for (const EntryPtr& one : {entry, next}) {
      one->projection->hold(false);
      one->wake();
    }
  };
  const auto swap = [&]() -> Expected<bool> {
    const auto open = [&](const EntryPtr& one) {
      const ProjectionRecord& record = one->projection->record();
      return open_target(engine, record.definition.target, record.target_tag);
    };
    OCTAVO_TRY(const auto former, open(entry));
    OCTAVO_TRY(const auto successor, open(next));
    if (!next->holding) {
      OCTAVO_TRY_VOID(carry_over(*former, *successor));
      entry->projection->hold(true);
      next->holding = Entry::Holding{Clock::now(), entry->projection->complete_through()};
      next->wake();
    }
    if (next->projection->complete_through() < next->holding->wanted) {
      if (Clock::now() > next->holding->since + holding_max) continue_writing();
      return false;
    }
    next->projection->hold(true);
    std::vector<std::string> changed;
    {
      OCTAVO_TRY(const auto held, hold_readers(*former));
      OCTAVO_TRY(changed, hand_over_target(entry, next, *former, *successor));
    }
    tell_readers(*former, changed);
    return true;
  };
  auto swapped = swap();
  if (!swapped || *swapped) continue_writing();
  return swapped;
}

// Tags of the databases whose projections are others now.
Expected<std::vector<std::string>> Projections::hand_over_target(const EntryPtr& entry, const EntryPtr& next,
                                                                 partitioning::Database& former,
                                                                 partitioning::Database& successor) {
  auto& engine = database_.engine();
  const std::lock_guard changing(change_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (entry->next != next || entry->record.removing || entry->record.paused) {
      return fail(ErrorCode::overloaded, "The projection was changed meanwhile.");
    }
  }
  const ClosedGate closed(former.gate());
  const ClosedGate successor_closed(successor.gate());
  const auto until = Clock::now() + gate_wait_max;
  while (!former.gate().is_empty() || !successor.gate().is_empty()) {
    if (Clock::now() >= until) return fail(ErrorCode::overloaded, "Requests that write to the target take long.");
    std::this_thread::sleep_for(gate_poll);
  }
  OCTAVO_TRY_VOID(carry_over(former, successor));
  OCTAVO_TRY_VOID(successor.make_durable());
  ProjectionRecord record = record_of_next(entry->record);
  record.former_target = entry->record.target_tag;
  std::vector<std::string> changed;
  const auto facts = [&]() -> Expected<std::vector<storage::FactChange>> {
    OCTAVO_TRY(auto takeover, take_over_projections(engine.catalog(), former, successor, true, entry->record.owner));
    changed = std::move(takeover.sources);
    takeover.facts.push_back(source_fact(database_.instance_tag(), record));
    takeover.facts.push_back(replaced_fact(former));
    return std::move(takeover.facts);
  };
  OCTAVO_TRY_VOID(engine.hand_over_name(former, successor.name(), successor, facts));
  for (auto* const database : {&former, &successor}) {
    if (auto* const extension = database->extension()) extension->owners_changed();
  }
  entry->set_stopping(true);
  entry->projection->give_up_writing();
  {
    const std::lock_guard lock(mutex_);
    next->record = std::move(record);
    next->unswapped.reset();
    std::ranges::replace(entries_, entry, next);
  }
  entry->projection->remove_files();
  start(next);
  progress_.notify_all();
  spdlog::info("database {}: the rows of the projection {} are those of its changed definition", database_.name(),
               next->record.name);
  return changed;
}

// Those of which clients know nothing, as the source is deleted.
void Projections::delete_unseen_targets(const ProjectionRecord& record) const {
  const auto remove = [&](const std::string& name, const std::string& tag) {
    const auto deleted = delete_target(database_.engine(), name, tag);
    if (!deleted)
      spdlog::warn("a database of {} that was not used stays: {}", database_.name(), reason_of(deleted.error()));
  };
  if (record.next && record.next->target) remove(record.next->target->name, record.next->target->tag);
  if (!record.former_target.empty()) remove(record.definition.target, record.former_target);
}

void Projections::drop_former_target(const EntryPtr& entry) {
  const auto held = database_.shared_from_this();
  const auto drop = [&]() -> Expected<void> {
    const std::lock_guard changing(change_mutex_);
    if (!is_one_of_these(entry) || entry->record.former_target.empty()) return {};
    OCTAVO_TRY_VOID(delete_target(database_.engine(), entry->record.definition.target, entry->record.former_target));
    return change(entry, [](ProjectionRecord& record) { record.former_target.clear(); });
  };
  const auto dropped = run_guarded("deleting the former target of a projection", drop);
  if (dropped || stopping_->load()) return;
  spdlog::warn("database {}: the former target of the projection {} stays: {}", database_.name(), entry->record.name,
               reason_of(dropped.error()));
  jobs_.post_after(former_retry, [this, entry] { drop_former_target(entry); });
}

}  // namespace octavo::query::project
