#include "api/cosmos/call/call.h"

#include <utility>

#include <fmt/format.h>

#include "api/http/entity_tag.h"
#include "api/http/worker_bodies.h"
#include "api/models/container_definition.h"
#include "api/models/errors.h"
#include "api/models/item_key.h"
#include "api/models/item_shape.h"
#include "query/database/database_services.h"
#include "query/json/parsed_document.h"

namespace octavo::api::cosmos {

bool has_flag(const Request& request, std::string_view header) {
  const auto text = request.header(header);
  return text && text->size() == 4 && (text->front() == 't' || text->front() == 'T') &&
         (text->substr(1) == "rue" || text->substr(1) == "RUE");
}

bool is_query(const Request& request) {
  if (has_flag(request, "x-ms-documentdb-isquery") || has_flag(request, "x-ms-documentdb-query")) return true;
  const auto type = request.header("Content-Type");
  return type && type->starts_with("application/query+json");
}

Expected<void> Call::admit(const std::shared_ptr<partitioning::Database>& database, std::size_t partition_id,
                           std::string_view partition_key) {
  OCTAVO_TRY_VOID(database->meter().admit(partition_id));
  account.database = database;
  account.partition_id = partition_id;
  account.partition_key = partition_key;
  return {};
}

Expected<void> Call::admit(const std::shared_ptr<partitioning::Database>& database,
                           std::vector<std::size_t> partition_ids, std::string_view partition_key) {
  if (partition_ids.size() == 1) return admit(database, partition_ids.front(), partition_key);
  OCTAVO_TRY_VOID(database->meter().admit(partition_ids));
  account.database = database;
  account.partition_id = partition_ids.front();
  account.partition_ids = std::move(partition_ids);
  account.partition_key = partition_key;
  return {};
}

Expected<void> Call::admit(const std::shared_ptr<partitioning::Database>& database,
                           const partitioning::DocumentTarget& target) {
  if (!target.id().empty() && services.settings.advice_record) {
    account.recorded_item = partitioning::PointRequests::sample(target.id());
  }
  return admit(database, database->locate(target), target.partition_key());
}

bool Call::flag(std::string_view header) const {
  return has_flag(request, header);
}

bool wants_no_body(const Call& call) {
  const auto prefer = call.request.header("Prefer");
  return prefer && prefer->find("return=minimal") != std::string_view::npos;
}

ItemLinks links_of_written(const Call& call) {
  return call.flag("x-ms-exclude-system-properties") ? ItemLinks::left_out : ItemLinks::shown;
}

std::unexpected<Error> method_not_allowed() {
  return fail(ErrorCode::bad_request, "The requested verb is not supported on this resource.", word::method);
}

std::optional<std::string> etag_of(const Request& request) {
  const auto header = request.header("If-Match");
  if (!header || *header == "*") return std::nullopt;
  return std::string(unquoted_tag(*header));
}

Reply resource_reply(int status, std::string json, std::string_view etag) {
  Reply reply;
  reply.status = status;
  reply.body = std::move(json);
  if (!etag.empty()) reply.headers.emplace_back("etag", fmt::format("\"{}\"", etag));
  return reply;
}

Expected<boost::json::object> json_body(const Request& request) {
  if (request.body.size() > definition_body_bytes_max) {
    return fail(ErrorCode::too_large,
                fmt::format("Request size is too large. The request body has {} bytes, and may have at most {} bytes.",
                            request.body.size(), definition_body_bytes_max));
  }
  auto value = query::parse_json(request.body);
  if (!value) return fail(ErrorCode::bad_request, "The request body is not JSON: " + value.error().reason);
  if (!value->is_object()) return fail(ErrorCode::bad_request, "The request body must be a JSON object.");
  return std::move(value->get_object());
}

query::DatabaseServices* OpenContainer::services() const {
  return query::services_of(*database);
}

Task<Expected<OpenContainer>> open_container(Call& call) {
  const std::string name = call.path.database_name();
  auto& engine = call.services.engine;
  Expected<std::shared_ptr<partitioning::Database>> opened;
  if (call.reads) {
    auto found = engine.databases().find(name);
    if (!found) found = co_await engine.open_in_background(name);
    opened = *std::move(found);
  } else {
    auto writable = co_await engine.open_for_writing(name);
    if (writable) {
      opened = std::move(writable->database);
      call.pass = std::move(writable->pass);
    } else {
      opened = std::unexpected(std::move(writable).error());
    }
  }
  if (!opened && opened.error().code != ErrorCode::not_found) co_return std::unexpected(std::move(opened).error());
  const auto no_container = [&] {
    return fail(ErrorCode::not_found,
                "Owner resource does not exist: there is no container '" + call.path.container + "' in database '" +
                    call.path.database + "'.",
                word::owner_missing);
  };
  if (!opened) co_return no_container();
  auto definition = container_of(**opened);
  if (!definition && definition.error().code == ErrorCode::not_found) co_return no_container();
  if (!definition) co_return std::unexpected(std::move(definition).error());
  // Clients that encrypt say which container they have read the keys of.
  const auto intended = call.request.header("x-ms-cosmos-intended-collection-rid");
  if (intended && !intended->empty() && *intended != (*definition)->shape->container_rid()) {
    co_return fail(ErrorCode::bad_request,
                   "The container was created again since the client read it (x-ms-cosmos-intended-collection-rid).",
                   word::other_container);
  }
  OCTAVO_CO_TRY(auto former, (*definition)->former->key_of(**opened));
  call.account.container = *definition;
  co_return OpenContainer{std::move(*opened), std::move(*definition), std::move(former)};
}

}  // namespace octavo::api::cosmos
