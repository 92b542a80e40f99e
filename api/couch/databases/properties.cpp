// `_properties`: settings of a database such as time to live and throughput. An extension of the CouchDB API.
#include "api/couch/databases/properties.h"

#include <boost/json.hpp>

#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/databases/routes.h"
#include "api/models/database_properties.h"

namespace octavo::api::couch {

namespace {

using query::DatabaseProperties;

constexpr std::int64_t seconds_max = 2'147'483'647;  // as Azure Cosmos DB's defaultTtl
constexpr std::int64_t throughput_max = 1'000'000;
constexpr std::int64_t retention_max = 30 * 86'400;  // as the retention of Azure Cosmos DB's continuous backup

std::unexpected<Error> invalid(std::string_view name, std::string_view what) {
  return fail(ErrorCode::bad_request, "`" + std::string(name) + "` must be " + std::string(what) + ".");
}

Expected<void> set(DatabaseProperties& properties, std::string_view name, std::optional<std::int64_t> value) {
  if (name == "ttl") {
    if (!value || *value == 0 || *value < -1 || *value > seconds_max) {
      return invalid(name, "a number of seconds, or -1 for documents that live for ever unless they say otherwise");
    }
    properties.ttl_s = value;
  } else if (name == "throughput") {
    if (!value || *value < 1 || *value > throughput_max) {
      return invalid(name, "a number of request units per second, from 1 to 1000000");
    }
    properties.throughput = static_cast<std::uint32_t>(*value);
  } else if (name == "all_versions") {
    if (!value || *value < 1 || *value > retention_max) return invalid(name, "a number of seconds, from 1 to 2592000");
    properties.all_versions_s = *value;
  } else if (name == "tombstone_retention") {
    if (!value || *value < 1 || *value > seconds_max) return invalid(name, "a number of seconds, from 1 to 2147483647");
    properties.tombstone_retention_s = *value;
  } else {
    return fail(ErrorCode::bad_request, "Unknown property: " + std::string(name));
  }
  return {};
}

Task<Expected<Reply>> get_properties(Call& call) {
  OCTAVO_CO_TRY(const auto properties, properties_of(*call.database));
  Reply reply;
  reply.body = properties_json(properties);
  reply.body += '\n';
  co_return reply;
}

Expected<DatabaseProperties> parse_properties(const Call& call) {
  if (call.database->name().starts_with('_')) {
    return fail(ErrorCode::bad_request, "A system database has no properties.");
  }
  if (is_container(call.database->definition()->text)) {
    return fail(ErrorCode::forbidden,
                "This database is a container of the Azure Cosmos DB API: change the container instead.");
  }
  OCTAVO_TRY(const auto body, json_object_body(call.request));
  DatabaseProperties properties;
  for (const auto& [name, value] : body) {
    if (value.is_null()) continue;
    OCTAVO_TRY_VOID(set(properties, name, value.is_int64() ? std::optional(value.get_int64()) : std::nullopt));
  }
  return properties;
}

Task<Expected<Reply>> put_properties(Call& call) {
  const auto parse = [&call] { return parse_properties(call); };
  OCTAVO_CO_TRY(const auto properties, co_await work_on_body(call, parse));
  auto work = [&] { return call.database->set_definition(to_couch_definition(properties)); };
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking(std::move(work)));
  Reply reply;
  reply.body = "{\"ok\":true}\n";
  co_return reply;
}

}  // namespace

Expected<DatabaseProperties> properties_of_creation(CreationParameters parameters, std::string_view database) {
  DatabaseProperties properties;
  for (const std::string_view name : {"ttl", "throughput", "all_versions", "tombstone_retention"}) {
    const auto text = parameters(name);
    if (!text) continue;
    if (database.starts_with('_')) return fail(ErrorCode::bad_request, "A system database has no properties.");
    OCTAVO_TRY_VOID(set(properties, name, parse_integer(*text)));
  }
  return properties;
}

void add_properties_routes(RouteList& routes) {
  routes.push_back({Method::get, "/{db}/_properties", Access::database_member, get_properties});
  routes.push_back({Method::put, "/{db}/_properties", Access::database_admin, put_properties});
}

}  // namespace octavo::api::couch
