#include "api/couch/server/server.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace octavo::api::couch {

Expected<void> check_node(const Call& call) {
  const std::string& node = call.path("node");
  // Names that CouchDB's own packages give to a single node; published scripts contain them.
  constexpr std::array<std::string_view, 3> usual{"nonode@nohost", "couchdb@127.0.0.1", "couchdb@localhost"};
  if (node == "_local" || node == node_name || std::ranges::find(usual, node) != usual.end()) return {};
  return fail(ErrorCode::not_found, "no such node: " + node);
}

void add_server_routes(RouteList& routes) {
  add_server_info_routes(routes);
  add_server_databases_routes(routes);
  add_server_node_routes(routes);
  add_replication_routes(routes);
  add_server_config_routes(routes);
  add_cluster_setup_routes(routes);
  add_backup_routes(routes);
}

}  // namespace octavo::api::couch
