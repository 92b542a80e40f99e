#include "partitioning/optimistic_transaction.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/jobs/turns.h"
#include "base/unix_time.h"
#include "partitioning/engine.h"
#include "storage/partition/unique_keys.h"

namespace octavo::partitioning {

namespace {

using storage::DocumentView;
using storage::DocumentWrite;
using storage::Revision;

constexpr int attempts_max = 16;
constexpr std::chrono::seconds attempts_time{10};

std::unexpected<Error> update_conflict() {
  return fail(ErrorCode::conflict, "Document update conflict.");
}

std::unexpected<Error> writes_too_much() {
  return fail(ErrorCode::too_large, "The transaction writes too much: at most " +
                                        std::to_string(OptimisticTransaction::writes_max) + " documents and " +
                                        std::to_string(OptimisticTransaction::bytes_max >> 20) + " MiB.");
}

std::size_t bytes_of(const DocumentWrite& write) {
  return write.id.size() + write.body.size();
}

}  // namespace

OptimisticTransaction::OptimisticTransaction(std::shared_ptr<Database> database, const DocumentTarget& target)
    : database_(std::move(database)),
      partition_key_(target.partition_key()),
      target_(target.referring_to_key(partition_key_)),
      partition_id_(database_->locate(target_)) {}

template <class Document>
OptimisticTransaction::Seen OptimisticTransaction::seen(const std::optional<Document>& document) {
  if (!document) return {};
  return {.exists = true, .deleted = document->deleted, .revision = document->revision};
}

void OptimisticTransaction::note(std::string_view id, const Seen& now) {
  const auto known = reads_.find(id);
  if (known == reads_.end()) {
    // Once the whole partition must not change, single documents need not be recorded.
    if (!standing_) reads_.emplace(id, now);
  } else if (known->second != now) {
    stale_ = true;
  }
}

Expected<std::optional<DocumentView>> OptimisticTransaction::find(std::string_view id) {
  if (const auto own = changes_.find(id); own != changes_.end()) return own->second.view;
  if (reads_.size() >= reads_max) OCTAVO_TRY_VOID(reads_all());
  OCTAVO_TRY(const auto snapshot, database_->snapshot(partition_id_));
  OCTAVO_TRY(auto document, snapshot.find(id));
  note(id, seen(document));
  if (!document) return std::nullopt;
  found_id_ = id;
  found_ = document->body;
  document->id = found_id_;
  document->body = found_;
  return document;
}

// Resolves the parent as the writer does for an edit of the winner: a transaction does not edit other leaves.
Expected<std::optional<Revision>> OptimisticTransaction::resolve_parent(
    const DocumentWrite& write, const std::optional<DocumentView>& before) const {
  const bool live = before && !before->deleted;
  const auto winner = before ? std::optional(before->revision) : std::nullopt;
  if (write.base != storage::WriteBase::parent) {
    if (write.base == storage::WriteBase::live_winner && !live) return fail(ErrorCode::not_found, "");
    const bool is_compared = write.base != storage::WriteBase::upserted || live;
    if (write.parent && is_compared && (!live || *write.parent != before->revision)) return update_conflict();
    return winner;
  }
  if (write.parent ? write.parent != winner : live) return update_conflict();
  return winner;
}

std::vector<std::string> OptimisticTransaction::unique_digests(const DocumentWrite& write) const {
  const storage::UniqueKeys* keys = database_->physical_partition(partition_id_).unique_keys();
  return keys == nullptr || write.deleted ? std::vector<std::string>() : keys->digests(write.body);
}

Expected<storage::Refusal> OptimisticTransaction::check_unique(std::span<const std::string> digests,
                                                               std::string_view id, std::string_view giver) const {
  for (const std::string& digest : digests) {
    std::optional<std::string> owner;
    if (const auto known = unique_.find(digest); known != unique_.end()) {
      if (!known->second.empty()) owner = known->second;
    } else {
      OCTAVO_TRY(const auto snapshot, database_->snapshot(partition_id_));
      OCTAVO_TRY(owner, snapshot.unique_owner(partition_key_, digest));
      if (owner && changes_.contains(*owner)) owner.reset();  // it had them before these edits
    }
    if (owner && *owner != id && *owner != giver) {
      return storage::Refusal(Error{ErrorCode::unique_key_violated, "Unique index constraint violation.", {}});
    }
  }
  return std::nullopt;
}

void OptimisticTransaction::take_unique(std::span<const std::string> digests, const std::string& id,
                                        const std::optional<DocumentView>& before) {
  const storage::UniqueKeys* keys = database_->physical_partition(partition_id_).unique_keys();
  if (keys == nullptr) return;
  if (before && !before->deleted) {
    for (const std::string& digest : keys->digests(before->body)) unique_.insert_or_assign(digest, std::string());
  }
  for (const std::string& digest : digests) unique_.insert_or_assign(digest, id);
}

bool OptimisticTransaction::has_room_for(std::size_t writes, std::size_t bytes) const {
  return writes_.size() + writes <= writes_max && bytes_ + bytes <= bytes_max;
}

Expected<storage::EditOutcome> OptimisticTransaction::move(const DocumentWrite& deletion,
                                                           const DocumentWrite& creation) {
  for (const DocumentWrite* write : {&deletion, &creation}) {
    OCTAVO_TRY(auto refusal, check(*write));
    if (refusal) return storage::EditOutcome(std::unexpected(*std::move(refusal)));
  }
  OCTAVO_TRY(auto taken, check_unique(unique_digests(creation), creation.id, deletion.id));
  if (taken) return storage::EditOutcome(std::unexpected(*std::move(taken)));
  if (!has_room_for(2, bytes_of(deletion) + bytes_of(creation))) return storage::EditOutcome(writes_too_much());
  OCTAVO_TRY(auto removed, apply(deletion));
  if (!removed) return removed;
  return apply(creation);
}

Expected<storage::EditOutcome> OptimisticTransaction::apply(const DocumentWrite& write) {
  using storage::EditOutcome;
  if (write.replicated || !storage::in_logical_partition(write.id, partition_key_)) {
    return EditOutcome(fail(ErrorCode::bad_request, "A transaction writes documents of its own partition key only."));
  }
  if (!has_room_for(1, bytes_of(write))) return EditOutcome(writes_too_much());
  OCTAVO_TRY(const auto before, find(write.id));
  auto parent = resolve_parent(write, before);
  if (!parent) return EditOutcome(std::unexpected(std::move(parent).error()));
  const auto digests = unique_digests(write);
  OCTAVO_TRY(auto unique, check_unique(digests, write.id, write.id));
  if (unique) return EditOutcome(std::unexpected(*std::move(unique)));
  take_unique(digests, write.id, before);
  OCTAVO_TRY_VOID(note_conflicts(write.id, before));

  // Even if the whole partition must not change: a tombstone that is dropped is no change.
  if (before && before->deleted && !changes_.contains(write.id)) reads_.emplace(write.id, seen(before));
  storage::Sequence dropped_through = 0;
  if (!*parent) {
    OCTAVO_TRY(const auto snapshot, database_->snapshot(partition_id_));
    OCTAVO_TRY(const storage::PartitionCounters counters, snapshot.counters());
    dropped_through = counters.dropped_through;
  }

  storage::WrittenDocument written;
  written.revision = storage::next_revision(*parent, write.deleted, write.body, dropped_through);
  written.created = !before || before->deleted;
  written.modified_s = unix_now_s();
  DocumentWrite& kept = writes_.emplace_back(write);
  kept.partition_key = partition_key_;
  kept.dropped_through = dropped_through;
  database_->pack(kept);
  bytes_ += bytes_of(write);
  Change& change = changes_[kept.id];
  change.hidden = false;
  change.view.id = kept.id;
  change.view.revision = written.revision;
  change.view.modified_s = written.modified_s;
  change.view.deleted = kept.deleted;
  change.view.body = kept.body;
  if (kept.deleted) OCTAVO_TRY_VOID(promote_conflict(kept.id, change));
  return EditOutcome(written);
}

Expected<void> OptimisticTransaction::note_conflicts(std::string_view id, const std::optional<DocumentView>& before) {
  if (!before || !before->has_conflicts || changes_.contains(id)) return {};
  OCTAVO_TRY(const auto snapshot, database_->snapshot(partition_id_));
  OCTAVO_TRY(const auto document, snapshot.find_record(id));
  if (!document || document->revision != before->revision) {
    stale_ = true;
    return {};
  }
  OCTAVO_TRY(const storage::RevisionTree tree, snapshot.revision_branches(*document));
  Conflicts conflicts{.stored_winner = before->revision, .leaves = {}};
  for (const storage::RevisionTree::Node* leaf : tree.leaves()) {
    if (!leaf->deleted && leaf->revision != before->revision) conflicts.leaves.push_back(leaf->revision);
  }
  std::ranges::reverse(conflicts.leaves);
  conflicts_.insert_or_assign(std::string(id), std::move(conflicts));
  return {};
}

// The winner was deleted: its best conflicting leaf is the document now, as the writer will decide, too.
Expected<void> OptimisticTransaction::promote_conflict(std::string_view id, Change& change) {
  const auto found = conflicts_.find(id);
  if (found == conflicts_.end() || found->second.leaves.empty()) return {};
  Conflicts& conflicts = found->second;
  const Revision revision = conflicts.leaves.back();
  conflicts.leaves.pop_back();
  OCTAVO_TRY(const auto snapshot, database_->snapshot(partition_id_));
  OCTAVO_TRY(const auto document, snapshot.find(id));
  std::optional<std::string_view> body;
  if (document && document->revision == conflicts.stored_winner) {
    OCTAVO_TRY(body, snapshot.leaf_body(*document, revision));
  }
  if (!body) {
    stale_ = true;
    return {};
  }
  change.view.revision = revision;
  change.view.deleted = false;
  change.view.body = promoted_.emplace_back(*body);
  bytes_ += body->size();
  return {};
}

Expected<storage::Refusal> OptimisticTransaction::check(const DocumentWrite& write) {
  OCTAVO_TRY(const auto before, find(write.id));
  if (auto parent = resolve_parent(write, before); !parent) return storage::Refusal(std::move(parent).error());
  return std::nullopt;
}

const DocumentView* OptimisticTransaction::changed(std::string_view id) const {
  const auto own = changes_.find(id);
  return own == changes_.end() || own->second.hidden ? nullptr : &own->second.view;
}

void OptimisticTransaction::hide_from_scans(std::string_view id) {
  if (const auto own = changes_.find(id); own != changes_.end()) own->second.hidden = true;
}

Expected<void> OptimisticTransaction::reads_all() {
  if (standing_) return {};
  OCTAVO_TRY(const auto snapshot, database_->snapshot(partition_id_));
  OCTAVO_TRY(const std::uint64_t purges, snapshot.purge_count());
  OCTAVO_TRY(const storage::Sequence last_change, snapshot.last_change(partition_key_));
  standing_ = Standing{last_change, purges};
  return {};
}

Expected<ScanState> OptimisticTransaction::scan(std::optional<std::string>& from, ScanBudget budget,
                                                FunctionRef<Visit(const DocumentView&)> visit) {
  OCTAVO_TRY_VOID(reads_all());
  DocumentRange range;
  range.partition_key = partition_key_;
  range.start = from;
  DocumentScan stored(*database_, std::move(range));
  auto own = from ? changes_.lower_bound(*from) : changes_.begin();
  Visit last = Visit::next;
  std::string last_id;
  const auto show = [&](const DocumentView& document) {
    last_id = document.id;
    if (!document.deleted) last = visit(document);
    return last == Visit::next;
  };
  // Shows the transaction's own documents up to `end`; false if the visitor wants no more.
  const auto show_own = [&](std::optional<std::string_view> end) {
    while (own != changes_.end() && (!end || own->first < *end)) {
      const Change& change = (own++)->second;
      if (!change.hidden && !show(change.view)) return false;
    }
    return true;
  };
  OCTAVO_TRY(ScanState state, stored.run(budget, [&](const DocumentView& document, const storage::Snapshot&) {
    if (!show_own(document.id)) return Visit::stop;  // this document is for the next call
    const Change* change = nullptr;
    if (own != changes_.end() && own->first == document.id) change = &(own++)->second;
    return show(change != nullptr && !change->hidden ? change->view : document) ? Visit::next : Visit::stop;
  }));
  if (last == Visit::next && state == ScanState::done) show_own(std::nullopt);
  if (last == Visit::pause) state = ScanState::more;
  if (state == ScanState::more) from = last_id + '\0';
  return state;
}

Expected<bool> OptimisticTransaction::still_holds() {
  if (stale_) return false;
  OCTAVO_TRY(const auto snapshot, database_->snapshot(partition_id_));
  if (standing_) {
    OCTAVO_TRY(const std::uint64_t purges, snapshot.purge_count());
    OCTAVO_TRY(const storage::Sequence last_change, snapshot.last_change(partition_key_));
    stale_ = Standing{last_change, purges} != *standing_;
  }
  for (auto read = reads_.begin(); !stale_ && read != reads_.end(); ++read) {
    OCTAVO_TRY(const auto document, snapshot.find_record(read->first));
    stale_ = seen(document) != read->second;
  }
  return !stale_;
}

// May run again if the map has to grow.
Expected<bool> OptimisticTransaction::commit_on_writer(storage::PartitionTransaction& transaction) {
  stale_ = true;
  refused_.reset();
  sequence_ = 0;
  write_charge_ = 0;
  if (standing_) {
    OCTAVO_TRY(const storage::Sequence last_change, transaction.last_change(partition_key_));
    if (Standing{last_change, transaction.purge_count()} != *standing_) return false;
  }
  for (const auto& [id, before] : reads_) {
    OCTAVO_TRY(const auto document, transaction.find_record(id));
    if (seen(document) != before) return false;
  }
  for (const DocumentWrite& write : writes_) {
    OCTAVO_TRY(const auto written, transaction.apply(write));
    if (written) {
      sequence_ = written->sequence;
      write_charge_ +=
          charge_of_write({.body_bytes = write.deleted ? 0 : write.body.size(), .index_rows = written->index_rows});
      continue;
    }
    // Unknown to these edits: another leaf, or another document's unique values.
    const ErrorCode code = written.error().code;
    if (code != ErrorCode::conflict && code != ErrorCode::unique_key_violated) {
      stale_ = false;
      refused_ = written.error();
    }
    return false;
  }
  stale_ = false;
  return true;
}

Task<Expected<bool>> OptimisticTransaction::commit() {
  if (stale_) co_return false;
  storage::PhysicalPartition::TransactionTask task = [this](storage::PartitionTransaction& transaction) {
    return commit_on_writer(transaction);
  };
  OCTAVO_CO_TRY_VOID(co_await database_->run_transaction(target_, std::move(task), bytes_, true));
  if (refused_) co_return std::unexpected(*std::move(refused_));
  co_return !stale_;
}

Task<Expected<Committed>> run_optimistically(std::shared_ptr<Database> database, DocumentTarget target, bool in_turn,
                                             std::function<Expected<Verdict>(OptimisticTransaction&)> attempt) {
  const auto until = std::chrono::steady_clock::now() + attempts_time;
  std::optional<Turns::Turn> turn;
  if (in_turn) {
    OCTAVO_CO_TRY(auto taken, co_await database->turns().take(std::string(target.partition_key())));
    turn.emplace(std::move(taken));
  }
  // Admitted once: requests that waited for their turn are refused before they work, and never afterwards.
  OCTAVO_CO_TRY_VOID(database->meter().admit(target));
  for (int i = 0; i < attempts_max && (i == 0 || std::chrono::steady_clock::now() < until); ++i) {
    OptimisticTransaction transaction(database, target);
    // Even without writes, all reads must have been true at the same time.
    const auto run = [&]() -> Expected<Verdict> {
      auto verdict = attempt(transaction);
      const bool commits = verdict && *verdict == Verdict::commit && transaction.has_writes();
      if (!commits) OCTAVO_TRY_VOID(transaction.still_holds());
      return verdict;
    };
    auto verdict = co_await database->engine().workers().run_function(run);
    if (transaction.is_stale()) continue;
    if (!verdict) co_return std::unexpected(std::move(verdict).error());
    if (*verdict == Verdict::discard || !transaction.has_writes()) co_return Committed{};
    OCTAVO_CO_TRY(const bool committed, co_await transaction.commit());
    if (committed) co_return Committed{transaction.sequence(), transaction.write_charge()};
  }
  co_return fail(ErrorCode::conflict,
                 "The documents that the function reads are written by others all the time; try again.",
                 word_retry_with);
}

}  // namespace octavo::partitioning
