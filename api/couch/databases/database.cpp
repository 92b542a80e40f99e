// Databases: creation, information, deletion, limits, and the maintenance requests that clients send.
#include <optional>

#include <boost/json.hpp>

#include "api/couch/call/database_info.h"
#include "api/couch/call/document_id.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/partition_parameter.h"
#include "api/couch/call/purged_infos.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/databases/creation.h"
#include "api/couch/databases/limits.h"
#include "api/couch/databases/routes.h"
#include "api/couch/databases/shards.h"
#include "api/couch/databases/throughput.h"
#include "api/couch/documents/document_handlers.h"
#include "api/models/database_properties.h"
#include "base/json_writer.h"
#include "partitioning/partition_limits.h"
#include "partitioning/throughput/request_charge.h"
#include "query/json/parsed_document.h"

namespace octavo::api::couch {

namespace {

constexpr std::int64_t revs_limit_max = 1'000'000;

Reply ok_reply(int status) {
  Reply reply;
  reply.status = status;
  reply.body = "{\"ok\":true}\n";
  return reply;
}

Task<Expected<Reply>> create_database(Call& call) {
  const auto& name = call.path("db");
  auto& engine = call.services.engine;
  OCTAVO_CO_TRY_VOID(partitioning::Engine::check_database_name(name));
  const auto parameter = [&call](std::string_view parameter_name) { return call.request.parameter(parameter_name); };
  OCTAVO_CO_TRY(const auto options, options_of_creation(parameter, name, call.services.settings.q_max));
  auto work = [&] { return engine.create_database(name, options); };
  OCTAVO_CO_TRY_VOID(co_await engine.workers().run_blocking(std::move(work)));
  auto reply = ok_reply(201);
  reply.headers.emplace_back("Location", location_of(call.request, name, ""));
  co_return reply;
}

Task<Expected<Reply>> get_database(Call& call) {
  Reply reply;
  OCTAVO_CO_TRY_VOID(append_database_info(reply.body, *call.database));
  reply.body += '\n';
  co_return reply;
}

Task<Expected<Reply>> delete_database(Call& call) {
  if (call.request.parameter("rev")) {
    co_return fail(ErrorCode::bad_request,
                   "You tried to DELETE a database with a ?=rev parameter. Did you mean to DELETE a document instead?");
  }
  const auto& name = call.path("db");
  auto& engine = call.services.engine;
  call.database.reset();  // the files are removed when the last request releases the database
  auto work = [&] { return engine.delete_database(name); };
  OCTAVO_CO_TRY_VOID(co_await engine.workers().run_blocking(std::move(work)));
  co_return ok_reply(200);
}

Expected<Reply> partition_info(const Call& call) {
  OCTAVO_TRY_VOID(check_partition_parameter(call));
  const auto& partition = call.path("partition");
  OCTAVO_TRY(const auto snapshot, call.database->snapshot_for_partition_key(partition));
  OCTAVO_TRY(const auto statistics, snapshot.statistics_of(partition));
  Reply reply;
  auto& body = reply.body;
  body = "{\"db_name\":";
  append_json_string(body, call.database->name());
  // Documents are stored in the form whose bytes are counted, so `active` and `external` are equal.
  body += ",\"sizes\":{\"active\":";
  append_json_number(body, statistics.external_bytes);
  body += ",\"external\":";
  append_json_number(body, statistics.external_bytes);
  body += "},\"partition\":";
  append_json_string(body, partition);
  body += ",\"doc_count\":";
  append_json_number(body, statistics.document_count);
  body += ",\"doc_del_count\":";
  append_json_number(body, statistics.deleted_count);
  const std::size_t partition_id = call.database->locate_partition_key(partition);
  body += ",\"request_units\":";
  body += partitioning::format_charge(call.database->meter().recent_of(partition_id, partition).units);
  OCTAVO_TRY(const auto use, partitioning::limits_of_partition(*call.database, partition));
  body += ",\"limits\":";
  body += query::readable_json(limits_json(use));
  body += "}\n";
  return reply;
}

Task<Expected<Reply>> get_partition(Call& call) {
  co_return partition_info(call);
}

Task<Expected<Reply>> refuse_partition_request(Call&) {
  co_return fail(ErrorCode::bad_request, "invalid_partition_req");
}

Task<Expected<Reply>> unknown_partition_path(Call& call) {
  OCTAVO_CO_TRY_VOID(check_partition_parameter(call));
  co_return fail(ErrorCode::not_found, "");
}

Task<Expected<Reply>> get_revs_limit(Call& call) {
  Reply reply;
  append_json_number(reply.body, call.database->revs_limit());
  reply.body += '\n';
  co_return reply;
}

Task<Expected<Reply>> put_revs_limit(Call& call) {
  const auto parse = [&call] { return json_body(call.request); };
  OCTAVO_CO_TRY(const auto limit, co_await work_on_body(call, parse));
  if (!limit.is_int64() || limit.get_int64() <= 0 || limit.get_int64() > revs_limit_max) {
    co_return fail(ErrorCode::bad_request, "The revs limit must be a positive integer, at most 1000000.");
  }
  const auto value = static_cast<std::uint32_t>(limit.get_int64());
  auto work = [&] { return call.database->set_revs_limit(value); };
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking(std::move(work)));
  co_return ok_reply(200);
}

Task<Expected<Reply>> get_purged_infos_limit(Call& call) {
  OCTAVO_CO_TRY(const auto limit, purged_infos_limit(call.services.engine.catalog(), *call.database));
  Reply reply;
  append_json_number(reply.body, limit);
  reply.body += '\n';
  co_return reply;
}

Task<Expected<Reply>> put_purged_infos_limit(Call& call) {
  const auto parse = [&call] { return json_body(call.request); };
  OCTAVO_CO_TRY(const auto limit, co_await work_on_body(call, parse));
  if (!limit.is_int64() || limit.get_int64() <= 0) {
    co_return fail(ErrorCode::bad_request, "`purge_infos_limit` must be positive integer");
  }
  const auto value = static_cast<std::uint64_t>(limit.get_int64());
  auto& catalog = call.services.engine.catalog();
  auto work = [&] { return set_purged_infos_limit(catalog, *call.database, value); };
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking(std::move(work)));
  co_return ok_reply(200);
}

Task<Expected<Reply>> get_purged_infos(Call& call) {
  OCTAVO_CO_TRY(const auto infos, purged_infos(call.services.engine.catalog(), *call.database));
  Reply reply;
  reply.body = "{\"purged_infos\":" + infos + "}\n";
  co_return reply;
}

// The replies do not wait for the compactions, which `_active_tasks` shows.
Task<Expected<Reply>> compact(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  auto work = [&] { return call.database->compact(); };
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking(std::move(work)));
  co_return ok_reply(202);
}

Task<Expected<Reply>> compact_design_document(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  const auto id = std::string(design_prefix) + call.path("ddoc");
  OCTAVO_CO_TRY_VOID(check_document_exists(*call.database, call.database->target_of(id)));
  auto work = [&] { return call.database->compact_indexes(id); };
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking(std::move(work)));
  co_return ok_reply(202);
}

Task<Expected<Reply>> accepted(Call&) {
  co_return ok_reply(202);
}

// Every acknowledged write is already committed; those of `batch=ok` may wait. With relaxed durability, commits may
// wait for their sync.
Task<Expected<Reply>> ensure_full_commit(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  const auto database = call.database;
  co_await database->wait_for_unacknowledged();
  if (call.services.settings.durability == config::Durability::relaxed) {
    OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking([&] { return database->make_durable(); }));
  }
  Reply reply;
  reply.status = 201;
  reply.body = "{\"ok\":true,\"instance_start_time\":\"" + std::to_string(call.database->created_s()) + "\"}\n";
  co_return reply;
}

}  // namespace

void add_database_routes(RouteList& routes) {
  constexpr auto member_access = Access::database_member;
  constexpr auto admin_access = Access::database_admin;
  routes.push_back({Method::put, "/{db}", Access::server_admin, create_database});
  routes.push_back({Method::get, "/{db}", member_access, get_database});
  routes.push_back({Method::del, "/{db}", Access::server_admin, delete_database});

  routes.push_back({Method::get, "/{db}/_partition/{partition}", member_access, get_partition});
  for (const auto method : {Method::get, Method::post, Method::put, Method::del}) {
    routes.push_back({method, "/{db}/_partition", member_access, refuse_partition_request});
    routes.push_back({method, "/{db}/_partition/{partition}/{rest*}", member_access, unknown_partition_path});
  }

  routes.push_back({Method::get, "/{db}/_revs_limit", member_access, get_revs_limit});
  routes.push_back({Method::put, "/{db}/_revs_limit", admin_access, put_revs_limit});
  routes.push_back({Method::get, "/{db}/_purged_infos_limit", member_access, get_purged_infos_limit});
  routes.push_back({Method::put, "/{db}/_purged_infos_limit", admin_access, put_purged_infos_limit});
  routes.push_back({Method::get, "/{db}/_purged_infos", admin_access, get_purged_infos});
  routes.push_back({Method::post, "/{db}/_compact", admin_access, compact});
  routes.push_back({Method::post, "/{db}/_compact/{ddoc}", admin_access, compact_design_document});
  routes.push_back({Method::post, "/{db}/_ensure_full_commit", member_access, ensure_full_commit});
  routes.push_back({Method::get, "/{db}/_throughput", member_access, get_throughput});
  routes.push_back({Method::get, "/{db}/_limits", member_access, get_limits});
  routes.push_back({Method::get, "/{db}/_shards", member_access, get_shards});
  routes.push_back({Method::get, "/{db}/_shards/{docid*}", member_access, get_shard_of_document});
  routes.push_back({Method::post, "/{db}/_sync_shards", Access::server_admin, accepted});
}

}  // namespace octavo::api::couch
