#include "query/sql/run/sql_outline.h"

#include <algorithm>
#include <limits>

#include "query/sql/constraints/sql_constraints.h"
#include "query/sql/evaluate/program.h"

namespace octavo::query::sql {

namespace {

constexpr auto rows_unlimited = std::numeric_limits<std::uint64_t>::max();

// Whether the results are not the matches one by one: they are grouped, distinct, or several for a document.
bool hides_matches(const Program& program) {
  return program.grouped || program.distinct || program.has_distinct_source() || program.sources.size() != 1;
}

std::uint64_t wanted_of(const Program& program, std::uint64_t page_items_max) {
  const std::uint64_t page = std::min(program.limit, page_items_max);
  return page > rows_unlimited - program.offset ? rows_unlimited : page + program.offset;
}

}  // namespace

advice::QueryOutline outline_of(const PreparedSql& prepared, std::uint64_t page_items_max) {
  advice::QueryOutline outline;
  const SqlQuery& query = *prepared.query;
  const Program& program = query.program();
  outline.equalities = equalities_of(query);
  outline.in_logical_partition = !prepared.scope.partition_key.empty();
  outline.sort_properties = program.order_by.size();
  outline.matches_needed = wanted_of(program, page_items_max);
  const auto names_documents = [](const Branch& branch) {
    return !branch.index && std::ranges::all_of(branch.id_ranges, &IdRange::is_point) && !branch.id_ranges.empty();
  };
  const bool is_by_ids =
      !prepared.plan().branches.empty() && std::ranges::all_of(prepared.plan().branches, names_documents);
  if (!program.reads_items || prepared.over_source || is_by_ids) return outline;
  const PlanRequest request = plan_request_of(prepared);
  outline.plan = advice::without_values(request, outline.bytes);
  outline.is_left_out = !outline.plan;
  const bool collects = program.grouped || program.distinct || program.has_distinct_source();
  outline.reads_all = collects || (!program.order_by.empty() && request.sort.empty());
  return outline;
}

advice::RecordedQuery recorded_query(const PreparedSql& prepared, const SqlExecution& execution,
                                     const partitioning::ScanWork& work, std::uint64_t page_items_max) {
  advice::RecordedQuery done;
  done.text = prepared.query->shape();
  done.results = execution.statistics().results_returned;
  done.partitions = work.partitions;
  done.plans = prepared.plans;
  const Program& program = prepared.query->program();
  // Making a continuation takes time; a full page is not asked.
  const bool may_be_whole = !prepared.continuation && done.results < std::min(program.limit, page_items_max) &&
                            !hides_matches(program) && (done.results > 0 || program.offset == 0);
  if (may_be_whole && !execution.continuation()) done.matches = program.offset + done.results;
  return done;
}

}  // namespace octavo::query::sql
