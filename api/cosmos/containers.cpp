// /dbs/{db}/colls and /dbs/{db}/colls/{coll}.
#include <fmt/format.h>

#include "api/cosmos/call.h"
#include "api/cosmos/errors.h"
#include "api/cosmos/feed_page.h"
#include "api/cosmos/resource_id.h"
#include "api/cosmos/schema.h"
#include "query/index/index_manager.h"

namespace octavo::api::cosmos {

namespace {

Handled create_container(Call& call) {
  const auto body = json_body(call.request);
  if (!body) co_return std::unexpected(body.error());
  auto definition = ContainerDefinition::from_request(*body);
  if (!definition) co_return std::unexpected(std::move(definition).error());
  auto throughput = throughput_of(call.request.header("x-ms-offer-throughput"),
                                  call.request.header("x-ms-cosmos-offer-autopilot-settings"));
  if (!throughput) co_return std::unexpected(std::move(throughput).error());
  definition->throughput = *throughput;
  auto created = co_await call.services.engine.run_blocking(
      [&] { return call.services.schema.create_container(call.path.database, *definition); });
  if (!created) co_return std::unexpected(std::move(created).error());
  co_return resource_reply(201, created->to_json(), created->etag);
}

Handled list_containers(Call& call) {
  const auto size = page_size_of(call.request);
  if (!size) co_return std::unexpected(size.error());
  const auto after = continuation_of(call.request);
  if (!after) co_return std::unexpected(after.error());
  auto& schema = call.services.schema;
  const auto owner = co_await call.services.engine.run_blocking([&] { return schema.database(call.path.database); });
  if (!owner) co_return std::unexpected(owner.error());
  if (!*owner) {
    co_return fail(ErrorCode::not_found,
                   "Owner resource does not exist: there is no database '" + call.path.database + "'.",
                   word::kOwnerMissing);
  }
  const auto found = co_await call.services.engine.run_blocking(
      [&] { return schema.containers(call.path.database, after->value_or(""), *size + 1); });
  if (!found) co_return std::unexpected(found.error());
  std::vector<std::string> items;
  for (std::size_t i = 0; i < std::min(found->size(), *size); ++i) items.push_back((*found)[i].to_json());
  std::optional<std::string> continuation;
  if (found->size() > *size) continuation = to_continuation((*found)[*size - 1].id);
  co_return feed_reply(show_rid((*owner)->rid), "DocumentCollections", items, continuation);
}

// How much there is, and how much there may be, in kilobytes and numbers.
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

// How much each physical partition holds, as a member of the container.
Expected<void> add_partition_statistics(const partitioning::Database& database, Reply& reply) {
  std::string statistics;
  for (std::size_t i = 0; i < database.physical_partition_count(); ++i) {
    OCTAVO_TRY(const auto snapshot, database.snapshot(i));
    OCTAVO_TRY(const auto counters, snapshot.counters());
    fmt::format_to(std::back_inserter(statistics), R"({}{{"id":"{}","sizeInKB":{},"documentCount":{}}})",
                   i == 0 ? "" : ",", i, (counters.documents.external_bytes + 1023) / 1024,
                   counters.documents.document_count);
  }
  reply.body.pop_back();
  reply.body += ",\"statistics\":[" + statistics + "]}";
  return {};
}

Handled read_container(Call& call) {
  auto opened = co_await open_container(call);
  if (!opened) {
    if (opened.error().word != word::kOwnerMissing) co_return std::unexpected(std::move(opened).error());
    co_return fail(ErrorCode::not_found, "Resource Not Found: there is no container '" + call.path.id +
                                             "' in database '" + call.path.database + "'.");
  }
  const auto& definition = *opened->definition;
  auto reply = resource_reply(200, definition.to_json(), definition.etag);
  if (call.flag("x-ms-documentdb-populatequotainfo")) {
    if (auto added = add_quota(call, *opened->database, reply); !added) {
      co_return std::unexpected(std::move(added).error());
    }
  }
  if (call.flag("x-ms-documentdb-populatepartitionstatistics")) {
    if (auto added = add_partition_statistics(*opened->database, reply); !added) {
      co_return std::unexpected(std::move(added).error());
    }
  }
  auto* indexes = query::IndexManager::of(*opened->database);
  reply.headers.emplace_back("x-ms-documentdb-collection-index-transformation-progress",
                             std::to_string(indexes != nullptr ? indexes->automatic_progress_percent() : 100));
  co_return reply;
}

Handled replace_container(Call& call) {
  const auto body = json_body(call.request);
  if (!body) co_return std::unexpected(body.error());
  std::optional<std::string> etag;
  if (const auto header = call.request.header("If-Match"); header && *header != "*") {
    etag = *header;
    std::erase(*etag, '"');
  }
  auto replaced = co_await call.services.engine.run_blocking(
      [&] { return call.services.schema.replace_container(call.path.database, call.path.id, *body, etag); });
  if (!replaced) co_return std::unexpected(std::move(replaced).error());
  co_return resource_reply(200, replaced->to_json(), replaced->etag);
}

Handled delete_container(Call& call) {
  auto deleted = co_await call.services.engine.run_blocking(
      [&] { return call.services.schema.delete_container(call.path.database, call.path.id); });
  if (!deleted) co_return std::unexpected(std::move(deleted).error());
  Reply reply;
  reply.status = 204;
  reply.content_type = {};
  co_return reply;
}

}  // namespace

Handled serve_containers(Call& call) {
  const Method method = call.request.method;
  if (call.path.feed) {
    if (method == Method::post && call.flag("x-ms-documentdb-isquery")) co_return co_await serve_query(call);
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
