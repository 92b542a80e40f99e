#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/reply.h"
#include "api/http/request.h"
#include "partitioning/engine.h"

namespace octavo::analytics {
class Analytics;
}
namespace octavo::partitioning {
class ServerBackup;
}
namespace octavo::query {
class ActiveTasks;
class DatabaseServices;
}  // namespace octavo::query
namespace octavo::api {
class HttpMetrics;
namespace cosmos {
class CosmosDatabases;
}
}  // namespace octavo::api

namespace octavo::api::couch {

class Authenticator;

/// The user who sent the request. An empty name means anonymous. On a server without admins ("admin party", loopback
/// only) every user has the role `_admin`.
struct UserContext {
  std::string name;
  std::vector<std::string> roles;
  std::string_view method;  ///< "default", "cookie", "proxy", "jwt", or "" for anonymous: `authenticated` in /_session
  bool has_role(std::string_view role) const;
  bool is_server_admin() const { return has_role("_admin"); }
};

/// The services that every handler may use. They live as long as the server. `settings` are those in effect when the
/// request began.
struct Services {
  partitioning::Engine& engine;
  Authenticator& authenticator;
  HttpMetrics& metrics;
  const config::Settings& settings;
  analytics::Analytics* analytics = nullptr;   ///< analytics/analytics.h; null: the engine was opened without
  query::ActiveTasks* active_tasks = nullptr;  ///< background tasks, for /_active_tasks (query/follow/active_tasks.h)
  cosmos::CosmosDatabases* cosmos_databases =
      nullptr;                                   ///< api/models/cosmos_databases.h; null: there are no containers
  partitioning::ServerBackup* backup = nullptr;  ///< partitioning/backup/server_backup.h; null: backups are refused
};

/// One request to the CouchDB API while it is handled.
struct Call {
  Request& request;
  Services& services;
  UserContext user;
  std::shared_ptr<partitioning::Database> database;  ///< set if the route names `{db}`, except for its creation
  std::vector<std::pair<std::string_view, std::string>> path_parameters;
  double request_charge =
      0;  ///< request units so far (partitioning/throughput/request_charge.h); 0: unknown, not shown
  std::optional<Gate::Pass> pass = std::nullopt;  ///< set if the route changes what is in the database

  /// What the query layer keeps for `database`: indexes, functions (query/database/database_services.h). Null if the
  /// engine was opened without it.
  query::DatabaseServices* database_services() const;

  /// The logical partition that a request reads; nullopt without a key: it reads the whole database. Refers to
  /// `partition_key`.
  std::optional<partitioning::DocumentTarget> scope_of(const std::optional<std::string>& partition_key) const;

  /// Adds `units` to the charge shown in the reply, and spends them from the budget of the physical partition that
  /// contains the document or the logical partition, or evenly from all budgets if `scope` is nullopt.
  void charge(const partitioning::DocumentTarget& target, double units);
  void charge_scan(const std::optional<partitioning::DocumentTarget>& scope, double units);

  /// Value of `{name}` in the route's pattern, percent-decoded. Must exist.
  const std::string& path(std::string_view name) const;
};

/// The permission that a route requires; it is checked before the handler runs. As in CouchDB, a refused anonymous user
/// gets 401, a known user 403. Members may read and write, unless the database has Cloudant's permissions: those tell
/// readers from writers, and from replicators, who may write checkpoints.
enum class Access : std::uint8_t {
  anyone,
  user,
  server_admin,
  database_member,
  database_writer,
  database_replicator,
  database_admin
};

/// Handlers are plain functions: parse → call the engine → render. Errors are returned as values.
using CouchHandler = Task<Expected<Reply>> (*)(Call& call);

struct Route {
  Method method;  ///< the route of GET also serves HEAD
  /// For example "/{db}/_partition/{partition}/_find" or "/{db}/{docid}". Literal segments take precedence over
  /// parameters.
  std::string_view pattern;
  Access access;
  CouchHandler handler;
};

/// The sources of a folder add their routes, by functions that its headers declare; all_routes() (couch_api.h) collects
/// them.
using RouteList = std::vector<Route>;

}  // namespace octavo::api::couch
