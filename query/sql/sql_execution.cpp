#include "query/sql/sql_execution.h"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "partitioning/hash.h"
#include "query/executor/document_lookup.h"
#include "query/executor/index_walk.h"
#include "query/index/index_entry.h"
#include "query/json/parsed_document.h"
#include "query/sql/collected_rows.h"
#include "query/sql/groups.h"
#include "query/sql/program.h"

namespace octavo::query::sql {

namespace {

using partitioning::ScanState;
using partitioning::Visit;

// A slice ends when this much waits to be sent.
constexpr std::size_t kSqlOutputBytesMax = 64 * 1024;
// Combinations of a JOIN between two looks at the clock.
constexpr std::size_t kCombinationsBetweenLooks = 64;

// What follows a key, walking up, begins at the key with the lowest byte after it.
std::string after(std::string_view key) {
  std::string next(key);
  next += '\0';
  return next;
}

std::uint64_t add_saturated(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}

}  // namespace

class SqlExecution::Implementation {
 public:
  Implementation(std::shared_ptr<partitioning::Database> database, std::shared_ptr<const PreparedSql> prepared,
                 SqlOptions options);

  Expected<ScanState> run(partitioning::ScanBudget budget);
  std::string& output() { return output_; }
  const SqlStatistics& statistics() const { return statistics_; }
  std::optional<std::string> continuation() const;

 private:
  enum class Flow : std::uint8_t { next, pause, finished };
  enum class Mode : std::uint8_t { streaming, sorting, distinct, grouping };

  const Program& program() const { return prepared_->query->program(); }
  const Branch& branch() const { return prepared_->plan.branches[branch_]; }
  void resume(const Continuation& continuation);

  Expected<ScanState> scan(std::size_t& rows_left);
  Expected<ScanState> run_index(std::size_t& rows_left);
  Expected<Flow> take_entry(const storage::KeyValue& entry, DocumentLookup& documents);
  Expected<ScanState> run_primary(std::size_t& rows_left);
  Expected<ScanState> run_points(std::size_t& rows_left);
  Expected<ScanState> run_id_range(const IdRange& range, std::size_t& rows_left);

  bool is_in_scope(std::string_view id) const;
  Expected<bool> is_of_branch(const storage::DocumentView& document);
  Expected<Flow> take_document(const storage::DocumentView& document, std::string_view position);
  Expected<Flow> take_combinations(std::string_view position);
  Expected<Flow> take_without_items();
  Flow take_row(std::string_view position);
  Flow emit_row(std::string_view position);
  void collect_row();
  void collect_distinct();
  bool make_sort_key();
  void check_memory(std::size_t bytes);
  Expected<Flow> evaluated(Flow flow) const;

  void prepare_results();
  void prepare_groups();
  ScanState write_results();
  Flow count_result(std::size_t bytes);

  std::shared_ptr<partitioning::Database> database_;
  std::shared_ptr<const PreparedSql> prepared_;
  SqlOptions options_;
  SqlScope scope_;
  SqlStatistics statistics_;
  Mode mode_ = Mode::streaming;

  // Where the walk is.
  std::size_t branch_ = 0;
  /// Of the branch. In the primary its key is the id after which to go on, or with `inside_` the id itself.
  IndexPosition position_;
  std::optional<std::string> inside_;  ///< key of a document whose combinations are not all taken
  std::vector<std::uint64_t> inside_positions_;
  std::unique_ptr<partitioning::DocumentScan> scan_;
  std::chrono::steady_clock::time_point until_;  ///< of this slice
  bool scanned_ = false;
  bool finished_ = false;

  // What is wanted.
  std::uint64_t skip_left_ = 0;
  std::uint64_t limit_left_ = 0;
  std::size_t page_bytes_ = 0;
  std::uint64_t page_items_ = 0;
  bool first_ = true;
  std::string output_;
  std::optional<Continuation> next_;  ///< of the next page

  Evaluation evaluation_;
  FromIterator from_;
  DocumentParser parser_;
  std::string sort_key_;
  std::string value_key_;

  CollectedRows collected_;
  std::unique_ptr<Groups> groups_;
  std::size_t groups_max_ = SIZE_MAX;
  std::string resume_key_;  ///< of the last row or group of the page before
  bool has_resume_key_ = false;
  std::vector<CollectedRow> rows_;  ///< to be written
  std::size_t written_ = 0;
};

SqlExecution::Implementation::Implementation(std::shared_ptr<partitioning::Database> database,
                                             std::shared_ptr<const PreparedSql> prepared, SqlOptions options)
    : database_(std::move(database)),
      prepared_(std::move(prepared)),
      options_(std::move(options)),
      scope_(prepared_->scope),
      skip_left_(program().offset),
      limit_left_(program().limit),
      evaluation_(program().root_names, program().slots, prepared_->shape),
      from_(program().sources, true),
      collected_(0) {
  evaluation_.user_functions = options_.user_functions;
  if (options_.partition_key) scope_.partition_key = *options_.partition_key;
  if (program().grouped) {
    mode_ = Mode::grouping;
    groups_ = std::make_unique<Groups>(program());
  } else if (program().distinct) {
    mode_ = Mode::distinct;
  } else if (!program().order_by.empty() && !prepared_->presorted) {
    mode_ = Mode::sorting;
  }
  if (prepared_->continuation) resume(*prepared_->continuation);
  if (limit_left_ == 0 || options_.page_items_max == 0) finished_ = scanned_ = true;

  // One more than the page can have, to know whether anything follows.
  const std::uint64_t wanted =
      add_saturated(add_saturated(skip_left_, std::min(limit_left_, options_.page_items_max)), 1);
  collected_ = CollectedRows(static_cast<std::size_t>(wanted));
  if (!program().distinct && program().selection != Query::Selection::value)
    groups_max_ = static_cast<std::size_t>(wanted);
}

void SqlExecution::Implementation::resume(const Continuation& continuation) {
  skip_left_ = continuation.skip;
  limit_left_ = std::min(limit_left_, continuation.left);
  if (continuation.kind == Continuation::Kind::sorted || continuation.kind == Continuation::Kind::grouped) {
    resume_key_ = continuation.key;
    has_resume_key_ = true;
    return;
  }
  if (mode_ != Mode::streaming) return;
  if (!program().reads_items) {
    position_.key = continuation.key;
    inside_positions_ = continuation.positions;
    return;
  }
  if (prepared_->plan.branches.empty()) return;
  branch_ = std::min<std::size_t>(continuation.branch, prepared_->plan.branches.size() - 1);
  position_.key = continuation.key;
  const bool down = prepared_->plan.descending;
  if (!continuation.positions.empty()) {
    inside_ = continuation.key;
    inside_positions_ = continuation.positions;
    if (branch().index && down) position_.key = after(continuation.key);
  } else if (branch().index && !down) {
    position_.key = after(continuation.key);
  }
}

Expected<ScanState> SqlExecution::Implementation::run(partitioning::ScanBudget budget) {
  std::size_t rows_left = budget.rows_max;
  until_ = budget.until;
  if (!scanned_) {
    OCTAVO_TRY(const ScanState state, scan(rows_left));
    if (state == ScanState::more) return state;
    scanned_ = true;
    prepare_results();
    if (evaluation_.failed()) return std::unexpected(evaluation_.error());
  }
  return mode_ == Mode::streaming ? ScanState::done : write_results();
}

Expected<ScanState> SqlExecution::Implementation::scan(std::size_t& rows_left) {
  if (!program().reads_items) {
    OCTAVO_TRY(const Flow flow, take_without_items());
    return flow == Flow::pause ? ScanState::more : ScanState::done;
  }
  for (; branch_ < prepared_->plan.branches.size() && !finished_; ++branch_) {
    auto state = branch().index ? run_index(rows_left) : run_primary(rows_left);
    if (!state || *state == ScanState::more) return state;
    position_.range = 0;
    position_.key.reset();
    inside_.reset();
    scan_.reset();
  }
  return ScanState::done;
}

// --- index ---

Expected<ScanState> SqlExecution::Implementation::run_index(std::size_t& rows_left) {
  const bool down = prepared_->plan.descending;
  const auto& ranges = branch().bounds.ranges;
  if (ranges.empty()) return ScanState::done;
  OCTAVO_TRY(IndexReader reader,
             IndexReader::open(*database_, *branch().index, {scope_.partition_key, scope_.physical_partition}));
  DocumentLookup documents(*database_, reader.documents());
  return walk_index(reader, ranges, down, position_, rows_left, until_, statistics_.keys_examined,
                    [&](const storage::KeyValue& entry) -> Expected<WalkStep> {
                      if (output_.size() >= kSqlOutputBytesMax) return WalkStep::stop_before;
                      OCTAVO_TRY(const Flow flow, take_entry(entry, documents));
                      if (flow == Flow::pause) return WalkStep::stop_before;
                      return flow == Flow::finished ? WalkStep::finish : WalkStep::next;
                    });
}

Expected<SqlExecution::Implementation::Flow> SqlExecution::Implementation::take_entry(const storage::KeyValue& entry,
                                                                                      DocumentLookup& documents) {
  const auto row = IndexRow::decode(entry.key, entry.value);
  if (!row) return fail(ErrorCode::corrupted, "An entry of index " + branch().index->definition->name + " is damaged.");
  for (const std::size_t column : branch().columns_that_must_exist) {
    if (row->field(column).empty()) return Flow::next;
  }
  if (!is_in_scope(row->document_id())) return Flow::next;
  OCTAVO_TRY(const auto found, documents.find(row->document_id()));
  if (!found.document || found.document->deleted) return Flow::next;
  return take_document(*found.document, entry.key);
}

// --- primary ---

Expected<ScanState> SqlExecution::Implementation::run_primary(std::size_t& rows_left) {
  const auto& ranges = branch().id_ranges;
  for (; position_.range < ranges.size(); ++position_.range) {
    const IdRange& range = ranges[prepared_->plan.descending ? ranges.size() - 1 - position_.range : position_.range];
    auto state = range.is_point() ? run_points(rows_left) : run_id_range(range, rows_left);
    if (!state || *state == ScanState::more) return state;
    if (finished_) return ScanState::done;
    scan_.reset();
  }
  return ScanState::done;
}

Expected<ScanState> SqlExecution::Implementation::run_points(std::size_t& rows_left) {
  const bool down = prepared_->plan.descending;
  const auto& ranges = branch().id_ranges;
  const std::string& id = *ranges[down ? ranges.size() - 1 - position_.range : position_.range].start;
  if (rows_left == 0 || output_.size() >= kSqlOutputBytesMax) return ScanState::more;
  --rows_left;
  const bool is_inside = inside_ && id == *inside_;
  const bool behind = position_.key && !is_inside && (down ? id >= *position_.key : id <= *position_.key);
  const std::string& key = scope_.partition_key;
  const bool in_partition =
      key.empty() || (id.starts_with(key) && std::string_view(id).substr(key.size()).starts_with(':'));
  if (behind || !in_partition || !is_in_scope(id)) return ScanState::done;
  OCTAVO_TRY(const auto snapshot, database_->snapshot_for_document(id));
  OCTAVO_TRY(const auto document, snapshot.find(id));
  ++statistics_.keys_examined;
  if (!document || document->deleted) return ScanState::done;
  OCTAVO_TRY(const Flow flow, take_document(*document, document->id));
  return flow == Flow::pause ? ScanState::more : ScanState::done;
}

Expected<ScanState> SqlExecution::Implementation::run_id_range(const IdRange& range, std::size_t& rows_left) {
  const bool down = prepared_->plan.descending;
  if (!scan_) {
    partitioning::DocumentRange bounds;
    bounds.descending = down;
    bounds.start = down ? range.end : range.start;
    bounds.end = down ? range.start : range.end;
    bounds.end_inclusive = down ? range.start_inclusive : range.end_inclusive;
    if (position_.key &&
        (!bounds.start || (down ? *position_.key < *bounds.start : *position_.key > *bounds.start))) {
      bounds.start = position_.key;
    }
    if (!scope_.partition_key.empty()) bounds.partition_key = scope_.partition_key;
    bounds.physical_partition = scope_.physical_partition;
    scan_ = std::make_unique<partitioning::DocumentScan>(*database_, std::move(bounds));
  }
  if (rows_left == 0) return ScanState::more;
  const auto& first = down ? range.end : range.start;
  const bool first_inclusive = down ? range.end_inclusive : range.start_inclusive;
  std::optional<Error> failure;
  std::size_t rows = 0;
  bool paused_inside = false;
  const auto state =
      scan_->run({rows_left, until_}, [&](const storage::DocumentView& document, const storage::Snapshot&) {
        ++rows;
        if (document.deleted) return Visit::next;
        if (first && !first_inclusive && document.id == *first) return Visit::next;
        const bool is_inside = inside_ && document.id == *inside_;
        if (position_.key && !is_inside && document.id == *position_.key) return Visit::next;
        if (!is_in_scope(document.id)) return Visit::next;
        ++statistics_.keys_examined;
        const auto flow = take_document(document, document.id);
        if (!flow) {
          failure = flow.error();
          return Visit::stop;
        }
        if (*flow == Flow::finished) return Visit::stop;
        paused_inside = *flow == Flow::pause;
        return paused_inside || output_.size() >= kSqlOutputBytesMax ? Visit::pause : Visit::next;
      });
  rows_left -= std::min(rows, rows_left);
  if (failure) return std::unexpected(*std::move(failure));
  if (state && paused_inside) {
    // The scan thinks that this document is done.
    position_.key = inside_;
    scan_.reset();
    return ScanState::more;
  }
  if (state && finished_) return ScanState::done;
  return state;
}

// --- documents ---

bool SqlExecution::Implementation::is_in_scope(std::string_view id) const {
  if (scope_.physical_partition && database_->locate_document(id) != *scope_.physical_partition) return false;
  if (!id.starts_with(scope_.id_prefix)) return false;
  if (!scope_.hash_range) return true;
  const auto position = partitioning::hash_position(id, database_->partitioned(), database_->key_scheme());
  return position >= scope_.hash_range->first && position < scope_.hash_range->second;
}

// In a union: matches this branch's side of the condition, and none of those before, which have returned it already.
Expected<bool> SqlExecution::Implementation::is_of_branch(const storage::DocumentView& document) {
  const auto& branches = prepared_->plan.branches;
  if (branches.size() == 1) return true;
  OCTAVO_TRY(const auto root, parser_.parse(document.body));
  std::string revision;
  document.revision.append_to(revision);
  if (!branches[branch_].selector.matches(root, document.id, revision)) return false;
  for (std::size_t i = 0; i < branch_; ++i) {
    if (branches[i].selector.matches(root, document.id, revision)) return false;
  }
  return true;
}

Expected<SqlExecution::Implementation::Flow> SqlExecution::Implementation::take_document(
    const storage::DocumentView& document, std::string_view position) {
  const bool is_inside = inside_ && position == *inside_;
  if (!is_inside) {
    inside_.reset();
    inside_positions_.clear();
  }
  if (!prepared_->shape->is_row(document)) return Flow::next;
  ++statistics_.documents_examined;
  statistics_.document_bytes += document.body.size();
  OCTAVO_TRY(const bool wanted, is_of_branch(document));
  if (!wanted) return Flow::next;
  evaluation_.row.bind(document);
  evaluation_.arena.rewind({});
  evaluation_.begin_item();
  if (program().sources.empty()) return evaluated(take_row(position));
  return take_combinations(position);
}

Expected<SqlExecution::Implementation::Flow> SqlExecution::Implementation::evaluated(Flow flow) const {
  if (evaluation_.failed()) return std::unexpected(evaluation_.error());
  return flow;
}

Expected<SqlExecution::Implementation::Flow> SqlExecution::Implementation::take_combinations(
    std::string_view position) {
  from_.begin(inside_positions_);
  std::size_t taken = 0;
  while (from_.next(evaluation_)) {
    const Flow flow = take_row(position);
    if (evaluation_.failed() || flow == Flow::finished) return evaluated(flow);
    evaluation_.begin_item();
    ++taken;
    const bool late = taken % kCombinationsBetweenLooks == 0 &&
                      until_ != std::chrono::steady_clock::time_point::max() &&
                      std::chrono::steady_clock::now() >= until_;
    if (late || output_.size() >= kSqlOutputBytesMax) {
      inside_ = std::string(position);
      inside_positions_ = from_.positions();
      return Flow::pause;
    }
  }
  inside_.reset();
  inside_positions_.clear();
  return evaluated(Flow::next);
}

// A query about no items has one row, or those of what it makes itself.
Expected<SqlExecution::Implementation::Flow> SqlExecution::Implementation::take_without_items() {
  evaluation_.arena.rewind({});
  evaluation_.begin_item();
  if (program().sources.empty()) {
    if (position_.key) return Flow::finished;  // by a continuation: it was returned before
    return evaluated(take_row(""));
  }
  return take_combinations("");
}

SqlExecution::Implementation::Flow SqlExecution::Implementation::take_row(std::string_view position) {
  if (program().where && !program().where->evaluate(evaluation_).is_true()) return Flow::next;
  switch (mode_) {
    case Mode::streaming:
      return emit_row(position);
    case Mode::sorting:
      collect_row();
      break;
    case Mode::distinct:
      collect_distinct();
      break;
    case Mode::grouping:
      groups_->add_row(evaluation_, groups_max_, has_resume_key_ && !program().distinct ? &resume_key_ : nullptr);
      check_memory(groups_->bytes());
      break;
  }
  return Flow::next;
}

SqlExecution::Implementation::Flow SqlExecution::Implementation::emit_row(std::string_view position) {
  const std::size_t before = output_.size();
  if (skip_left_ > 0) {
    // A projection that is undefined is no result, and is not skipped either.
    if (program().selection == Query::Selection::value && !program().append_projection(evaluation_, output_)) {
      return Flow::next;
    }
    output_.resize(before);
    --skip_left_;
    return Flow::next;
  }
  if (!first_) output_ += ",\n";
  const std::size_t start = output_.size();
  if (!program().append_projection(evaluation_, output_) || evaluation_.failed()) {
    output_.resize(before);
    return Flow::next;
  }
  first_ = false;
  const Flow flow = count_result(output_.size() - start);
  if (flow == Flow::finished && limit_left_ > 0) {
    next_.emplace();
    next_->key.assign(position);
    next_->branch = branch_;
    if (!program().sources.empty()) next_->positions = from_.positions();
    if (!program().reads_items) {
      next_->kind = Continuation::Kind::primary;
    } else if (prepared_->plan.branches.size() > 1) {
      next_->kind = Continuation::Kind::combined;
    } else if (branch().index) {
      next_->kind = Continuation::Kind::index;
      next_->identity = branch().index->definition->identity;
    }
  }
  return flow;
}

// Counts a result that was written; finished: the page is full, or the query's limit is reached.
SqlExecution::Implementation::Flow SqlExecution::Implementation::count_result(std::size_t bytes) {
  ++statistics_.results_returned;
  statistics_.result_bytes += bytes;
  ++page_items_;
  page_bytes_ += bytes + 1;
  --limit_left_;
  if (limit_left_ > 0 && page_items_ < options_.page_items_max && page_bytes_ < options_.page_bytes_max)
    return Flow::next;
  finished_ = true;
  return Flow::finished;
}

// --- results that wait ---

void SqlExecution::Implementation::check_memory(std::size_t bytes) {
  if (bytes <= options_.memory_bytes_max) return;
  evaluation_.fail(
      {ErrorCode::too_large,
       fmt::format("The query has to keep more than {} bytes of results in memory to {} them. Ask for fewer "
                   "with TOP, filter more, or create an index for the order.",
                   options_.memory_bytes_max, mode_ == Mode::grouping ? "group" : "sort"),
       "resource_limit"});
}

// False: a single ORDER BY leaves out the items that do not have what it sorts by.
bool SqlExecution::Implementation::make_sort_key() {
  sort_key_.clear();
  const auto& order = program().order_by;
  for (const SortItem& item : order) {
    const Value value = item.value->evaluate(evaluation_);
    if (value.is_undefined() && order.size() == 1) return false;
    if (item.descending) {
      append_order_key_descending(sort_key_, value);
    } else {
      append_order_key(sort_key_, value);
    }
  }
  return true;
}

void SqlExecution::Implementation::collect_row() {
  if (!make_sort_key()) return;
  // Ties by document, then by combination.
  if (evaluation_.row.is_bound()) append_order_key(sort_key_, Value::of(evaluation_.row.document().id));
  if (!program().sources.empty()) {
    for (const std::uint64_t position : from_.positions()) {
      append_order_key(sort_key_, Value::of(static_cast<double>(position)));
    }
  }
  if (has_resume_key_ && sort_key_ <= resume_key_) return;
  if (!collected_.has_place_for(sort_key_)) return;
  CollectedRow row;
  if (!program().append_projection(evaluation_, row.text)) return;
  row.key = sort_key_;
  collected_.add(std::move(row));
  check_memory(collected_.bytes());
}

// In the order asked for, then by value: rows of one value are one.
void SqlExecution::Implementation::collect_distinct() {
  if (!make_sort_key()) return;
  value_key_.clear();
  CollectedRow row;
  if (program().projects_row) {
    append_order_key(value_key_, evaluation_.row.whole(evaluation_.arena));
    program().append_projection(evaluation_, row.text);
  } else {
    const Value value = program().project(evaluation_);
    if (value.is_undefined()) return;
    append_order_key(value_key_, value);
    value.append_json(row.text);
  }
  row.key = sort_key_ + value_key_;
  collected_.add_distinct(value_key_, std::move(row));
  check_memory(collected_.bytes());
}

void SqlExecution::Implementation::prepare_groups() {
  std::unordered_set<std::string> seen;
  for (const auto& [key, group] : groups_->all()) {
    evaluation_.arena.rewind({});
    evaluation_.begin_item();
    groups_->select(evaluation_, group);
    CollectedRow row;
    bool defined = false;
    if (program().distinct) {
      const Value value = program().project(evaluation_);
      std::string identity;
      append_order_key(identity, value);
      defined = !value.is_undefined() && seen.insert(std::move(identity)).second;
      if (defined) value.append_json(row.text);
    } else {
      defined = program().append_projection(evaluation_, row.text);
    }
    groups_->unselect(evaluation_);
    if (!defined) continue;
    row.key = key;
    rows_.push_back(std::move(row));
  }
  groups_.reset();
}

void SqlExecution::Implementation::prepare_results() {
  if (finished_) return;
  switch (mode_) {
    case Mode::streaming:
      return;
    case Mode::grouping:
      // One group without GROUP BY is one page.
      if (program().group_by.empty() && has_resume_key_) return;
      prepare_groups();
      break;
    case Mode::sorting:
    case Mode::distinct:
      rows_ = collected_.take_sorted();
      break;
  }
  if (has_resume_key_) {
    written_ =
        static_cast<std::size_t>(std::ranges::upper_bound(rows_, resume_key_, {}, &CollectedRow::key) - rows_.begin());
  }
  const auto skipped = std::min<std::uint64_t>(skip_left_, rows_.size() - written_);
  written_ += static_cast<std::size_t>(skipped);
  skip_left_ -= skipped;
}

ScanState SqlExecution::Implementation::write_results() {
  while (!finished_ && written_ < rows_.size()) {
    if (output_.size() >= kSqlOutputBytesMax) return ScanState::more;
    CollectedRow& row = rows_[written_++];
    if (!first_) output_ += ",\n";
    first_ = false;
    output_ += row.text;
    const Flow flow = count_result(row.text.size());
    if (flow == Flow::finished && limit_left_ > 0 && written_ < rows_.size()) {
      next_.emplace();
      next_->kind = mode_ == Mode::grouping ? Continuation::Kind::grouped : Continuation::Kind::sorted;
      next_->key = std::move(row.key);
    }
  }
  return ScanState::done;
}

std::optional<std::string> SqlExecution::Implementation::continuation() const {
  if (!next_) return std::nullopt;
  Continuation continuation = *next_;
  continuation.fingerprint = prepared_->query->fingerprint();
  continuation.skip = skip_left_;
  continuation.left = limit_left_;
  return continuation.encode();
}

// --- outside ---

SqlExecution::SqlExecution(std::shared_ptr<partitioning::Database> database,
                           std::shared_ptr<const PreparedSql> prepared, SqlOptions options)
    : implementation_(std::make_unique<Implementation>(std::move(database), std::move(prepared), std::move(options))) {}
SqlExecution::SqlExecution(SqlExecution&&) noexcept = default;
SqlExecution::~SqlExecution() = default;

Expected<ScanState> SqlExecution::run(partitioning::ScanBudget budget) {
  return implementation_->run(budget);
}
std::string& SqlExecution::output() {
  return implementation_->output();
}
const SqlStatistics& SqlExecution::statistics() const {
  return implementation_->statistics();
}
std::optional<std::string> SqlExecution::continuation() const {
  return implementation_->continuation();
}

}  // namespace octavo::query::sql
