#include "api/couch/server/server.h"

namespace octavo::api::couch {

Expected<void> check_node(const Call& call) {
  const std::string& node = call.path("node");
  if (node == "_local" || node == node_name || node == "nonode@nohost") return {};
  return fail(ErrorCode::not_found, "no such node: " + node);
}

void add_server_routes(RouteList& routes) {
  add_server_info_routes(routes);
  add_server_databases_routes(routes);
  add_server_node_routes(routes);
  add_replication_routes(routes);
  add_server_config_routes(routes);
  add_cluster_setup_routes(routes);
}

}  // namespace octavo::api::couch
