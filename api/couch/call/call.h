#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/reply.h"
#include "api/http/request.h"
#include "partitioning/engine.h"

namespace octavo::query {
class ActiveTasks;
class DatabaseServices;
}  // namespace octavo::query
namespace octavo::api {
class HttpMetrics;
}

namespace octavo::api::couch {

class Authenticator;

/// The user who sent the request. An empty name means anonymous. On a server without admins ("admin party", loopback
/// only) every user has the role `_admin`.
struct UserContext {
  std::string name;
  std::vector<std::string> roles;
  std::string_view method;  ///< "default", "cookie", "jwt", or "" for anonymous: `authenticated` in /_session
  bool has_role(std::string_view role) const;
  bool is_server_admin() const { return has_role("_admin"); }
};

/// The services that every handler may use. They live as long as the server.
struct Services {
  partitioning::Engine& engine;
  Authenticator& authenticator;
  HttpMetrics& metrics;
  const config::Settings& settings;
  query::ActiveTasks* active_tasks = nullptr;  ///< background tasks, for /_active_tasks (query/follow/active_tasks.h)
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

  /// What the query layer keeps for `database`: indexes, functions (query/database/database_services.h). Null if the
  /// engine was opened without it.
  query::DatabaseServices* database_services() const;

  /// Adds `units` to the charge shown in the reply, and spends them from the budget of the physical partition that
  /// contains the document or the logical partition, or evenly from all budgets if `partition_key` is absent.
  void charge(const partitioning::DocumentTarget& target, double units);
  void charge_scan(const std::optional<std::string>& partition_key, double units);

  /// Value of `{name}` in the route's pattern, percent-decoded. Must exist.
  const std::string& path(std::string_view name) const;
};

/// The permission that a route requires; it is checked before the handler runs. As in CouchDB, a refused anonymous user
/// gets 401, a known user 403.
enum class Access : std::uint8_t { anyone, user, server_admin, database_member, database_admin };

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

/// The file of each subject adds its routes; all_routes() (couch_api.h) collects them.
using RouteList = std::vector<Route>;
void add_server_routes(RouteList& routes);      // server.cpp: /, /_up, /_uuids, /_all_dbs, /_active_tasks, /_node/…
void add_session_routes(RouteList& routes);     // session.cpp: /_session
void add_security_routes(RouteList& routes);    // security.cpp: /{db}/_security
void add_database_routes(RouteList& routes);    // database.cpp: /{db}, /{db}/_partition/{p}, _revs_limit, _purge, …
void add_properties_routes(RouteList& routes);  // properties.cpp: /{db}/_properties
void add_document_routes(RouteList& routes);    // document.cpp: /{db}/{docid}, _design, _local
void add_bulk_routes(RouteList& routes);        // bulk.cpp: _bulk_docs, _bulk_get, _batch, _revs_diff, _missing_revs
void add_all_docs_routes(RouteList& routes);    // all_docs.cpp
void add_changes_routes(RouteList& routes);     // changes.cpp: _changes, _partition/{p}/_changes, /_db_updates
void add_find_routes(RouteList& routes);        // find.cpp: _find, _explain
void add_index_routes(RouteList& routes);       // index.cpp: _index
void add_update_routes(RouteList& routes);      // update.cpp: _design/{d}/_update/…; refuses _show, _list, _rewrite
void add_view_routes(RouteList& routes);        // view.cpp: _design/{ddoc}/_view, _info, _view_cleanup
void add_sql_routes(RouteList& routes);         // sql.cpp: _sql
void add_procedure_routes(RouteList& routes);   // stored_procedure.cpp: _partition/{p}/_sproc/{name}
void add_search_routes(RouteList& routes);      // search.cpp: _search, _search_info, _search_analyze, …
void add_reshard_routes(RouteList& routes);     // reshard.cpp: /_reshard

}  // namespace octavo::api::couch
