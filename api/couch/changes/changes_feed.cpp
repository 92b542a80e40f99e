#include "api/couch/changes/changes_feed.h"

#include <algorithm>
#include <utility>

#include "api/models/document_renderer.h"
#include "base/json_writer.h"
#include "partitioning/keys/partition_key.h"
#include "query/selector/match_budget.h"

namespace octavo::api::couch {

namespace {

using partitioning::Database;
using partitioning::FeedPosition;
using partitioning::FeedRange;
using partitioning::FeedScan;
using partitioning::ScanBudget;
using partitioning::ScanState;
using partitioning::Visit;
using storage::DocumentView;
using storage::FeedRow;
using storage::Revision;
using storage::Sequence;
using storage::Snapshot;

constexpr std::uint64_t pending_count_max = 1000;
// `_doc_ids` with at most this many ids looks each document up, as Apache CouchDB does up to its
// changes_doc_ids_optimization_threshold.
constexpr std::size_t named_documents_max = 1000;
// Limits of the rows that wait for a function.
constexpr std::size_t candidates_max = 64;
constexpr std::size_t candidate_bytes_max = 1024 * 1024;

bool is_line_mode(FeedMode mode) {
  return mode == FeedMode::continuous || mode == FeedMode::eventsource;
}

}  // namespace

ChangesFeed::ChangesFeed(std::shared_ptr<Database> database, ChangesQuery query, const FeedPosition& since,
                         ChangesFilter filter, std::optional<std::string> partition_key)
    : database_(std::move(database)),
      query_(std::move(query)),
      since_(since.sequence),
      floor_(since.floor),
      filter_(std::move(filter)),
      partition_key_(std::move(partition_key)),
      scan_(std::in_place, *database_, range_after(since_, query_.descending)),
      acknowledged_(database_->committed_sequence()),
      last_sent_(since_),
      named_documents_pending_(filter_.ids() != nullptr && filter_.ids()->size() <= named_documents_max) {}

Expected<ChangesFeed::Step> ChangesFeed::advance(std::string& out, ScanBudget budget) {
  if (!started_) {
    // Continuous feeds send later what is not readable yet; the others would miss it.
    if (!is_line_mode(query_.mode) && database_->watermark() < acknowledged_) return Step::wait;
    append_head(out);
  }
  if (!limit_reached()) {
    if (std::exchange(named_documents_pending_, false)) {
      OCTAVO_TRY_VOID(send_named_documents(out));
      caught_up_ = !limit_reached();
    } else if (looks_up_) {
      OCTAVO_TRY(caught_up_, send_unsettled(out, budget));
    } else {
      if (ends() && std::exchange(needs_end_, false)) scan_->stop_at(database_->watermark());
      OCTAVO_TRY(caught_up_, scan(out, budget));
    }
    if (!caught_up_ && !limit_reached()) return Step::more;
  }
  const bool follows = is_line_mode(query_.mode) || (query_.mode == FeedMode::longpoll && emitted_ == 0);
  if (follows && !limit_reached()) {
    if (query_.descending) turn_forward();
    needs_end_ = true;
    return Step::wait;
  }
  if (caught_up_ && ends() && !looks_up_) {
    if (const Step step = step_at_end(); step != Step::end) return step;
  }
  OCTAVO_TRY_VOID(finish(out));
  return Step::end;
}

// Whether the scan goes forward to an end, which it gets from the watermark of a moment.
bool ChangesFeed::ends() const {
  return !is_line_mode(query_.mode) && !query_.descending;
}

FeedRange ChangesFeed::range_after(Sequence since, bool descending) const {
  return {.since = since,
          .descending = descending,
          .partition_key = partition_key_,
          .notes_beyond = !is_line_mode(query_.mode),
          .notes_new_beyond = false,
          .floor = floor_};
}

// The scan has reached its end: what is left to do?
ChangesFeed::Step ChangesFeed::step_at_end() {
  Step step = Step::end;
  if (!std::exchange(has_caught_up_, true) && database_->watermark() > scan_->position()) {
    step = Step::more;
  } else if (must_settle()) {
    step = Step::wait;
  } else if (since_ == 0 && !unsettled_.empty()) {
    // A later `since` is one of a reader that comes back for what it has missed.
    looks_up_ = true;
    step = Step::more;
  }
  if (step == Step::more) caught_up_ = false;
  needs_end_ = true;
  return step;
}

// A write moves the row of its document to the end of the feed, and the row is beyond the watermark until that commit
// finishes. A feed that ends at this moment would not show the document at all, although it existed all the time. So
// the feed continues until it has shown every document that it found in this state the first time.
bool ChangesFeed::must_settle() {
  const std::set<std::string_view> beyond(scan_->beyond().begin(), scan_->beyond().end());
  if (settle_rounds_ == 0) {
    settle_begin_ = scan_->position();
    for (const auto id : beyond) {
      if (filter_.may_pass(id)) unsettled_.emplace(id);
    }
  } else {
    std::erase_if(unsettled_, [&](const std::string& id) { return !beyond.contains(id); });
  }
  if (unsettled_.empty() || settle_rounds_ >= settle_rounds_max) return false;
  ++settle_rounds_;
  return database_->watermark() - settle_begin_ < settle_changes_max;
}

// Documents that were written in each round. They get the feed's last sequence, so that a client that continues from
// any row gets everything behind it, and these documents again in their places.
Expected<bool> ChangesFeed::send_unsettled(std::string& out, ScanBudget budget) {
  const Sequence watermark = database_->watermark();  // before the snapshots, which contain everything up to it
  while (!unsettled_.empty() && !limit_reached()) {
    const auto next = unsettled_.extract(unsettled_.begin());
    OCTAVO_TRY_VOID(send_as_it_is(out, next.value(), watermark));
    if (out.size() >= ScanBudget::output_bytes_max || ScanBudget::Clock::now() >= budget.until) break;
  }
  return unsettled_.empty();
}

// A document whose commit is not finished yet is left out.
Expected<void> ChangesFeed::send_as_it_is(std::string& out, std::string_view id, Sequence watermark) {
  Candidate candidate;
  {
    OCTAVO_TRY(const auto snapshot, database_->snapshot_for_document(id));
    OCTAVO_TRY(const auto document, snapshot.find_record(id));
    if (!document || document->sequence > watermark) return {};
    const FeedRow change{scan_->position(), document->id, document->revision, document->deleted,
                         document->has_conflicts};
    if (!filter_.runs_functions()) return append_row(out, Row{change, snapshot});
    OCTAVO_TRY(candidate, candidate_of(Row{change, snapshot}));
  }
  return append_candidate(out, candidate);
}

void ChangesFeed::append_head(std::string& out) {
  started_ = true;
  newest_at_start_ = database_->watermark();
  if (!is_line_mode(query_.mode)) out += "{\"results\":[\n";
}

Expected<bool> ChangesFeed::scan(std::string& out, ScanBudget budget) {
  if (filter_.runs_functions()) return scan_by_function(out, budget);
  Expected<void> rendered;
  const std::uint64_t steps_before = filter_.match_steps();
  auto visit = [&](const FeedRow& change, const Snapshot& snapshot) {
    ++seen_;
    last_sent_ = change.sequence;
    if (!filter_.may_pass(change.id)) return Visit::next;
    rendered = append_row(out, Row{change, snapshot});
    if (!rendered || limit_reached()) return Visit::stop;
    const bool is_long = filter_.match_steps() - steps_before >= query::match_steps_per_slice;
    return is_long || out.size() >= ScanBudget::output_bytes_max ? Visit::pause : Visit::next;
  };
  OCTAVO_TRY(const auto state, scan_->run(budget, visit));
  if (!rendered) return std::unexpected(std::move(rendered).error());
  return state == ScanState::done && !limit_reached();
}

// A function may take seconds. If a snapshot were held that long, a memory map that must grow would block all writers
// and readers. So the functions run over copies.
Expected<bool> ChangesFeed::scan_by_function(std::string& out, ScanBudget budget) {
  if (candidates_.empty()) {
    OCTAVO_TRY(collected_all_, collect_candidates(budget));
  }
  while (!candidates_.empty()) {
    ++seen_;
    last_sent_ = candidates_.front().sequence;
    OCTAVO_TRY_VOID(append_candidate(out, candidates_.front()));
    candidates_.pop_front();
    if (limit_reached()) return false;
    if (out.size() >= ScanBudget::output_bytes_max || ScanBudget::Clock::now() >= budget.until) break;
  }
  return collected_all_ && candidates_.empty();
}

Expected<bool> ChangesFeed::collect_candidates(ScanBudget budget) {
  Expected<void> collected;
  std::size_t bytes = 0;
  const auto visit = [&](const FeedRow& change, const Snapshot& snapshot) {
    auto candidate = candidate_of(Row{change, snapshot});
    if (!candidate) {
      collected = std::unexpected(std::move(candidate).error());
      return Visit::stop;
    }
    bytes += candidate->document.size();
    for (const auto& leaf : candidate->leaves) bytes += leaf.body.size();
    candidates_.push_back(*std::move(candidate));
    return candidates_.size() == candidates_max || bytes >= candidate_bytes_max ? Visit::pause : Visit::next;
  };
  OCTAVO_TRY(const auto state, scan_->run(budget, visit));
  if (!collected) return std::unexpected(std::move(collected).error());
  return state == ScanState::done;
}

Expected<ChangesFeed::Candidate> ChangesFeed::candidate_of(const Row& row) const {
  Candidate candidate{row.change.sequence, std::string(row.change.id), row.change.deleted, {}, {}};
  OCTAVO_TRY(const auto document, row.snapshot.find(row.change.id));
  if (!document) return candidate;
  if (query_.all_leaves && row.change.has_conflicts) {
    OCTAVO_TRY(const auto tree, row.snapshot.revision_branches(*document));
    for (const auto* leaf : tree.leaves()) {
      OCTAVO_TRY(const auto body, row.snapshot.leaf_body(*document, leaf->revision));
      if (body) candidate.leaves.push_back({leaf->revision, leaf->deleted, std::string(*body)});
    }
  } else {
    candidate.leaves.push_back({row.change.revision, document->deleted, std::string(document->body)});
  }
  if (query_.include_docs) {
    OCTAVO_TRY_VOID(
        append_document(candidate.document, *document, row.snapshot, RenderOptions{.conflicts = query_.conflicts}));
    OCTAVO_TRY_VOID(filter_.cut(candidate.document, 0, row.change.id));
  }
  return candidate;
}

Expected<void> ChangesFeed::append_candidate(std::string& out, const Candidate& candidate) {
  passing_.clear();
  for (const auto& leaf : candidate.leaves) {
    OCTAVO_TRY(const bool passes, filter_.passes(candidate.id, leaf.revision, leaf.deleted, leaf.body));
    if (passes) passing_.push_back(leaf.revision);
  }
  if (passing_.empty()) return {};
  begin_row(out, candidate.sequence, candidate.id, candidate.deleted);
  if (query_.include_docs) {
    out += ",\"doc\":";
    out += candidate.document;
  }
  end_row(out, candidate.sequence);
  return {};
}

// A follower of a descending feed gets the existing rows in descending order, and later changes as they occur.
void ChangesFeed::turn_forward() {
  query_.descending = false;
  scan_.emplace(*database_, FeedRange{.since = newest_at_start_, .partition_key = partition_key_, .floor = floor_});
}

// The first round of `_doc_ids`: sends the rows of these documents without reading the rest of the feed.
Expected<void> ChangesFeed::send_named_documents(std::string& out) {
  struct Named {
    Sequence sequence;
    std::string_view id;
  };
  const auto watermark = database_->watermark();  // read before the snapshots, which then contain everything up to it
  std::vector<Named> named;
  for (const auto& id : *filter_.ids()) {
    if (partition_key_ && partitioning::partition_key_of(id, true) != *partition_key_) continue;
    OCTAVO_TRY(const auto snapshot, database_->snapshot_for_document(id));
    OCTAVO_TRY_VOID(partitioning::require_tombstones(snapshot, std::max(since_, floor_)));
    OCTAVO_TRY(const auto document, snapshot.find_record(id));
    if (!document || document->sequence <= since_) continue;
    if (document->sequence <= watermark) {
      named.push_back({document->sequence, id});
    } else {
      unsettled_.insert(id);
    }
  }
  std::ranges::sort(named, {}, &Named::sequence);
  if (query_.descending) std::ranges::reverse(named);

  Sequence reached = watermark;
  for (const auto& [sequence, id] : named) {
    OCTAVO_TRY(const auto snapshot, database_->snapshot_for_document(id));
    OCTAVO_TRY_VOID(partitioning::require_tombstones(snapshot, std::max(since_, floor_)));
    OCTAVO_TRY(const auto document, snapshot.find_record(id));
    // The document changed in between: its row comes later in the feed.
    if (!document || document->sequence != sequence) {
      unsettled_.emplace(id);
      continue;
    }
    const FeedRow change{document->sequence, document->id, document->revision, document->deleted,
                         document->has_conflicts};
    ++seen_;
    last_sent_ = sequence;
    OCTAVO_TRY_VOID(append_row(out, Row{change, snapshot}));
    if (limit_reached()) {
      reached = sequence;
      break;
    }
  }
  if (!query_.descending) {
    scan_.emplace(*database_, range_after(reached, false));
  }
  return {};
}

Expected<void> ChangesFeed::append_row(std::string& out, const Row& row) {
  const bool needs_document =
      filter_.needs_documents() || query_.include_docs || (query_.all_leaves && row.change.has_conflicts);
  std::optional<DocumentView> document;
  if (needs_document) {
    OCTAVO_TRY(document, row.snapshot.find(row.change.id));
  }
  OCTAVO_TRY_VOID(collect_passing(row, document));
  if (passing_.empty()) return {};

  begin_row(out, row.change.sequence, row.change.id, row.change.deleted);
  if (query_.include_docs) {
    out += ",\"doc\":";
    if (!document) {
      out += "null";
    } else {
      const std::size_t begin = out.size();
      OCTAVO_TRY_VOID(append_document(out, *document, row.snapshot, RenderOptions{.conflicts = query_.conflicts}));
      OCTAVO_TRY_VOID(filter_.cut(out, begin, row.change.id));
    }
  }
  end_row(out, row.change.sequence);
  return {};
}

// Collects the revisions of the row that pass the filter.
Expected<void> ChangesFeed::collect_passing(const Row& row, const std::optional<DocumentView>& document) {
  passing_.clear();
  if (!query_.all_leaves || !row.change.has_conflicts || !document) {
    if (filter_.needs_documents()) {
      if (!document) return {};
      OCTAVO_TRY(const bool passes,
                 filter_.passes(document->id, document->revision, document->deleted, document->body));
      if (!passes) return {};
    }
    passing_.push_back(row.change.revision);
    return {};
  }
  OCTAVO_TRY(const auto tree, row.snapshot.revision_branches(*document));
  for (const auto* leaf : tree.leaves()) {
    if (filter_.needs_documents()) {
      OCTAVO_TRY(const auto body, row.snapshot.leaf_body(*document, leaf->revision));
      if (!body) continue;
      OCTAVO_TRY(const bool passes, filter_.passes(document->id, leaf->revision, leaf->deleted, *body));
      if (!passes) continue;
    }
    passing_.push_back(leaf->revision);
  }
  return {};
}

// Appends everything of the row except its document.
void ChangesFeed::begin_row(std::string& out, Sequence sequence, std::string_view id, bool deleted) {
  if (query_.mode == FeedMode::eventsource) {
    out += "data: ";
  } else if (!is_line_mode(query_.mode) && emitted_ > 0) {
    out += ",\r\n";
  }
  out += "{\"seq\":";
  // CouchDB counts from the limit down, so the first row of an unlimited feed shows its sequence.
  const bool has_sequence = query_.seq_interval == 1 || emitted_ % query_.seq_interval == 0;
  if (has_sequence) {
    append_sequence(out, sequence);
  } else {
    out += "null";
  }
  out += ",\"id\":";
  append_json_string(out, id);
  out += ",\"changes\":[";
  for (const auto& revision : passing_) {
    out += out.back() == '[' ? "{\"rev\":" : ",{\"rev\":";
    append_revision(out, revision);
    out += '}';
  }
  out += ']';
  if (deleted) out += ",\"deleted\":true";
}

void ChangesFeed::end_row(std::string& out, Sequence sequence) {
  out += '}';
  if (query_.mode == FeedMode::eventsource) {
    out += "\nid: ";
    append_sequence(out, sequence);
    out += "\n\n";
  } else if (query_.mode == FeedMode::continuous) {
    out += '\n';
  }
  ++emitted_;
}

void ChangesFeed::append_sequence(std::string& out, Sequence sequence) const {
  out += '"';
  append_json_number(out, sequence);
  out += '-';
  out += database_->feed_tag();
  if (sequence < floor_ && database_->may_lack_tombstones()) {
    out += '.';
    append_json_number(out, floor_);
  }
  out += '"';
}

void ChangesFeed::heartbeat(std::string& out) const {
  out += query_.mode == FeedMode::eventsource ? "event: heartbeat\ndata: \n\n" : "\n";
}

Expected<void> ChangesFeed::finish(std::string& out) {
  if (!started_) append_head(out);
  if (query_.mode == FeedMode::eventsource) return {};
  std::uint64_t pending = 0;
  if (!caught_up_) {
    OCTAVO_TRY(pending, count_pending());
  }
  out += is_line_mode(query_.mode) ? "{\"last_seq\":" : "\n],\n\"last_seq\":";
  append_sequence(out, query_.descending ? last_sent_ : looked_at());
  out += ",\"pending\":";
  append_json_number(out, pending);
  out += "}\n";
  return {};
}

// The number of feed rows that were not examined. For a feed from the beginning it is known, as every document has one
// row. Otherwise up to pending_count_max rows are counted; beyond that, the difference of the sequences is an upper
// bound, because each change took one sequence.
Expected<std::uint64_t> ChangesFeed::count_pending() const {
  if (since_ == 0 && filter_.ids() == nullptr) {
    Expected<storage::DocumentStatistics> statistics;
    if (partition_key_) {
      OCTAVO_TRY(const auto snapshot, database_->snapshot_for_partition_key(*partition_key_));
      statistics = snapshot.statistics_of(*partition_key_);
    } else {
      statistics = database_->statistics();
    }
    if (!statistics) return std::unexpected(std::move(statistics).error());
    const auto rows = statistics->document_count + statistics->deleted_count;
    return rows > seen_ ? rows - seen_ : 0;
  }
  const auto from = query_.descending ? since_ : looked_at();
  const bool looked_backwards = query_.descending && seen_ > 0;
  const auto end = looked_backwards ? last_sent_ : database_->watermark() + 1;
  FeedScan ahead(*database_, FeedRange{from, false, partition_key_});
  std::uint64_t count = 0;
  auto visit = [&](const FeedRow& change, const Snapshot&) {
    if (change.sequence >= end) return Visit::stop;
    return ++count == pending_count_max ? Visit::stop : Visit::next;
  };
  OCTAVO_TRY_VOID(ahead.run(ScanBudget{pending_count_max + 1}, visit));
  if (count < pending_count_max) return count;
  return std::max<std::uint64_t>(count, end - 1 - from);
}

}  // namespace octavo::api::couch
