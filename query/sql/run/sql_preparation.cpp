#include "query/sql/run/sql_preparation.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "query/sql/constraints/sql_constraints.h"
#include "query/sql/evaluate/program.h"
#include "query/walk/plan_indexes.h"
#include "query/walk/storage_statistics.h"

namespace octavo::query::sql {

namespace {

// How long a query waits for an index that is being built.
constexpr std::chrono::seconds sql_build_patience{2};
// Further absence indexes are made only of paths that at least half of the documents have.
constexpr std::size_t absences_of_rare_paths_max = 16;
// Assumed number of rows that are wanted if the query does not limit them.
constexpr std::uint64_t rows_wanted = 100;
// For queries that need all rows: no walk is expected to return as many.
constexpr std::uint64_t all_rows = std::numeric_limits<std::uint32_t>::max();

std::unexpected<Error> invalid_continuation(std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason), "invalid_continuation");
}

Plan plan_by_ids(std::vector<std::string> ids) {
  Plan plan;
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (ids.empty()) return plan;
  Branch branch;
  for (std::string& id : ids) {
    IdRange range;
    range.start = id;
    range.end = std::move(id);
    branch.id_ranges.push_back(std::move(range));
  }
  plan.branches.push_back(std::move(branch));
  return plan;
}

bool collects_results(const SqlQuery& query) {
  return query.is_grouped() || query.is_distinct() || query.program().has_distinct_source();
}

PlanRequest request_for(const SqlQuery& query, const SqlConstraints& constraints,
                        const std::optional<Continuation>& continuation) {
  PlanRequest request;
  request.selector = constraints.selector;
  request.ordinal = constraints.ordinal;
  // Rows for clients that merge are in the same order with and without an index, which may have been built meanwhile.
  const bool is_merged = query.program().is_merged_by_client;
  const bool sorted_before = continuation && (continuation->kind == Continuation::Kind::walked ||
                                              (continuation->kind == Continuation::Kind::sorted && !is_merged));
  if (!collects_results(query) && !sorted_before) request.sort = constraints.sort;
  request.sort_is_ordinal = constraints.sort_is_ordinal;
  request.sort_keeps_missing = true;
  request.matches_needed = all_rows;
  if (collects_results(query) || (query.is_ordered() && request.sort.empty())) return request;
  // A query with neither a limit nor an order takes all rows, page by page.
  const Program& program = query.program();
  constexpr auto no_limit = std::numeric_limits<std::uint64_t>::max();
  const bool takes_all = !query.is_ordered() && program.limit == no_limit;
  const std::uint64_t rows = takes_all ? all_rows : std::min(program.limit, rows_wanted);
  request.matches_needed = program.offset > no_limit - rows ? no_limit : program.offset + rows;
  return request;
}

void pin_to(const std::optional<Continuation>& continuation, PlannerScope& scope) {
  if (!continuation) return;
  switch (continuation->kind) {
    case Continuation::Kind::primary:
      scope.pinned = std::string();
      break;
    case Continuation::Kind::index:
    case Continuation::Kind::automatic:
      scope.pinned = continuation->identity;
      break;
    case Continuation::Kind::combined:
      scope.pinned = continuation->identity;
      scope.pinned_side = continuation->branch;
      break;
    default:
      break;
  }
}

Expected<std::shared_ptr<PreparedSql>> begin_preparation(SqlQuery::Ptr query, SqlScope scope, const RowShape& shape,
                                                         const std::optional<std::string>& continuation,
                                                         std::string_view token_origin = {}) {
  auto prepared = std::make_shared<PreparedSql>();
  prepared->query = std::move(query);
  prepared->scope = std::move(scope);
  prepared->shape = &shape;
  prepared->token_origin = token_origin;
  if (continuation) {
    prepared->continuation = Continuation::decode(*continuation, prepared->token_origin);
    if (!prepared->continuation) return invalid_continuation(std::string(foreign_continuation_reason));
    if (!prepared->query->is_continued_by(prepared->continuation->fingerprint)) {
      return invalid_continuation("The continuation belongs to another query.");
    }
    if (prepared->continuation->kind == Continuation::Kind::walked) {
      prepared->gone_index = GoneIndex::from_text(prepared->continuation->start);
      if (!prepared->gone_index) return invalid_continuation(std::string(foreign_continuation_reason));
    }
    // Here equal rows have their own order, so a position in an index would not be enough.
    if (prepared->query->program().is_merged_by_client && !prepared->continuation->names_row()) {
      return invalid_continuation("The continuation does not name a row.");
    }
  }
  return prepared;
}

// Finds the sides of the union that a page without its index continues. False: the query has no such side.
bool find_sides(PreparedSql& prepared, const Selector& selector) {
  if (!prepared.gone_index || !prepared.gone_index->side) return true;
  prepared.sides = sides_of_union(selector);
  return *prepared.gone_index->side < prepared.sides.size();
}

/// The input of the planner.
struct PlanningTask {
  std::shared_ptr<PreparedSql> prepared;
  bool ready = false;                            ///< there is nothing to plan
  WhereHolds where_holds = WhereHolds::unknown;  ///< for documents that the selector finds
  PlanRequest request;
  PlannerScope planner_scope;
};

Expected<PlanningTask> begin_planning(const partitioning::Database& database, SqlQuery::Ptr query, SqlScope scope,
                                      const RowShape& shape, const std::optional<std::string>& continuation,
                                      SqlPlanning planning) {
  if (!scope.partition_key.empty() && !database.partitioned()) {
    return fail(ErrorCode::bad_request, "database is not partitioned");
  }
  PlanningTask task;
  OCTAVO_TRY(task.prepared,
             begin_preparation(std::move(query), std::move(scope), shape, continuation, database.token_origin()));
  PreparedSql& prepared = *task.prepared;
  task.ready = !prepared.query->program().reads_items;
  if (task.ready) return task;
  const SqlConstraints constraints = constraints_of(*prepared.query, shape);
  Narrowing narrowing = shape.narrow(constraints.fixed);
  if (narrowing.partition_key && prepared.scope.partition_key.empty() && database.partitioned()) {
    prepared.scope.partition_key = *std::move(narrowing.partition_key);
  }
  if (narrowing.document_ids) {
    prepared.plans[0] = plan_by_ids(*std::move(narrowing.document_ids));
    task.ready = true;
    return task;
  }
  task.where_holds = constraints.where_holds;
  if (constraints.where_is_fixed) prepared.exact_matches = exact_matches_of(constraints.fixed, shape);
  task.request = request_for(*prepared.query, constraints, prepared.continuation);
  if (!find_sides(prepared, task.request.selector)) {
    return invalid_continuation(std::string(foreign_continuation_reason));
  }
  PlannerScope& planner_scope = task.planner_scope;
  planner_scope.partition_query = !prepared.scope.partition_key.empty();
  // An index of the whole database is ready in all physical partitions or in none. The one with id 0 may have been
  // split.
  planner_scope.partition_id = planner_scope.partition_query
                                   ? database.locate_partition_key(prepared.scope.partition_key)
                                   : database.partition_ids().front();
  planner_scope.explain = planning.explain;
  planner_scope.ignore_global = planning.ignore_global;
  pin_to(prepared.continuation, planner_scope);
  return task;
}

// The property that the query is sorted by, if items without it are among the results and only an absence index would
// let it be read in order: with it, the index of the path must be able to sort.
Expected<std::optional<FieldPath>> path_of_missing_order(MangoIndexes& indexes, const IndexCatalog& catalog,
                                                         const PlanningTask& task) {
  const PlanRequest& request = task.request;
  if (request.sort.size() != 1 || request.matches_nothing || !catalog.automatic) return std::nullopt;
  const FieldPath& path = request.sort.front().path;
  const bool is_defined = request.selector.constraint_for(path).requires_exists();
  const bool is_indexed = catalog.automatic->definition->automatic->covers(path);
  if (is_defined || !is_indexed || catalog.absence_of(path)) return std::nullopt;
  const SqlScope& scope = task.prepared->scope;
  StorageStatistics statistics(indexes.database(), scope.partition_key, scope.physical_partition);
  OCTAVO_TRY(const bool is_exact, statistics.order_is_exact(catalog.automatic_path(path, false)));
  return is_exact ? std::optional(path) : std::nullopt;
}

// Asks for the absence index of the path. False: it will not be made, or is not worth waiting for. Every reader of
// the database can have them made, so only the first ones may have entries for most of the documents.
Expected<bool> want_absence(MangoIndexes& indexes, const IndexCatalog& catalog, const FieldPath& path) {
  if (catalog.absences.size() >= absences_of_rare_paths_max) {
    const IndexView values = catalog.automatic_path(path, false);
    const IndexBounds bounds = bounds_for(*values.definition, {}, {{path, false}});
    StorageStatistics statistics(indexes.database(), {});
    OCTAVO_TRY(const RowCount present, statistics.size(values, bounds.ranges));
    OCTAVO_TRY(const auto documents, statistics.documents());
    if (present.rows < documents.count / 2) return false;
  }
  return indexes.want_absence(path);
}

// Lets the first page be sorted like the entries of an index that is not ready: the next pages are read by it once it
// is. Rows for clients that merge keep their own order.
void sort_like_coming_index(const MangoIndexes& indexes, const IndexCatalog& catalog, const FieldPath& order,
                            PlanningTask& task) {
  PreparedSql& prepared = *task.prepared;
  if (prepared.continuation || prepared.query->program().is_merged_by_client) return;
  // The walk of a single value need not have the direction of ORDER BY.
  const bool is_whole = task.request.selector.constraint_for(order).is_everything();
  if (!is_whole || catalog.absence_of(order) || !indexes.is_making_absence(order)) return;
  const auto index = complete_path_definition(catalog.automatic->definition->automatic, order);
  prepared.gone_index = GoneIndex::of(*index, task.request.sort.front().descending);
  task.request.sort.clear();
  task.request.matches_needed = all_rows;
}

// What the previous page was read by, if it is known from the continuation alone.
std::optional<GoneIndex> read_by(const Continuation& continuation) {
  std::optional<GoneIndex> index;
  const bool is_union = continuation.kind == Continuation::Kind::combined;
  if (continuation.kind == Continuation::Kind::automatic || continuation.is_union_with_start()) {
    index = GoneIndex::from_text(continuation.start);
  } else if (is_union && continuation.identity.empty()) {
    index.emplace().down = false;  // the documents by id
  }
  if (!index) return std::nullopt;
  if (is_union) index->side = continuation.branch;
  if (continuation.partition_id_plus_one != 0) index->partition_id = continuation.partition_id_plus_one - 1;
  return index;
}

// Handles an index of the previous page that no longer exists. True: the rest is read in another way and sorted as
// before.
bool fall_back(PlanningTask& task) {
  PreparedSql& prepared = *task.prepared;
  if (!task.planner_scope.pinned) return false;
  prepared.gone_index = read_by(*prepared.continuation);
  if (!prepared.gone_index) return false;
  if (!find_sides(prepared, task.request.selector)) {
    prepared.gone_index.reset();
    return false;
  }
  task.planner_scope.pinned.reset();
  task.planner_scope.pinned_side.reset();
  task.request.sort.clear();
  task.request.matches_needed = all_rows;
  return true;
}

bool has_lost_order(const PlanningTask& task, const Plan& plan) {
  return task.planner_scope.pinned && !task.request.sort.empty() && plan.sort_in_memory;
}

Expected<PlannerResult> plan_task(PlanningTask& task, const IndexCatalog& catalog, PlannerStatistics& statistics) {
  auto planned = plan_query(task.request, catalog, task.planner_scope, statistics);
  const bool is_gone =
      planned ? has_lost_order(task, planned->plans[0]) : planned.error().code == ErrorCode::index_gone;
  if (!is_gone || !fall_back(task)) return planned;
  return plan_query(task.request, catalog, task.planner_scope, statistics);
}

Error planning_error(const PlanningTask& task, Error error) {
  if (!task.planner_scope.pinned || error.code != ErrorCode::index_gone) return error;
  return invalid_continuation("The index that the query was run by no longer exists.").error();
}

// Whether the rows that a walk has returned can be recognised by sorting like its entries. Not with a path into the
// elements of an array, where a document may have several entries.
bool is_walk_to_leave(const Plan& plan) {
  if (plan.sort_in_memory || plan.branches.size() != 1) return false;
  const auto& index = plan.branches[0].index;
  return !index || !index->definition->elements;
}

// Whether the plans can take turns: all end at the limit, by one walk each, and read the same physical partitions. A
// global index has the entries of all of them in one store.
bool can_take_turns(const std::vector<Plan>& plans, const PreparedSql& prepared) {
  if (plans.size() < 2 || collects_results(*prepared.query) || prepared.query->is_ordered()) return false;
  const bool in_turn = prepared.continuation && prepared.continuation->partition_id_plus_one != 0;
  const auto is_global = [](const Plan& plan) {
    return plan.branches[0].index && plan.branches[0].index->global != nullptr;
  };
  const bool is_single =
      std::ranges::all_of(plans, [](const Plan& plan) { return plan.branches.size() == 1 && !plan.sort_in_memory; });
  if (!is_single) return false;
  const bool global = is_global(plans[0]);
  return !(global && in_turn) &&
         std::ranges::all_of(plans, [&](const Plan& plan) { return is_global(plan) == global; });
}

// Keeps a walk in the requested order and the plan that may replace it, or plans that take turns. Otherwise keeps one
// plan: the previous page's, or the first if it is expected to cost much less than the surest, or the surest.
void keep_plans(PlannerResult& planned, const PlannerScope& scope, PreparedSql& prepared) {
  constexpr double worth_it = 0.5;
  prepared.plans.clear();
  prepared.sure = 0;
  if (can_take_turns(planned.plans, prepared)) {
    prepared.plans = std::move(planned.plans);
    prepared.sure = planned.sure;
    return;
  }
  Plan& first = planned.plans[0];
  Plan& sure = planned.plans[planned.sure];
  if (sure.sort_in_memory && is_walk_to_leave(first)) {
    prepared.plans.push_back(std::move(first));
    prepared.plans.push_back(std::move(sure));
    prepared.sure = 1;
    return;
  }
  const bool keeps_first = scope.pinned || first.expected <= worth_it * sure.most;
  prepared.plans.push_back(std::move(keeps_first ? first : sure));
}

// Finds what other plans have returned on earlier pages.
Expected<void> find_walked_parts(const PlanningTask& task, std::span<const Candidate> candidates) {
  PreparedSql& prepared = *task.prepared;
  if (!prepared.continuation || prepared.continuation->left_plans.empty()) return {};
  auto parts = walked_parts(prepared.continuation->left_plans, candidates, task.request.selector);
  if (!parts) return invalid_continuation("The index that the query was run by no longer exists.");
  prepared.walked = *std::move(parts);
  return {};
}

// Completes the preparation once there is a plan.
Expected<void> finish_planning(const PlanningTask& task, std::uint64_t generation) {
  PreparedSql& prepared = *task.prepared;
  prepared.presorted = !task.request.sort.empty() && !prepared.plan().sort_in_memory;
  if (task.planner_scope.pinned && prepared.query->is_ordered() && !prepared.presorted) {
    return invalid_continuation("The index that the query was sorted by no longer exists.");
  }
  prepared.generation = generation;
  // Entries of a local index and documents come from the same snapshot.
  const auto& branches = prepared.plan().branches;
  if (branches.size() == 1 && branches[0].index && branches[0].index->definition->partitioned &&
      !branches[0].index->global && !branches[0].recheck) {
    prepared.where_holds = task.where_holds;
  }
  return {};
}

}  // namespace

Task<Expected<std::shared_ptr<const PreparedSql>>> prepare_sql(MangoIndexes& indexes, SqlQuery::Ptr query,
                                                               SqlScope scope, const RowShape& shape,
                                                               std::optional<std::string> continuation,
                                                               SqlPlanning planning) {
  using Result = Expected<std::shared_ptr<const PreparedSql>>;
  const auto database = indexes.database().shared_from_this();
  auto begun = begin_planning(*database, std::move(query), std::move(scope), shape, continuation, planning);
  if (!begun) co_return Result(std::unexpected(std::move(begun).error()));
  PlanningTask& task = *begun;
  PreparedSql& prepared = *task.prepared;
  if (task.ready) co_return Result(task.prepared);
  OCTAVO_CO_TRY(auto catalog, indexes.catalog());
  OCTAVO_CO_TRY(const auto order, path_of_missing_order(indexes, *catalog, task));
  if (order) {
    OCTAVO_CO_TRY(const bool waits, want_absence(indexes, *catalog, *order));
    const auto deadline = std::chrono::steady_clock::now() + sql_build_patience;
    if (waits) {
      OCTAVO_CO_TRY(catalog, co_await indexes.wait_for_absence(*order, deadline));
    }
    sort_like_coming_index(indexes, *catalog, *order, task);
  }
  PlannerScope& planner_scope = task.planner_scope;
  std::optional<StorageStatistics> statistics;
  while (true) {
    statistics.emplace(*database, prepared.scope.partition_key, prepared.scope.physical_partition);
    auto planned = plan_task(task, *catalog, *statistics);
    if (!planned) co_return Result(std::unexpected(planning_error(task, planned.error())));
    keep_plans(*planned, planner_scope, prepared);
    const IndexView* waiting = find_unbuilt(prepared.sure_plan(), planner_scope);
    if (!waiting) {
      OCTAVO_CO_TRY_VOID(find_walked_parts(task, planned->candidates));
      if (planning.explain) prepared.candidates = std::move(planned->candidates);
      break;
    }
    const BuildPatience patience{.time = sql_build_patience};
    OCTAVO_CO_TRY_VOID(co_await wait_until_built(indexes, *waiting, patience, catalog, planner_scope));
  }
  OCTAVO_CO_TRY_VOID(finish_planning(task, catalog->generation));
  prepared.keepable = !prepared.continuation && !planner_scope.ignore_unbuilt && !planning.explain &&
                      !planning.ignore_global && !prepared.plan().order_may_lapse && !prepared.gone_index;
  if (const auto documents = statistics->documents()) prepared.planned_documents = documents->count;
  co_return Result(task.prepared);
}

Expected<std::shared_ptr<const PreparedSql>> prepare_sql_now(MangoIndexes& indexes, SqlQuery::Ptr query, SqlScope scope,
                                                             const RowShape& shape,
                                                             const std::optional<std::string>& continuation) {
  partitioning::Database& database = indexes.database();
  OCTAVO_TRY(PlanningTask task, begin_planning(database, std::move(query), std::move(scope), shape, continuation, {}));
  if (task.ready) return task.prepared;
  OCTAVO_TRY(const auto catalog, indexes.catalog());
  OCTAVO_TRY(const auto order, path_of_missing_order(indexes, *catalog, task));
  if (order) {
    OCTAVO_TRY_VOID(want_absence(indexes, *catalog, *order));
    sort_like_coming_index(indexes, *catalog, *order, task);
  }
  task.planner_scope.ignore_unbuilt = true;
  task.planner_scope.ignore_global = true;  // they may lag behind the last writes
  StorageStatistics statistics(database, task.prepared->scope.partition_key, task.prepared->scope.physical_partition);
  auto planned = plan_task(task, *catalog, statistics);
  if (!planned) return std::unexpected(planning_error(task, planned.error()));
  keep_plans(*planned, task.planner_scope, *task.prepared);
  OCTAVO_TRY_VOID(find_walked_parts(task, planned->candidates));
  OCTAVO_TRY_VOID(finish_planning(task, catalog->generation));
  return task.prepared;
}

Expected<std::shared_ptr<const PreparedSql>> prepare_sql_over(SqlQuery::Ptr query, const RowShape& shape,
                                                              const std::optional<std::string>& continuation) {
  OCTAVO_TRY(auto prepared, begin_preparation(std::move(query), {}, shape, continuation));
  if (prepared->gone_index && prepared->gone_index->side) {
    return invalid_continuation("The index that the query was run by no longer exists.");
  }
  prepared->over_source = true;
  prepared->plans[0].branches.emplace_back().id_ranges.emplace_back();
  return prepared;
}

PlanRequest plan_request_of(const PreparedSql& prepared) {
  return request_for(*prepared.query, constraints_of(*prepared.query, *prepared.shape), std::nullopt);
}

std::shared_ptr<const PreparedSql> find_prepared_sql(MangoIndexes& indexes, std::string_view request,
                                                     const std::string& partition_key) {
  if (request.size() >= QueryCache::text_bytes_max) return nullptr;
  const auto catalog = indexes.catalog();
  if (!catalog) return nullptr;
  auto known = std::dynamic_pointer_cast<const PreparedSql>(indexes.cache().find(request, (*catalog)->generation));
  if (!known) return nullptr;
  StorageStatistics statistics(indexes.database(), partition_key);
  return statistics.are_as_planned(known->planned_documents) ? known : nullptr;
}

void keep_prepared_sql(MangoIndexes& indexes, std::string_view request,
                       const std::shared_ptr<const PreparedSql>& prepared) {
  if (prepared->keepable) indexes.cache().store(request, prepared->generation, prepared);
}

}  // namespace octavo::query::sql
