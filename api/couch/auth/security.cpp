#include "api/couch/auth/security.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include <fmt/format.h>

#include "api/couch/auth/authenticator.h"
#include "api/couch/call/errors.h"
#include "partitioning/engine.h"
#include "query/json/normalize.h"
#include "query/json/parsed_document.h"

namespace octavo::api::couch {

namespace {

constexpr std::size_t security_bytes_max = 1024 * 1024;
constexpr std::string_view admins_only_json = R"({"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}})";

Expected<std::vector<std::string>> read_strings(const boost::json::object& object, std::string_view name) {
  std::vector<std::string> strings;
  const auto* value = object.if_contains({name.data(), name.size()});
  if (value == nullptr) return strings;
  const auto wrong = [&] {
    return fail(ErrorCode::bad_request, std::string(name) + " must be a JSON list of strings");
  };
  if (!value->is_array()) return wrong();
  for (const auto& element : value->get_array()) {
    if (!element.is_string()) return wrong();
    strings.emplace_back(element.get_string());
  }
  std::ranges::sort(strings);
  return strings;
}

Expected<SecurityList> read_list(const boost::json::value* value) {
  SecurityList list;
  if (value == nullptr) return list;
  if (!value->is_object()) {
    return fail(ErrorCode::bad_request, "admins or members must be a JSON list of strings");
  }
  OCTAVO_TRY(list.names, read_strings(value->get_object(), "names"));
  OCTAVO_TRY(list.roles, read_strings(value->get_object(), "roles"));
  return list;
}

struct NamedPermission {
  std::string_view name;
  bool CloudantPermissions::* member;  ///< null: has no meaning here
};
constexpr std::array named_permissions{NamedPermission{"_reader", &CloudantPermissions::read},
                                       NamedPermission{"_writer", &CloudantPermissions::write},
                                       NamedPermission{"_replicator", &CloudantPermissions::replicate},
                                       NamedPermission{"_design", &CloudantPermissions::write_designs},
                                       NamedPermission{"_admin", &CloudantPermissions::administer},
                                       NamedPermission{"_db_updates", nullptr},
                                       NamedPermission{"_security", nullptr},
                                       NamedPermission{"_shards", nullptr}};

Expected<CloudantPermissions> read_permissions(std::string_view user, const boost::json::value& list) {
  CloudantPermissions permissions;
  if (!list.is_array()) {
    return fail(ErrorCode::bad_request,
                "The permissions of `" + std::string(user) + "` must be a JSON list of strings");
  }
  for (const auto& element : list.get_array()) {
    const std::string_view name = element.is_string() ? std::string_view(element.get_string()) : std::string_view();
    const auto* known = std::ranges::find(named_permissions, name, &NamedPermission::name);
    if (known == named_permissions.end()) {
      return fail(ErrorCode::bad_request, "`" + std::string(user) +
                                              "` has an unknown permission: Cloudant's are _reader, _writer, "
                                              "_replicator, _design, _admin, _db_updates, _security and _shards");
    }
    if (known->member != nullptr) permissions.*(known->member) = true;
  }
  return permissions;
}

Expected<void> read_cloudant(const boost::json::object& object, SecurityObject& security) {
  const auto* permissions = object.if_contains("cloudant");
  if (permissions == nullptr) return {};
  if (!permissions->is_object()) {
    return fail(ErrorCode::bad_request, "cloudant must be a JSON object: user names with lists of permissions");
  }
  auto& by_user = security.cloudant.emplace();
  for (const auto& [user, list] : permissions->get_object()) {
    OCTAVO_TRY(by_user[std::string(user)], read_permissions(user, list));
  }
  const auto* couchdb_only = object.if_contains("couchdb_auth_only");
  if (couchdb_only != nullptr && couchdb_only->is_bool() && couchdb_only->get_bool()) security.cloudant.reset();
  return {};
}

/// The security objects that a thread has parsed. The key is the address of the database's text. The entry owns the
/// text too, so that the address is not reused for another one.
struct ParsedSecurities {
  struct Entry {
    std::shared_ptr<const std::string> text;
    std::shared_ptr<const SecurityObject> parsed;
  };
  static constexpr std::size_t entries_max = 1024;
  std::unordered_map<const std::string*, Entry> entries;
};

std::shared_ptr<const SecurityObject> parsed_security(std::shared_ptr<const std::string> text) {
  thread_local ParsedSecurities cache;
  if (const auto found = cache.entries.find(text.get()); found != cache.entries.end()) return found->second.parsed;
  auto parsed = parse_security(*text);
  // Stored text was checked when it was set. If it is unreadable nevertheless, only server admins have access.
  if (!parsed) parsed = parse_security(admins_only_json);
  auto shared = std::make_shared<const SecurityObject>(std::move(*parsed));
  if (cache.entries.size() >= ParsedSecurities::entries_max) cache.entries.clear();
  const std::string* key = text.get();
  cache.entries.emplace(key, ParsedSecurities::Entry{std::move(text), shared});
  return shared;
}

std::unexpected<Error> refuse(const UserContext& user, std::string_view reason_for_known) {
  if (user.name.empty()) return fail(ErrorCode::unauthorized, "You are not authorized to access this db.");
  return fail(ErrorCode::forbidden, std::string(reason_for_known));
}

}  // namespace

Task<Expected<Reply>> get_security(Call& call) {
  Reply reply;
  if (const auto text = call.database->security()) {
    reply.body = *text;
  } else {
    reply.body = default_security_json(call.services.authenticator.has_admins());
  }
  reply.body += '\n';
  co_return reply;
}

Task<Expected<Reply>> put_security(Call& call) {
  if (call.request.body.size() > security_bytes_max) {
    co_return fail(ErrorCode::too_large, "The security object is larger than 1 MiB.");
  }
  OCTAVO_CO_TRY_VOID(parse_security(call.request.body));
  std::string text;
  OCTAVO_CO_TRY_VOID(query::normalize_value(call.request.body, text));
  auto store = [database = call.database, text = std::move(text)]() mutable {
    return database->set_security(std::move(text));
  };
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking(std::move(store)));
  Reply reply;
  reply.body = "{\"ok\":true}\n";
  co_return reply;
}

bool SecurityList::admits(const UserContext& user) const {
  if (!user.name.empty() && std::ranges::binary_search(names, user.name)) return true;
  return std::ranges::any_of(user.roles,
                             [&](const std::string& role) { return std::ranges::binary_search(roles, role); });
}

bool SecurityObject::permits(const UserContext& user, bool CloudantPermissions::* permission) const {
  if (!cloudant) return false;
  const auto has = [&](std::string_view name) {
    const auto found = cloudant->find(name);
    return found != cloudant->end() && found->second.*permission;
  };
  return has("nobody") || (!user.name.empty() && has(user.name));
}

Expected<SecurityObject> parse_security(std::string_view json) {
  OCTAVO_TRY(const auto value, query::parse_json(json));
  if (!value.is_object()) return fail(ErrorCode::bad_request, "Request body must be a JSON object");
  const auto& object = value.get_object();
  SecurityObject security;
  OCTAVO_TRY(security.admins, read_list(object.if_contains("admins")));
  // `readers` is what members were called in CouchDB 1.0.
  const auto* members = object.if_contains("members");
  OCTAVO_TRY(security.members, read_list(members != nullptr ? members : object.if_contains("readers")));
  OCTAVO_TRY_VOID(read_cloudant(object, security));
  return security;
}

std::shared_ptr<const SecurityObject> effective_security(const partitioning::Database& database,
                                                         bool server_has_admins) {
  if (auto text = database.security()) return parsed_security(std::move(text));
  static const auto everyone = std::make_shared<const SecurityObject>();
  static const auto admins_only =
      std::make_shared<const SecurityObject>(SecurityObject{{{}, {"_admin"}}, {{}, {"_admin"}}, std::nullopt});
  return server_has_admins ? admins_only : everyone;
}

std::string_view default_security_json(bool server_has_admins) {
  return server_has_admins ? std::string_view(admins_only_json) : std::string_view("{}");
}

bool is_database_admin(const UserContext& user, const partitioning::Database& database, bool server_has_admins) {
  return user.is_server_admin() || effective_security(database, server_has_admins)->is_admin(user);
}

bool may_write_designs(const UserContext& user, const partitioning::Database& database, bool server_has_admins) {
  return user.is_server_admin() || effective_security(database, server_has_admins)->may_write_designs(user);
}

Expected<void> check_access(Access access, const UserContext& user, const partitioning::Database* database,
                            bool server_has_admins) {
  if (access == Access::anyone || user.is_server_admin()) return {};
  switch (access) {
    case Access::anyone:
      return {};
    case Access::user:
      if (user.name.empty()) return fail(ErrorCode::unauthorized, "Authentication required.");
      return {};
    case Access::server_admin:
      return fail(ErrorCode::unauthorized, "You are not a server admin.");
    case Access::database_member:
    case Access::database_writer:
    case Access::database_replicator:
    case Access::database_admin:
      break;
  }
  if (database == nullptr) return fail(ErrorCode::internal, "a rule of a database without a database");
  const auto security = effective_security(*database, server_has_admins);
  const bool cloudant = security->cloudant.has_value();
  constexpr std::string_view not_member = "You are not allowed to access this db.";
  switch (access) {
    case Access::database_member:
      if (security->is_member(user)) return {};
      return refuse(user, cloudant ? "_reader access is required for this request" : not_member);
    case Access::database_writer:
      if (security->may_write(user)) return {};
      return refuse(user, cloudant ? "_writer access is required for this request" : not_member);
    case Access::database_replicator:
      if (security->may_write_checkpoints(user)) return {};
      return refuse(user, cloudant ? "_replicator access is required for this request" : not_member);
    case Access::database_admin:
      if (security->is_admin(user)) return {};
      return refuse(user, "You are not a db or server admin.");
    default:
      break;
  }
  return fail(ErrorCode::internal, "unknown access rule");
}

Expected<std::shared_ptr<partitioning::Database>> open_administered(const Call& call, const std::string& name,
                                                                    std::string_view what, std::string_view missing) {
  auto other = call.services.engine.open_database(name);
  if (!other) {
    if (other.error().code != ErrorCode::not_found) return other;
    return fail(ErrorCode::not_found, fmt::format("The {} {} does not exist: create it first.", what, name), missing);
  }
  if (!is_database_admin(call.user, **other, call.services.authenticator.has_admins())) {
    return fail(ErrorCode::forbidden, fmt::format("You are not an administrator of the {} {}.", what, name));
  }
  return other;
}

void add_security_routes(RouteList& routes) {
  routes.push_back({Method::get, "/{db}/_security", Access::database_member, get_security});
  routes.push_back({Method::put, "/{db}/_security", Access::database_admin, put_security});
}

}  // namespace octavo::api::couch
