#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitioning/scan.h"
#include "query/index/index_entry.h"
#include "query/json/parsed_document.h"
#include "query/json/result_text.h"
#include "query/mango/aggregator.h"
#include "query/mango/prepared_find.h"
#include "query/mango/run/match_renderer.h"
#include "query/mango/run/page_end.h"
#include "query/mango/run/result_sorter.h"
#include "query/selector/match_budget.h"
#include "query/walk/plan_walk.h"
#include "query/walk/plan_walks.h"

namespace octavo::query {

/// One run of a query: reads slice by slice and writes each result, a document or a row, as JSON text. Between slices
/// it holds no snapshot and continues by key, so a slow client pins nothing and does not delay writers; documents that
/// change meanwhile are seen as they are when they are reached. If several plans take turns (plan_turns.h), each
/// continues where it was, and skips what the others have returned (walked_part.h).
///
/// One thread at a time; each slice may run on another one. Memory: the output of one slice, and up to `sort_bytes_max`
/// for the rows of a sort in memory that may still be in the result, or for the groups of an aggregation.
class FindExecution {
 public:
  /// `partition_key`: from the request's URL or body; empty for the whole database.
  FindExecution(std::shared_ptr<partitioning::Database> database, std::shared_ptr<const PreparedFind> prepared,
                std::string partition_key, std::size_t sort_bytes_max);

  /// Runs one slice: appends results to output(), separated by commas. Ends early when there is much output. Errors:
  /// no_usable_index if a sort exceeds its memory; those of the storage.
  Expected<partitioning::ScanState> run(partitioning::ScanBudget budget);

  /// From now on, remembers the last document examined, so that `stop` can be called once the query has cost
  /// `charge_max` request units, of which it costs `base` before it reads. Does not begin a sort that could cost more
  /// while a walk in order can continue.
  void make_stoppable(double charge_max, double base);
  /// Whether it returns results while it reads: a sort in memory or an aggregation reads everything first.
  bool is_resumable() const { return !plan().sort_in_memory && !aggregator_; }
  /// For use between slices: ends the page after the last document examined; its bookmark continues there. False: the
  /// page cannot end here, call run() again.
  bool stop();

  const PreparedFind& prepared() const { return *prepared_; }

  /// Results that were written and not taken yet; the caller may empty it between slices.
  std::string& output() { return output_.text(); }
  const WalkStatistics& statistics() const { return statistics_; }
  /// What each plan of prepared() has read, for display; empty: there is one plan.
  boost::json::array explain_reads() const { return walks_.explain_reads(statistics_); }
  /// After the last slice: where the next page begins. nullopt: the page has passed nothing, or is an aggregation.
  std::optional<std::string> next_bookmark() const;
  /// After the last slice: the number of groups, or of documents without groups, if the request has `count`.
  std::optional<std::uint64_t> count() const;

 private:
  friend class PlanWalk;

  using Flow = PlanWalk::Flow;

  const Plan& plan() const { return prepared_->plans[walks_.current()]; }
  PlanWalk& walk() { return walks_.walk(); }
  const PlanWalk& walk() const { return walks_.walk(); }
  const Branch& branch() const { return plan().branches[walk().branch]; }
  Expected<partitioning::ScanState> scan(std::size_t& rows_left);
  // find_turns.cpp: which plan runs.
  void begin_turns();
  bool is_turn_over() const { return !finished_ && walks_.is_turn_over(statistics_); }
  void end_turn();
  void begin_turn();
  void give_up_sorting();
  void remember_end();
  Expected<bool> was_returned(simdjson::dom::element root, const storage::DocumentView& document);
  bool counts_everything() const;
  Expected<void> count_everything();
  // What the walk asks and tells: see PlanWalk::run.
  bool is_finished() const { return finished_; }
  bool is_enough() const;
  Flow see_entry(std::string_view key);
  Expected<Flow> take_entry(const IndexRow& row, std::string_view position, DocumentLookup& documents);
  Expected<Flow> take_document(const WalkedDocument& found);
  Expected<Flow> take_covered(const IndexRow& row, std::string_view position);
  Expected<bool> was_returned(const IndexRow& row, DocumentLookup& documents);
  Expected<bool> matches(const Selector& selector, simdjson::dom::element root, std::string_view id,
                         std::string_view revision, MatchBudget& budget);
  Expected<Flow> emit(const FindMatch& match, std::string_view position);
  Expected<Flow> keep_for_sort(simdjson::dom::element root, const FindMatch& match);
  Expected<void> aggregate(const FindMatch& match);
  Expected<void> collect();
  partitioning::ScanState write_waiting();

  std::shared_ptr<partitioning::Database> database_;
  std::shared_ptr<const PreparedFind> prepared_;
  QueryScope scope_;
  const bool documents_expire_;  ///< documents can expire: an index entry does not show whether its document has

  PlanWalks walks_;
  std::chrono::steady_clock::time_point until_;  ///< of this slice
  bool scanned_ = false;
  bool finished_ = false;

  std::uint64_t skip_left_;
  std::uint64_t limit_left_;
  DocumentParser parser_;
  MatchRenderer renderer_;
  std::string revision_;           ///< of the current document, if a selector uses it
  std::uint64_t match_steps_ = 0;  ///< of this slice
  ResultText output_;

  ResultSorter sorter_;
  std::optional<Aggregator> aggregator_;
  bool is_collected_ = false;         ///< the results of a sort or an aggregation are in order
  std::vector<std::string> waiting_;  ///< these results
  std::size_t written_ = 0;           ///< number of them

  WalkStatistics statistics_;
  PageEnd page_end_;
};

}  // namespace octavo::query
