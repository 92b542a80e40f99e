#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/couch/call/call.h"
#include "partitioning/database.h"

namespace octavo::api::couch {

/// One of the two lists of a security object. Sorted.
struct SecurityList {
  std::vector<std::string> names;
  std::vector<std::string> roles;
  bool empty() const { return names.empty() && roles.empty(); }
  bool admits(const UserContext& user) const;
};

/// A database's `_security`, parsed. Immutable.
struct SecurityObject {
  SecurityList admins;
  SecurityList members;
  bool is_admin(const UserContext& user) const { return user.is_server_admin() || admins.admits(user); }
  bool is_member(const UserContext& user) const { return members.empty() || members.admits(user) || is_admin(user); }
};

/// Validates and parses a security object by CouchDB's rules. Error bad_request with CouchDB's text.
Expected<SecurityObject> parse_security(std::string_view json);

/// The security object that applies to `database`, parsed once per change. Thread-safe; a cache hit takes no lock.
std::shared_ptr<const SecurityObject> effective_security(const partitioning::Database& database,
                                                         bool server_has_admins);

/// The security object of a database for which none was set.
std::string_view default_security_json(bool server_has_admins);

/// True for server admins and for admins named by the database's security object.
bool is_database_admin(const UserContext& user, const partitioning::Database& database, bool server_has_admins);

void add_security_routes(RouteList& routes);  ///< /{db}/_security

}  // namespace octavo::api::couch
