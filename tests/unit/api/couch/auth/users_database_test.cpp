#include "api/couch/auth/users_database.h"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "unit/api/couch/auth/auth_fixture.h"

using namespace octavo;
using namespace octavo::api;
using namespace octavo::api::couch;
using octavo::tests::AuthFixture;
using octavo::tests::TestRequest;

namespace {

const UserContext unknown_user{};
const UserContext admin = AuthFixture::server_admin();

std::string user_body(const std::string& name, const std::string& more = "", const std::string& roles = "[]") {
  return R"({"type":"user","name":")" + name + R"(","roles":)" + roles + more + "}";
}

/// Reason of the refusal; empty when the edit is allowed.
std::string refusal(AuthFixture& fixture, const UserContext& user, const std::string& name, const std::string& body,
                    bool deleted = false) {
  const auto prepared = fixture.prepare(user, "org.couchdb.user:" + name, body, deleted);
  if (prepared) return "";
  CHECK(prepared.error().code == ErrorCode::forbidden);
  return prepared.error().reason;
}

struct ReadFixture {
  AuthFixture auth;
  TestRequest request;
  Services services = auth.services();

  Expected<void> read(const UserContext& user, std::string_view id) {
    const Call call{request.get(), services, user, auth.users(), {}};
    return check_user_document_read(call, id);
  }
  Expected<void> list(const UserContext& user, std::string_view endpoint) {
    const Call call{request.get(), services, user, auth.users(), {}};
    return check_system_listing(call, endpoint);
  }
};

}  // namespace

TEST_CASE("the system databases are there from the first start, and stay") {
  AuthFixture fixture;
  CHECK(fixture.engine().databases().names() == std::vector<std::string>{"_replicator", "_users"});
  const std::string tag = fixture.users()->instance_tag();
  REQUIRE(ensure_system_databases(fixture.engine()));
  CHECK(fixture.users()->instance_tag() == tag);
  CHECK(is_users_database(*fixture.users()));
}

TEST_CASE("a password is replaced by its hash, all else keeps its text") {
  AuthFixture fixture;
  const auto body = fixture.prepare(
      admin, "org.couchdb.user:jan",
      R"({"name":"jan","type":"user","roles":["a"],"age":12345678901234567890,"password":"apple","x":1.0})");
  REQUIRE(body);
  CHECK(body->starts_with(
      R"({"name":"jan","type":"user","roles":["a"],"age":12345678901234567890,"x":1.0,"password_scheme":"pbkdf2",)"));
  const auto document = boost::json::parse(*body).as_object();
  CHECK_FALSE(document.contains("password"));
  CHECK(document.at("pbkdf2_prf") == "sha256");
  CHECK(document.at("iterations") == 10);
  CHECK(document.at("salt").as_string().size() == 32);
  CHECK(document.at("derived_key").as_string().size() == 64);
}

TEST_CASE("a new password replaces the hash that came along") {
  AuthFixture fixture;
  const auto body = fixture.prepare(
      admin, "org.couchdb.user:jan",
      user_body("jan", R"(,"password":"apple","derived_key":"x","salt":"y","iterations":"z","password_scheme":"q")"));
  REQUIRE(body);
  const auto document = boost::json::parse(*body).as_object();
  CHECK(document.at("password_scheme") == "pbkdf2");
  CHECK(document.at("salt") != "y");
}

TEST_CASE("a document without a password is stored as it is") {
  AuthFixture fixture;
  CHECK(fixture.prepare(admin, "org.couchdb.user:jan", user_body("jan")) == user_body("jan"));
  CHECK(fixture.prepare(admin, "org.couchdb.user:jan", user_body("jan", R"(,"password":null)")) ==
        user_body("jan", R"(,"password":null)"));
}

TEST_CASE("user documents are validated in CouchDB's words") {
  AuthFixture fixture;
  CHECK(refusal(fixture, admin, "jan", R"({"name":"jan","roles":[]})") == "doc.type must be user");
  CHECK(refusal(fixture, admin, "jan", R"({"type":"user","roles":[]})") == "doc.name is required");
  CHECK(refusal(fixture, admin, "jan", R"({"type":"user","name":"jan"})") == "doc.roles must exist");
  CHECK(refusal(fixture, admin, "jan", user_body("jan", "", "\"a\"")) == "doc.roles must be an array");
  CHECK(refusal(fixture, admin, "jan", user_body("jan", "", "[1]")) == "doc.roles can only contain strings");
  CHECK(refusal(fixture, admin, "eve", user_body("jan")) == "Doc ID must be of the form org.couchdb.user:name");
  CHECK(refusal(fixture, admin, "jan", user_body("jan", "", R"(["_admin"])")) ==
        "No system roles (starting with underscore) in users db.");
  CHECK(refusal(fixture, admin, "jan", user_body("jan", "", R"(["_metrics"])")).empty());
  CHECK(refusal(fixture, admin, "_jan", user_body("_jan")) == "Username may not start with underscore.");
  CHECK(refusal(fixture, admin, "a:b", user_body("a:b")) == "Character `:` is not allowed in usernames.");
  CHECK(refusal(fixture, admin, "jan", user_body("jan", R"(,"password":1)")) == "The password must be a string.");
  CHECK(refusal(fixture, admin, "jan", user_body("jan", R"(,"password_scheme":"md5")")) ==
        "Password scheme `md5` not supported.");
  CHECK(refusal(fixture, admin, "jan", user_body("jan", R"(,"password_scheme":"pbkdf2")")) ==
        "iterations must be a number.");
  CHECK(refusal(fixture, admin, "jan", user_body("jan", R"(,"password_scheme":"pbkdf2","iterations":1)")) ==
        "derived_key must be a string.");
  CHECK(refusal(fixture, admin, "jan", user_body("jan", R"(,"password_sha":"x")")) ==
        "Users with password_sha must have a salt.");
  CHECK(refusal(fixture, admin, "jan", user_body("jan", R"(,"password_sha":"x","salt":"y")")).empty());
}

TEST_CASE("of roles given twice, the ones that would be stored are checked") {
  AuthFixture fixture;
  CHECK(refusal(fixture, admin, "jan", R"({"type":"user","name":"jan","roles":[],"roles":["_admin"]})") ==
        "No system roles (starting with underscore) in users db.");
}

TEST_CASE("a user without a name may register, without roles") {
  AuthFixture fixture;
  CHECK(refusal(fixture, unknown_user, "jan", user_body("jan", R"(,"password":"apple")")).empty());
  CHECK(refusal(fixture, unknown_user, "jan", user_body("jan", "", R"(["a"])")) == "Only _admin may set roles");
}

TEST_CASE("a user without a name may not change a user who exists") {
  AuthFixture fixture;
  REQUIRE(fixture.write_user(admin, "jan", user_body("jan")));
  CHECK(refusal(fixture, unknown_user, "jan", user_body("jan")) == "You may only update your own user document.");
}

TEST_CASE("users change their own document, but not their roles or name") {
  AuthFixture fixture;
  const auto jan = AuthFixture::known("jan", {"a", "b"});
  REQUIRE(fixture.write_user(admin, "jan", user_body("jan", "", R"(["a","b"])")));
  CHECK(refusal(fixture, jan, "jan", user_body("jan", R"(,"likes":"tea")", R"(["b","a"])")).empty());
  CHECK(refusal(fixture, jan, "jan", user_body("jan", "", R"(["a"])")) == "Only _admin may edit roles");
  CHECK(refusal(fixture, jan, "jan", user_body("jan", "", R"(["a","b","c"])")) == "Only _admin may edit roles");
  CHECK(refusal(fixture, jan, "jan", user_body("jan", "", R"(["a","c"])")) == "Only _admin may edit roles");
  CHECK(refusal(fixture, admin, "jan", user_body("jan", "", R"(["c"])")).empty());
}

TEST_CASE("a user does not learn of others by writing to them") {
  AuthFixture fixture;
  REQUIRE(fixture.write_user(admin, "jan", user_body("jan")));
  const auto eve = AuthFixture::known("eve");
  for (const bool deleted : {false, true}) {
    const auto there = fixture.prepare(eve, "org.couchdb.user:jan", user_body("jan"), deleted);
    const auto not_there = fixture.prepare(eve, "org.couchdb.user:zoe", user_body("zoe"), deleted);
    REQUIRE_FALSE(there);
    CHECK(there.error().code == ErrorCode::not_found);
    CHECK(there == not_there);
  }
}

TEST_CASE("users delete themselves only, admins all users, and a user without a name none") {
  AuthFixture fixture;
  REQUIRE(fixture.write_user(admin, "jan", user_body("jan")));
  CHECK(refusal(fixture, AuthFixture::known("jan"), "jan", "{}", true).empty());
  CHECK(refusal(fixture, admin, "jan", "{}", true).empty());
  CHECK(refusal(fixture, unknown_user, "jan", "{}", true) == "Only admins may delete other user docs.");
  CHECK(refusal(fixture, unknown_user, "zoe", "{}", true) == "Only admins may delete other user docs.");
}

TEST_CASE("a tombstone keeps no password") {
  AuthFixture fixture;
  CHECK(fixture.prepare(admin, "org.couchdb.user:jan", R"({"password":"apple","x":1})", true) == R"({"x":1})");
}

TEST_CASE("admins by the database's _security count as admins") {
  AuthFixture fixture;
  REQUIRE(fixture.users()->set_security(R"({"admins":{"roles":["hr"]}})"));
  const auto boss = AuthFixture::known("boss", {"hr"});
  CHECK(refusal(fixture, boss, "jan", user_body("jan", "", R"(["a"])")).empty());
}

TEST_CASE("only admins write design documents to the users database") {
  AuthFixture fixture;
  CHECK(fixture.prepare(admin, "_design/x", "{}") == "{}");
  CHECK(fixture.prepare(AuthFixture::known("jan"), "_design/x", "{}").error().code == ErrorCode::forbidden);
}

TEST_CASE("a deeply nested or malformed user document is an error, no crash") {
  AuthFixture fixture;
  std::string deep = user_body("jan", ",\"x\":" + std::string(100'000, '[') + std::string(100'000, ']'));
  CHECK_FALSE(fixture.prepare(admin, "org.couchdb.user:jan", deep));
  CHECK_FALSE(fixture.prepare(admin, "org.couchdb.user:jan", "{"));
  CHECK_FALSE(fixture.prepare(admin, "org.couchdb.user:jan", "[]"));
}

TEST_CASE("users read their own document, admins all, others learn nothing") {
  ReadFixture fixture;
  const auto jan = AuthFixture::known("jan");
  CHECK(fixture.read(jan, "org.couchdb.user:jan"));
  CHECK(fixture.read(admin, "org.couchdb.user:jan"));
  CHECK(fixture.read(jan, "org.couchdb.user:eve").error() == Error{ErrorCode::not_found, "", ""});
  CHECK(fixture.read(unknown_user, "org.couchdb.user:jan").error() == Error{ErrorCode::not_found, "", ""});
  CHECK(fixture.read(unknown_user, "org.couchdb.user:").error() == Error{ErrorCode::not_found, "", ""});
  CHECK(fixture.read(jan, "jan").error().code == ErrorCode::not_found);
}

TEST_CASE("design documents of the users database are for admins") {
  ReadFixture fixture;
  CHECK(fixture.read(admin, "_design/x"));
  CHECK(fixture.read(AuthFixture::known("jan"), "_design/x").error() ==
        Error{ErrorCode::forbidden, "Only administrators can view design docs in the users database.", ""});
}

TEST_CASE("lists of users are for admins") {
  ReadFixture fixture;
  CHECK(fixture.list(admin, "_all_docs"));
  CHECK(fixture.list(AuthFixture::known("jan"), "_all_docs").error() ==
        Error{ErrorCode::forbidden, "Only admins can access _all_docs of system databases.", ""});
}
