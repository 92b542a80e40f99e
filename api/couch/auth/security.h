#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
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

/// What Cloudant's `_security` permits a user: `_reader`, `_writer`, `_replicator`, `_design`, `_admin`.
struct CloudantPermissions {
  bool read = false;
  bool write = false;
  bool replicate = false;
  bool write_designs = false;
  bool administer = false;
};

/// A database's `_security`, parsed. Immutable.
struct SecurityObject {
  SecurityList admins;
  SecurityList members;
  /// Cloudant's permissions by user name; everyone has those of `nobody`. If they are present, an empty list of members
  /// admits no user.
  std::optional<std::map<std::string, CloudantPermissions, std::less<>>> cloudant = std::nullopt;

  bool is_admin(const UserContext& user) const {
    return user.is_server_admin() || admins.admits(user) || permits(user, &CloudantPermissions::administer);
  }
  bool is_member(const UserContext& user) const {
    return is_listed_member(user) || permits(user, &CloudantPermissions::read);
  }
  bool may_write(const UserContext& user) const {
    return is_listed_member(user) || permits(user, &CloudantPermissions::write);
  }
  bool may_write_checkpoints(const UserContext& user) const {
    return may_write(user) || permits(user, &CloudantPermissions::replicate);
  }
  bool may_write_designs(const UserContext& user) const {
    return is_admin(user) || permits(user, &CloudantPermissions::write_designs);
  }

 private:
  bool is_listed_member(const UserContext& user) const {
    return (!cloudant && members.empty()) || members.admits(user) || is_admin(user);
  }
  bool permits(const UserContext& user, bool CloudantPermissions::* permission) const;
};

/// Validates and parses a security object by CouchDB's rules. The member `cloudant` counts unless `couchdb_auth_only`
/// is true. Error bad_request with CouchDB's text.
Expected<SecurityObject> parse_security(std::string_view json);

/// The security object that applies to `database`, parsed once per change. Thread-safe; a cache hit takes no lock.
std::shared_ptr<const SecurityObject> effective_security(const partitioning::Database& database,
                                                         bool server_has_admins);

/// The security object of a database for which none was set.
std::string_view default_security_json(bool server_has_admins);

/// True for server admins and for admins named by the database's security object.
bool is_database_admin(const UserContext& user, const partitioning::Database& database, bool server_has_admins);
/// The same, and users with Cloudant's permission `_design`.
bool may_write_designs(const UserContext& user, const partitioning::Database& database, bool server_has_admins);

/// A second database that a request names, as `what` ("target"), for an administrator of it: what is copied there, or
/// from there, gets other readers. Errors: not_found with the word `missing`; forbidden; those of opening it.
Expected<std::shared_ptr<partitioning::Database>> open_administered(const Call& call, const std::string& name,
                                                                    std::string_view what, std::string_view missing);

/// Handlers of `/{db}/_security`, which Cloudant also has under another path.
Task<Expected<Reply>> get_security(Call& call);
Task<Expected<Reply>> put_security(Call& call);

void add_security_routes(RouteList& routes);  ///< /{db}/_security

}  // namespace octavo::api::couch
