// /dbs and /dbs/{db}.
#include "api/cosmos/call.h"
#include "api/cosmos/errors.h"
#include "api/cosmos/feed_page.h"
#include "api/cosmos/resource_query.h"
#include "api/cosmos/schema.h"

namespace octavo::api::cosmos {

namespace {

Handled create_database(Call& call) {
  const auto body = json_body(call.request);
  if (!body) co_return std::unexpected(body.error());
  auto id = id_of(*body);
  if (!id) co_return std::unexpected(std::move(id).error());
  auto throughput = throughput_of(call.request.header("x-ms-offer-throughput"),
                                  call.request.header("x-ms-cosmos-offer-autopilot-settings"));
  if (!throughput) co_return std::unexpected(std::move(throughput).error());
  auto created = co_await call.services.engine.run_blocking(
      [&] { return call.services.schema.create_database(*id, *throughput); });
  if (!created) co_return std::unexpected(std::move(created).error());
  co_return resource_reply(201, created->to_json(), created->etag);
}

Handled list_databases(Call& call) {
  const auto size = page_size_of(call.request);
  if (!size) co_return std::unexpected(size.error());
  const auto after = continuation_of(call.request);
  if (!after) co_return std::unexpected(after.error());
  const auto found = co_await call.services.engine.run_blocking(
      [&] { return call.services.schema.databases(after->value_or(""), *size + 1); });
  if (!found) co_return std::unexpected(found.error());
  std::vector<std::string> items;
  for (std::size_t i = 0; i < std::min(found->size(), *size); ++i) items.push_back((*found)[i].to_json());
  std::optional<std::string> continuation;
  if (found->size() > *size) continuation = to_continuation((*found)[*size - 1].id);
  co_return feed_reply("", "Databases", items, continuation);
}

Handled query_databases(Call& call) {
  const auto found =
      co_await call.services.engine.run_blocking([&] { return call.services.schema.databases("", SIZE_MAX); });
  if (!found) co_return std::unexpected(found.error());
  ResourceList resources;
  for (const auto& database : *found) resources.emplace_back(database.id, database.to_json());
  co_return co_await query_resources(call, "", "Databases", std::move(resources));
}

}  // namespace

Handled serve_databases(Call& call) {
  const Method method = call.request.method;
  if (call.path.feed) {
    if (method == Method::post && call.flag("x-ms-documentdb-isquery")) co_return co_await query_databases(call);
    if (method == Method::post) co_return co_await create_database(call);
    if (method == Method::get || method == Method::head) co_return co_await list_databases(call);
    co_return method_not_allowed();
  }
  auto& schema = call.services.schema;
  if (method == Method::del) {
    auto deleted = co_await call.services.engine.run_blocking(
        [&] { return schema.delete_database(call.path.id, etag_of(call.request)); });
    if (!deleted) co_return std::unexpected(std::move(deleted).error());
    Reply reply;
    reply.status = 204;
    reply.content_type = {};
    co_return reply;
  }
  if (method != Method::get && method != Method::head) co_return method_not_allowed();
  const auto found = co_await call.services.engine.run_blocking([&] { return schema.database(call.path.id); });
  if (!found) co_return std::unexpected(found.error());
  if (!*found) co_return fail(ErrorCode::not_found, "Resource Not Found: there is no database '" + call.path.id + "'.");
  co_return resource_reply(200, (*found)->to_json(), (*found)->etag);
}

}  // namespace octavo::api::cosmos
