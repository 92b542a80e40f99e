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
}
namespace octavo::api {
class HttpMetrics;
}

namespace octavo::api::couch {

class Authenticator;

/// Who is asking. An empty name is an anonymous user; on a server without admins ("admin party", loopback only)
/// everyone has the role `_admin`.
struct UserContext {
  std::string name;
  std::vector<std::string> roles;
  std::string_view method;  ///< "default", "cookie", "jwt", or "" for anonymous: `authenticated` in /_session
  bool has_role(std::string_view role) const;
  bool is_server_admin() const { return has_role("_admin"); }
};

/// What every handler may use. Lives as long as the server.
struct Services {
  partitioning::Engine& engine;
  Authenticator& authenticator;
  HttpMetrics& metrics;
  const config::Settings& settings;
  query::ActiveTasks* active_tasks = nullptr;  ///< background tasks, for /_active_tasks (query/index/active_tasks.h)
};

/// One request on its way through the Couch door.
struct Call {
  Request& request;
  Services& services;
  UserContext user;
  std::shared_ptr<partitioning::Database> database;  ///< set when the route names `{db}` (and it is not its creation)
  std::vector<std::pair<std::string_view, std::string>> path_parameters;
  double request_charge = 0;  ///< request units so far (partitioning/request_charge.h); 0: not known, and not shown

  /// The request has spent this: for its reply, and on the budget of the physical partition where the document or the
  /// logical partition lives, or evenly on all (`partition_key` absent).
  void charge_document(std::string_view document_id, double units);
  void charge_scan(const std::optional<std::string>& partition_key, double units);

  /// Value of `{name}` in the route's pattern, percent-decoded. Must exist.
  const std::string& path(std::string_view name) const;
};

/// What a route demands of the user; checked by the door before the handler runs. CouchDB's rules:
/// 401 for the anonymous, 403 for the known.
enum class Access : std::uint8_t { anyone, user, server_admin, database_member, database_admin };

/// Handlers are plain functions: parse → call the engine → render. Errors travel as values.
using CouchHandler = Task<Expected<Reply>> (*)(Call& call);

struct Route {
  Method method;  ///< HEAD is served by GET's route
  /// "/{db}/_partition/{partition}/_find", "/{db}/{docid}": literal segments win over parameters.
  std::string_view pattern;
  Access access;
  CouchHandler handler;
};

/// Each subject's file offers its routes; the door collects them.
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
void add_update_routes(RouteList& routes);      // update.cpp: _design/{d}/_update/…; _show, _list, _rewrite are gone
void add_view_routes(RouteList& routes);        // view.cpp: _design/{ddoc}/_view, _info, _view_cleanup
void add_sql_routes(RouteList& routes);         // sql.cpp: _sql
void add_procedure_routes(RouteList& routes);   // stored_procedure.cpp: _partition/{p}/_sproc/{name}
void add_search_routes(RouteList& routes);      // search.cpp: _search, _search_info, _search_analyze, …
void add_reshard_routes(RouteList& routes);     // reshard.cpp: /_reshard

}  // namespace octavo::api::couch
