// The part of Projections that changes projections: pause, another definition, removal.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/jobs/run_guarded.h"
#include "partitioning/engine.h"
#include "query/project/internal/projection_entry.h"
#include "query/project/projection_catalog.h"
#include "query/project/target/projection_target.h"

namespace octavo::query::project {

namespace {

constexpr std::chrono::milliseconds removal_retry{2'000};

std::string rev_of(std::uint64_t generation, std::string_view identity) {
  return fmt::format("{}-{}", generation, identity);
}

std::unexpected<Error> is_changed() {
  return fail(ErrorCode::conflict, "The projection has changed: read its present `rev`.");
}

std::string name_beside(const partitioning::Database& target, std::string_view identity) {
  constexpr std::size_t digits = 8;
  return fmt::format("{}-{}", target.name(), identity.substr(0, digits));
}

// What it reads would be gone.
Expected<void> refuse_join_of_target(const ProjectionDefinition& definition, const partitioning::Database& target,
                                     std::span<const std::shared_ptr<partitioning::Database>> joined) {
  for (std::size_t join = 0; join < joined.size(); ++join) {
    if (joined[join]->instance_tag() != target.instance_tag()) continue;
    return fail(ErrorCode::bad_request,
                fmt::format("The join {} reads the target, whose place another database takes: use `swap` \"rows\".",
                            definition.joins[join].name),
                "projection_syntax");
  }
  return {};
}

}  // namespace

std::string rev_of(const ProjectionRecord& record) {
  return rev_of(record.generation, record.identity);
}

std::string rev_of(const NextDefinition& next) {
  return rev_of(next.generation, next.identity);
}

std::string newest_rev_of(const ProjectionRecord& record) {
  return record.next ? rev_of(*record.next) : rev_of(record);
}

Expected<void> Projections::change(const EntryPtr& entry, const std::function<void(ProjectionRecord&)>& edit) {
  ProjectionRecord record;
  {
    const std::lock_guard lock(mutex_);
    record = entry->record;
  }
  const std::string identity = record.identity;
  edit(record);
  OCTAVO_TRY_VOID(replace_projection(database_.engine().catalog(), database_.instance_tag(), identity, record));
  const std::lock_guard lock(mutex_);
  entry->record = std::move(record);
  return {};
}

Expected<void> Projections::pause(std::string_view name, bool paused) {
  OCTAVO_TRY_VOID(load());
  const std::lock_guard changing(change_mutex_);
  const EntryPtr entry = find(name);
  if (!entry) return no_projection();
  OCTAVO_TRY_VOID(change(entry, [&](ProjectionRecord& record) { record.paused = paused; }));
  start(entry);
  progress_.notify_all();
  return {};
}

Expected<void> Projections::begin_again(std::string_view name) {
  OCTAVO_TRY_VOID(load());
  const EntryPtr entry = find(name);
  if (!entry) return no_projection();
  if (!entry->follower) return std::unexpected(*entry->unopened);
  entry->built->store(false);
  entry->projection->begin_again();
  entry->wake();
  return {};
}

Expected<void> Projections::remove(std::string_view name, std::optional<std::string_view> rev, bool keeps_rows) {
  OCTAVO_TRY_VOID(load());
  const std::lock_guard changing(change_mutex_);
  const EntryPtr entry = find(name);
  if (!entry) return no_projection();
  if (rev && *rev != newest_rev_of(entry->record)) return is_changed();
  entry->set_stopping(true);
  OCTAVO_TRY_VOID(drop_next(entry));
  if (keeps_rows || !entry->follower) return drop(entry);
  OCTAVO_TRY_VOID(change(entry, [](ProjectionRecord& record) { record.removing = true; }));
  start(entry);
  return {};
}

// No reader has seen the rows of a changed definition.
Expected<void> Projections::drop_next(const EntryPtr& entry) {
  EntryPtr next;
  std::optional<NextDefinition> definition;
  {
    const std::lock_guard lock(mutex_);
    next = entry->next;
    definition = entry->record.next;
  }
  if (!definition) return {};
  if (next) {
    next->set_stopping(true);
    next->projection->give_up_writing();
  }
  // While it is known here: after a crash it is dropped again.
  if (const auto& target = definition->target) {
    OCTAVO_TRY_VOID(delete_target(database_.engine(), target->name, target->tag));
  }
  OCTAVO_TRY_VOID(change(entry, [](ProjectionRecord& record) { record.next.reset(); }));
  {
    const std::lock_guard lock(mutex_);
    entry->next.reset();
  }
  if (next) next->projection->remove_files();
  return {};
}

Expected<void> Projections::replace(std::string_view name, std::string_view rev, ProjectionDefinition definition,
                                    partitioning::Database& target,
                                    std::span<const std::shared_ptr<partitioning::Database>> joined,
                                    const NewTarget* new_target) {
  OCTAVO_TRY_VOID(load());
  OCTAVO_TRY(const RowTarget into, new_target != nullptr ? Expected<RowTarget>(new_target->kind) : kind_of(target));
  OCTAVO_TRY(const auto inputs, check(definition, into, joined));
  if (new_target != nullptr) OCTAVO_TRY_VOID(refuse_join_of_target(definition, target, joined));
  const std::lock_guard changing(change_mutex_);
  const EntryPtr entry = find(name);
  if (!entry) return no_projection();
  if (!entry->follower) return std::unexpected(*entry->unopened);
  const ProjectionRecord& record = entry->record;
  if (rev != newest_rev_of(record) || record.removing) return is_changed();
  if (target.instance_tag() != record.target_tag || definition.exclusive != record.definition.exclusive) {
    return fail(ErrorCode::bad_request,
                "The target of a projection cannot be changed: create another projection, and delete this one.",
                "target_differs");
  }
  if (!record.former.empty() || !record.former_target.empty()) {
    return fail(ErrorCode::conflict, "The rows of the last change are just taking their place: try again later.");
  }
  auto next = next_of(record, inputs, std::move(definition));
  if (new_target != nullptr) next.target = NextDefinition::Target{name_beside(target, next.identity), {}, 0};
  OCTAVO_TRY_VOID(drop_next(entry));
  OCTAVO_TRY_VOID(change(entry, [&](ProjectionRecord& changed) { changed.next = next; }));
  if (new_target != nullptr) OCTAVO_TRY_VOID(create_next_target(entry, *new_target));
  EntryPtr opened = open(record_of_next(entry->record), new_target == nullptr);
  {
    const std::lock_guard lock(mutex_);
    entry->next = std::move(opened);
  }
  start(entry);
  return {};
}

void Projections::look_at_next(const EntryPtr& entry, const EntryPtr& next) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_->load() || entry->next != next || entry->record.paused || entry->record.removing) {
      next->is_looked_at.store(false);
      return;
    }
  }
  if (next->follower && (next->holding || next->projection->is_nearly_current())) {
    const auto held = database_.shared_from_this();
    const auto switched =
        run_guarded("changing a projection's definition", [&] { return switch_to_next(entry, next); });
    if (switched && *switched) return;
    note_unswapped(next, switched ? std::nullopt : std::optional(switched.error()));
  }
  const auto interval = next->holding ? holding_interval : next_interval;
  jobs_.post_after(interval, [this, entry, next] { look_at_next(entry, next); });
}

void Projections::note_unswapped(const EntryPtr& next, std::optional<Error> error) {
  {
    const std::lock_guard lock(mutex_);
    const bool is_same = error && next->unswapped && error->reason == next->unswapped->reason;
    next->unswapped = error;
    if (!error || is_same) return;
  }
  spdlog::warn("database {}: the changed definition of the projection {} waits: {}", database_.name(),
               next->record.name, error->reason);
}

// The changed definition writes rows from now on, and first of all takes the place of what was written before. False:
// it is to be called again.
Expected<bool> Projections::switch_to_next(const EntryPtr& entry, const EntryPtr& next) {
  if (!next->projection->is_hidden()) return swap_target(entry, next);
  const std::lock_guard changing(change_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (entry->next != next || entry->record.removing) return true;
  }
  entry->set_stopping(true);
  OCTAVO_TRY_VOID(entry->projection->end_writing());
  ProjectionRecord record = record_of_next(entry->record);
  record.former = entry->record.identity;
  OCTAVO_TRY_VOID(replace_projection(database_.engine().catalog(), database_.instance_tag(), record.former, record));
  next->projection->show();
  {
    const std::lock_guard lock(mutex_);
    next->record = std::move(record);
    next->former = entry->projection->state();
    std::ranges::replace(entries_, entry, next);
  }
  start(next);
  return true;
}

// It writes rows when it knows them all: then those that stay the same are not written, and none comes and goes.
void Projections::take_over(const EntryPtr& entry) {
  const bool is_there = is_one_of_these(entry);
  {
    const std::lock_guard lock(mutex_);
    if (stopping_->load() || !is_there || entry->record.paused || entry->record.removing) {
      entry->is_looked_at.store(false);
      return;
    }
  }
  Projection& projection = *entry->projection;
  if (projection.is_hidden() && !(projection.has_caught_up() && projection.is_nearly_current())) {
    jobs_.post_after(next_interval, [this, entry] { take_over(entry); });
    return;
  }
  entry->is_looked_at.store(false);
  projection.show();
  replace_rows(entry);
}

void Projections::replace_rows(const EntryPtr& entry) {
  if (entry->is_replacing.exchange(true)) return;
  const bool replaced = replace_rows_once(entry);
  entry->is_replacing.store(false);
  if (!replaced && !stopping_->load()) jobs_.post_after(removal_retry, [this, entry] { replace_rows(entry); });
}

// False: it must be tried again.
bool Projections::replace_rows_once(const EntryPtr& entry) {
  std::shared_ptr<ProjectionState> former;
  const bool is_there = is_one_of_these(entry);
  {
    const std::lock_guard lock(mutex_);
    if (!is_there || entry->record.removing || entry->record.former.empty()) return true;
    former = entry->former;
  }
  auto replaced = run_guarded("replacing a projection's rows", [&]() -> Expected<void> {
    if (former || entry->takes_over->load()) OCTAVO_TRY_VOID(entry->projection->replace_rows(former.get()));
    const auto held = database_.shared_from_this();
    const std::lock_guard changing(change_mutex_);
    return change(entry, [](ProjectionRecord& record) { record.former.clear(); });
  });
  if (!replaced) {
    if (stopping_->load()) return false;
    spdlog::warn("database {}: the rows of the projection {} cannot be replaced yet: {}", database_.name(),
                 entry->record.name, reason_of(replaced.error()));
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    entry->former.reset();
  }
  entry->takes_over->store(false);
  if (former) former->remove_files();
  progress_.notify_all();
  return true;
}

// Its rows are removed, or stay as ordinary documents.
Expected<void> Projections::drop(const EntryPtr& entry) {
  OCTAVO_TRY_VOID(erase_projection(database_.engine().catalog(), database_.instance_tag(), entry->record));
  tell_target(entry->record);
  std::shared_ptr<ProjectionState> former;
  {
    const std::lock_guard lock(mutex_);
    std::erase(entries_, entry);
    former = entry->former;
    if (entries_.empty()) keeps_open_.reset();
    any_.store(!entries_.empty(), std::memory_order_release);
  }
  if (former) former->remove_files();
  entry->projection->remove_files();
  progress_.notify_all();
  return {};
}

void Projections::finish_removal(const EntryPtr& entry) {
  std::shared_ptr<ProjectionState> former;
  {
    const std::lock_guard lock(mutex_);
    // It was deleted more than once, and there may be another one of its name by now.
    if (std::ranges::find(entries_, entry) == entries_.end()) return;
    former = entry->former;
  }
  const auto remove_rows = [&] { return entry->projection->remove_rows(former.get()); };
  auto removed = run_guarded("removing a projection's rows", remove_rows);
  if (stopping_->load()) return;
  const bool is_target_gone = !removed && removed.error().code == ErrorCode::not_found;
  if (removed || is_target_gone) {
    const auto held = database_.shared_from_this();
    const std::lock_guard changing(change_mutex_);
    if (find(entry->record.name) != entry) return;
    removed = drop(entry);
  }
  if (removed) return;
  spdlog::warn("database {}: the projection {} cannot be removed yet: {}", database_.name(), entry->record.name,
               reason_of(removed.error()));
  jobs_.post_after(removal_retry, [this, entry] { finish_removal(entry); });
}

}  // namespace octavo::query::project
