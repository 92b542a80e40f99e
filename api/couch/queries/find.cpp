#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <boost/json.hpp>

#include "api/couch/auth/users_database.h"
#include "api/couch/call/json_reply.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/partition_parameter.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/call/sliced_reply.h"
#include "api/couch/queries/dry_run.h"
#include "api/couch/queries/find_explain.h"
#include "api/couch/queries/query_reply.h"
#include "api/couch/queries/routes.h"
#include "api/http/charge_limit.h"
#include "base/json_writer.h"
#include "partitioning/engine.h"
#include "partitioning/throughput/request_charge.h"
#include "query/database/database_services.h"
#include "query/json/parsed_document.h"
#include "query/mango/find_charge.h"
#include "query/mango/find_choice.h"
#include "query/mango/find_shape.h"
#include "query/mango/prepared_find.h"
#include "query/mango/run/find_execution.h"
#include "query/mango/text_find.h"
#include "query/plan/charge_estimate.h"
#include "query/plan/plan_request.h"
#include "query/selector/match_budget.h"
#include "query/walk/plan_indexes.h"
#include "query/walk/storage_statistics.h"

/// `_find` and `_explain` of a database and of a partition.
namespace octavo::api::couch {

namespace {

constexpr std::chrono::seconds text_index_wait_max{60};
constexpr std::chrono::seconds text_find_time_max{10};

void append_bookmark(std::string& out, std::string_view bookmark) {
  out += ",\n\"bookmark\":";
  append_json_string(out, bookmark);
}

/// What the user should know of a page: one warning a line; empty if there are no warnings.
std::string warnings_of(const query::PreparedFind& find, const query::WalkStatistics& read) {
  constexpr double scan_ratio_max = 10;  // CouchDB's index_scan_warning_threshold
  std::string text;
  const auto add = [&text](std::string_view warning) {
    if (!text.empty()) text += '\n';
    text += warning;
  };
  for (const std::string& warning : find.plans[0].warnings) add(warning);
  const double ratio = static_cast<double>(read.documents_examined) /
                       static_cast<double>(std::max<std::uint64_t>(1, read.results_returned));
  if (ratio > scan_ratio_max && !find.request.aggregation) {
    add("The number of documents examined is high in proportion to the number of results returned. Consider adding a "
        "more specific index to improve this.");
  }
  return text;
}

/// A query of `_find` that runs.
struct RunningFind {
  query::FindExecution execution;
  partitioning::ScanWork work;  ///< the part of the work that is known before reading
  bool is_long = false;         ///< the request is long, so it may test each document for a long time
  bool in_partition = false;    ///< it reads one logical partition
  std::chrono::steady_clock::time_point started;
  query::advice::RequestRecorder* recorder = nullptr;  ///< of the execution's database; null: it is switched off

  bool may_take_long() const { return is_long; }
  static bool runs_functions() { return false; }
  double charge(std::uint64_t bytes) const {
    const auto& read = execution.statistics();
    auto all = work;
    all.keys = read.keys_examined;
    all.documents = read.documents_examined;
    all.document_bytes = read.document_bytes;
    all.result_bytes = bytes;
    return partitioning::charge_of_scan(all);
  }
  void record(std::uint64_t bytes, bool was_stopped) const {
    if (recorder == nullptr) return;
    const query::FindRequest& request = execution.prepared().request;
    std::string shape;
    query::append_shape(shape, request);
    query::advice::RecordedQuery done{.text = shape,
                                      .in_partition = in_partition,
                                      .request_units = charge(bytes),
                                      .results = execution.statistics().results_returned,
                                      .partitions = work.partitions,
                                      .plans = execution.prepared().plans};
    const bool is_whole = !was_stopped && !request.bookmark && !request.aggregation && done.results < request.limit;
    if (is_whole && (done.results > 0 || request.skip == 0)) done.matches = request.skip + done.results;
    recorder->record(done, [&] { return query::outline_of(request); });
  }
  void append_tail(std::string& out) const {
    const query::PreparedFind& find = execution.prepared();
    if (const auto count = execution.count()) {
      out += ",\n\"count\":";
      append_json_number(out, *count);
    }
    const std::optional<std::string> next = execution.next_bookmark();
    const std::optional<std::string>& bookmark = next ? next : find.request.bookmark;
    append_bookmark(out, bookmark ? std::string_view(*bookmark) : "nil");
    // With r > 1 every document counts as read by quorum, though one copy is the quorum of a single server.
    if (find.request.execution_stats) {
      append_execution_stats(out, execution.statistics(), find.request.r > 1, started, execution.explain_reads());
    }
    if (const std::string warnings = warnings_of(find, execution.statistics()); !warnings.empty()) {
      out += ",\n\"warning\":";
      append_json_string(out, warnings);
    }
  }
};

/// Runs `work`, which parses, plans or shows a request; on a worker if the request is long.
template <class Work>
Task<std::invoke_result_t<Work&>> work_on_find_body(const Call& call, Work work) {
  return work_on_body(call, std::move(work), query::inline_query_bytes_max + 1);
}

Task<Expected<Reply>> run_text_find(Call& call, query::search::TextFind find,
                                    std::chrono::steady_clock::time_point started) {
  const auto& partition = find.request.partition;
  const auto partition_key = partition.empty() ? std::nullopt : std::optional(partition);
  const auto scope = call.scope_of(partition_key);
  OCTAVO_CO_TRY_VOID(call.database->meter().admit_scan(scope));
  auto& services = *call.database_services();
  auto& indexes = services.feed_indexes();
  storage::Sequence sequence = 0;
  if (find.request.update) {
    OCTAVO_CO_TRY_VOID(co_await services.wait_for_expirations(started + text_index_wait_max));
    OCTAVO_CO_TRY(sequence, call.database->visible_sequence());
  }
  Reply reply;
  Expected<query::search::TextFindPage> page;
  do {
    if (find.request.update) {
      OCTAVO_CO_TRY_VOID(co_await indexes.wait_until_current(find.index, sequence, started + text_index_wait_max));
    } else {
      indexes.update(*find.index);
    }
    reply.body = "{\"docs\":[\n";
    page = co_await call.services.engine.workers().run_long([&] {
      const auto deadline = std::chrono::steady_clock::now() + text_find_time_max;
      return query::search::run_text_find(*call.database, find, sequence, deadline, reply.body);
    });
    // After an error the index may have returned to its last commit; then it must catch up again.
  } while (!page && page.error().code == ErrorCode::index_went_back);
  if (!page) co_return std::unexpected(std::move(page).error());
  reply.body += "\n]";
  append_bookmark(reply.body, page->bookmark.encode());
  if (find.request.execution_stats) append_execution_stats(reply.body, page->statistics, false, started);
  reply.body += "}\n";
  call.charge_scan(scope, partitioning::charge_of_scan({.documents = page->statistics.documents_examined,
                                                        .document_bytes = page->statistics.document_bytes,
                                                        .result_bytes = reply.body.size()}));
  co_return reply;
}

Expected<Reply> dry_run(const Call& call, const query::PreparedFind& find, const std::string& partition) {
  auto& database = *call.database;
  const auto& request = find.request;
  query::StorageStatistics statistics(database, partition);
  statistics.look_closely();
  OCTAVO_TRY(const auto scope, query::statistics_of_scope(database, partition));
  const std::uint64_t wanted = request.matches_needed();
  OCTAVO_TRY(const auto estimate,
             query::estimate_charge(find.plans, find.sure, statistics, scope, wanted, request.aggregation.has_value(),
                                    query::scan_work_of(database, find, !partition.empty())));
  return dry_run_reply(explain_find(database, find), estimate);
}

Task<Expected<Reply>> run_find(Call& call, std::string partition) {
  const auto started = std::chrono::steady_clock::now();
  if (is_system_database(*call.database)) OCTAVO_CO_TRY_VOID(check_system_listing(call, "_find"));
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto most, max_request_charge(call.request));
  const bool dry = prefers(call.request, "dry-run");
  OCTAVO_CO_TRY(auto* const services, query::required(call.database_services()));
  auto& indexes = services->indexes();
  OCTAVO_CO_TRY(auto choice,
                co_await query::choose_find(indexes, services->feed_indexes(), call.request.body, partition, dry));
  if (auto* by_text = std::get_if<query::search::TextFind>(&choice)) {
    if (most) {
      co_return fail(ErrorCode::bad_request, "X-Max-Request-Charge does not work with indexes of type text.");
    }
    if (dry) {
      co_return fail(ErrorCode::bad_request,
                     "Prefer: dry-run does not work with indexes of type text; _explain shows the plan.");
    }
    co_return co_await run_text_find(call, std::move(*by_text), started);
  }
  auto prepared = std::get<std::shared_ptr<const query::PreparedFind>>(std::move(choice));
  if (dry) {
    const auto estimate = [&] {
      return dry_run(call, *prepared, partition.empty() ? prepared->request.partition : partition);
    };
    co_return co_await work_on_find_body(call, estimate);
  }
  if (prepared->request.update && query::reads_global_index(prepared->plans)) {
    const auto without = [&] { return query::prepare_find(indexes, call.request.body, partition, false, true); };
    OCTAVO_CO_TRY(prepared, co_await query::wait_or_prepare_without(indexes, prepared, without));
  }
  if (partition.empty()) partition = prepared->request.partition;
  const auto partition_key = partition.empty() ? std::nullopt : std::optional(partition);
  const auto work = query::scan_work_of(*call.database, *prepared, !partition.empty());
  const bool is_long = call.request.body.size() > query::inline_query_bytes_max ||
                       query::cost_grows_with_document(prepared->request.selector) || prepared->projection.is_costly();
  RunningFind running{
      .execution = {call.database, std::move(prepared), std::move(partition), call.services.settings.sort_bytes_max},
      .work = work,
      .is_long = is_long,
      .in_partition = partition_key.has_value(),
      .started = started,
      .recorder = call.services.settings.advice_record ? &services->recorder() : nullptr};
  if (most) running.execution.make_stoppable(*most, partitioning::charge_of_scan(work));
  auto producer = std::make_unique<QueryReply<RunningFind>>(std::move(running), most);
  co_return co_await sliced_reply(call, std::move(producer), call.scope_of(partition_key));
}

Task<Expected<Reply>> run_explain(Call& call, std::string partition) {
  if (is_system_database(*call.database)) OCTAVO_CO_TRY_VOID(check_system_listing(call, "_explain"));
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(auto* const services, query::required(call.database_services()));
  OCTAVO_CO_TRY(const auto choice, co_await query::choose_find(services->indexes(), services->feed_indexes(),
                                                               call.request.body, std::move(partition), true));
  if (const auto* by_text = std::get_if<query::search::TextFind>(&choice)) {
    const auto show = [&] { return json_reply(explain_find(*call.database, *by_text)); };
    co_return co_await work_on_find_body(call, show);
  }
  const query::PreparedFind& find = *std::get<std::shared_ptr<const query::PreparedFind>>(choice);
  const auto show = [&] {
    Reply reply;
    reply.body = query::readable_json(explain_find(*call.database, find));
    reply.body += '\n';
    return reply;
  };
  co_return co_await work_on_find_body(call, show);
}

Task<Expected<Reply>> find(Call& call) {
  return run_find(call, std::string());
}

Task<Expected<Reply>> explain(Call& call) {
  return run_explain(call, std::string());
}

Task<Expected<Reply>> find_in_partition(Call& call) {
  OCTAVO_CO_TRY_VOID(check_partition_parameter(call));
  co_return co_await run_find(call, call.path("partition"));
}

Task<Expected<Reply>> explain_in_partition(Call& call) {
  OCTAVO_CO_TRY_VOID(check_partition_parameter(call));
  co_return co_await run_explain(call, call.path("partition"));
}

}  // namespace

void add_find_routes(RouteList& routes) {
  routes.push_back({Method::post, "/{db}/_find", Access::database_member, find});
  routes.push_back({Method::post, "/{db}/_explain", Access::database_member, explain});
  routes.push_back({Method::post, "/{db}/_partition/{partition}/_find", Access::database_member, find_in_partition});
  routes.push_back(
      {Method::post, "/{db}/_partition/{partition}/_explain", Access::database_member, explain_in_partition});
}

}  // namespace octavo::api::couch
