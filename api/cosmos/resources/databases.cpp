// /dbs and /dbs/{db}.
#include <fmt/format.h>

#include "api/cosmos/call/feed_page.h"
#include "api/cosmos/resources/registry.h"
#include "api/cosmos/resources/resource_handlers.h"
#include "api/cosmos/resources/resource_query.h"
#include "api/models/errors.h"
#include "api/models/resource_id.h"

namespace octavo::api::cosmos {

namespace {

Handled create_database(Call& call) {
  OCTAVO_CO_TRY(const auto body, json_body(call.request));
  OCTAVO_CO_TRY(const auto id, id_of(body));
  OCTAVO_CO_TRY(const auto throughput, throughput_of(call.request.header("x-ms-offer-throughput"),
                                                     call.request.header("x-ms-cosmos-offer-autopilot-settings")));
  OCTAVO_CO_TRY(const auto created, co_await call.services.engine.workers().run_blocking(
                                        [&] { return call.services.registry.create_database(id, throughput); }));
  co_return resource_reply(201, created.to_json(), created.etag);
}

Handled list_databases(Call& call) {
  OCTAVO_CO_TRY(const auto size, page_size_of(call.request));
  OCTAVO_CO_TRY(const auto after, continuation_of(call.request));
  OCTAVO_CO_TRY(const auto found, co_await call.services.engine.workers().run_blocking(
                                      [&] { return call.services.registry.databases(after.value_or(""), size + 1); }));
  std::vector<std::string> items;
  for (std::size_t i = 0; i < std::min(found.size(), size); ++i) items.push_back(found[i].to_json());
  std::optional<std::string> continuation;
  if (found.size() > size) continuation = to_continuation(found[size - 1].id);
  co_return feed_reply("", "Databases", items, continuation);
}

Handled query_databases(Call& call) {
  OCTAVO_CO_TRY(const auto found, co_await call.services.engine.workers().run_blocking(
                                      [&] { return call.services.registry.databases("", SIZE_MAX); }));
  ResourceList resources;
  for (const auto& database : found) resources.emplace_back(database.id, database.to_json());
  co_return co_await query_resources(call, "", "Databases", std::move(resources));
}

}  // namespace

Handled serve_databases(Call& call) {
  const Method method = call.request.method;
  if (call.path.feed) {
    if (method == Method::post && is_query(call.request)) co_return co_await query_databases(call);
    if (method == Method::post) co_return co_await create_database(call);
    if (method == Method::get || method == Method::head) co_return co_await list_databases(call);
    co_return method_not_allowed();
  }
  auto& registry = call.services.registry;
  if (method == Method::del) {
    // A program must not delete by an alias what others use. The same holds for a container.
    if (!call.path.alias.empty()) {
      co_return fail(ErrorCode::bad_request,
                     fmt::format("{} is an alias of the database {}: delete it under its id, or remove the alias.",
                                 call.path.alias, call.path.id));
    }
    OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking(
        [&] { return registry.delete_database(call.path.id, etag_of(call.request)); }));
    Reply reply;
    reply.status = 204;
    reply.content_type = {};
    co_return reply;
  }
  if (method != Method::get && method != Method::head) co_return method_not_allowed();
  OCTAVO_CO_TRY(const auto found,
                co_await call.services.engine.workers().run_blocking([&] { return registry.database(call.path.id); }));
  if (!found) co_return fail(ErrorCode::not_found, "Resource Not Found: there is no database '" + call.path.id + "'.");
  co_return resource_reply(200, found->to_json(), found->etag);
}

}  // namespace octavo::api::cosmos
