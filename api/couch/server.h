#pragma once

#include <string>
#include <string_view>

#include "api/couch/call.h"

/// The endpoints that are about the server, by subject. `add_server_routes` (call.h) adds them all.
namespace octavo::api::couch {

/// The version of the HTTP API spoken here: clients choose what they send by it.
inline constexpr std::string_view couchdb_version = "3.5.0";
/// This server as a node of a cluster of one. `_local` and CouchDB's `nonode@nohost` name it too.
inline constexpr std::string_view node_name = "octavo@127.0.0.1";

void add_server_info_routes(RouteList& routes);       ///< server_info.cpp: /, /_up, /_ready, /_uuids, /_membership, …
void add_server_databases_routes(RouteList& routes);  ///< server_databases.cpp: /_all_dbs, /_dbs_info
void add_server_node_routes(RouteList& routes);       ///< server_node.cpp: /_node/{node}/…
void add_server_config_routes(RouteList& routes);     ///< server_config.cpp: /_node/{node}/_config

/// Error not_found unless `{node}` of the route names this server.
Expected<void> check_node(const Call& call);

/// 32 hexadecimal digits. Those one thread makes rise, so that documents named by them are stored side by side; 13
/// random bytes keep them unique.
std::string new_uuid();

}  // namespace octavo::api::couch
