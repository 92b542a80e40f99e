#include <catch2/catch.hpp>

#include "api/couch/auth/login_limiter.h"
#include "api/couch/auth/session_cookie.h"
#include "api/couch/auth/stored_password.h"
#include "api/couch/auth/user_directory.h"
#include "base/encoding.h"
#include "unit/api/couch/auth/auth_fixture.h"

using namespace octavo;
using namespace octavo::api;
using namespace octavo::api::couch;
using namespace std::chrono_literals;
using octavo::tests::TestRequest;

TEST_CASE("a new password is stored as salted PBKDF2 with SHA-256, and matches itself only") {
  const auto stored = StoredPassword::make("apple", 10);
  CHECK(stored.digest == crypto::Digest::sha256);
  CHECK(stored.iterations == 10);
  CHECK(stored.salt.size() == 32);
  CHECK(stored.derived_key.size() == 64);
  CHECK(stored.matches("apple"));
  CHECK_FALSE(stored.matches("Apple"));
  CHECK_FALSE(stored.matches(""));
  CHECK(StoredPassword::make("apple", 10).salt != stored.salt);
}

TEST_CASE("an admin entry is read back as it was written") {
  const auto stored = StoredPassword::make("apple", 10);
  const auto read = StoredPassword::parse_admin_entry(stored.admin_entry());
  REQUIRE(read);
  CHECK(read->matches("apple"));
  CHECK(read->admin_entry() == stored.admin_entry());
}

TEST_CASE("CouchDB's old admin entries are read") {
  const std::string sha1_key = crypto::hex_encode(crypto::pbkdf2(crypto::Digest::sha1, "apple", "salt", 10, 20));
  const auto pbkdf2 = StoredPassword::parse_admin_entry("-pbkdf2-" + sha1_key + ",salt,10");
  REQUIRE(pbkdf2);
  CHECK(pbkdf2->matches("apple"));
  const std::string sha1 = crypto::hex_encode(crypto::hash(crypto::Digest::sha1, "applesalt"));
  const auto hashed = StoredPassword::parse_admin_entry("-hashed-" + sha1 + ",salt");
  REQUIRE(hashed);
  CHECK(hashed->matches("apple"));
  CHECK_FALSE(hashed->matches("applesal"));
}

TEST_CASE("what is no admin entry is a password in clear") {
  CHECK_FALSE(StoredPassword::parse_admin_entry("apple"));
  CHECK_FALSE(StoredPassword::parse_admin_entry("-pbkdf2-"));
  CHECK_FALSE(StoredPassword::parse_admin_entry("-pbkdf2:md5-00,salt,10"));
  CHECK_FALSE(StoredPassword::parse_admin_entry("-pbkdf2:sha256-00,salt,10"));
  const std::string key(64, 'a');
  CHECK(StoredPassword::parse_admin_entry("-pbkdf2:sha256-" + key + ",salt,10"));
  CHECK_FALSE(StoredPassword::parse_admin_entry("-pbkdf2:sha256-" + key + ",salt,0"));
  CHECK_FALSE(StoredPassword::parse_admin_entry("-pbkdf2:sha256-" + key + ",salt,x"));
  CHECK_FALSE(StoredPassword::parse_admin_entry("-pbkdf2:sha256-" + key + ",salt,4000000000"));
}

TEST_CASE("a user document of CouchDB with SHA-1 PBKDF2 is read") {
  const std::string key = crypto::hex_encode(crypto::pbkdf2(crypto::Digest::sha1, "apple", "0123", 10, 20));
  const auto user = parse_user_document(
      "jan", R"({"type":"user","name":"jan","roles":["a"],"password_scheme":"pbkdf2","iterations":10,"salt":"0123",)"
             R"("derived_key":")" +
                 key + "\"}");
  REQUIRE(user);
  REQUIRE(user->password);
  CHECK(user->password->matches("apple"));
  CHECK(user->roles == std::vector<std::string>{"a"});
}

TEST_CASE("a user document of CouchDB with SHA-256 PBKDF2 is read") {
  const std::string key = crypto::hex_encode(crypto::pbkdf2(crypto::Digest::sha256, "apple", "0123", 10, 32));
  const auto user = parse_user_document(
      "jan", R"({"type":"user","name":"jan","roles":[],"password_scheme":"pbkdf2","pbkdf2_prf":"sha256",)"
             R"("iterations":10,"salt":"0123","derived_key":")" +
                 key + "\"}");
  REQUIRE(user->password);
  CHECK(user->password->matches("apple"));
}

TEST_CASE("a user document with the simple scheme is read") {
  const std::string sha = crypto::hex_encode(crypto::hash(crypto::Digest::sha1, "apple0123"));
  const auto user = parse_user_document(
      "jan", R"({"type":"user","name":"jan","roles":[],"salt":"0123","password_sha":")" + sha + "\"}");
  REQUIRE(user->password);
  CHECK(user->password->matches("apple"));
}

TEST_CASE("a user document whose key is cut short or empty lets no one log in") {
  const std::string head =
      R"({"type":"user","name":"jan","roles":[],"password_scheme":"pbkdf2","iterations":10,"salt":"0","derived_key":")";
  CHECK_FALSE(parse_user_document("jan", head + "\"}")->password);
  CHECK_FALSE(parse_user_document("jan", head + "0c60c80f\"}")->password);
}

TEST_CASE("a user document with absurdly many rounds does not reach a worker") {
  const auto user = parse_user_document(
      "jan", R"({"type":"user","name":"jan","roles":[],"password_scheme":"pbkdf2","iterations":1e9,"salt":"0",)"
             R"("derived_key":"0c60c80f961f0e71f3a9b524af6012062fe037a6"})");
  CHECK(user->too_many_iterations);
  CHECK_FALSE(user->password);
}

TEST_CASE("system roles in a user document are ignored") {
  const auto user = parse_user_document("jan", R"({"type":"user","name":"jan","roles":["_admin","a","_metrics",1]})");
  CHECK(user->roles == std::vector<std::string>{"a", "_metrics"});
}

TEST_CASE("an invalid user document is not taken as a user") {
  CHECK_FALSE(parse_user_document("jan", R"({"type":"user","name":"eve","roles":[]})"));
  CHECK_FALSE(parse_user_document("jan", R"({"type":"thing","name":"jan","roles":[]})"));
  CHECK_FALSE(parse_user_document("jan", R"([])"));
}

TEST_CASE("a session cookie is read back and bears its signature") {
  const auto value = SessionCookie::encode("jan", 0x650A1B2C, "secret", "salt");
  const auto cookie = SessionCookie::decode(value);
  REQUIRE(cookie);
  CHECK(cookie->user == "jan");
  CHECK(cookie->issued_s == 0x650A1B2C);
  CHECK(cookie->signed_with("secret", "salt"));
  CHECK_FALSE(cookie->signed_with("secret", "other"));
  CHECK_FALSE(cookie->signed_with("other", "salt"));
}

TEST_CASE("a session cookie has CouchDB's format") {
  const std::string text = *crypto::base64url_decode(SessionCookie::encode("jan", 0x650A1B2C, "secret", "salt"));
  CHECK(text == "jan:650A1B2C:" + crypto::hmac(crypto::Digest::sha256, "secretsalt", "jan:650A1B2C"));
}

TEST_CASE("a session cookie with any bit changed is refused") {
  const std::string text = *crypto::base64url_decode(SessionCookie::encode("jan", 0x650A1B2C, "secret", "salt"));
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string changed = text;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    const auto cookie = SessionCookie::decode(crypto::base64url_encode(changed));
    INFO(bit);
    // The case of a hexadecimal digit is the only thing that may differ: it is the same time.
    const bool same = cookie && cookie->user == "jan" && cookie->issued_s == 0x650A1B2C &&
                      changed.size() == text.size() && changed.substr(13) == text.substr(13);
    CHECK((cookie && cookie->signed_with("secret", "salt")) == same);
  }
}

TEST_CASE("an invalid session cookie is not taken as one") {
  CHECK_FALSE(SessionCookie::decode(""));
  CHECK_FALSE(SessionCookie::decode("!!!"));
  CHECK_FALSE(SessionCookie::decode(crypto::base64url_encode("jan")));
  CHECK_FALSE(SessionCookie::decode(crypto::base64url_encode("jan:650A1B2C")));
  CHECK_FALSE(SessionCookie::decode(crypto::base64url_encode("jan:xyz:sig")));
  CHECK_FALSE(SessionCookie::decode(crypto::base64url_encode("jan:-1:sig")));
  CHECK_FALSE(SessionCookie::decode(crypto::base64url_encode("jan:FFFFFFFFFFFFFFFFFF:sig")));
  CHECK_FALSE(SessionCookie::decode(std::string(20'000, 'A')));
}

TEST_CASE("the session cookie is found among others") {
  TestRequest request;
  request.header("Cookie", "a=b; AuthSession=abc ;XAuthSession=no");
  CHECK(session_cookie_of(request.get()) == "abc");
  request.header("Cookie", "AuthSession=\"abc\"");
  CHECK(session_cookie_of(request.get()) == "abc");
  request.header("Cookie", "AuthSession=; b=c");
  CHECK_FALSE(session_cookie_of(request.get()));
  request.header("Cookie", "XAuthSession=abc");
  CHECK_FALSE(session_cookie_of(request.get()));
  CHECK_FALSE(session_cookie_of(TestRequest().get()));
}

TEST_CASE("Set-Cookie protects the session cookie and lets it end") {
  config::Settings settings;
  settings.session_timeout_s = 600s;
  const std::string plain = set_session_cookie("v", settings, false);
  CHECK(plain.starts_with("AuthSession=v; Version=1; Path=/; HttpOnly; SameSite=Lax; Expires="));
  CHECK(plain.ends_with(" GMT; Max-Age=600"));
  CHECK(set_session_cookie("v", settings, true)
            .starts_with("AuthSession=v; Version=1; Path=/; HttpOnly; Secure; SameSite=Lax; "));
  settings.cors_enabled = true;
  settings.cors_credentials = true;
  CHECK(set_session_cookie("v", settings, true).find("Secure; SameSite=None") != std::string::npos);
  CHECK(set_session_cookie("v", settings, false).find("SameSite=Lax") != std::string::npos);
}

TEST_CASE("a user is locked after many failures from one address, and only there") {
  LoginLimiter limiter;
  const auto now = LoginLimiter::Clock::now();
  for (std::uint32_t i = 0; i < LoginLimiter::failures_max; ++i) {
    CHECK_FALSE(limiter.locked("192.0.2.1", "jan", now));
    limiter.failed("192.0.2.1", "jan", now);
  }
  CHECK(limiter.locked("192.0.2.1", "jan", now));
  CHECK_FALSE(limiter.locked("192.0.2.2", "jan", now));
  CHECK_FALSE(limiter.locked("192.0.2.1", "eve", now));
}

TEST_CASE("a lock ends with its window, and by success") {
  LoginLimiter limiter;
  const auto now = LoginLimiter::Clock::now();
  for (std::uint32_t i = 0; i < LoginLimiter::failures_max; ++i) limiter.failed("a", "jan", now);
  CHECK(limiter.locked("a", "jan", now + LoginLimiter::window - 1s));
  CHECK_FALSE(limiter.locked("a", "jan", now + LoginLimiter::window));
  for (std::uint32_t i = 0; i < LoginLimiter::failures_max; ++i) limiter.failed("a", "jan", now);
  limiter.succeeded("a", "jan");
  CHECK_FALSE(limiter.locked("a", "jan", now));
}

TEST_CASE("a bounded cache forgets what was used least recently") {
  BoundedCache<int, int> cache(2);
  cache.insert(1, 10);
  cache.insert(2, 20);
  CHECK(*cache.find(1) == 10);
  cache.insert(3, 30);
  CHECK(cache.find(2) == nullptr);
  CHECK(*cache.find(1) == 10);
  CHECK(*cache.find(3) == 30);
  cache.insert(1, 11);
  CHECK(*cache.find(1) == 11);
  cache.erase(1);
  CHECK(cache.find(1) == nullptr);
  CHECK(cache.size() == 1);
}
