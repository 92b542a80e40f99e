// Replication by the server, which does not exist yet. Every request says so, rather than reporting a database that is
// not there. The documents of `_replicator` are refused when they are written (documents/save.cpp).
#include "api/couch/auth/users_database.h"
#include "api/couch/server/server.h"

namespace octavo::api::couch {

namespace {

Task<Expected<Reply>> refuse_replication(Call&) {
  co_return fail(ErrorCode::unsupported, std::string(no_replicator));
}

// No replication runs, so the lists are empty and every single one is missing.
Task<Expected<Reply>> no_jobs(Call&) {
  Reply reply;
  reply.body = R"({"total_rows":0,"offset":0,"jobs":[]})";
  co_return reply;
}
Task<Expected<Reply>> no_documents(Call&) {
  Reply reply;
  reply.body = R"({"total_rows":0,"offset":0,"docs":[]})";
  co_return reply;
}
Task<Expected<Reply>> no_such_replication(Call&) {
  co_return fail(ErrorCode::not_found, "");
}

}  // namespace

void add_replication_routes(RouteList& routes) {
  constexpr auto admin_access = Access::server_admin;
  routes.push_back({Method::post, "/_replicate", Access::user, refuse_replication});
  routes.push_back({Method::get, "/_scheduler/jobs", admin_access, no_jobs});
  routes.push_back({Method::get, "/_scheduler/jobs/{job}", admin_access, no_such_replication});
  routes.push_back({Method::get, "/_scheduler/docs", admin_access, no_documents});
  routes.push_back({Method::get, "/_scheduler/docs/{replicator}", admin_access, no_documents});
  routes.push_back({Method::get, "/_scheduler/docs/{replicator}/{docid*}", admin_access, no_such_replication});
}

}  // namespace octavo::api::couch
