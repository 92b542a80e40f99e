// /dbs/{db}/users and …/users/{user}/permissions: users, and the permissions that resource tokens are made from.
// /dbs/{db}/clientencryptionkeys: wrapped keys, with which clients encrypt properties of items.
#include <algorithm>
#include <charconv>

#include <boost/json.hpp>

#include "api/cosmos/call/authorization.h"
#include "api/cosmos/call/feed_page.h"
#include "api/cosmos/resources/registry.h"
#include "api/cosmos/resources/resource_handlers.h"
#include "api/cosmos/resources/resource_query.h"
#include "api/cosmos/resources/user_records.h"
#include "api/models/errors.h"
#include "api/models/resource_id.h"
#include "base/unix_time.h"
#include "query/json/parsed_document.h"

namespace octavo::api::cosmos {

namespace {

namespace json = boost::json;

constexpr std::int64_t token_lifetime_default_s = 3600;  // Azure Cosmos DB service limits
constexpr std::int64_t token_lifetime_max_s = 18'000;
constexpr std::string_view databases_part = "dbs/";
constexpr std::string_view given_link = "given";  // in a stored permission
constexpr std::string_view containers_part = "/colls/";

bool is_permission(const Call& call) {
  return call.path.resource == Resource::permission;
}

bool is_encryption_key(const Call& call) {
  return call.path.resource == Resource::encryption_key;
}

std::string_view area_of(const Call& call) {
  return is_permission(call) ? permission_area : is_encryption_key(call) ? encryption_key_area : user_area;
}

// The name of the list in replies.
std::string_view feed_name(const Call& call) {
  return is_permission(call) ? "Permissions" : is_encryption_key(call) ? "ClientEncryptionKeys" : "Users";
}

// The common prefix of the catalog names of a feed's resources.
std::string name_prefix(const Call& call) {
  return is_permission(call) ? call.path.database + '/' + call.path.owner + '/' : call.path.database + '/';
}

Expected<std::int64_t> token_lifetime_s(const Request& request) {
  const auto header = request.header("x-ms-documentdb-expiry-seconds");
  if (!header || header->empty()) return token_lifetime_default_s;
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(header->data(), header->data() + header->size(), seconds);
  if (error != std::errc{} || end != header->data() + header->size() || seconds < 10 ||
      seconds > token_lifetime_max_s) {
    return fail(ErrorCode::bad_request, "x-ms-documentdb-expiry-seconds must be a number from 10 to 18000.");
  }
  return seconds;
}

// The resource for a reply: the stored one and, for a permission, a new token.
Expected<std::string> shown(const Call& call, std::string_view text) {
  OCTAVO_TRY(const auto stored, query::parse_json(text));
  json::object resource = stored.get_object();
  if (is_permission(call)) {
    OCTAVO_TRY(const auto lifetime_s, token_lifetime_s(call.request));
    const std::int64_t until_s = unix_now_s() + lifetime_s;
    std::string key;
    if (const auto* value = resource.if_contains("resourcePartitionKey")) key = json::serialize(*value);
    resource["_token"] = call.services.authorization.resource_token(
        query::text_member(resource, "_rid"), query::text_member(resource, "permissionMode"),
        query::text_member(resource, "resource"), key, until_s);
    if (const auto* given = resource.if_contains(given_link)) {
      resource["resource"] = *given;
      resource.erase(given_link);
    }
  }
  return json::serialize(resource);
}

// Converts a link with resource ids (`_rid`), which clients copy from `_self`, to a link with names.
// Errors: bad_request.
Expected<std::string> named_link(const Registry& registry, const std::string& link) {
  const std::string_view text = link;
  const std::size_t containers = text.find(containers_part, databases_part.size());
  const std::string_view database = text.substr(0, containers).substr(databases_part.size());
  const std::string_view inside = text.substr(containers + containers_part.size());
  const std::string_view container = inside.substr(0, inside.find('/'));
  const auto database_rid = parse_rid(database);
  const auto container_rid = parse_rid(container);
  if (!database_rid || !container_rid || database_rid->size() != 4 || container_rid->size() != 8) return link;
  OCTAVO_TRY(const auto by_name, registry.database(database));
  if (by_name) return link;
  OCTAVO_TRY(const auto owners, registry.databases("", SIZE_MAX));
  const auto owner = std::ranges::find(owners, *database_rid, &DatabaseDefinition::rid);
  if (owner == owners.end()) return link;
  OCTAVO_TRY(const auto others, registry.containers(owner->id, "", SIZE_MAX));
  const auto found = std::ranges::find(others, *container_rid, &ContainerDefinition::rid);
  if (found == others.end()) return link;
  const std::string_view rest = inside.substr(container.size());
  constexpr std::string_view items_part = "/docs/";
  const bool is_item = rest.starts_with(items_part) && is_resource_id(rest.substr(items_part.size()), inner_rid_bytes);
  if (!rest.empty() && !is_item) {
    return fail(ErrorCode::bad_request,
                "'resource' must name a function of a container by its id: "
                "dbs/{db}/colls/{container}/sprocs/{id}");
  }
  // An item keeps its resource id: its name cannot be computed from it. Authorization compares it the other way round.
  return std::string(databases_part) + owner->id + std::string(containers_part) + found->id + std::string(rest);
}

Expected<json::object> checked_permission(const Registry& registry, const json::object& body) {
  json::object permission;
  const std::string mode = query::text_member(body, "permissionMode");
  if (mode != "All" && mode != "Read" && mode != "all" && mode != "read") {
    return fail(ErrorCode::bad_request, "permissionMode must be \"All\" or \"Read\".");
  }
  std::string resource = query::text_member(body, "resource");
  while (resource.starts_with('/')) resource.erase(0, 1);
  while (resource.ends_with('/')) resource.pop_back();
  if (!resource.starts_with(databases_part) ||
      resource.find(containers_part, databases_part.size()) == std::string::npos) {
    return fail(ErrorCode::bad_request,
                "'resource' must be the link of a container or of something in it: "
                "dbs/{db}/colls/{container}");
  }
  permission["permissionMode"] = mode;  // as it was sent: clients compare it
  OCTAVO_TRY(const auto named, named_link(registry, resource));
  permission["resource"] = named;
  // Clients look for the token of a request by the link that they gave.
  if (named != resource) permission[given_link] = query::text_member(body, "resource");
  if (const auto* key = body.if_contains("resourcePartitionKey"); key != nullptr && !key->is_null()) {
    if (!key->is_array()) return fail(ErrorCode::bad_request, "resourcePartitionKey must be an array of values.");
    permission["resourcePartitionKey"] = *key;
  }
  return permission;
}

// The server never sees the key itself: it stores what the client has wrapped.
Expected<json::object> checked_encryption_key(const json::object& body) {
  json::object key;
  for (const std::string_view name : {"encryptionAlgorithm", "wrappedDataEncryptionKey"}) {
    const std::string text = query::text_member(body, name);
    if (text.empty()) return fail(ErrorCode::bad_request, "'" + std::string(name) + "' must be a string.");
    key[name] = text;
  }
  const auto* metadata = body.if_contains("keyWrapMetadata");
  if (metadata == nullptr || !metadata->is_object()) {
    return fail(ErrorCode::bad_request, "'keyWrapMetadata' must be an object.");
  }
  key["keyWrapMetadata"] = *metadata;
  return key;
}

// The `_etag` of a stored resource, with its quotes.
Expected<std::string> etag_in(std::string_view text) {
  OCTAVO_TRY(const auto value, query::parse_json(text));
  return query::text_member(value.get_object(), "_etag");
}

Expected<void> check_stored_etag(const Call& call, std::string_view stored) {
  const auto wanted = etag_of(call.request);
  if (!wanted) return {};
  OCTAVO_TRY(const auto etag, etag_in(stored));
  if (etag != '"' + *wanted + '"') return fail(ErrorCode::precondition_failed, "", word::etag);
  return {};
}

struct Stored {
  std::string text;
  std::string etag;
  bool created = true;
};

/// The owner of users or permissions: a database, or a user.
struct Owner {
  std::string rid;  ///< bytes
  std::string link;
};

Expected<Owner> find_owner(Call& call) {
  const auto no_owner = [] {
    return fail(ErrorCode::not_found, "Owner resource does not exist.", word::owner_missing);
  };
  OCTAVO_TRY(const auto database, call.services.registry.database(call.path.database));
  if (!database) return no_owner();
  if (!is_permission(call)) return Owner{database->rid, database->self_link()};
  auto& catalog = call.services.engine.catalog();
  OCTAVO_TRY(const auto user, catalog.fact(user_area, call.path.database + '/' + call.path.owner));
  if (!user) return no_owner();
  OCTAVO_TRY(const auto value, query::parse_json(*user));
  return Owner{parse_rid(query::text_member(value.get_object(), "_rid")).value_or(""),
               query::text_member(value.get_object(), "_self")};
}

// Runs on a worker. `replaces`: the id in the path; nullopt: a creation or an upsert.
Expected<Stored> store(Call& call, const json::object& body, const std::optional<std::string>& replaces, bool upsert) {
  // Serialised: of two requests that create one resource, the second must find the first's. Otherwise a token could
  // exist that cannot be revoked.
  const auto changes = call.services.registry.hold_changes();
  auto& catalog = call.services.engine.catalog();
  OCTAVO_TRY(const auto id, id_of(body));
  OCTAVO_TRY(const auto owner, find_owner(call));
  const std::string name = name_prefix(call) + id;
  const std::string name_before = replaces ? name_prefix(call) + *replaces : name;
  if (name.size() > user_record_name_bytes_max) return fail(ErrorCode::bad_request, "The input name is too long.");
  OCTAVO_TRY(const auto before, catalog.fact(area_of(call), name_before));
  if (replaces && !before) return fail(ErrorCode::not_found, "");
  if (!replaces && before && !upsert) return fail(ErrorCode::conflict, "", word::exists);
  if (before) OCTAVO_TRY_VOID(check_stored_etag(call, *before));
  std::string rid = before ? rid_in(*before)
                           : show_rid(is_permission(call) ? new_permission_rid(owner.rid) : new_user_rid(owner.rid));
  if (name != name_before && is_encryption_key(call)) {
    return fail(ErrorCode::bad_request, "The id of a client encryption key cannot be changed.");
  }
  if (name != name_before) {
    OCTAVO_TRY(const auto other, catalog.fact(area_of(call), name));
    if (other && rid_in(*other) != rid) return fail(ErrorCode::conflict, "", word::exists);
  }

  json::object resource;
  if (is_permission(call)) {
    OCTAVO_TRY(resource, checked_permission(call.services.registry, body));
  } else if (is_encryption_key(call)) {
    OCTAVO_TRY(resource, checked_encryption_key(body));
  }
  const std::string etag = new_etag();
  resource["id"] = id;
  resource["_rid"] = rid;
  resource["_self"] = owner.link + std::string(call.path.signed_type) + "/" + rid + "/";
  resource["_etag"] = '"' + etag + '"';
  resource["_ts"] = unix_now_s();
  if (call.path.resource == Resource::user) resource["_permissions"] = "permissions/";
  std::string text = json::serialize(resource);
  if (name != name_before) {
    OCTAVO_TRY_VOID(is_permission(call) ? rename_permission(catalog, name_before, name, text)
                                        : rename_user(catalog, name_before, name, text));
    return Stored{std::move(text), etag, false};
  }
  if (is_permission(call)) OCTAVO_TRY_VOID(catalog.set_fact(permission_rid_area, rid, name));
  OCTAVO_TRY_VOID(catalog.set_fact(area_of(call), name, text));
  return Stored{std::move(text), etag, !before};
}

Expected<void> remove(Call& call) {
  const auto changes = call.services.registry.hold_changes();
  auto& catalog = call.services.engine.catalog();
  const std::string name = name_prefix(call) + call.path.id;
  OCTAVO_TRY(const auto before, catalog.fact(area_of(call), name));
  if (!before) return fail(ErrorCode::not_found, "");
  OCTAVO_TRY_VOID(check_stored_etag(call, *before));
  return is_permission(call) ? erase_permission(catalog, name, *before) : erase_user(catalog, name);
}

struct Found {
  std::string owner_rid;  ///< in base64
  ResourceList resources;
};

// Runs on a worker.
Expected<Found> find_all(Call& call) {
  OCTAVO_TRY(const auto owner, find_owner(call));
  Found found{show_rid(owner.rid), {}};
  const std::string prefix = name_prefix(call);
  OCTAVO_TRY(const auto all, call.services.engine.catalog().facts(area_of(call)));
  for (const auto& [name, text] : all) {
    if (!name.starts_with(prefix)) continue;
    OCTAVO_TRY(auto item, shown(call, text));
    found.resources.emplace_back(name.substr(prefix.size()), std::move(item));
  }
  return found;
}

Handled list(Call& call, bool queries) {
  OCTAVO_CO_TRY(auto found, co_await call.services.engine.workers().run_blocking([&] { return find_all(call); }));
  const std::string_view feed = feed_name(call);
  if (queries) co_return co_await query_resources(call, found.owner_rid, feed, std::move(found.resources));
  co_return feed_page(call.request, found.owner_rid, feed, std::move(found.resources));
}

}  // namespace

Handled serve_users(Call& call) {
  const Method method = call.request.method;
  auto& engine = call.services.engine;
  const bool reads = method == Method::get || method == Method::head;
  const bool queries = method == Method::post && is_query(call.request);
  if (call.path.feed && (reads || queries)) co_return co_await list(call, queries);
  const bool replaces = !call.path.feed && method == Method::put;
  if (replaces || (call.path.feed && method == Method::post)) {
    OCTAVO_CO_TRY(const auto body, json_body(call.request));
    OCTAVO_CO_TRY(const auto stored, co_await engine.workers().run_blocking([&] {
      return store(call, body, replaces ? std::optional(call.path.id) : std::nullopt,
                   call.flag("x-ms-documentdb-is-upsert"));
    }));
    OCTAVO_CO_TRY(auto text, shown(call, stored.text));
    co_return resource_reply(stored.created ? 201 : 200, std::move(text), stored.etag);
  }
  if (call.path.feed) co_return method_not_allowed();
  // Without its key, what was encrypted is lost: Azure Cosmos DB deletes none either.
  if (method == Method::del && !is_encryption_key(call)) {
    OCTAVO_CO_TRY_VOID(co_await engine.workers().run_blocking([&] { return remove(call); }));
    Reply reply;
    reply.status = 204;
    reply.content_type = {};
    co_return reply;
  }
  if (!reads) co_return method_not_allowed();
  OCTAVO_CO_TRY(const auto found, co_await engine.workers().run_blocking([&] {
    return engine.catalog().fact(area_of(call), name_prefix(call) + call.path.id);
  }));
  if (!found) co_return fail(ErrorCode::not_found, "");
  OCTAVO_CO_TRY(auto text, shown(call, *found));
  OCTAVO_CO_TRY(const auto quoted, etag_in(*found));
  const std::string_view etag = quoted;
  co_return resource_reply(200, std::move(text), etag.size() > 2 ? etag.substr(1, etag.size() - 2) : "");
}

}  // namespace octavo::api::cosmos
