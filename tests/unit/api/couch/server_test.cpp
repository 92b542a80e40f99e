#include "api/couch/server/server.h"

#include <set>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "query/follow/active_tasks.h"
#include "unit/api/couch/auth/auth_fixture.h"

using namespace octavo;
using namespace octavo::api;
using namespace octavo::api::couch;
using octavo::tests::AuthFixture;
using octavo::tests::TestRequest;

namespace {

using Parameters = std::vector<std::pair<std::string_view, std::string>>;
const Parameters local_node{{"node", "_local"}};

RouteList server_routes() {
  RouteList list;
  add_server_routes(list);
  return list;
}

class StringSink : public BodySink {
 public:
  Task<bool> write(std::string_view bytes) override {
    text += bytes;
    co_return true;
  }
  bool closed() const override { return false; }
  void on_closed(std::move_only_function<void()>) override {}
  std::string text;
};

Task<bool> drain(Reply& reply, StringSink& sink) {
  co_await reply.stream(sink);
  co_return true;
}

struct ServerFixture {
  AuthFixture auth;

  Expected<Reply> get(const std::string& pattern, const std::string& target, Parameters parameters = {},
                      UserContext user = AuthFixture::server_admin()) {
    TestRequest request(Method::get, target);
    return auth.handle(server_routes(), pattern, request, std::move(user), std::move(parameters));
  }
  boost::json::value json(const std::string& pattern, const std::string& target, Parameters parameters = {}) {
    auto reply = get(pattern, target, std::move(parameters));
    REQUIRE(reply);
    return parse(*reply);
  }
  static boost::json::value parse(Reply& reply) {
    StringSink sink;
    if (reply.stream) octavo::tests::run_task(drain(reply, sink));
    return boost::json::parse(reply.body + sink.text);
  }
  std::string names(const std::string& query) { return boost::json::serialize(json("/_all_dbs", "/_all_dbs" + query)); }
};

Access access_of(Method method, std::string_view pattern) {
  for (const auto& route : server_routes()) {
    if (route.method == method && route.pattern == pattern) return route.access;
  }
  FAIL("no such route: " << pattern);
  return Access::anyone;
}

}  // namespace

TEST_CASE("the welcome says what clients look for") {
  ServerFixture fixture;
  const auto welcome = fixture.json("/", "/");
  CHECK(welcome.at("couchdb") == "Welcome");
  CHECK(welcome.at("version") == "3.5.0");
  CHECK(welcome.at("uuid").as_string().size() == 32);
  CHECK(welcome.at("features") == boost::json::array{"partitioned", "reshard", "search"});
  CHECK(welcome.at("vendor").at("name") == "Octavo");
}

TEST_CASE("a running server is up and ready") {
  ServerFixture fixture;
  CHECK(fixture.json("/_up", "/_up").at("status") == "ok");
  CHECK(fixture.json("/_ready", "/_ready").at("status") == "ready");
}

TEST_CASE("a server without its users database is up but not ready") {
  ServerFixture fixture;
  REQUIRE(fixture.auth.engine().delete_database("_users"));
  CHECK(fixture.get("/_up", "/_up")->status == 200);
  CHECK(fixture.get("/_ready", "/_ready")->status == 503);
}

TEST_CASE("as many uuids come as were asked for, all different and rising") {
  ServerFixture fixture;
  const auto uuids = fixture.json("/_uuids", "/_uuids?count=1000").at("uuids").as_array();
  std::set<std::string> seen;
  for (const auto& uuid : uuids) seen.emplace(uuid.as_string());
  CHECK(uuids.size() == 1000);
  CHECK(seen.size() == 1000);
  CHECK(seen.begin()->size() == 32);
  CHECK(fixture.json("/_uuids", "/_uuids").at("uuids").as_array().size() == 1);
  CHECK(fixture.json("/_uuids", "/_uuids?count=0").at("uuids").as_array().empty());
}

TEST_CASE("a wrong count of uuids is refused in CouchDB's words") {
  ServerFixture fixture;
  const auto reason = [&](const std::string& count) {
    return fixture.get("/_uuids", "/_uuids?count=" + count).error().reason;
  };
  CHECK(reason("1001") == "count parameter too large");
  CHECK(reason("99999999999999999999999") == "count parameter too large");
  CHECK(reason("-1") == "count must be a positive integer");
  CHECK(reason("x") == "count must be a positive integer");
  CHECK(reason("1x") == "count must be a positive integer");
  CHECK(reason("") == "count must be a positive integer");
}

TEST_CASE("uuids are not cached") {
  ServerFixture fixture;
  const auto reply = fixture.get("/_uuids", "/_uuids");
  const auto has = [&](std::pair<std::string, std::string> header) {
    return std::ranges::find(reply->headers, header) != reply->headers.end();
  };
  CHECK(has({"Cache-Control", "must-revalidate, no-cache"}));
  CHECK(has({"Pragma", "no-cache"}));
  CHECK(has({"Expires", "Mon, 01 Jan 1990 00:00:00 GMT"}));
}

TEST_CASE("uuids of one thread rise within a prefix") {
  std::string last = new_uuid();
  int falls = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string next = new_uuid();
    if (next <= last) ++falls;
    last = std::move(next);
  }
  CHECK(falls <= 4);  // a prefix serves about 8,000 of them; the next one may sort before it
}

TEST_CASE("_all_dbs lists names by range, direction, limit and skip") {
  ServerFixture fixture;
  for (const auto* name : {"a", "b", "c"}) REQUIRE(fixture.auth.engine().create_database(name, {}));
  CHECK(fixture.names("") == R"(["_replicator","_users","a","b","c"])");
  CHECK(fixture.names("?descending=true") == R"(["c","b","a","_users","_replicator"])");
  CHECK(fixture.names("?limit=2") == R"(["_replicator","_users"])");
  CHECK(fixture.names("?limit=0") == "[]");
  CHECK(fixture.names("?skip=3") == R"(["b","c"])");
  CHECK(fixture.names("?skip=9") == "[]");
  CHECK(fixture.names("?startkey=\"a\"") == R"(["a","b","c"])");
  CHECK(fixture.names("?start_key=\"a\"&end_key=\"b\"") == R"(["a","b"])");
  CHECK(fixture.names("?startkey=\"a\"&endkey=\"c\"&inclusive_end=false") == R"(["a","b"])");
  CHECK(fixture.names("?startkey=\"b\"&descending=true") == R"(["b","a","_users","_replicator"])");
  CHECK(fixture.names("?startkey=\"b\"&endkey=\"a\"&descending=true") == R"(["b","a"])");
  CHECK(fixture.names("?startkey=null") == R"(["_replicator","_users","a","b","c"])");
  CHECK(fixture.names("?endkey=1") == "[]");
  CHECK(fixture.names("?startkey={}") == "[]");
  CHECK(fixture.names("?startkey={}&descending=true&limit=1") == R"(["c"])");
  CHECK_FALSE(fixture.get("/_all_dbs", "/_all_dbs?startkey=a"));
  CHECK_FALSE(fixture.get("/_all_dbs", "/_all_dbs?limit=-1"));
  CHECK_FALSE(fixture.get("/_all_dbs", "/_all_dbs?limit=x"));
}

TEST_CASE("_dbs_info tells of every database") {
  ServerFixture fixture;
  auto database = *fixture.auth.engine().create_database("shop", {true, 2});
  octavo::tests::EngineFixture::put(*database, "a:1", R"({"x":1})");
  const auto infos = fixture.json("/_dbs_info", "/_dbs_info?startkey=\"shop\"").as_array();
  REQUIRE(infos.size() == 1);
  CHECK(infos[0].at("key") == "shop");
  const auto& info = infos[0].at("info");
  CHECK(info.at("db_name") == "shop");
  CHECK(info.at("doc_count") == 1);
  CHECK(info.at("doc_del_count") == 0);
  CHECK(info.at("cluster").at("q") == 2);
  CHECK(info.at("props").at("partitioned") == true);
  CHECK(info.at("update_seq").as_string().starts_with("1-"));
  CHECK(info.at("sizes").at("external").as_int64() > 0);
  CHECK(fixture.json("/_dbs_info", "/_dbs_info").as_array().size() == 3);
}

TEST_CASE("_dbs_info tells of the databases asked for, also of those that are not") {
  ServerFixture fixture;
  const auto post = [&](const std::string& body) {
    TestRequest request(Method::post, "/_dbs_info");
    request.body(body);
    return fixture.auth.handle(server_routes(), "/_dbs_info", request, AuthFixture::server_admin());
  };
  auto reply = post(R"({"keys":["_users","nix"]})");
  REQUIRE(reply);
  const auto infos = ServerFixture::parse(*reply).as_array();
  REQUIRE(infos.size() == 2);
  CHECK(infos[0].at("info").at("db_name") == "_users");
  CHECK(infos[1].at("key") == "nix");
  CHECK(infos[1].at("error") == "not_found");
  CHECK(post("{}").error().reason == "`keys` member must exist.");
  std::string many = R"({"keys":["a")";
  for (int i = 0; i < 100; ++i) many += ",\"a\"";
  CHECK(post(many + "]}").error().reason == "too_many_keys");
}

TEST_CASE("the node goes by three names and no other") {
  ServerFixture fixture;
  for (const auto* name : {"_local", "nonode@nohost", "octavo@127.0.0.1", "couchdb@127.0.0.1"}) {
    CHECK(fixture.json("/_node/{node}", "/_node/x", {{"node", name}}).at("name") == "octavo@127.0.0.1");
  }
  CHECK(fixture.get("/_node/{node}", "/_node/x", {{"node", "other"}}).error() ==
        Error{ErrorCode::not_found, "no such node: other", ""});
  CHECK(fixture.json("/_membership", "/_membership").at("all_nodes") == boost::json::array{"octavo@127.0.0.1"});
}

TEST_CASE("statistics are for admins and for who has the role _metrics") {
  ServerFixture fixture;
  const auto allowed = [&](UserContext user) {
    return fixture.get("/_node/{node}/_stats", "/", local_node, std::move(user)).has_value();
  };
  CHECK(allowed(AuthFixture::server_admin()));
  CHECK(allowed(AuthFixture::known("probe", {"_metrics"})));
  CHECK_FALSE(allowed(AuthFixture::known("jan")));
  CHECK_FALSE(allowed({}));
}

TEST_CASE("statistics are found by their path") {
  ServerFixture fixture;
  const auto requests =
      fixture.json("/_node/{node}/_stats/{path*}", "/", {{"node", "_local"}, {"path", "couchdb/httpd/requests"}});
  CHECK(requests.at("value") == 0);
  CHECK(requests.at("type") == "counter");
  CHECK_FALSE(fixture.get("/_node/{node}/_stats/{path*}", "/", {{"node", "_local"}, {"path", "couchdb/nothing"}}));
  CHECK_FALSE(fixture.get("/_node/{node}/_stats/{path*}", "/",
                          {{"node", "_local"}, {"path", "couchdb/httpd/requests/value/x"}}));
}

TEST_CASE("statistics that monitoring programs of CouchDB read are there from the start") {
  ServerFixture fixture;
  const auto couchdb = fixture.json("/_node/{node}/_stats", "/", local_node).at("couchdb");
  for (const auto* name : {"auth_cache_hits", "auth_cache_misses", "database_reads", "database_writes",
                           "document_inserts", "document_writes", "open_databases", "open_os_files"}) {
    CHECK(couchdb.at(name).at("value").is_number());
  }
  for (const auto* name : {"bulk_requests", "view_reads", "temporary_view_reads", "clients_requesting_changes"}) {
    CHECK(couchdb.at("httpd").at(name).at("value").is_number());
  }
  CHECK(couchdb.at("httpd_status_codes").at("412").at("value") == 0);
  CHECK(couchdb.at("httpd_request_methods").at("COPY").at("value") == 0);
  CHECK(couchdb.at("open_databases").at("value").to_number<int>() == 2);
  const auto system = fixture.json("/_node/{node}/_system", "/", local_node);
  CHECK(system.at("run_queue") == 0);
  CHECK(system.at("message_queues").as_object().empty());
}

TEST_CASE("Prometheus gets the statistics under CouchDB's names, too") {
  ServerFixture fixture;
  const auto body = fixture.get("/_node/{node}/_prometheus", "/", local_node)->body;
  for (const auto* line :
       {"# TYPE couchdb_httpd_requests_total counter\ncouchdb_httpd_requests_total 0\n",
        "# TYPE couchdb_open_databases gauge\ncouchdb_open_databases 2\n",
        "\ncouchdb_httpd_request_methods{method=\"COPY\"} 0\n", "\ncouchdb_httpd_status_codes{code=\"404\"} 0\n",
        "\ncouchdb_document_purges_total 0\n", "# TYPE couchdb_request_time_seconds summary\n",
        "\ncouchdb_request_time_seconds{quantile=\"0.999\"} ", "\ncouchdb_request_time_seconds_count 0\n",
        "\ncouchdb_auth_cache_requests_total ", "\ncouchdb_uptime_seconds "}) {
    INFO(line);
    CHECK(body.find(line) != std::string::npos);
  }
}

TEST_CASE("the system, versions and Prometheus endpoints answer") {
  ServerFixture fixture;
  CHECK(fixture.json("/_node/{node}/_system", "/", local_node).at("memory").at("resident").as_int64() > 0);
  const auto versions = fixture.json("/_node/{node}/_versions", "/", local_node);
  CHECK(versions.at("collation_driver").at("name") == "libicu");
  CHECK(versions.at("javascript_engine") == boost::json::parse(R"({"name":"spidermonkey","version":"102"})"));
  const auto prometheus = fixture.get("/_node/{node}/_prometheus", "/", local_node);
  CHECK(prometheus->content_type.starts_with("text/plain; version="));
  CHECK_FALSE(prometheus->body.empty());
}

TEST_CASE("the configuration is shown with its secrets masked") {
  auto settings = AuthFixture::settings_with({{"admin", "secret-password"}});
  settings.cookie_secret = "secret-cookie";
  settings.jwt_keys = {{"hs256:k", crypto::base64_encode("secret-jwt")}};
  ServerFixture fixture{AuthFixture(settings)};
  const auto reply = fixture.get("/_node/{node}/_config", "/", local_node);
  REQUIRE(reply);
  CHECK(reply->body.find("secret-") == std::string::npos);
  CHECK(reply->body.find(crypto::base64_encode("secret-jwt")) == std::string::npos);
  const auto config = boost::json::parse(reply->body);
  CHECK(config.at("admins").at("admin") == "*****");
  CHECK(config.at("auth").at("cookie_secret") == "*****");
  CHECK(config.at("jwt_keys").at("hs256:k") == "*****");
  CHECK(config.at("database").at("q_max") == "64");
  CHECK(config.at("server").at("bind") == "127.0.0.1");
}

TEST_CASE("a section and a key of the configuration are shown") {
  ServerFixture fixture;
  const auto at = [&](const std::string& section, const std::string& key) {
    return fixture.get("/_node/{node}/_config/{section}/{key}", "/",
                       {{"node", "_local"}, {"section", section}, {"key", key}});
  };
  CHECK(at("server", "bind")->body == "\"127.0.0.1\"\n");
  CHECK(at("server", "nothing").error() == Error{ErrorCode::not_found, "unknown_config_value", ""});
  CHECK(at("nothing", "bind").error().code == ErrorCode::not_found);
  CHECK(fixture.json("/_node/{node}/_config/{section}", "/", {{"node", "_local"}, {"section", "cors"}}).at("enabled") ==
        "false");
  CHECK(fixture.json("/_node/{node}/_config/{section}", "/", {{"node", "_local"}, {"section", "nothing"}}) ==
        boost::json::object());
}

TEST_CASE("a setting that is read at the start is refused with how to set it instead") {
  ServerFixture fixture;
  TestRequest put(Method::put);
  put.body("\"8\"");
  const auto reply =
      fixture.auth.handle(server_routes(), "/_node/{node}/_config/{section}/{key}", put, AuthFixture::server_admin(),
                          {{"node", "_local"}, {"section", "cosmos"}, {"key", "port"}});
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == ErrorCode::forbidden);
  CHECK(reply.error().word == "modification_not_allowed");
  CHECK(reply.error().reason.find("cosmos.port") != std::string::npos);
  CHECK(reply.error().reason.find("OCTAVO_COSMOS_PORT") != std::string::npos);
  CHECK(reply.error().reason.find("--cosmos-port") != std::string::npos);
}

TEST_CASE("active tasks are shown while they run") {
  ServerFixture fixture;
  CHECK(fixture.json("/_active_tasks", "/_active_tasks") == boost::json::array());

  query::ActiveTasks tasks;
  query::ActiveTask task;
  task.type = "indexer";
  task.database = "shop";
  task.design_document = "_design/x";
  auto handle = tasks.start(task);
  handle.report(50, 200);
  auto services = fixture.auth.services();
  services.active_tasks = &tasks;
  TestRequest request(Method::get, "/_active_tasks");
  Call call{request.get(), services, AuthFixture::server_admin(), nullptr, {}};
  const auto list = server_routes();
  const auto route = std::ranges::find(list, std::string_view("/_active_tasks"), &Route::pattern);
  struct Result {
    std::string body;
  };
  const auto run = [](CouchHandler handler, Call& running) -> Task<Result> {
    auto reply = co_await handler(running);
    co_return Result{reply->body};
  };
  const auto shown = boost::json::parse(octavo::tests::run_task(run(route->handler, call)).body).as_array();
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].at("type") == "indexer");
  CHECK(shown[0].at("progress") == 25);
  CHECK(shown[0].at("changes_done") == 50);
  CHECK(shown[0].at("design_document") == "_design/x");
}

TEST_CASE("the names of databases are for server admins, unless the settings open them") {
  ServerFixture fixture;
  const auto user = AuthFixture::known("jan");
  CHECK(fixture.get("/_all_dbs", "/_all_dbs", {}, user).error().code == ErrorCode::unauthorized);
  CHECK(fixture.get("/_dbs_info", "/_dbs_info", {}, user).error().code == ErrorCode::unauthorized);
  fixture.auth.settings().admin_only_all_dbs = false;
  CHECK(fixture.get("/_all_dbs", "/_all_dbs", {}, user));
  CHECK(fixture.get("/_all_dbs", "/_all_dbs", {}, {}));
  CHECK(fixture.get("/_dbs_info", "/_dbs_info", {}, user));
}

TEST_CASE("what only admins may see is for server admins") {
  CHECK(access_of(Method::get, "/_active_tasks") == Access::server_admin);
  CHECK(access_of(Method::get, "/_node/{node}/_config") == Access::server_admin);
  CHECK(access_of(Method::get, "/_up") == Access::anyone);
  CHECK(access_of(Method::get, "/") == Access::anyone);
}

TEST_CASE("there is no replicator, and that is said") {
  ServerFixture fixture;
  TestRequest request(Method::post, "/_replicate");
  const auto refused = fixture.auth.handle(server_routes(), "/_replicate", request, AuthFixture::server_admin());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::unsupported);
  CHECK(refused.error().reason.find("_changes") != std::string::npos);
  CHECK(fixture.json("/_scheduler/jobs", "/").at("jobs").as_array().empty());
  CHECK(fixture.json("/_scheduler/docs", "/").at("total_rows") == 0);
  CHECK_FALSE(fixture.get("/_scheduler/docs/{replicator}/{docid*}", "/"));
}

TEST_CASE("there is no web interface, and that is said") {
  ServerFixture fixture;
  CHECK(fixture.get("/_utils", "/_utils")->status == 404);
  CHECK(fixture.get("/favicon.ico", "/favicon.ico")->status == 204);
}
