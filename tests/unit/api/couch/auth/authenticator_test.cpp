#include "api/couch/auth/authenticator.h"

#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

#include "api/couch/auth/admin_store.h"
#include "api/couch/auth/login_limiter.h"
#include "api/couch/auth/session_cookie.h"
#include "api/couch/server/session.h"
#include "unit/api/couch/auth/auth_fixture.h"
#include "unit/api/couch/auth/jwt_signer.h"

using namespace octavo;
using namespace octavo::api;
using namespace octavo::api::couch;
using octavo::tests::AuthFixture;
using octavo::tests::EngineFixture;
using octavo::tests::TestRequest;

namespace {

const Error wrong_password{ErrorCode::unauthorized, "Name or password is incorrect.", ""};
const std::string jan_with_apple = R"({"type":"user","name":"jan","roles":["staff"],"password":"apple"})";

std::int64_t now_s() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace

TEST_CASE("an admin logs in by Basic and may do everything") {
  AuthFixture fixture;
  const auto user = fixture.basic("admin", "secret");
  REQUIRE(user);
  CHECK(user->name == "admin");
  CHECK(user->is_server_admin());
  CHECK(user->method == "default");
}

TEST_CASE("a remembered password is taken again, a wrong one still is not") {
  AuthFixture fixture;
  REQUIRE(fixture.basic("admin", "secret"));
  CHECK(fixture.basic("admin", "secret"));
  CHECK(fixture.basic("admin", "wrong").error() == wrong_password);
  CHECK(fixture.basic("admin", "").error() == wrong_password);
  CHECK(fixture.basic("unknown", "secret").error() == wrong_password);
}

TEST_CASE("the password of an admin is not stored in clear") {
  AuthFixture fixture;
  const auto entry = fixture.engine().catalog().fact("admins", "admin");
  REQUIRE(*entry);
  CHECK((*entry)->starts_with("-pbkdf2:sha256-"));
  CHECK((*entry)->find("secret") == std::string::npos);
}

TEST_CASE("a password changed in the configuration replaces the stored one") {
  AuthFixture fixture;
  fixture.stop();
  fixture.settings().admins = {{"admin", "changed"}};
  fixture.start();
  CHECK(fixture.basic("admin", "changed"));
  CHECK(fixture.basic("admin", "secret").error() == wrong_password);
}

TEST_CASE("an unchanged password keeps its salt over a restart, so sessions live on") {
  AuthFixture fixture;
  const auto before = *fixture.engine().catalog().fact("admins", "admin");
  fixture.stop();
  fixture.start();
  CHECK(*fixture.engine().catalog().fact("admins", "admin") == before);
}

TEST_CASE("a user whom the configuration no longer names is no admin") {
  AuthFixture fixture(AuthFixture::settings_with({{"admin", "secret"}, {"second", "secret"}}));
  CHECK(fixture.basic("second", "secret"));
  fixture.stop();
  fixture.settings().admins = {{"admin", "secret"}};
  fixture.start();
  CHECK(fixture.basic("second", "secret").error() == wrong_password);
}

TEST_CASE("a configuration that names no admin leaves the stored ones: the server does not fall open") {
  AuthFixture fixture;
  fixture.stop();
  fixture.settings().admins.clear();
  fixture.start();
  CHECK(fixture.authenticator().has_admins());
  CHECK(fixture.basic("admin", "secret"));
  TestRequest anonymous;
  CHECK_FALSE(fixture.authenticate(anonymous)->is_server_admin());
}

TEST_CASE("a configured password may be a hash, as CouchDB's configuration has it") {
  const auto entry = StoredPassword::make("secret", 10).admin_entry();
  AuthFixture fixture(AuthFixture::settings_with({{"admin", entry}}));
  CHECK(fixture.basic("admin", "secret"));
  CHECK_FALSE(fixture.basic("admin", entry));
}

TEST_CASE("admins that could never log in are refused at start") {
  AuthFixture fixture;
  for (const auto& [name, password] : std::map<std::string, std::string>{{"", "x"}, {"a:b", "x"}, {"a", ""}}) {
    INFO(name);
    const auto settings = AuthFixture::settings_with({{name, password}});
    const auto created = Authenticator::create(settings, fixture.engine());
    REQUIRE_FALSE(created);
    CHECK(created.error().code == ErrorCode::bad_request);
  }
}

TEST_CASE("without admins everyone is admin") {
  AuthFixture fixture(AuthFixture::settings_with({}));
  CHECK_FALSE(fixture.authenticator().has_admins());
  TestRequest request;
  const auto user = fixture.authenticate(request);
  REQUIRE(user);
  CHECK(user->name.empty());
  CHECK(user->is_server_admin());
  CHECK(user->method.empty());
}

TEST_CASE("with admins a request without credentials is anonymous") {
  AuthFixture fixture;
  TestRequest request;
  const auto user = fixture.authenticate(request);
  REQUIRE(user);
  CHECK(user->name.empty());
  CHECK(user->roles.empty());
}

TEST_CASE("require_valid_user refuses the anonymous but for health checks and logging in") {
  auto settings = AuthFixture::settings_with({{"admin", "secret"}});
  settings.require_valid_user = true;
  AuthFixture fixture(settings);
  const auto anonymous = [&](Method method, const std::string& path) {
    TestRequest request(method, path);
    return fixture.authenticate(request).has_value();
  };
  CHECK(anonymous(Method::get, "/_up"));
  CHECK(anonymous(Method::get, "/_ready"));
  CHECK(anonymous(Method::post, "/_session"));
  CHECK_FALSE(anonymous(Method::get, "/_session"));
  CHECK_FALSE(anonymous(Method::get, "/"));
  CHECK_FALSE(anonymous(Method::get, "/_up/x"));
  CHECK_FALSE(anonymous(Method::get, "/db"));
  CHECK(fixture.basic("admin", "secret"));
}

TEST_CASE("require_valid_user refuses every request if the server has no admins") {
  auto settings = AuthFixture::settings_with({});
  settings.require_valid_user = true;
  AuthFixture fixture(settings);
  TestRequest request;
  CHECK(fixture.authenticate(request).error() == Error{ErrorCode::unauthorized, "Authentication required.", ""});
}

TEST_CASE("malformed Authorization headers are told apart") {
  AuthFixture fixture;
  const auto error = [&](const std::string& header) {
    TestRequest request;
    request.header("Authorization", header);
    const auto user = fixture.authenticate(request);
    return user ? std::string() : user.error().reason;
  };
  CHECK(error("Basic") == "Authorization header is invalid");
  CHECK(error("Digest x") == "Authorization header is invalid");
  CHECK(error("Bearer x") == "Authorization header is invalid");
  CHECK(error("Basic ???") == "Authorization header has invalid base64 value");
  const std::string other_port =
      "This port has the CouchDB API. The Azure Cosmos DB API is on another one (cosmos.port = 8081).";
  CHECK(error("type%3Dmaster%26ver%3D1.0%26sig%3Dx") == other_port);
  CHECK(error("type=master&ver=1.0&sig=x") == other_port);
  CHECK(error("bAsIc " + crypto::base64_encode("admin:secret")).empty());
}

TEST_CASE("a Basic header without a colon, and the log-out credentials, are anonymous") {
  AuthFixture fixture;
  TestRequest request;
  request.header("Authorization", "Basic " + crypto::base64_encode("admin"));
  CHECK(fixture.authenticate(request)->name.empty());
  CHECK(fixture.basic("_", "_")->name.empty());
}

TEST_CASE("a password may contain colons") {
  AuthFixture fixture(AuthFixture::settings_with({{"admin", "a:b:c"}}));
  CHECK(fixture.basic("admin", "a:b:c"));
  CHECK_FALSE(fixture.basic("admin", "a"));
}

TEST_CASE("a user of the users database logs in with the roles of their document") {
  AuthFixture fixture;
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), "jan", jan_with_apple));
  const auto user = fixture.basic("jan", "apple");
  REQUIRE(user);
  CHECK(user->roles == std::vector<std::string>{"staff"});
  CHECK_FALSE(user->is_server_admin());
}

TEST_CASE("changed roles count at once") {
  AuthFixture fixture;
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), "jan", jan_with_apple));
  REQUIRE(fixture.basic("jan", "apple"));
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), "jan",
                             R"({"type":"user","name":"jan","roles":["boss"],"password":"apple"})"));
  CHECK(fixture.basic("jan", "apple")->roles == std::vector<std::string>{"boss"});
}

TEST_CASE("a changed password counts at once") {
  AuthFixture fixture;
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), "jan", jan_with_apple));
  REQUIRE(fixture.basic("jan", "apple"));
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), "jan",
                             R"({"type":"user","name":"jan","roles":[],"password":"pear"})"));
  CHECK(fixture.basic("jan", "apple").error() == wrong_password);
  CHECK(fixture.basic("jan", "pear"));
}

TEST_CASE("a deleted user is out at once, by password and by cookie") {
  AuthFixture fixture;
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), "jan", jan_with_apple));
  REQUIRE(fixture.basic("jan", "apple"));
  TestRequest request;
  request.cookie(fixture.authenticator().issue_cookie(AuthFixture::known("jan")));
  REQUIRE(fixture.authenticate(request)->name == "jan");
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), "jan", "{}", true));
  CHECK(fixture.basic("jan", "apple").error() == wrong_password);
  CHECK(fixture.authenticate(request)->name.empty());
}

TEST_CASE("users are found again in a users database that was deleted and created again") {
  AuthFixture fixture;
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), "jan", jan_with_apple));
  REQUIRE(fixture.basic("jan", "apple"));
  REQUIRE(fixture.engine().delete_database(users_database));
  CHECK(fixture.basic("jan", "apple").error() == wrong_password);
  REQUIRE(ensure_system_databases(fixture.engine()));
  CHECK(fixture.basic("jan", "apple").error() == wrong_password);
}

TEST_CASE("a user whose document has conflicts cannot log in") {
  AuthFixture fixture;
  const auto replicate = [&](const std::string& revision, const std::string& text) {
    storage::DocumentWrite write;
    write.id = "org.couchdb.user:jan";
    write.replicated = true;
    write.history = {*storage::Revision::parse(revision)};
    write.body = text;
    std::vector<storage::DocumentWrite> writes;
    writes.push_back(std::move(write));
    REQUIRE(octavo::tests::run_task(fixture.users()->write(std::move(writes))).front());
  };
  const auto body = *fixture.prepare(AuthFixture::server_admin(), "org.couchdb.user:jan", jan_with_apple);
  replicate("1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", body);
  REQUIRE(fixture.basic("jan", "apple"));
  replicate("1-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", body);
  const auto user = fixture.basic("jan", "apple");
  REQUIRE_FALSE(user);
  CHECK(user.error().code == ErrorCode::unauthorized);
  CHECK(user.error().reason.starts_with("User document conflict must be resolved"));
}

TEST_CASE("an admin with a user document has the roles of both, and the admin's password") {
  AuthFixture fixture;
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), "admin",
                             R"({"type":"user","name":"admin","roles":["staff"],"password":"apple"})"));
  CHECK(fixture.basic("admin", "apple").error() == wrong_password);
  CHECK(fixture.basic("admin", "secret")->roles == std::vector<std::string>{"_admin", "staff"});
}

TEST_CASE("guessing is stopped, without locking out who is known already") {
  AuthFixture fixture;
  REQUIRE(fixture.basic("admin", "secret"));
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), "jan", jan_with_apple));
  for (std::uint32_t i = 0; i < LoginLimiter::failures_max; ++i) {
    CHECK(fixture.basic("jan", "guess" + std::to_string(i)).error() == wrong_password);
    CHECK(fixture.basic("admin", "guess" + std::to_string(i)).error() == wrong_password);
  }
  CHECK(fixture.basic("jan", "apple").error() ==
        Error{ErrorCode::forbidden, "Account is temporarily locked due to multiple authentication failures", ""});
  CHECK(fixture.basic("admin", "secret"));
  TestRequest elsewhere;
  elsewhere.basic("jan", "apple").get().peer_address = "192.0.2.99";
  CHECK(fixture.authenticate(elsewhere));
}

TEST_CASE("a session cookie identifies its user") {
  AuthFixture fixture;
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), "jan", jan_with_apple));
  TestRequest request;
  request.cookie(fixture.authenticator().issue_cookie(AuthFixture::known("jan")));
  const auto user = fixture.authenticate(request);
  REQUIRE(user);
  CHECK(user->name == "jan");
  CHECK(user->roles == std::vector<std::string>{"staff"});
  CHECK(user->method == "cookie");
}

TEST_CASE("a changed password ends the sessions of its user") {
  AuthFixture fixture;
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), "jan", jan_with_apple));
  TestRequest request;
  request.cookie(fixture.authenticator().issue_cookie(AuthFixture::known("jan")));
  REQUIRE(fixture.authenticate(request)->name == "jan");
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), "jan", jan_with_apple));
  CHECK(fixture.authenticate(request)->name.empty());
}

TEST_CASE("an expired, forged or foreign cookie makes a request anonymous") {
  auto settings = AuthFixture::settings_with({{"admin", "secret"}});
  settings.cookie_secret = "cookie secret";
  AuthFixture fixture(settings);
  const auto salt = StoredPassword::parse_admin_entry(**fixture.engine().catalog().fact("admins", "admin"))->salt;
  const auto name_of = [&](const std::string& cookie) {
    TestRequest request;
    request.cookie(cookie);
    const auto user = fixture.authenticate(request);
    REQUIRE(user);
    return user->name;
  };
  CHECK(name_of(SessionCookie::encode("admin", now_s() - 590, "cookie secret", salt)) == "admin");
  CHECK(name_of(SessionCookie::encode("admin", now_s() - 601, "cookie secret", salt)).empty());
  CHECK(name_of(SessionCookie::encode("admin", now_s(), "other secret", salt)).empty());
  CHECK(name_of(SessionCookie::encode("admin", now_s(), "cookie secret", "")).empty());
  CHECK(name_of(SessionCookie::encode("unknown", now_s(), "cookie secret", "")).empty());
}

TEST_CASE("an invalid cookie is reported, as clients must drop it") {
  AuthFixture fixture;
  TestRequest request;
  request.cookie("garbage!");
  CHECK(fixture.authenticate(request).error() ==
        Error{ErrorCode::bad_request, "Malformed AuthSession cookie. Please clear your cookies.", ""});
}

TEST_CASE("an expired cookie beside a password does no harm") {
  AuthFixture fixture;
  TestRequest request;
  request.cookie(SessionCookie::encode("admin", 1, "x", "y")).basic("admin", "secret");
  CHECK(fixture.authenticate(request)->name == "admin");
}

TEST_CASE("a cookie is renewed when half of its life is over") {
  auto settings = AuthFixture::settings_with({{"admin", "secret"}});
  settings.cookie_secret = "cookie secret";
  AuthFixture fixture(settings);
  const auto salt = StoredPassword::parse_admin_entry(**fixture.engine().catalog().fact("admins", "admin"))->salt;
  const auto renewed = [&](std::int64_t age_s) {
    TestRequest request;
    request.cookie(SessionCookie::encode("admin", now_s() - age_s, "cookie secret", salt));
    const auto user = fixture.authenticate(request);
    REQUIRE(user);
    return fixture.authenticator().renewed_cookie(request.get(), *user);
  };
  CHECK_FALSE(renewed(10));
  CHECK_FALSE(renewed(290));
  REQUIRE(renewed(310));
  CHECK(renewed(310)->starts_with("AuthSession="));
  CHECK_FALSE(renewed(601));
}

TEST_CASE("the cookie secret outlives a restart, and so do sessions") {
  AuthFixture fixture;
  TestRequest request;
  request.cookie(fixture.authenticator().issue_cookie(AuthFixture::server_admin()));
  fixture.stop();
  fixture.start();
  CHECK(fixture.authenticate(request)->name == "admin");
}

TEST_CASE("a user of the users database opens a session") {
  AuthFixture fixture;
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), "jan", jan_with_apple));
  RouteList routes;
  add_session_routes(routes);
  TestRequest request(Method::post, "/_session");
  request.body(R"({"name":"jan","password":"apple"})");
  CHECK(fixture.handle(routes, "/_session", request)->status == 200);
}

TEST_CASE("a proxy that shares the secret names the user and the roles") {
  auto settings = AuthFixture::settings_with({{"admin", "secret"}});
  settings.proxy_secret = "proxy secret";
  AuthFixture fixture(settings);
  CHECK(fixture.authenticator().accepts_proxy());
  const auto token = [](crypto::Digest digest, std::string_view key, std::string_view name) {
    return crypto::hex_encode(crypto::hmac(digest, key, name));
  };
  const auto by_proxy = [&](const std::string& name, const std::string& proof) {
    TestRequest request;
    request.header("X-Auth-CouchDB-UserName", name).header("X-Auth-CouchDB-Token", proof);
    request.header("X-Auth-CouchDB-Roles", "staff, ,blogger");
    return fixture.authenticate(request);
  };
  const auto user = by_proxy("jan", token(crypto::Digest::sha256, "proxy secret", "jan"));
  REQUIRE(user);
  CHECK(user->name == "jan");
  CHECK(user->roles == std::vector<std::string>{"staff", "blogger"});
  CHECK(user->method == "proxy");
  CHECK(by_proxy("jan", token(crypto::Digest::sha1, "proxy secret", "jan"))->name == "jan");
  CHECK(by_proxy("jan", token(crypto::Digest::sha256, "other", "jan"))->name.empty());
  CHECK(by_proxy("eve", token(crypto::Digest::sha256, "proxy secret", "jan"))->name.empty());
  CHECK(by_proxy("jan", "")->name.empty());
  CHECK(by_proxy("", token(crypto::Digest::sha256, "proxy secret", ""))->name.empty());
  CHECK(fixture.basic("admin", "secret"));
}

TEST_CASE("headers of a proxy mean nothing without a secret") {
  AuthFixture fixture;
  CHECK_FALSE(fixture.authenticator().accepts_proxy());
  TestRequest request;
  request.header("X-Auth-CouchDB-UserName", "jan");
  request.header("X-Auth-CouchDB-Token", crypto::hex_encode(crypto::hmac(crypto::Digest::sha256, "", "jan")));
  CHECK(fixture.authenticate(request)->name.empty());
}

TEST_CASE("a JWT identifies its user once keys are configured") {
  auto settings = AuthFixture::settings_with({{"admin", "secret"}});
  settings.jwt_keys = {{"hs256:_default", crypto::base64_encode("jwt secret")}};
  AuthFixture fixture(settings);
  CHECK(fixture.authenticator().accepts_jwt());
  const auto by_token = [&](const std::string& payload, std::string_view secret = "jwt secret") {
    TestRequest request;
    request.header("Authorization", "Bearer " + octavo::tests::sign_hs256(secret, R"({"alg":"HS256"})", payload));
    return fixture.authenticate(request);
  };
  const auto user = by_token(R"({"sub":"jan","_couchdb.roles":["staff"]})");
  REQUIRE(user);
  CHECK(user->name == "jan");
  CHECK(user->roles == std::vector<std::string>{"staff"});
  CHECK(user->method == "jwt");
  CHECK(by_token(R"({"sub":"jan","_couchdb.roles":["staff"]})")->name == "jan");
  CHECK(by_token(R"({"sub":"jan"})", "other").error().reason == "Bad HMAC");
  CHECK(fixture.basic("admin", "secret"));
}

TEST_CASE("a remembered JWT expires all the same") {
  auto settings = AuthFixture::settings_with({{"admin", "secret"}});
  settings.jwt_keys = {{"hs256:_default", crypto::base64_encode("jwt secret")}};
  AuthFixture fixture(settings);
  TestRequest request;
  request.header("Authorization",
                 "Bearer " + octavo::tests::sign_hs256("jwt secret", R"({"alg":"HS256"})",
                                                       R"({"sub":"jan","exp":)" + std::to_string(now_s() + 4) + "}"));
  REQUIRE(fixture.authenticate(request));
  std::this_thread::sleep_for(std::chrono::milliseconds(4200));
  CHECK(fixture.authenticate(request).error().reason == "exp not in future");
}

TEST_CASE("many threads log in at once, with right and wrong passwords") {
  AuthFixture fixture(AuthFixture::settings_with({{"admin", "secret"}}));
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), "jan", jan_with_apple));
  std::atomic<int> mistakes{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 50; ++i) {
        if (!fixture.basic("jan", "apple")) ++mistakes;
        if (!fixture.basic("admin", "secret")) ++mistakes;
        if (i < 2 && fixture.basic("unknown" + std::to_string(thread), "x")) ++mistakes;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(mistakes == 0);
}

TEST_CASE("a crowd with one new password causes one hashing, and all get in") {
  auto settings = AuthFixture::settings_with({{"admin", "secret"}});
  settings.pbkdf2_iterations = 20'000;
  AuthFixture fixture(settings);
  boost::asio::io_context context(1);
  constexpr int crowd = 100;
  int inside = 0;
  std::vector<std::unique_ptr<TestRequest>> requests;
  for (int i = 0; i < crowd; ++i) {
    requests.push_back(std::make_unique<TestRequest>());
    requests.back()->basic("admin", "secret");
    boost::asio::co_spawn(context.get_executor(), fixture.authenticator().authenticate(requests.back()->get()),
                          [&](std::exception_ptr error, Expected<UserContext> user) {
                            if (!error && user) ++inside;
                          });
  }
  context.run();
  CHECK(inside == crowd);
}

TEST_CASE("the server's id is made once") {
  AuthFixture fixture;
  const auto uuid = load_server_uuid(fixture.engine().catalog());
  REQUIRE(uuid);
  CHECK(uuid->size() == 32);
  CHECK(load_server_uuid(fixture.engine().catalog()) == uuid);
}
