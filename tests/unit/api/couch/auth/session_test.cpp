#include "api/couch/server/session.h"

#include <catch2/catch.hpp>

#include "unit/api/couch/auth/auth_fixture.h"

using namespace octavo;
using namespace octavo::api;
using namespace octavo::api::couch;
using octavo::tests::AuthFixture;
using octavo::tests::TestRequest;

namespace {

RouteList session_routes() {
  RouteList list;
  add_session_routes(list);
  return list;
}

std::string header_of(const Reply& reply, std::string_view name) {
  for (const auto& [key, value] : reply.headers) {
    if (key == name) return value;
  }
  return "";
}

struct SessionFixture {
  AuthFixture auth;

  Expected<Reply> post(const std::string& body, const std::string& type = "application/json",
                       const std::string& target = "/_session") {
    TestRequest request(Method::post, target);
    request.body(body, type);
    return auth.handle(session_routes(), "/_session", request);
  }
  Expected<Reply> get(const UserContext& user, const std::string& target = "/_session") {
    TestRequest request(Method::get, target);
    return auth.handle(session_routes(), "/_session", request, user);
  }
};

}  // namespace

TEST_CASE("logging in by JSON gives a cookie that is good for requests") {
  SessionFixture fixture;
  const auto reply = fixture.post(R"({"name":"admin","password":"secret"})");
  REQUIRE(reply);
  CHECK(reply->status == 200);
  CHECK(reply->body == R"({"ok":true,"name":"admin","roles":["_admin"]})");
  const std::string cookie = header_of(*reply, "Set-Cookie");
  REQUIRE(cookie.starts_with("AuthSession="));
  TestRequest request;
  request.header("Cookie", cookie.substr(0, cookie.find(';')));
  CHECK(fixture.auth.authenticate(request)->name == "admin");
}

TEST_CASE("logging in works by form, and with `username`") {
  SessionFixture fixture;
  CHECK(fixture.post("name=admin&password=secret", "application/x-www-form-urlencoded")->status == 200);
  CHECK(fixture.post("username=%61dmin&password=secret", "application/x-www-form-urlencoded; charset=utf-8")->status ==
        200);
  CHECK(fixture.post(R"({"username":"admin","password":"secret"})")->status == 200);
  CHECK(fixture.post(R"({"username":"admin","name":"admin","password":"secret"})")->status == 200);
}

TEST_CASE("a form may hold spaces and special characters") {
  SessionFixture fixture{AuthFixture(AuthFixture::settings_with({{"a b", "s+c=r&t %"}}))};
  CHECK(fixture.post("name=a+b&password=s%2Bc%3Dr%26t+%25", "application/x-www-form-urlencoded")->status == 200);
}

TEST_CASE("a wrong password is answered with 401 and the cookie taken away") {
  SessionFixture fixture;
  const auto reply = fixture.post(R"({"name":"admin","password":"wrong"})");
  REQUIRE(reply);
  CHECK(reply->status == 401);
  CHECK(reply->body == R"({"error":"unauthorized","reason":"Name or password is incorrect."})");
  CHECK(header_of(*reply, "Set-Cookie").starts_with("AuthSession=;"));
  CHECK(header_of(*reply, "Set-Cookie").ends_with("Max-Age=0"));
  CHECK(fixture.post(R"({"name":"admin"})")->status == 401);
  CHECK(fixture.post(R"({"name":"","password":""})")->status == 401);
}

TEST_CASE("a log-in without a name, or in another form, is told so") {
  SessionFixture fixture;
  const auto reason = [&](const std::string& body, const std::string& type) {
    const auto reply = fixture.post(body, type);
    return reply ? std::string() : reply.error().reason;
  };
  CHECK(reason("{}", "application/json") == "request body must contain a username");
  CHECK(reason("name=admin", "text/plain") ==
        "Content-Type must be 'application/x-www-form-urlencoded' or 'application/json'");
  CHECK(reason(R"({"name":"a","username":"b"})", "application/json") == "request body contains different usernames");
  CHECK(reason(R"({"name":1})", "application/json") == "The member name must be a string.");
  CHECK(reason("[]", "application/json") == "Request body must be a JSON object");
  CHECK(reason("name=%zz", "application/x-www-form-urlencoded") == "The form is not percent-encoded correctly.");
  CHECK(fixture.post(std::string(100'000, 'x')).error().code == ErrorCode::too_large);
}

TEST_CASE("`next` redirects after logging in, to this server only") {
  SessionFixture fixture;
  const std::string body = R"({"name":"admin","password":"secret"})";
  const auto reply = fixture.post(body, "application/json", "/_session?next=/db/doc%3Fx");
  REQUIRE(reply);
  CHECK(reply->status == 302);
  CHECK(header_of(*reply, "Location") == "/db/doc?x");
  CHECK(header_of(*reply, "Set-Cookie").starts_with("AuthSession="));
  for (const std::string target : {"http://evil.example.com", "//evil.example.com", "/%5Cevil", "/a%20b", "x"}) {
    INFO(target);
    const auto refused = fixture.post(body, "application/json", "/_session?next=" + target);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::bad_request);
  }
}

TEST_CASE("`fail` redirects after a wrong password") {
  SessionFixture fixture;
  const auto reply = fixture.post(R"({"name":"admin","password":"no"})", "application/json", "/_session?fail=/login");
  CHECK(reply->status == 302);
  CHECK(header_of(*reply, "Location") == "/login");
}

TEST_CASE("GET _session tells who one is") {
  SessionFixture fixture;
  CHECK(fixture.get({"jan", {"a", "b"}, "cookie"})->body ==
        R"({"ok":true,"userCtx":{"name":"jan","roles":["a","b"]},)"
        R"("info":{"authentication_handlers":["cookie","default"],"authenticated":"cookie"}})");
  CHECK(fixture.get({})->body == R"({"ok":true,"userCtx":{"name":null,"roles":[]},)"
                                 R"("info":{"authentication_handlers":["cookie","default"]}})");
}

TEST_CASE("GET _session?basic=true asks the anonymous to log in") {
  SessionFixture fixture;
  CHECK(fixture.get({}, "/_session?basic=true").error() == Error{ErrorCode::unauthorized, "Please login.", ""});
  CHECK(fixture.get({"jan", {}, "cookie"}, "/_session?basic=true"));
}

TEST_CASE("DELETE _session takes the cookie away") {
  SessionFixture fixture;
  TestRequest request(Method::del, "/_session");
  const auto reply = fixture.auth.handle(session_routes(), "/_session", request);
  CHECK(reply->body == R"({"ok":true})");
  CHECK(header_of(*reply, "Set-Cookie").starts_with("AuthSession=;"));
}

TEST_CASE("a reply that sets the cookie itself is not given another") {
  SessionFixture fixture;
  TestRequest request;
  request.cookie(fixture.auth.authenticator().issue_cookie({"admin", {"_admin"}, "cookie"}));
  Reply reply;
  reply.headers.emplace_back("Set-Cookie", "AuthSession=");
  renew_session(fixture.auth.services(), request.get(), {"admin", {"_admin"}, "cookie"}, reply);
  CHECK(reply.headers.size() == 1);
}
