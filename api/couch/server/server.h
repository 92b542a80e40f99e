#pragma once

#include <string>
#include <string_view>

#include "api/couch/call/call.h"

/// The endpoints about the server itself, by subject. `add_server_routes` adds them all.
namespace octavo::api::couch {

/// The CouchDB version of this HTTP API. Clients decide by it which requests they send.
inline constexpr std::string_view couchdb_version = "3.5.0";
/// The name of this server as the only node of a cluster. `_local` and CouchDB's `nonode@nohost` are aliases.
inline constexpr std::string_view node_name = "octavo@127.0.0.1";

void add_server_routes(RouteList& routes);
void add_server_info_routes(RouteList& routes);       ///< server_info.cpp: /, /_up, /_ready, /_uuids, /_membership, …
void add_server_databases_routes(RouteList& routes);  ///< server_databases.cpp: /_all_dbs, /_dbs_info
void add_server_node_routes(RouteList& routes);       ///< server_node.cpp: /_node/{node}/…
void add_replication_routes(RouteList& routes);       ///< replication.cpp: /_replicate, /_scheduler
void add_server_config_routes(RouteList& routes);     ///< server_config.cpp: /_node/{node}/_config
void add_cluster_setup_routes(RouteList& routes);     ///< cluster_setup.cpp: /_cluster_setup
void add_backup_routes(RouteList& routes);            ///< backup.cpp: /_backup

/// Error not_found unless `{node}` of the route names this server.
Expected<void> check_node(const Call& call);

/// 32 hexadecimal digits. Those of one thread ascend, so that documents with these ids are stored side by side; 13
/// random bytes keep them unique.
std::string new_uuid();
/// An id made as [uuids] of the settings says; sequential is the above.
std::string new_uuid(const config::Settings& settings);

}  // namespace octavo::api::couch
