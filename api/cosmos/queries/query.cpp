// POST of a query, or of a request for its plan.
#include "api/cosmos/queries/query.h"

#include <algorithm>
#include <charconv>
#include <span>

#include <fmt/format.h>

#include "api/cosmos/call/feed_page.h"
#include "api/cosmos/call/query_body.h"
#include "api/cosmos/feeds/feed_scope.h"
#include "api/cosmos/feeds/former_keys.h"
#include "api/cosmos/resources/resource_query.h"
#include "api/http/charge_limit.h"
#include "api/http/worker_slices.h"
#include "api/models/container_definition.h"
#include "api/models/errors.h"
#include "api/models/item_shape.h"
#include "api/scripts/user_functions.h"
#include "base/ascii_case.h"
#include "base/encoding.h"
#include "partitioning/keys/typed_key.h"
#include "partitioning/throughput/request_charge.h"
#include "query/database/database_services.h"
#include "query/json/property_path.h"
#include "query/plan/explain.h"
#include "query/plan/plan_request.h"
#include "query/sql/compile/sql_query.h"
#include "query/sql/run/client_merge_plan.h"
#include "query/sql/run/index_metrics.h"
#include "query/sql/run/query_charge.h"
#include "query/sql/run/sql_estimate.h"
#include "query/sql/run/sql_execution.h"
#include "query/sql/run/sql_outline.h"
#include "query/sql/run/sql_preparation.h"
#include "query/walk/plan_indexes.h"

namespace octavo::api::cosmos {

namespace {

namespace sql = query::sql;
using partitioning::ScanBudget;
using partitioning::ScanState;

constexpr int runs_per_page_max = 3;

partitioning::KeyValue key_value(const boost::json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_bool()) return value.get_bool();
  if (value.is_number()) return value.to_number<double>();
  return partitioning::NullValue{};
}

sql::ContainerKey key_for_plan(const ContainerDefinition& container) {
  sql::ContainerKey key;
  for (const auto& text : container.key_path_texts) key.paths.push_back(query::split_property_path(text).value());
  key.range_of = [&container](std::span<const boost::json::value> values) {
    std::vector<partitioning::KeyValue> typed;
    for (const auto& value : values) typed.push_back(key_value(value));
    const bool complete = typed.size() == container.key_paths.size();
    const partitioning::TypedKey named(std::move(typed), container.hierarchical());
    const std::string min = upper_case(crypto::hex_encode(named.effective(container.key_scheme)));
    return sql::ContainerKey::Range{min, complete ? min : min + "FF", complete};
  };
  return key;
}

Handled plan_query(const OpenContainer& opened, const sql::SqlQuery& query) {
  const auto plan = sql::client_merge_plan(query, key_for_plan(*opened.definition));
  if (!plan) co_return std::unexpected(sql_error(plan.error()));
  co_return resource_reply(200, boost::json::serialize(*plan), "");
}

sql::SqlScope scope_of(const FeedScope& feed, const partitioning::Database& database,
                       const ContainerDefinition& container) {
  sql::SqlScope scope;
  scope.partition_key = feed.partition_key;
  if (!feed.partition_key.empty()) return scope;
  if (!feed.key_prefix.empty()) {
    // The first value of a hierarchical key decides the position.
    const auto position = partitioning::hash_position_of_key(
        std::string_view(feed.key_prefix).substr(0, feed.key_prefix.size() - 1), container.key_scheme);
    scope.hash_range = {position, position + 1};
    scope.id_prefix = feed.key_prefix;
    return scope;
  }
  scope.physical_partition = feed.physical;
  if (feed.is_bounded()) {
    const auto first = partitioning::position_of_bound(feed.effective.min, container.key_scheme);
    const auto end = feed.last_position(container) + 1;
    scope.hash_range = {first, std::max(first + 1, end)};
    if (end <= first || !feed.is_of_whole_positions(container)) scope.effective_range = feed.effective;
  }
  if (scope.physical_partition && database.physical_partition_count() == 1) scope.physical_partition.reset();
  return scope;
}

using Clock = std::chrono::steady_clock;

double milliseconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

/// When a query arrived, and when its steps were finished.
struct QueryTimes {
  Clock::time_point begun = Clock::now();
  Clock::time_point parsed;
  Clock::time_point planned;
};

// Documents are read and tested in one pass, so both times are reported as the execution's.
std::string metrics_of(const sql::SqlStatistics& statistics, const QueryTimes& times) {
  const auto now = Clock::now();
  return fmt::format(
      "totalExecutionTimeInMs={:.2f};queryCompileTimeInMs={:.2f};queryLogicalPlanBuildTimeInMs=0.00;"
      "queryPhysicalPlanBuildTimeInMs={:.2f};queryOptimizationTimeInMs=0.00;VMExecutionTimeInMs={:.2f};"
      "indexLookupTimeInMs=0.00;documentLoadTimeInMs=0.00;systemFunctionExecuteTimeInMs=0.00;"
      "userFunctionExecuteTimeInMs=0.00;retrievedDocumentCount={};retrievedDocumentSize={};"
      "outputDocumentCount={};outputDocumentSize={};writeOutputTimeInMs=0.00;indexUtilizationRatio={:.2f}",
      milliseconds_between(times.begun, now), milliseconds_between(times.begun, times.parsed),
      milliseconds_between(times.parsed, times.planned), milliseconds_between(times.planned, now),
      statistics.documents_examined, statistics.document_bytes, statistics.results_returned, statistics.result_bytes,
      statistics.documents_examined == 0 ? 1.0
                                         : std::min(1.0, static_cast<double>(statistics.results_returned) /
                                                             static_cast<double>(statistics.documents_examined)));
}

// `Prefer: dry-run`: one document with the plan and the estimated charge.
Expected<Reply> dry_run(const OpenContainer& opened, const sql::PreparedSql& prepared, std::size_t page_items_max) {
  OCTAVO_TRY(const auto estimate,
             sql::estimate_charge(*opened.database, prepared, prepared.scope.partition_key, page_items_max));
  const boost::json::object shown{{"dryRun", true},
                                  {"estimate", estimate.to_json()},
                                  {"plan", query::explain_plans(prepared.plans, prepared.sure)},
                                  {"indexCandidates", query::explain_rejected(prepared.candidates)}};
  Reply reply;
  begin_feed(reply.body, opened.definition->shape->container_rid(), "Documents");
  reply.body += boost::json::serialize(shown);
  end_feed(reply, 1, std::nullopt);
  reply.headers.emplace_back("Preference-Applied", "dry-run");
  return reply;
}

// The newer form is percent-encoded JSON, the older one flat JSON in Base64.
void add_index_metrics(const Call& call, query::MangoIndexes& indexes, const sql::PreparedSql& prepared,
                       std::span<const query::FieldPath> key_paths, Reply& reply) {
  const bool newer = call.flag("x-ms-cosmos-populateindexmetrics-v2");
  if (!newer && !call.flag("x-ms-cosmos-populateindexmetrics")) return;
  query::AutomaticIndexPtr automatic;
  const auto catalog = indexes.catalog();
  if (catalog && (*catalog)->automatic) automatic = (*catalog)->automatic->definition->automatic;
  const auto metrics = sql::index_metrics_of(prepared, automatic.get(), key_paths);
  reply.headers.emplace_back("x-ms-cosmos-index-utilization",
                             newer ? percent_encode(boost::json::serialize(metrics.to_json()))
                                   : crypto::base64_encode(boost::json::serialize(metrics.to_flat_json())));
}

// Clients that merge and resume an ORDER BY ask here in which order rows that are equal in it come: without this, some
// take the direction of the first expression for it. The order is that of sql::RowKey.
void add_order_of_ties(const sql::SqlQuery& query, Reply& reply) {
  const auto& order = query.program().order_by;
  if (order.empty()) return;
  const bool descends = std::ranges::any_of(order, &sql::SortItem::descending);
  reply.headers.emplace_back("x-ms-cosmos-query-execution-info",
                             fmt::format("{{\"reverseRidEnabled\":false,\"reverseIndexScan\":{}}}", descends));
}

// A short continuation contains only the beginning of a long value.
std::size_t continuation_key_bytes_max(const Request& request) {
  using sql::Continuation;
  const auto limit = request.header("x-ms-documentdb-responsecontinuationtokenlimitinkb");
  std::size_t kilobytes = 0;
  if (!limit || std::from_chars(limit->data(), limit->data() + limit->size(), kilobytes).ec != std::errc{}) {
    return Continuation::key_bytes_max;
  }
  // A continuation also contains a position in an index, and both are written in Base64.
  constexpr std::size_t key_bytes_per_kilobyte = 256;
  constexpr std::size_t kilobytes_max = Continuation::key_bytes_max / key_bytes_per_kilobyte;
  return std::clamp(kilobytes, std::size_t{1}, kilobytes_max) * key_bytes_per_kilobyte;
}

// The continuation for the query, in Base64 once. Continuations of earlier versions are encoded twice.
Expected<std::optional<std::string>> query_continuation(const Request& request) {
  OCTAVO_TRY(auto inner, continuation_of(request));
  if (!inner) return std::nullopt;
  const bool is_text = !inner->empty() && static_cast<unsigned char>(inner->front()) >= ' ';
  return is_text ? std::move(inner) : std::optional<std::string>(*request.header("x-ms-continuation"));
}

// Azure refuses a query like SELECT VALUE MAX(c.n) FROM c over all partition keys, and the client for Python then
// merges the results of the ranges itself. Of no value it makes None, which programs rely on, as in `list(results)[0]`.
// It shows the server's results as they are, so None has to be one of them. Other clients leave it out.
bool shows_no_value_as_null(const Request& request, const FeedScope& feed, const sql::SqlQuery& query) {
  if (feed.key_values != 0 || feed.physical || feed.is_bounded()) return false;
  return sql::merges_to_one_value(query) &&
         request.header("User-Agent").value_or("").starts_with("azsdk-python-cosmos");
}

Handled run_query(Call& call, const OpenContainer& opened, sql::SqlQuery::Ptr query, QueryTimes times) {
  times.parsed = Clock::now();
  OCTAVO_CO_TRY_VOID(co_await refuse_former_key(call, opened));
  OCTAVO_CO_TRY(const auto feed, FeedScope::parse(call.request, *opened.database, *opened.definition));
  OCTAVO_CO_TRY(const auto size, page_size_of(call.request));
  OCTAVO_CO_TRY(const auto continuation, query_continuation(call.request));

  OCTAVO_CO_TRY(const auto most, max_request_charge(call.request));
  const auto partition_ids = feed.partition_ids(*opened.database, *opened.definition);
  OCTAVO_CO_TRY_VOID(call.admit(opened.database, partition_ids, feed.partition_key));
  OCTAVO_CO_TRY(auto* const services, query::required(opened.services()));
  auto& indexes = services->indexes();
  const auto scope = scope_of(feed, *opened.database, *opened.definition);
  const auto prepare = [&](sql::SqlPlanning planning) {
    return sql::prepare_sql(indexes, query, scope, *opened.definition->shape, continuation, planning);
  };
  OCTAVO_CO_TRY(auto prepared, co_await prepare({.explain = prefers(call.request, "dry-run"), .ignore_global = false}));
  if (prefers(call.request, "dry-run")) co_return dry_run(opened, *prepared, size);
  const auto without = [&] { return prepare({.explain = false, .ignore_global = true}); };
  OCTAVO_CO_TRY(prepared, co_await query::wait_or_prepare_without(indexes, prepared, without));
  times.planned = Clock::now();
  sql::SqlOptions options;
  options.page_items_max = size;
  options.may_stop = most.has_value();
  if (most) options.charge_max = *most;
  options.continuation_key_bytes_max = continuation_key_bytes_max(call.request);
  scripts::StoredFunctions functions(opened.database);
  const bool calls_functions = prepared->query->calls_user_functions();
  if (calls_functions) options.user_functions = &functions;
  sql::SqlExecution execution(opened.database, prepared, std::move(options));
  const auto charge = [&] {
    return partitioning::charge_of_scan(sql::scan_work_of(*opened.database, *prepared, execution.statistics())) +
           partitioning::charge_of_function(functions.time());
  };
  const auto run = [&](ScanBudget budget) -> Expected<ScanState> {
    if (!most) return execution.run(budget);
    bool stopped = false;
    return run_within_charge(execution, budget, *most, charge, stopped);
  };
  Expected<ScanState> state = ScanState::more;
  WorkerSlices slices(call.services.engine, call.request);
  if (prepared->query->may_take_long()) {
    slices.let_others_go_first();
  } else {
    state = run(ScanBudget::inline_slice());
  }
  const auto run_slice = [&] { return run(ScanBudget::worker_slice()); };
  std::string results;
  while (state && *state == ScanState::more) {
    // A slice stops when much output is waiting.
    results += execution.output();
    execution.output().clear();
    state = co_await slices.run(run_slice, calls_functions);
  }
  OCTAVO_CO_TRY_VOID(std::move(state));

  const auto& statistics = execution.statistics();
  call.account.request_charge = charge();
  if (call.services.engine.settings().advice_record) {
    auto done =
        sql::recorded_query(*prepared, execution, sql::scan_work_of(*opened.database, *prepared, statistics), size);
    done.in_partition = !feed.partition_key.empty();
    done.request_units = call.account.request_charge;
    if (most) done.matches.reset();
    services->recorder().record(done, [&] { return sql::outline_of(*prepared, size); });
  }
  call.account.session_token = session_token(partition_ids.front(), opened.database->committed_sequence());
  Reply reply;
  begin_feed(reply.body, opened.definition->shape->container_rid(), "Documents");
  reply.body += results;
  reply.body += execution.output();
  std::size_t results_returned = statistics.results_returned;
  const auto next = execution.continuation();
  if (results_returned == 0 && !next && !continuation && shows_no_value_as_null(call.request, feed, *prepared->query)) {
    reply.body += "null";
    results_returned = 1;
  }
  end_feed(reply, results_returned, next);
  if (call.flag("x-ms-documentdb-populatequerymetrics")) {
    reply.headers.emplace_back("x-ms-documentdb-query-metrics", metrics_of(statistics, times));
  }
  add_index_metrics(call, indexes, *prepared, std::span(opened.definition->key_paths).first(feed.key_values), reply);
  add_order_of_ties(*prepared->query, reply);
  co_return reply;
}

}  // namespace

Handled serve_query(Call& call) {
  OCTAVO_CO_TRY(const auto opened, co_await open_container(call));
  const QueryTimes times;
  Expected<sql::SqlQuery::Ptr> query;
  const auto& computed = opened.definition->computed;
  if (call.request.body.size() <= query::inline_query_bytes_max) {
    query = parse_query(call.request, computed);
  } else {
    const auto parse = [&call, &computed] { return parse_query(call.request, computed); };
    query = co_await call.services.engine.workers().run_blocking(parse);
  }
  if (!query) co_return std::unexpected(std::move(query).error());
  if (call.flag("x-ms-cosmos-is-query-plan-request")) co_return co_await plan_query(opened, **query);
  for (int runs_left = runs_per_page_max;;) {
    auto reply = co_await run_query(call, opened, *query, times);
    // A change of the policy has removed an index while the page was read by it. Nothing was sent yet.
    const bool is_index_lost = !reply && reply.error().code == ErrorCode::no_usable_index;
    if (!is_index_lost || --runs_left == 0) co_return reply;
  }
}

}  // namespace octavo::api::cosmos
