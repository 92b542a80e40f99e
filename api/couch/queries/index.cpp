#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "api/couch/auth/users_database.h"
#include "api/couch/call/errors.h"
#include "api/couch/call/json_reply.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/queries/routes.h"
#include "partitioning/engine.h"
#include "query/database/create_index.h"
#include "query/database/database_services.h"
#include "query/database/index_allowance.h"
#include "query/index/index_definition.h"
#include "query/json/parsed_document.h"
#include "query/mango/text_find.h"

/// `_index`: creating, listing and deleting the indexes of a database. The indexes are defined in design documents of
/// language "query", which these handlers edit.
namespace octavo::api::couch {

using storage::design_prefix;
using storage::is_design_id;

namespace {

namespace json = boost::json;

// An edit of a design document that conflicts with another one is retried.
constexpr int attempts_max = 8;

std::string with_design_prefix(std::string_view id) {
  return is_design_id(id) ? std::string(id) : std::string(design_prefix).append(id);
}

/// The current state of a design document; it has no body if it does not exist.
struct DesignDocument {
  std::optional<storage::Revision> revision;
  std::optional<std::string> body;
};

Expected<DesignDocument> read_design_document(const partitioning::Database& database, std::string_view id) {
  OCTAVO_TRY(const auto snapshot, database.snapshot_for_document(id));
  OCTAVO_TRY(const auto document, snapshot.find(id));
  DesignDocument design;
  if (!document || document->deleted) return design;
  design.revision = document->revision;
  design.body = std::string(document->body);
  return design;
}

/// Writes the new body, or deletes the document if the body is empty. False on a conflict with another write.
Task<Expected<bool>> write_design_document(partitioning::Database& database, std::string_view id,
                                           const std::optional<storage::Revision>& parent, std::string body) {
  storage::DocumentWrite write;
  write.id = id;
  write.parent = parent;
  write.deleted = body.empty();
  write.body = body.empty() ? std::string("{}") : std::move(body);
  std::vector<storage::DocumentWrite> writes;
  writes.push_back(std::move(write));
  const auto results = co_await database.write(std::move(writes));
  if (results[0]) co_return true;
  if (results[0].error().code == ErrorCode::conflict) co_return false;
  co_return std::unexpected(results[0].error());
}

std::unexpected<Error> design_document_conflict() {
  return fail(ErrorCode::conflict, "Encountered a conflict while saving the design document.", "error_saving_ddoc");
}

Task<Expected<Reply>> create_index(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  const auto parse = [&call]() -> Expected<query::CreateIndexRequest> {
    OCTAVO_TRY(const auto body, query::parse_json(call.request.body, query::LargeIntegers::exact));
    return query::parse_create_index(body);
  };
  OCTAVO_CO_TRY(const auto request, co_await work_on_body(call, parse));
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    OCTAVO_CO_TRY(const auto design, read_design_document(*call.database, request.design_document));
    OCTAVO_CO_TRY(auto edited, query::add_index_to_design_document(request, design.body, call.database->partitioned()));
    json::object reply{{"result", "exists"}, {"id", request.design_document}, {"name", request.name}};
    if (!edited) co_return json_reply(reply);
    const auto take_allowance = [&]() -> Expected<void> {
      query::IndexAllowance allowance(*call.database, call.database_services());
      return allowance.take(request.design_document, *edited);
    };
    OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_patiently(take_allowance));
    OCTAVO_CO_TRY(const auto written, co_await write_design_document(*call.database, request.design_document,
                                                                     design.revision, *std::move(edited)));
    if (!written) continue;
    reply["result"] = "created";
    co_return json_reply(reply);
  }
  co_return design_document_conflict();
}

/// Removes one index of a design document, or all without a name. Error: not_found if the index does not exist.
Task<Expected<void>> remove_index(partitioning::Database& database, std::string id, std::optional<std::string> name,
                                  query::IndexType type) {
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    OCTAVO_CO_TRY(const auto design, read_design_document(database, id));
    if (!design.body) co_return fail(ErrorCode::not_found, "missing");
    OCTAVO_CO_TRY(const auto definitions,
                  query::definitions_from_design_document(id, *design.body, database.partitioned()));
    const auto texts = query::search::text_indexes_of(id, *design.body, database.partitioned());
    const auto is_it = [&](const auto& index) { return !name || index->name == *name; };
    const bool there = (type != query::IndexType::text && std::ranges::any_of(definitions, is_it)) ||
                       (type != query::IndexType::json && std::ranges::any_of(texts, is_it));
    if (!there) co_return fail(ErrorCode::not_found, "missing");
    OCTAVO_CO_TRY(auto edited, query::remove_index_from_design_document(*design.body, name, type));
    OCTAVO_CO_TRY(const auto written, co_await write_design_document(database, id, design.revision, std::move(edited)));
    if (written) co_return Expected<void>{};
  }
  co_return design_document_conflict();
}

Task<Expected<Reply>> delete_index_of(Call& call, std::string id) {
  const bool text = call.path("type") == "text";
  if (!text && call.path("type") != "json") co_return fail(ErrorCode::not_found, "missing");
  const auto type = text ? query::IndexType::text : query::IndexType::json;
  OCTAVO_CO_TRY_VOID(co_await remove_index(*call.database, std::move(id), call.path("name"), type));
  co_return json_reply(json::object{{"ok", true}});
}

Task<Expected<Reply>> delete_index(Call& call) {
  return delete_index_of(call, with_design_prefix(call.path("ddoc")));
}

Task<Expected<Reply>> delete_index_in_two_segments(Call& call) {
  return delete_index_of(call, std::string(design_prefix) + call.path("ddoc"));
}

Task<Expected<Reply>> delete_indexes(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  const auto* ids = body.if_contains("docids");
  if (!ids) co_return fail(ErrorCode::bad_request, "Missing required key: docids", "missing_required_key");
  const auto is_id = [](const json::value& id) { return id.is_string() && !id.get_string().empty(); };
  if (!ids->is_array() || !std::ranges::all_of(ids->get_array(), is_id)) {
    co_return fail(ErrorCode::bad_request,
                   "Bulk Delete requires an array of non-null docids. Docids: " + json::serialize(*ids),
                   "invalid_bulk_docs");
  }
  for (const auto& member : body) {
    if (member.key() == "docids" || member.key() == "w") continue;
    co_return fail(ErrorCode::bad_request, "Invalid key " + std::string(member.key()) + " for this request.",
                   "invalid_key");
  }
  json::array success;
  json::array failures;
  for (const auto& id : ids->get_array()) {
    std::string design = with_design_prefix(id.get_string());
    auto removed = co_await remove_index(*call.database, design, std::nullopt, query::IndexType::any);
    if (removed) {
      success.push_back(json::object{{"id", design}, {"ok", true}});
    } else {
      failures.push_back(json::object{{"id", design}, {"error", error_word(removed.error())}});
    }
  }
  co_return json_reply(json::object{{"success", std::move(success)}, {"fail", std::move(failures)}});
}

Task<Expected<Reply>> list_indexes(Call& call) {
  if (is_system_database(*call.database)) OCTAVO_CO_TRY_VOID(check_system_listing(call, "_index"));
  const auto bad_parameters = [] {
    return error_reply(500, "invalid_list_index_params", "Index parameter ranges: limit > 1, skip > 0");
  };
  OCTAVO_CO_TRY(auto* const services, query::required(call.database_services()));
  OCTAVO_CO_TRY(const auto catalog, services->indexes().catalog());
  OCTAVO_CO_TRY(const auto followers, services->feed_indexes().catalog());
  std::vector<json::object> shown{query::primary_index_to_json()};
  for (const auto& index : catalog->indexes) shown.push_back(index.definition->to_json());
  for (const auto& index : query::search::text_indexes_in(*followers)) shown.push_back(index->to_json());
  const auto total = static_cast<std::int64_t>(shown.size());
  std::int64_t limit = total;
  std::int64_t skip = 0;
  if (const auto text = call.request.parameter("limit")) {
    const auto number = parse_integer(*text);
    if (!number || *number < 1) co_return bad_parameters();
    limit = *number;
  }
  if (const auto text = call.request.parameter("skip")) {
    const auto number = parse_integer(*text);
    if (!number || *number < 0) co_return bad_parameters();
    skip = *number;
  }
  json::array indexes;
  for (std::int64_t i = skip; i < total && i - skip < limit; ++i) {
    indexes.push_back(std::move(shown[static_cast<std::size_t>(i)]));
  }
  co_return json_reply(json::object{{"total_rows", total}, {"indexes", std::move(indexes)}});
}

}  // namespace

void add_index_routes(RouteList& routes) {
  routes.push_back({Method::get, "/{db}/_index", Access::database_member, list_indexes});
  routes.push_back({Method::post, "/{db}/_index", Access::database_admin, create_index});
  routes.push_back({Method::post, "/{db}/_index/_bulk_delete", Access::database_admin, delete_indexes});
  routes.push_back({Method::del, "/{db}/_index/{ddoc}/{type}/{name}", Access::database_admin, delete_index});
  routes.push_back(
      {Method::del, "/{db}/_index/_design/{ddoc}/{type}/{name}", Access::database_admin, delete_index_in_two_segments});
}

}  // namespace octavo::api::couch
