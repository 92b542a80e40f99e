#include "api/couch/auth/security.h"

#include <catch2/catch.hpp>

#include "unit/api/couch/auth/auth_fixture.h"

using namespace octavo;
using namespace octavo::api;
using namespace octavo::api::couch;
using octavo::tests::AuthFixture;
using octavo::tests::EngineFixture;
using octavo::tests::TestRequest;

namespace {

const UserContext anonymous{};
const UserContext staff_member{"jan", {"staff"}, "default"};
const UserContext outsider{"eve", {}, "default"};
const UserContext administrator{"boss", {"_admin"}, "default"};

std::string reason(const Expected<void>& result) {
  return result ? "" : result.error().reason;
}

RouteList security_routes() {
  RouteList list;
  add_security_routes(list);
  return list;
}

struct DatabaseFixture {
  EngineFixture engine;
  std::shared_ptr<partitioning::Database> database = engine.create("shop");

  Expected<void> member(const UserContext& user) const {
    return check_access(Access::database_member, user, database.get(), true);
  }
  Expected<void> admin(const UserContext& user) const {
    return check_access(Access::database_admin, user, database.get(), true);
  }
};

}  // namespace

TEST_CASE("anyone may go where anyone may") {
  CHECK(check_access(Access::anyone, anonymous, nullptr, true));
}

TEST_CASE("a route for users refuses the anonymous") {
  CHECK(check_access(Access::user, outsider, nullptr, true));
  const auto refused = check_access(Access::user, anonymous, nullptr, true);
  CHECK(refused == Expected<void>(fail(ErrorCode::unauthorized, "Authentication required.")));
}

TEST_CASE("a route for server admins answers 401 to all others, as CouchDB does") {
  CHECK(check_access(Access::server_admin, administrator, nullptr, true));
  for (const auto& user : {anonymous, staff_member}) {
    const auto refused = check_access(Access::server_admin, user, nullptr, true);
    CHECK(refused == Expected<void>(fail(ErrorCode::unauthorized, "You are not a server admin.")));
  }
}

TEST_CASE("a database without _security is for admins only when the server has admins") {
  const DatabaseFixture fixture;
  CHECK(fixture.member(administrator));
  CHECK(fixture.member(anonymous).error() ==
        Error{ErrorCode::unauthorized, "You are not authorized to access this db.", ""});
  CHECK(fixture.member(staff_member).error() ==
        Error{ErrorCode::forbidden, "You are not allowed to access this db.", ""});
}

TEST_CASE("a database without _security is open when the server has no admins") {
  const DatabaseFixture fixture;
  CHECK(check_access(Access::database_member, anonymous, fixture.database.get(), false));
  CHECK_FALSE(check_access(Access::database_admin, anonymous, fixture.database.get(), false));
}

TEST_CASE("an empty _security opens a database to readers and writers") {
  const DatabaseFixture fixture;
  REQUIRE(fixture.database->set_security("{}"));
  CHECK(fixture.member(anonymous));
  CHECK(fixture.member(outsider));
  CHECK(reason(fixture.admin(anonymous)) == "You are not authorized to access this db.");
  CHECK(reason(fixture.admin(outsider)) == "You are not a db or server admin.");
  CHECK(fixture.admin(administrator));
}

TEST_CASE("members are named by name and by role") {
  const DatabaseFixture fixture;
  REQUIRE(fixture.database->set_security(R"({"members":{"names":["eve"],"roles":["staff"]}})"));
  CHECK(fixture.member(outsider));
  CHECK(fixture.member(staff_member));
  CHECK_FALSE(fixture.member(anonymous));
  CHECK_FALSE(fixture.member({"zoe", {"staf", "eve"}, "default"}));
  CHECK_FALSE(fixture.admin(outsider));
}

TEST_CASE("database admins are members too") {
  const DatabaseFixture fixture;
  REQUIRE(fixture.database->set_security(R"({"admins":{"names":["eve"],"roles":[]},"members":{"names":["jan"]}})"));
  CHECK(fixture.member(outsider));
  CHECK(fixture.admin(outsider));
  CHECK(fixture.member(staff_member));
  CHECK_FALSE(fixture.admin(staff_member));
}

TEST_CASE("naming admins only leaves a database open to everyone") {
  const DatabaseFixture fixture;
  REQUIRE(fixture.database->set_security(R"({"admins":{"names":["eve"]}})"));
  CHECK(fixture.member(anonymous));
}

TEST_CASE("a name list does not admit the anonymous by an empty name") {
  const DatabaseFixture fixture;
  REQUIRE(fixture.database->set_security(R"({"members":{"names":[""]}})"));
  CHECK_FALSE(fixture.member(anonymous));
}

TEST_CASE("a changed _security counts at once") {
  const DatabaseFixture fixture;
  REQUIRE(fixture.database->set_security(R"({"members":{"names":["eve"]}})"));
  CHECK(fixture.member(outsider));
  REQUIRE(fixture.database->set_security(R"({"members":{"names":["jan"]}})"));
  CHECK_FALSE(fixture.member(outsider));
  CHECK(fixture.member(staff_member));
}

TEST_CASE("a security object is parsed once per change") {
  const DatabaseFixture fixture;
  REQUIRE(fixture.database->set_security(R"({"members":{"names":["eve"]}})"));
  const auto first = effective_security(*fixture.database, true);
  CHECK(effective_security(*fixture.database, true) == first);
  REQUIRE(fixture.database->set_security(R"({"members":{"names":["eve"]}})"));
  CHECK(effective_security(*fixture.database, true) != first);
}

TEST_CASE("readers are members by their old name") {
  const auto parsed = parse_security(R"({"readers":{"names":["jan"]}})");
  REQUIRE(parsed);
  CHECK(parsed->members.names == std::vector<std::string>{"jan"});
}

TEST_CASE("a security object of wrong types is refused in CouchDB's words") {
  const auto refused = [](std::string_view json) {
    const auto parsed = parse_security(json);
    return parsed ? std::string() : parsed.error().reason;
  };
  CHECK(refused(R"({"admins":[]})") == "admins or members must be a JSON list of strings");
  CHECK(refused(R"({"admins":{"names":"jan"}})") == "names must be a JSON list of strings");
  CHECK(refused(R"({"members":{"roles":[1]}})") == "roles must be a JSON list of strings");
  CHECK(refused("[]") == "Request body must be a JSON object");
  CHECK_FALSE(refused("{").empty());
  CHECK(refused(R"({"admins":{},"members":{},"cloudant":{"nobody":["_reader"]}})").empty());
}

TEST_CASE("Cloudant's permissions of wrong types are refused") {
  CHECK_FALSE(parse_security(R"({"cloudant":[]})"));
  CHECK_FALSE(parse_security(R"({"cloudant":{"jan":"_reader"}})"));
  CHECK_FALSE(parse_security(R"({"cloudant":{"jan":["_boss"]}})"));
  CHECK_FALSE(parse_security(R"({"cloudant":{"jan":[1]}})"));
  CHECK(parse_security(R"({"cloudant":{"jan":["_db_updates","_shards","_security"]}})"));
}

TEST_CASE("with Cloudant's permissions, an empty list of members admits no user") {
  DatabaseFixture fixture;
  REQUIRE(fixture.database->set_security(R"({"cloudant":{"nobody":[]},"members":{"names":[]}})"));
  CHECK(reason(fixture.member(anonymous)) == "You are not authorized to access this db.");
  CHECK(reason(fixture.member(outsider)) == "_reader access is required for this request");
  CHECK(fixture.member(administrator));
}

TEST_CASE("Cloudant's permissions tell readers, writers, replicators and admins apart") {
  DatabaseFixture fixture;
  REQUIRE(fixture.database->set_security(
      R"({"cloudant":{"nobody":["_reader"],"jan":["_writer"],"rep":["_replicator"],"eve":["_admin"]},
          "members":{"roles":["crew"]}})"));
  const auto may = [&](Access access, const UserContext& user) {
    return check_access(access, user, fixture.database.get(), true).has_value();
  };
  CHECK(may(Access::database_member, anonymous));
  CHECK_FALSE(may(Access::database_writer, anonymous));
  CHECK(may(Access::database_writer, staff_member));
  CHECK_FALSE(may(Access::database_admin, staff_member));
  const UserContext replicator{"rep", {}, "default"};
  CHECK(may(Access::database_replicator, replicator));
  CHECK_FALSE(may(Access::database_writer, replicator));
  CHECK(may(Access::database_admin, outsider));
  const UserContext listed{"kim", {"crew"}, "default"};
  CHECK(may(Access::database_writer, listed));
}

TEST_CASE("couchdb_auth_only turns Cloudant's permissions off") {
  DatabaseFixture fixture;
  REQUIRE(fixture.database->set_security(
      R"({"couchdb_auth_only":true,"cloudant":{"eve":["_admin"]},"members":{"names":["jan"]}})"));
  CHECK(fixture.member(staff_member));
  CHECK_FALSE(fixture.member(outsider));
}

TEST_CASE("GET _security shows the default, then what was set") {
  AuthFixture fixture;
  auto database = *fixture.engine().create_database("shop", {});
  TestRequest get(Method::get);
  CHECK(fixture.handle(security_routes(), "/{db}/_security", get, administrator, {}, database)->body ==
        "{\"members\":{\"roles\":[\"_admin\"]},\"admins\":{\"roles\":[\"_admin\"]}}\n");

  TestRequest put(Method::put);
  put.body(R"( {"members": {"names": ["jan"]}, "note": 1.0} )");
  CHECK(fixture.handle(security_routes(), "/{db}/_security", put, administrator, {}, database)->body ==
        "{\"ok\":true}\n");
  CHECK(fixture.handle(security_routes(), "/{db}/_security", get, administrator, {}, database)->body ==
        "{\"members\":{\"names\":[\"jan\"]},\"note\":1.0}\n");
}

TEST_CASE("PUT _security refuses what it cannot use and keeps what was") {
  AuthFixture fixture;
  auto database = *fixture.engine().create_database("shop", {});
  TestRequest wrong(Method::put);
  wrong.body(R"({"members":1})");
  CHECK(fixture.handle(security_routes(), "/{db}/_security", wrong, administrator, {}, database).error().code ==
        ErrorCode::bad_request);
  TestRequest huge(Method::put);
  huge.body("{\"x\":\"" + std::string(2'000'000, 'x') + "\"}");
  CHECK(fixture.handle(security_routes(), "/{db}/_security", huge, administrator, {}, database).error().code ==
        ErrorCode::too_large);
  CHECK(database->security() == nullptr);
}
