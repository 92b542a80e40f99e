#include "api/couch/auth/users_database.h"

#include <algorithm>

#include <boost/json.hpp>

#include "api/couch/auth/authenticator.h"
#include "api/couch/auth/security.h"
#include "api/couch/auth/stored_password.h"
#include "base/digest.h"
#include "base/json_writer.h"
#include "query/json/parsed_document.h"
#include "query/json/split.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;

constexpr std::size_t password_bytes_max = 16 * 1024;

std::unexpected<Error> forbidden(std::string reason) {
  return fail(ErrorCode::forbidden, std::move(reason));
}

bool is_admin(const Call& call) {
  return is_database_admin(call.user, *call.database, call.services.authenticator.has_admins());
}

/// The name in a user document's id; empty for other ids.
std::string_view name_in_id(std::string_view id) {
  return id.starts_with(user_id_prefix) ? id.substr(user_id_prefix.size()) : std::string_view();
}

bool is_own_document(const UserContext& user, std::string_view id) {
  return !user.name.empty() && name_in_id(id) == user.name;
}

/// The stored document; nullopt if it does not exist or is deleted.
Expected<std::optional<json::object>> stored_document(const partitioning::Database& database, std::string_view id) {
  OCTAVO_TRY(const auto snapshot, database.snapshot_for_document(id));
  OCTAVO_TRY(const auto document, snapshot.find(id));
  if (!document || document->deleted) return std::nullopt;
  OCTAVO_TRY(auto value, query::parse_json(document->body));
  if (!value.is_object()) return std::nullopt;
  return std::move(value.as_object());
}

const json::value* member(const json::object& object, std::string_view name) {
  return object.if_contains({name.data(), name.size()});
}

std::optional<std::string_view> user_text_member(const json::object& object, std::string_view name) {
  const auto* value = member(object, name);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string_view(value->get_string());
}

/// JavaScript's truthiness: CouchDB's rules were first written in JavaScript.
bool truthy(const json::value* value) {
  if (value == nullptr || value->is_null()) return false;
  if (value->is_bool()) return value->get_bool();
  if (value->is_string()) return !value->get_string().empty();
  if (value->is_number()) return value->to_number<double>() != 0;
  return true;
}

bool has_new_password(const json::object& document) {
  const auto* password = member(document, "password");
  return password != nullptr && !password->is_null();
}

/// The sorted `roles`. Error forbidden unless `roles` exists and is a list of strings.
Expected<std::vector<std::string>> roles_of(const json::object& document) {
  const auto* roles = member(document, "roles");
  if (!truthy(roles)) return forbidden("doc.roles must exist");
  if (!roles->is_array()) return forbidden("doc.roles must be an array");
  std::vector<std::string> sorted;
  for (const auto& role : roles->get_array()) {
    if (!role.is_string()) return forbidden("doc.roles can only contain strings");
    sorted.emplace_back(role.get_string());
  }
  std::ranges::sort(sorted);
  return sorted;
}

Expected<void> check_password_fields(const json::object& document) {
  if (has_new_password(document)) {
    const auto password = user_text_member(document, "password");
    if (!password) return forbidden("The password must be a string.");
    if (password->size() > password_bytes_max) return forbidden("The password is longer than 16 KiB.");
    return {};  // the fields below will be replaced
  }
  if (truthy(member(document, "password_sha")) && !truthy(member(document, "salt"))) {
    return forbidden("Users with password_sha must have a salt.");
  }
  const auto* scheme = member(document, "password_scheme");
  if (!truthy(scheme)) return {};
  const std::string name = scheme->is_string() ? std::string(scheme->get_string()) : json::serialize(*scheme);
  if (name != "simple" && name != "pbkdf2" && name != "simple+pbkdf2") {
    return forbidden("Password scheme `" + name + "` not supported.");
  }
  if (name == "pbkdf2") {
    const auto* iterations = member(document, "iterations");
    if (iterations == nullptr || !iterations->is_number()) return forbidden("iterations must be a number.");
    if (!user_text_member(document, "derived_key")) return forbidden("derived_key must be a string.");
  }
  return {};
}

Expected<void> check_names(std::string_view id, const json::object& document, const std::optional<json::object>& old) {
  if (user_text_member(document, "type") != "user") return forbidden("doc.type must be user");
  const auto name = user_text_member(document, "name");
  if (!name || name->empty()) return forbidden("doc.name is required");
  OCTAVO_TRY_VOID(roles_of(document));
  if (name_in_id(id) != *name) return forbidden("Doc ID must be of the form org.couchdb.user:name");
  if (old && user_text_member(*old, "name") != name) return forbidden("Usernames can not be changed.");
  return {};
}

Expected<void> check_roles(const UserContext& user, bool admin, const json::object& document,
                           const std::optional<json::object>& old) {
  OCTAVO_TRY(const auto roles, roles_of(document));
  if (!admin) {
    if (!old) {
      if (!roles.empty()) return forbidden("Only _admin may set roles");
    } else {
      if (user_text_member(document, "name") != user.name) {
        return forbidden("You may only update your own user document.");
      }
      const auto old_roles = roles_of(*old).value_or(std::vector<std::string>());
      if (roles != old_roles) return forbidden("Only _admin may edit roles");
    }
  }
  for (const std::string& role : roles) {
    if (role.starts_with('_') && role != "_metrics") {
      return forbidden("No system roles (starting with underscore) in users db.");
    }
  }
  return {};
}

Expected<void> check_deletion(const UserContext& user, bool admin, const std::optional<json::object>& old) {
  if (admin) return {};
  if (old && !user.name.empty() && user_text_member(*old, "name") == user.name) return {};
  return forbidden("Only admins may delete other user docs.");
}

Expected<void> validate(const UserContext& user, bool admin, std::string_view id, bool deleted,
                        const json::object& document, const std::optional<json::object>& old) {
  if (deleted) return check_deletion(user, admin, old);
  OCTAVO_TRY_VOID(check_names(id, document, old));
  OCTAVO_TRY_VOID(check_password_fields(document));
  OCTAVO_TRY_VOID(check_roles(user, admin, document, old));
  const std::string_view name = name_in_id(id);
  if (name.starts_with('_')) return forbidden("Username may not start with underscore.");
  if (name.contains(':')) return forbidden("Character `:` is not allowed in usernames.");
  return {};
}

/// The same members with unchanged source text, but with the password replaced by its hash.
Expected<std::string> with_stored_password(std::string_view body, const StoredPassword* stored) {
  constexpr std::array replaced{"password",   "password_scheme", "password_sha", "pbkdf2_prf",
                                "iterations", "derived_key",     "salt"};
  OCTAVO_TRY(const auto members, query::split_object(body));
  std::string out = "{";
  for (const auto& field : members) {
    if (std::ranges::find(replaced, field.name) != replaced.end()) continue;
    append_json_key(out, field.name);
    out += field.raw;
  }
  if (stored != nullptr) {
    const auto append_text = [&](std::string_view name, std::string_view value) {
      append_json_key(out, name);
      append_json_string(out, value);
    };
    append_text("password_scheme", "pbkdf2");
    append_text("pbkdf2_prf", crypto::digest_name(stored->digest));
    append_text("salt", stored->salt);
    append_json_key(out, "iterations");
    append_json_number(out, stored->iterations);
    append_text("derived_key", stored->derived_key);
  }
  out += '}';
  return out;
}

}  // namespace

bool is_users_database(const partitioning::Database& database) {
  return database.name() == users_database;
}

bool is_replicator_database(const partitioning::Database& database) {
  return database.name() == replicator_database;
}

bool is_system_database(const partitioning::Database& database) {
  return is_users_database(database) || is_replicator_database(database);
}

Expected<void> ensure_system_databases(partitioning::Engine& engine) {
  for (const std::string_view name : {users_database, replicator_database}) {
    const auto known = engine.open_database(name);
    if (known) continue;
    if (known.error().code != ErrorCode::not_found) return std::unexpected(known.error());
    auto created = engine.create_database(name, {});
    if (!created && created.error().code != ErrorCode::precondition_failed) {
      return std::unexpected(std::move(created).error());
    }
  }
  return {};
}

Task<Expected<std::string>> prepare_user_document(Call& call, std::string_view id, bool deleted, std::string body) {
  const bool admin = is_admin(call);
  if (storage::is_design_id(id)) {
    if (!admin) co_return forbidden("You are not a db or server admin.");
    co_return body;
  }
  // Anonymous users may register themselves if `_security` admits them; a user must not learn which other users exist.
  if (!admin && !call.user.name.empty() && !is_own_document(call.user, id)) co_return fail(ErrorCode::not_found, "");

  OCTAVO_CO_TRY(const auto old, stored_document(*call.database, id));
  OCTAVO_CO_TRY(const auto document, query::parse_json(body));
  if (!document.is_object()) co_return fail(ErrorCode::bad_request, "Document must be a JSON object");
  OCTAVO_CO_TRY_VOID(validate(call.user, admin, id, deleted, document.get_object(), old));

  if (!has_new_password(document.get_object())) co_return body;
  if (deleted) co_return with_stored_password(body, nullptr);
  const std::uint32_t iterations = call.services.settings.pbkdf2_iterations;
  auto make = [password = std::string(document.get_object().at("password").get_string()), iterations] {
    return StoredPassword::make(password, iterations);
  };
  const StoredPassword stored = co_await call.services.engine.workers().run_blocking(std::move(make));
  co_return with_stored_password(body, &stored);
}

Expected<void> check_user_document_read(const Call& call, std::string_view id) {
  if (is_own_document(call.user, id) || is_admin(call)) return {};
  if (storage::is_design_id(id)) return forbidden("Only administrators can view design docs in the users database.");
  return fail(ErrorCode::not_found, "");
}

Expected<void> check_system_listing(const Call& call, std::string_view endpoint) {
  if (is_admin(call)) return {};
  return forbidden("Only admins can access " + std::string(endpoint) + " of system databases.");
}

}  // namespace octavo::api::couch
