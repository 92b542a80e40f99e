#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitioning/keys/range_parts.h"
#include "query/index/index_entry.h"
#include "query/json/parsed_document.h"
#include "query/json/result_text.h"
#include "query/sql/evaluate/program.h"
#include "query/sql/run/internal/collected_rows.h"
#include "query/sql/run/internal/combinations.h"
#include "query/sql/run/internal/gone_rows.h"
#include "query/sql/run/internal/left_walk.h"
#include "query/sql/run/internal/page_limits.h"
#include "query/sql/run/internal/page_point.h"
#include "query/sql/run/internal/partitions_in_turn.h"
#include "query/sql/run/internal/resume_key.h"
#include "query/sql/run/internal/row_collector.h"
#include "query/sql/run/internal/row_key.h"
#include "query/sql/run/internal/row_runs.h"
#include "query/sql/run/internal/sorted_rows.h"
#include "query/sql/run/sql_execution.h"
#include "query/walk/plan_walk.h"
#include "query/walk/plan_walks.h"

namespace octavo::query::sql {

using partitioning::ScanState;

/// The flow of one run of a query: which step comes next, and with what. sql_execution.cpp begins and continues it,
/// sql_turns.cpp chooses the plan, sql_walk.cpp reads, sql_results.cpp makes results. What is known meanwhile is kept
/// by the classes of this folder, each of which answers one question and knows no other step.
class SqlExecution::Implementation {
 public:
  Implementation(std::shared_ptr<partitioning::Database> database, std::shared_ptr<const PreparedSql> prepared,
                 SqlOptions options);

  Expected<ScanState> run(partitioning::ScanBudget budget);
  Expected<ScanState> run_slice(partitioning::ScanBudget budget);
  std::string& output() { return output_.text(); }
  const SqlStatistics& statistics() const { return statistics_; }
  boost::json::array explain_reads() const { return walks_.explain_reads(statistics_); }
  std::optional<std::string> continuation() const;
  bool is_resumable() const { return mode_ == Mode::streaming || reads_in_runs_ || is_left(); }
  bool stop();

  using Flow = PlanWalk::Flow;
  // What the walk asks and tells: see PlanWalk::run.
  bool is_finished() const { return finished_; }
  bool is_enough() const { return output_.is_full() || evaluation_.is_late(); }
  bool is_turn_over() const;
  Flow see_entry(std::string_view key);
  Expected<Flow> take_entry(const IndexRow& row, std::string_view position, const DocumentLookup& documents);
  Expected<Flow> take_document(const WalkedDocument& found);

 private:
  enum class Mode : std::uint8_t { streaming, sorting, distinct, grouping };

  const Program& program() const { return prepared_->query->program(); }
  const Plan& plan() const { return prepared_->plans[walks_.current()]; }
  PlanWalk& walk() { return walks_.walk(); }
  const PlanWalk& walk() const { return walks_.walk(); }
  const Branch& branch() const { return plan().branches[walk().branch]; }
  void resume(const Continuation& continuation);
  void prepare_collection();
  void restart_walk();
  void go_to_start();

  void begin_turns();
  void take_turns();
  bool begins_within_document() const;
  double spent() const { return walks_.spent(statistics_); }
  void end_turn();
  void sort_instead();
  /// Whether another plan has returned the current row.
  bool was_returned();
  void return_to_walk();
  bool is_left() const { return walks_.takes_turns() && plan().sort_in_memory; }
  std::string start_before_last() const;
  bool stop_sorting();
  bool stop_in_runs();
  std::string start_after_runs(std::size_t complete) const {
    return runs_.start_after(complete, walk().position.key, prepared_->plan().descending);
  }

  Expected<ScanState> scan(std::size_t& rows_left);
  void narrow_turn(const partitioning::RangeParts& parts);
  PlanWalk::Slice slice(std::size_t& rows_left);
  Expected<ScanState> run_source(std::size_t& rows_left);
  Expected<bool> is_of_branch(const storage::DocumentView& document);
  void begin_entry(std::string_view position);
  Expected<Flow> take_combinations(std::string_view position);
  Expected<Flow> take_without_items();
  Flow take_row(std::string_view position);
  /// Whether WHERE is known to hold for the current row without evaluating it.
  bool where_is_known() const;
  Flow emit_row(std::string_view position);
  /// The next page reads on after `last`. A sort continues the walk that it replaces.
  Continuation point_after(const ReadingPoint& last) const {
    return sql::point_after(*prepared_, is_left() ? prepared_->plan() : plan(), last);
  }
  Flow collect_row(std::string_view position);
  /// Key of the current row where rows are sorted, until the next call. Null: the row is left out, or the evaluation
  /// failed.
  const std::string* make_row_key();
  void note_end_of_run();
  bool is_off_page(const IndexRow& entry);
  bool may_look_ahead() const;
  bool has_looked_enough() const { return page_.has_looked_enough(statistics_.keys_examined); }
  Flow end_page();
  Flow look_for_resume_key();
  void check_memory(std::size_t bytes);
  Expected<Flow> evaluated(Flow flow) const;
  /// False: the first slice, on a thread that others wait for, ended within its only row. Otherwise the row was taken,
  /// or the evaluation failed.
  bool has_taken_row();
  std::chrono::steady_clock::time_point interrupt_time();

  void prepare_results();
  std::vector<CollectedRow> take_collected();
  void begin_results(std::vector<CollectedRow> rows, bool is_cut);
  /// `pauses`: when much output waits. Otherwise writes all that the page takes.
  ScanState write_results(bool pauses = true);
  void continue_after_last();
  Flow count_result(std::size_t bytes);

  std::shared_ptr<partitioning::Database> database_;
  std::shared_ptr<const PreparedSql> prepared_;
  SqlOptions options_;
  SqlScope scope_;
  std::optional<SqlScope> turn_scope_;  ///< of the partition that is read now, if it is part of a larger one
  SqlStatistics statistics_;
  Mode mode_ = Mode::streaming;

  PlanWalks walks_;
  std::optional<bool> was_returned_;  ///< the current document, by another plan; nullopt: not known yet

  PartitionsInTurn partitions_;                  ///< the walk has the parts of the current one
  bool is_changed_ = false;                      ///< the current document differs from the stored one
  std::optional<ReadingPoint> visited_;          ///< the last document, where the page may be stopped
  std::chrono::steady_clock::time_point until_;  ///< of this slice
  bool first_slice_ = true;
  bool scanned_ = false;
  bool finished_ = false;

  PageLimits page_;
  ResultText output_;
  std::optional<Continuation> next_;  ///< of the next page

  Evaluation evaluation_;
  Combinations combinations_;  ///< left within the document `walk().inside`
  DocumentParser parser_;
  std::optional<GoneRows> gone_rows_;  ///< if the previous pages were read by an index that is gone
  RowKey row_key_;
  LeftWalk left_walk_;
  bool sort_overflowed_ = false;  ///< the sort that replaces the walk
  RowCollector collector_;
  ResumeKey resume_key_;

  bool reads_in_runs_ = false;  ///< rows that clients merge, from an index in the order of ORDER BY
  RowRuns runs_;

  SortedRows rows_;  ///< to be written
};

}  // namespace octavo::query::sql
