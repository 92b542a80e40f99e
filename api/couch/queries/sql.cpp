#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "api/couch/auth/users_database.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/partition_parameter.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/call/sliced_reply.h"
#include "api/couch/queries/dry_run.h"
#include "api/couch/queries/query_reply.h"
#include "api/couch/queries/routes.h"
#include "api/http/charge_limit.h"
#include "api/models/container_definition.h"
#include "api/scripts/user_functions.h"
#include "base/json_writer.h"
#include "partitioning/engine.h"
#include "partitioning/throughput/request_charge.h"
#include "query/database/database_services.h"
#include "query/json/split.h"
#include "query/plan/explain.h"
#include "query/plan/plan_request.h"
#include "query/sql/run/query_charge.h"
#include "query/sql/run/sql_estimate.h"
#include "query/sql/run/sql_execution.h"
#include "query/sql/run/sql_outline.h"
#include "query/sql/run/sql_preparation.h"
#include "query/walk/plan_indexes.h"

/// `_sql` of a database and of a partition.
namespace octavo::api::couch {

namespace {

namespace sql = query::sql;

/// A request body, divided into parts that are not parsed yet.
struct SqlRequest {
  std::string_view query;       ///< a JSON string
  std::string_view parameters;  ///< a JSON array, or empty
  std::uint64_t limit = 0;
  std::optional<std::string> bookmark;
  bool execution_stats = false;
  bool update = true;
};

std::unexpected<Error> invalid_member(std::string_view name, std::string_view what) {
  return fail(ErrorCode::bad_request, fmt::format("`{}` must be {}.", name, what), "invalid_sql_request");
}

Expected<bool> read_flag(const query::JsonMember& member) {
  if (member.raw == "true") return true;
  if (member.raw == "false") return false;
  return invalid_member(member.name, "true or false");
}

Expected<SqlRequest> parse_sql_request(std::string_view body, std::uint64_t default_limit) {
  OCTAVO_TRY(const auto members, query::split_object(body));
  SqlRequest request;
  request.limit = default_limit;
  for (const query::JsonMember& member : members) {
    if (member.name == "query") {
      request.query = member.raw;
    } else if (member.name == "parameters") {
      request.parameters = member.raw;
    } else if (member.name == "limit") {
      const auto limit = parse_integer(member.raw);
      if (!limit || *limit < 0) return invalid_member("limit", "a whole number, 0 or more");
      request.limit = static_cast<std::uint64_t>(*limit);
    } else if (member.name == "bookmark") {
      if (member.raw == "null") continue;
      if (!member.raw.starts_with('"')) return invalid_member("bookmark", "a string");
      OCTAVO_TRY(request.bookmark, query::decode_json_string(member.raw));
    } else if (member.name == "execution_stats") {
      OCTAVO_TRY(request.execution_stats, read_flag(member));
    } else if (member.name == "update") {
      OCTAVO_TRY(request.update, read_flag(member));
    } else {
      return fail(ErrorCode::bad_request, "Unknown member of the request: " + member.name, "invalid_sql_request");
    }
  }
  if (!request.query.starts_with('"')) return invalid_member("query", "there, a string with the text of the query");
  return request;
}

Expected<sql::SqlQuery::Ptr> parse_query_of(const SqlRequest& request, sql::ComputedProperties::Ptr computed) {
  OCTAVO_TRY(const std::string text, query::decode_json_string(request.query));
  std::vector<sql::SqlParameter> parameters;
  if (!request.parameters.empty()) {
    OCTAVO_TRY(parameters, sql::parse_sql_parameters(request.parameters));
  }
  auto parsed = sql::SqlQuery::parse(text, parameters, std::move(computed));
  if (!parsed) return std::unexpected(parsed.error().to_error());
  return *std::move(parsed);
}

/// A query of `_sql` that runs.
struct RunningSql {
  std::shared_ptr<partitioning::Database> database;
  std::shared_ptr<const sql::PreparedSql> prepared;
  /// Those that the query calls and `execution` refers to; null: none.
  std::unique_ptr<scripts::StoredFunctions> functions;
  sql::SqlExecution execution;
  bool with_statistics = false;
  bool in_partition = false;  ///< it reads one logical partition
  std::uint64_t page_items_max = 0;
  std::chrono::steady_clock::time_point started;
  query::advice::RequestRecorder* recorder = nullptr;  ///< of `database`; null: it is switched off

  bool runs_functions() const { return functions != nullptr; }
  bool may_take_long() const { return runs_functions() || prepared->query->may_take_long(); }

  double charge(std::uint64_t bytes) const {
    auto work = sql::scan_work_of(*database, *prepared, execution.statistics());
    work.result_bytes = bytes;
    const double called = functions ? partitioning::charge_of_function(functions->time()) : 0;
    return partitioning::charge_of_scan(work) + called;
  }

  void record(std::uint64_t bytes, bool was_stopped) const {
    if (recorder == nullptr) return;
    auto done = sql::recorded_query(*prepared, execution,
                                    sql::scan_work_of(*database, *prepared, execution.statistics()), page_items_max);
    done.in_partition = in_partition;
    done.request_units = charge(bytes);
    if (was_stopped) done.matches.reset();
    recorder->record(done, [&] { return sql::outline_of(*prepared, page_items_max); });
  }

  void append_tail(std::string& out) const {
    out += ",\n\"bookmark\":";
    if (const auto bookmark = execution.continuation()) {
      append_json_string(out, *bookmark);
    } else {
      out += "null";
    }
    if (with_statistics)
      append_execution_stats(out, execution.statistics(), std::nullopt, started, execution.explain_reads());
  }
};

using Prepared = std::shared_ptr<const sql::PreparedSql>;

Task<Expected<Prepared>> prepare(Call& call, query::MangoIndexes& indexes, const SqlRequest& request,
                                 std::string partition, sql::SqlPlanning planning) {
  // Equal queries of different logical partitions share a plan if they are in the same physical partition: an index may
  // be built in only one of these. With computed properties no plan is shared, because their definitions may change.
  std::string key;
  const auto computed = cosmos::computed_properties_of(*call.database);
  if (!request.bookmark && !planning.ignore_global && !planning.explain && !computed) {
    key = partition.empty() ? "sql:all:" : fmt::format("sql:{}:", call.database->locate_partition_key(partition));
    key.append(request.query).append(request.parameters);
    if (auto found = sql::find_prepared_sql(indexes, key, partition)) co_return found;
  }
  Expected<sql::SqlQuery::Ptr> query;
  if (request.query.size() + request.parameters.size() <= query::inline_query_bytes_max) {
    query = parse_query_of(request, computed);
  } else {
    const auto parse = [&request, &computed] { return parse_query_of(request, computed); };
    query = co_await call.services.engine.workers().run_blocking(parse);
  }
  if (!query) co_return std::unexpected(std::move(query).error());
  sql::SqlScope scope;
  scope.partition_key = std::move(partition);
  auto prepared = co_await sql::prepare_sql(indexes, *std::move(query), std::move(scope), sql::document_rows(),
                                            request.bookmark, planning);
  if (prepared && !key.empty()) sql::keep_prepared_sql(indexes, key, *prepared);
  co_return prepared;
}

Expected<Reply> dry_run(const Call& call, const sql::PreparedSql& prepared, const std::string& partition,
                        std::uint64_t limit) {
  OCTAVO_TRY(const auto estimate, sql::estimate_charge(*call.database, prepared, partition, limit));
  return dry_run_reply({{"plan", query::explain_plans(prepared.plans, prepared.sure)},
                        {"index_candidates", query::explain_rejected(prepared.candidates)}},
                       estimate);
}

Task<Expected<Reply>> run_sql(Call& call, std::string partition) {
  const auto started = std::chrono::steady_clock::now();
  if (is_system_database(*call.database)) OCTAVO_CO_TRY_VOID(check_system_listing(call, "_sql"));
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  const auto parse = [&call] {
    return parse_sql_request(call.request.body, call.services.settings.find_limit_default);
  };
  OCTAVO_CO_TRY(const auto request, co_await work_on_body(call, parse));

  OCTAVO_CO_TRY(const auto most, max_request_charge(call.request));
  const bool dry = prefers(call.request, "dry-run");
  OCTAVO_CO_TRY(auto* const services, query::required(call.database_services()));
  auto& indexes = services->indexes();
  const auto prepare_as = [&](sql::SqlPlanning planning) {
    return prepare(call, indexes, request, partition, planning);
  };
  OCTAVO_CO_TRY(auto prepared, co_await prepare_as({.explain = dry, .ignore_global = false}));
  if (dry) co_return dry_run(call, *prepared, partition, request.limit);
  if (request.update) {
    const auto without = [&] { return prepare_as({.explain = false, .ignore_global = true}); };
    OCTAVO_CO_TRY(prepared, co_await query::wait_or_prepare_without(indexes, prepared, without));
  }

  sql::SqlOptions options;
  options.page_items_max = request.limit;
  options.page_bytes_max = SIZE_MAX;
  options.memory_bytes_max = call.services.settings.sort_bytes_max;
  options.may_stop = most.has_value();
  if (most) options.charge_max = *most;
  const auto partition_key = partition.empty() ? std::nullopt : std::optional(partition);
  if (!partition.empty()) options.partition_key = std::move(partition);
  std::unique_ptr<scripts::StoredFunctions> functions;
  if (prepared->query->calls_user_functions()) {
    functions = std::make_unique<scripts::StoredFunctions>(call.database);
    options.user_functions = functions.get();
  }
  sql::SqlExecution execution(call.database, prepared, std::move(options));
  RunningSql running{.database = call.database,
                     .prepared = std::move(prepared),
                     .functions = std::move(functions),
                     .execution = std::move(execution),
                     .with_statistics = request.execution_stats,
                     .in_partition = partition_key.has_value(),
                     .page_items_max = request.limit,
                     .started = started,
                     .recorder = call.services.settings.advice_record ? &services->recorder() : nullptr};
  auto producer = std::make_unique<QueryReply<RunningSql>>(std::move(running), most);
  co_return co_await sliced_reply(call, std::move(producer), call.scope_of(partition_key));
}

Task<Expected<Reply>> ask_database(Call& call) {
  return run_sql(call, std::string());
}

Task<Expected<Reply>> ask_partition(Call& call) {
  OCTAVO_CO_TRY_VOID(check_partition_parameter(call));
  co_return co_await run_sql(call, call.path("partition"));
}

}  // namespace

void add_sql_routes(RouteList& routes) {
  routes.push_back({Method::post, "/{db}/_sql", Access::database_member, ask_database});
  routes.push_back({Method::post, "/{db}/_partition/{partition}/_sql", Access::database_member, ask_partition});
}

}  // namespace octavo::api::couch
