// /dbs/{db}/colls and /dbs/{db}/colls/{coll}.
#include <fmt/format.h>

#include "api/cosmos/call/feed_page.h"
#include "api/cosmos/resources/container_statistics.h"
#include "api/cosmos/resources/registry.h"
#include "api/cosmos/resources/resource_handlers.h"
#include "api/cosmos/resources/resource_query.h"
#include "api/models/errors.h"
#include "api/models/resource_id.h"
#include "query/database/database_services.h"

namespace octavo::api::cosmos {

namespace {

// Clients of these versions create containers without a partition key, and name none in requests for items.
bool is_of_old_client(const Request& request) {
  constexpr std::string_view first_version_with_keys = "2018-12-31";
  const auto version = request.header("x-ms-version");
  return version && *version < first_version_with_keys;
}

void add_system_key(const Request& request, boost::json::object& body) {
  const auto* key = body.if_contains("partitionKey");
  if (!is_of_old_client(request) || (key != nullptr && !key->is_null())) return;
  body["partitionKey"] =
      boost::json::object{{"paths", boost::json::array{system_key_path}}, {"kind", "Hash"}, {"systemKey", true}};
}

// An old client that saw a system key would ask the program for its value, or take it from the items, where it is not.
boost::json::object shown_to(const Request& request, const ContainerDefinition& container) {
  auto shown = container.shown();
  if (container.has_system_key && is_of_old_client(request)) shown.erase("partitionKey");
  return shown;
}

std::string json_for(const Request& request, const ContainerDefinition& container) {
  return boost::json::serialize(shown_to(request, container));
}

// Included paths once named kinds of indexes, which have no effect any more. As on Azure, only clients of that time
// keep them.
void drop_index_kinds(const Request& request, boost::json::object& body) {
  if (is_of_old_client(request)) return;
  auto* const policy = body.if_contains("indexingPolicy");
  if (policy == nullptr || !policy->is_object()) return;
  auto* const paths = policy->get_object().if_contains("includedPaths");
  if (paths == nullptr || !paths->is_array()) return;
  for (auto& path : paths->get_array()) {
    if (path.is_object()) path.get_object().erase("indexes");
  }
}

Handled create_container(Call& call) {
  OCTAVO_CO_TRY(auto body, json_body(call.request));
  add_system_key(call.request, body);
  drop_index_kinds(call.request, body);
  OCTAVO_CO_TRY(auto definition, ContainerDefinition::from_request(body));
  OCTAVO_CO_TRY(const auto throughput, throughput_of(call.request.header("x-ms-offer-throughput"),
                                                     call.request.header("x-ms-cosmos-offer-autopilot-settings")));
  definition.throughput = throughput;
  OCTAVO_CO_TRY(const auto created, co_await call.services.engine.workers().run_blocking([&] {
    return call.services.registry.create_container(call.path.database, definition, {});
  }));
  co_return resource_reply(201, json_for(call.request, created), created.etag);
}

struct FoundContainers {
  std::string owner_rid;  ///< in base64
  std::vector<ContainerDefinition> containers;
};

// Runs on a worker.
Expected<FoundContainers> find_containers(const Call& call, std::string_view after, std::size_t count_max) {
  const auto& registry = call.services.registry;
  OCTAVO_TRY(const auto owner, registry.database(call.path.database));
  if (!owner) {
    return fail(ErrorCode::not_found,
                "Owner resource does not exist: there is no database '" + call.path.database + "'.",
                word::owner_missing);
  }
  OCTAVO_TRY(auto containers, registry.containers(call.path.database, after, count_max));
  return FoundContainers{show_rid(owner->rid), std::move(containers)};
}

Handled list_containers(Call& call) {
  OCTAVO_CO_TRY(const auto size, page_size_of(call.request));
  OCTAVO_CO_TRY(const auto after, continuation_of(call.request));
  OCTAVO_CO_TRY(const auto found, co_await call.services.engine.workers().run_blocking(
                                      [&] { return find_containers(call, after.value_or(""), size + 1); }));
  const auto& containers = found.containers;
  std::vector<std::string> items;
  for (std::size_t i = 0; i < std::min(containers.size(), size); ++i) {
    items.push_back(json_for(call.request, containers[i]));
  }
  std::optional<std::string> continuation;
  if (containers.size() > size) continuation = to_continuation(containers[size - 1].id);
  co_return feed_reply(found.owner_rid, "DocumentCollections", items, continuation);
}

Handled query_containers(Call& call) {
  OCTAVO_CO_TRY(const auto found, co_await call.services.engine.workers().run_blocking(
                                      [&] { return find_containers(call, "", SIZE_MAX); }));
  ResourceList resources;
  for (const auto& container : found.containers) {
    resources.emplace_back(container.id, json_for(call.request, container));
  }
  co_return co_await query_resources(call, found.owner_rid, "DocumentCollections", std::move(resources));
}

// Usage and limits: sizes in kilobytes, and counts.
Expected<void> add_quota(const Call& call, const partitioning::Database& database, Reply& reply) {
  OCTAVO_TRY(const auto statistics, database.statistics());
  const std::uint64_t size_kib = (statistics.external_bytes + 1023) / 1024;
  const std::uint64_t size_kib_max =
      call.services.settings.logical_partition_bytes_max / 1024 * database.physical_partition_count();
  reply.headers.emplace_back(
      "x-ms-resource-quota",
      fmt::format("functions=25;storedProcedures=100;triggers=25;documentSize={};documentsSize={};documentsCount=-1;"
                  "collectionSize={};",
                  size_kib_max, size_kib_max, size_kib_max));
  reply.headers.emplace_back(
      "x-ms-resource-usage",
      fmt::format("functions=0;storedProcedures=0;triggers=0;documentSize={};documentsSize={};documentsCount={};"
                  "collectionSize={};",
                  size_kib, size_kib, statistics.document_count, size_kib));
  return {};
}

Handled read_container(Call& call) {
  auto opened = co_await open_container(call);
  if (!opened) {
    if (opened.error().word != word::owner_missing) co_return std::unexpected(std::move(opened).error());
    co_return fail(ErrorCode::not_found, "Resource Not Found: there is no container '" + call.path.id +
                                             "' in database '" + call.path.database + "'.");
  }
  const auto& definition = *opened->definition;
  auto shown = shown_to(call.request, definition);
  if (call.flag("x-ms-documentdb-populatepartitionstatistics")) {
    OCTAVO_CO_TRY_VOID(add_statistics(*opened->database, definition, shown));
  }
  auto reply = resource_reply(200, boost::json::serialize(shown), definition.etag);
  if (call.flag("x-ms-documentdb-populatequotainfo")) {
    OCTAVO_CO_TRY_VOID(add_quota(call, *opened->database, reply));
  }
  auto* services = opened->services();
  const std::uint32_t progress = services != nullptr ? services->indexes().automatic_progress_percent() : 100;
  reply.headers.emplace_back("x-ms-documentdb-collection-index-transformation-progress", std::to_string(progress));
  co_return reply;
}

Handled replace_container(Call& call) {
  OCTAVO_CO_TRY(auto body, json_body(call.request));
  drop_index_kinds(call.request, body);
  const auto etag = etag_of(call.request);
  OCTAVO_CO_TRY(const auto replaced, co_await call.services.engine.workers().run_blocking([&] {
    return call.services.registry.replace_container(call.path.database, call.path.id, body, etag);
  }));
  co_return resource_reply(200, json_for(call.request, replaced), replaced.etag);
}

Handled delete_container(Call& call) {
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking([&] {
    return call.services.registry.delete_container(call.path.database, call.path.id, etag_of(call.request));
  }));
  Reply reply;
  reply.status = 204;
  reply.content_type = {};
  co_return reply;
}

}  // namespace

Handled serve_containers(Call& call) {
  const Method method = call.request.method;
  if (call.path.feed) {
    if (method == Method::post && is_query(call.request)) co_return co_await query_containers(call);
    if (method == Method::post) co_return co_await create_container(call);
    if (method == Method::get || method == Method::head) co_return co_await list_containers(call);
    co_return method_not_allowed();
  }
  switch (method) {
    case Method::get:
    case Method::head:
      co_return co_await read_container(call);
    case Method::put:
      co_return co_await replace_container(call);
    case Method::del:
      co_return co_await delete_container(call);
    default:
      co_return method_not_allowed();
  }
}

}  // namespace octavo::api::cosmos
