#include <catch2/catch.hpp>

#include "unit/api/couch/couch_api_fixture.h"

using namespace octavo;
using octavo::tests::CouchApiFixture;
using octavo::tests::Headers;
using octavo::tests::Received;
using octavo::tests::text;

namespace {

std::string config_path(std::string_view name) {
  return std::string("/_node/_local/_config/").append(name);
}

Received set_config(CouchApiFixture& couch, std::string_view name, std::string_view value, Headers headers = {}) {
  return couch.put(config_path(name), "\"" + std::string(value) + "\"", std::move(headers));
}

std::string config_text(CouchApiFixture& couch, std::string_view name) {
  return couch.get(config_path(name)).body;
}

config::Settings cheap_passwords() {
  config::Settings settings;
  settings.pbkdf2_iterations = 10;
  return settings;
}

const Headers as_ann{{"Authorization", "Basic YW5uOm9uZQ=="}};  // ann:one

}  // namespace

TEST_CASE("a setting that is changed is in effect for the next request, and its old value is the reply") {
  CouchApiFixture couch;
  CHECK(couch.get("/_uuids?count=2").status == 200);
  const auto changed = set_config(couch, "uuids/max_count", "1");
  CHECK(changed.status == 200);
  CHECK(changed.body == "\"1000\"\n");
  CHECK(config_text(couch, "uuids/max_count") == "\"1\"\n");
  CHECK(couch.get("/_uuids?count=2").status == 400);
}

TEST_CASE("a changed setting stays when the server starts again, until it is deleted") {
  CouchApiFixture couch;
  set_config(couch, "uuids/max_count", "1");
  couch.restart();
  CHECK(couch.get("/_uuids?count=2").status == 400);
  const auto deleted = couch.del(config_path("uuids/max_count"));
  CHECK(deleted.body == "\"1\"\n");
  CHECK(couch.get("/_uuids?count=2").status == 200);
  const auto again = couch.del(config_path("uuids/max_count"));
  CHECK(again.status == 404);
  CHECK(text(again.json(), "reason") == "unknown_config_value");
  couch.restart();
  CHECK(couch.get("/_uuids?count=2").status == 200);
}

TEST_CASE("a setting has CouchDB's names and forms, too") {
  CouchApiFixture couch;
  CHECK(set_config(couch, "chttpd_auth/timeout", "1200").body == "\"600\"\n");
  CHECK(config_text(couch, "couch_httpd_auth/timeout") == "\"1200\"\n");
  CHECK(config_text(couch, "auth/session_timeout") == "\"20m\"\n");
  CHECK(set_config(couch, "couchdb/max_document_size", "4096").body == "\"8388608\"\n");
  CHECK(config_text(couch, "database/document_bytes_max") == "\"4KiB\"\n");
  CHECK(set_config(couch, "log/level", "warning").body == "\"info\"\n");
  CHECK(config_text(couch, "log/level") == "\"warning\"\n");
  CHECK(set_config(couch, "cors/max_age", "60").body == "\"600\"\n");
  CHECK(config_text(couch, "cors/max_age") == "\"60\"\n");
  CHECK(config_text(couch, "couchdb/uuid").size() == 35);
  CHECK(couch.get("/_node/_local/_config/chttpd").json().at("enable_cors") == "false");
}

TEST_CASE("what the configuration says is stronger than a change, and the reply names its source") {
  config::Settings settings;
  settings.uuids_max = 7;
  settings.sources.by_name["uuids.max_count"] = "--uuids-max-count";
  CouchApiFixture couch(settings);
  const auto refused = set_config(couch, "uuids/max_count", "1");
  CHECK(refused.status == 403);
  CHECK(text(refused.json(), "error") == "modification_not_allowed");
  CHECK(text(refused.json(), "reason").find("--uuids-max-count") != std::string::npos);
  CHECK(config_text(couch, "uuids/max_count") == "\"7\"\n");
  CHECK(couch.del(config_path("uuids/max_count")).status == 403);
}

TEST_CASE("what cannot change while the server runs is refused, unless it is so already") {
  CouchApiFixture couch;
  const auto port = set_config(couch, "chttpd/port", "1234");
  CHECK(port.status == 403);
  CHECK(text(port.json(), "reason").find("OCTAVO_PORT") != std::string::npos);
  CHECK(set_config(couch, "chttpd/bind_address", "127.0.0.1").body == "\"127.0.0.1\"\n");
  CHECK(set_config(couch, "couchdb/single_node", "true").status == 200);
  CHECK(set_config(couch, "couchdb/single_node", "false").status == 403);
  CHECK(set_config(couch, "couchdb/uuid", "x").status == 403);
  CHECK(set_config(couch, "jwt_keys/hmac:a", "x").status == 403);
  const auto unknown = set_config(couch, "nothing/here", "x");
  CHECK(unknown.status == 403);
  CHECK(text(unknown.json(), "reason").find("no such setting") != std::string::npos);
}

TEST_CASE("values that cannot be used are refused with what is expected") {
  CouchApiFixture couch;
  const auto wrong = set_config(couch, "uuids/max_count", "many");
  CHECK(wrong.status == 400);
  CHECK(text(wrong.json(), "reason").find("a whole number from 1 to 100000") != std::string::npos);
  CHECK(set_config(couch, "cors/origins", "not an origin").status == 400);
  CHECK(set_config(couch, "couchdb/max_document_size", "134217728").status == 400);
  const auto number = couch.put(config_path("uuids/max_count"), "12");
  CHECK(number.status == 400);
  CHECK(text(number.json(), "reason") == "a JSON string expected");
  CHECK(couch.put(config_path("uuids/max_count"), "{").status == 400);
  CHECK(set_config(couch, "uuids/max_count", "5", {{"X-Couch-Persist", "false"}}).status == 501);
  CHECK(config_text(couch, "uuids/max_count") == "\"1000\"\n");
}

TEST_CASE("sections that CouchDB closes are closed") {
  CouchApiFixture couch;
  const auto refused = set_config(couch, "query_servers/javascript", "x");
  CHECK(refused.status == 403);
  CHECK(text(refused.json(), "error") == "forbidden");
  CHECK(text(refused.json(), "reason") == "Config section blacklisted for modification over HTTP API.");
  CHECK(couch.del(config_path("os_daemons/x")).status == 403);
}

TEST_CASE("values that need each other are both there after a restart") {
  CouchApiFixture couch;
  CHECK(set_config(couch, "chttpd/max_http_request_size", "268435456").status == 200);
  CHECK(set_config(couch, "couchdb/max_document_size", "134217728").status == 200);
  couch.restart();
  CHECK(config_text(couch, "couchdb/max_document_size") == "\"134217728\"\n");
}

TEST_CASE("CORS is allowed while the server runs, first enabled and then given origins") {
  CouchApiFixture couch;
  const Headers origin{{"Origin", "https://app.example.com"}};
  CHECK_FALSE(couch.get("/", origin).header("Access-Control-Allow-Origin"));
  CHECK(set_config(couch, "httpd/enable_cors", "true").body == "\"false\"\n");
  CHECK_FALSE(couch.get("/", origin).header("Access-Control-Allow-Origin"));
  CHECK(set_config(couch, "cors/origins", "https://app.example.com, https://b.example.com").status == 200);
  CHECK(couch.get("/", origin).header("Access-Control-Allow-Origin") == "https://app.example.com");
  CHECK(config_text(couch, "cors/origins") == "\"https://app.example.com, https://b.example.com\"\n");
}

TEST_CASE("an admin is added, given another password and removed while the server runs") {
  CouchApiFixture couch(cheap_passwords());
  CHECK(set_config(couch, "admins/ann", "one").body == "\"\"\n");
  CHECK(couch.get(config_path("admins")).status == 401);
  CHECK(couch.get(config_path("admins"), as_ann).json() == boost::json::object{{"ann", "*****"}});
  couch.restart();
  CHECK(couch.get(config_path("admins"), as_ann).status == 200);
  CHECK(set_config(couch, "admins/ann", "two", as_ann).body == "\"*****\"\n");
  CHECK(couch.get(config_path("admins"), as_ann).status == 401);
  const Headers as_new{{"Authorization", "Basic YW5uOnR3bw=="}};  // ann:two
  CHECK(couch.del(config_path("admins/ben"), as_new).status == 404);
  CHECK(couch.del(config_path("admins/ann"), as_new).body == "\"*****\"\n");
  CHECK(couch.get(config_path("admins")).json() == boost::json::object());
}

TEST_CASE("the catalog has no password of an added admin") {
  CouchApiFixture couch(cheap_passwords());
  set_config(couch, "admins/ann", "a-clear-password");
  const auto stored = couch.engine().catalog().fact("added_admins", "ann").value();
  REQUIRE(stored);
  CHECK(stored->starts_with("-pbkdf2"));
  CHECK(stored->find("a-clear-password") == std::string::npos);
}

TEST_CASE("admins that the configuration names are changed there only") {
  auto settings = cheap_passwords();
  settings.admins = {{"ann", "one"}};
  settings.sources.by_name["admins.ann"] = "octavo.toml:3";
  CouchApiFixture couch(settings);
  const auto refused = set_config(couch, "admins/ann", "two", as_ann);
  CHECK(refused.status == 403);
  CHECK(text(refused.json(), "reason").find("octavo.toml:3") != std::string::npos);
  CHECK(set_config(couch, "admins/ann", "one", as_ann).status == 200);
  CHECK(couch.del(config_path("admins/ann"), as_ann).status == 403);
  CHECK(set_config(couch, "admins/ben", "x", as_ann).status == 200);
  couch.restart();
  CHECK(couch.get(config_path("admins"), as_ann).json() == boost::json::object{{"ann", "*****"}, {"ben", "*****"}});
}

TEST_CASE("a secret is never shown, and another one ends the sessions") {
  auto settings = cheap_passwords();
  settings.admins = {{"ann", "one"}};
  CouchApiFixture couch(settings);
  const auto session = couch.post("/_session", R"({"name":"ann","password":"one"})");
  const Headers cookie{{"Cookie", session.header("Set-Cookie").value_or("").substr(0, 200)}};
  CHECK(couch.get(config_path("admins"), cookie).status == 200);
  CHECK(set_config(couch, "chttpd_auth/secret", "another-secret", as_ann).body == "\"\"\n");
  CHECK(couch.get(config_path("admins"), cookie).status == 401);
  CHECK(couch.get("/_node/_local/_config", as_ann).body.find("another-secret") == std::string::npos);
  CHECK(couch.get(config_path("chttpd_auth/secret"), as_ann).body == "\"*****\"\n");
}

TEST_CASE("ids of new documents are made by the algorithm that is set") {
  CouchApiFixture couch;
  couch.put("/shop");
  const auto new_id = [&] { return text(couch.post("/shop", "{}").json(), "id"); };
  CHECK(new_id().size() == 32);
  set_config(couch, "uuids/utc_id_suffix", "-here");
  set_config(couch, "uuids/algorithm", "utc_id");
  const auto first = new_id();
  CHECK(first.size() == 19);
  CHECK(first.ends_with("-here"));
  CHECK(new_id() > first);
  set_config(couch, "uuids/algorithm", "utc_random");
  const auto timed = new_id();
  CHECK(timed.size() == 32);
  CHECK(new_id() > timed);
  set_config(couch, "uuids/algorithm", "uuid_v7");
  CHECK(new_id().at(12) == '7');
  set_config(couch, "uuids/algorithm", "uuid_v4");
  CHECK(new_id().at(12) == '4');
  set_config(couch, "uuids/algorithm", "random");
  CHECK(new_id().size() == 32);
}

TEST_CASE("a find is planned for the limit that is set now") {
  CouchApiFixture couch;
  couch.put("/shop");
  for (const char* id : {"a", "b", "c"}) couch.put("/shop/" + std::string(id), "{}");
  CHECK(set_config(couch, "query/find_limit_default", "2").status == 200);
  CHECK(couch.engine().settings().find_limit_default == 2);
  CHECK(set_config(couch, "query/find_limit_default", "1").body == "\"2\"\n");
}

TEST_CASE("reading the configuration again without a source changes nothing") {
  CouchApiFixture couch;
  const auto reply = couch.post("/_node/_local/_config/_reload", "");
  CHECK(reply.status == 200);
  CHECK(reply.body == "{\"ok\":true}\n");
}
