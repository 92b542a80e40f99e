#include "api/http/cors.h"

#include <catch2/catch.hpp>

#include "unit/api/couch/auth/auth_fixture.h"

using namespace octavo;
using namespace octavo::api;
using octavo::tests::TestRequest;

namespace {

const std::string shop = "https://shop.example.com";

config::Settings cors_settings() {
  config::Settings settings;
  settings.cors_enabled = true;
  settings.cors_origins = {shop, "https://other.example.com"};
  return settings;
}

std::optional<std::string> cors_header_of(const Reply& reply, std::string_view name) {
  for (const auto& [key, value] : reply.headers) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::optional<Reply> preflight(const config::Settings& settings, const std::string& origin, const std::string& method,
                               const std::string& headers = "") {
  TestRequest request(Method::options, "/db");
  request.header("Origin", origin).header("Access-Control-Request-Method", method);
  if (!headers.empty()) request.header("Access-Control-Request-Headers", headers);
  return CorsPolicy(settings).preflight(request.get());
}

Reply decorated(const config::Settings& settings, const std::string& origin) {
  TestRequest request;
  request.header("Origin", origin);
  Reply reply;
  CorsPolicy(settings).decorate(request.get(), reply);
  return reply;
}

}  // namespace

TEST_CASE("a preflight from an allowed origin gets what is allowed") {
  const auto reply = preflight(cors_settings(), shop, "PUT", "Content-Type, X-Requested-With");
  REQUIRE(reply);
  CHECK(reply->status == 204);
  CHECK(reply->body.empty());
  CHECK(cors_header_of(*reply, "Access-Control-Allow-Origin") == shop);
  CHECK(cors_header_of(*reply, "Access-Control-Allow-Methods") == "GET, PUT, POST, HEAD, DELETE");
  CHECK(cors_header_of(*reply, "Access-Control-Allow-Headers") == "Content-Type, X-Requested-With");
  CHECK(cors_header_of(*reply, "Access-Control-Max-Age") == "600");
  CHECK_FALSE(cors_header_of(*reply, "Access-Control-Allow-Credentials"));
}

TEST_CASE("a preflight is not answered when anything of it is not allowed") {
  CHECK_FALSE(preflight(cors_settings(), "https://evil.example.com", "PUT"));
  CHECK_FALSE(preflight(cors_settings(), shop, "TRACE"));
  CHECK_FALSE(preflight(cors_settings(), shop, "put"));
  CHECK_FALSE(preflight(cors_settings(), shop, "PUT", "x-unknown"));
}

TEST_CASE("headers of a preflight are compared without case, and configured ones added") {
  auto settings = cors_settings();
  settings.cors_headers = {"X-My-Header"};
  CHECK(preflight(settings, shop, "GET", "AUTHORIZATION,x-my-header , if-match"));
}

TEST_CASE("an OPTIONS request without the headers of a preflight is answered as no preflight") {
  TestRequest no_origin(Method::options);
  no_origin.header("Access-Control-Request-Method", "PUT");
  CHECK_FALSE(CorsPolicy(cors_settings()).preflight(no_origin.get()));
  TestRequest no_method(Method::options);
  no_method.header("Origin", shop);
  CHECK_FALSE(CorsPolicy(cors_settings()).preflight(no_method.get()));
  TestRequest get(Method::get);
  get.header("Origin", shop).header("Access-Control-Request-Method", "PUT");
  CHECK_FALSE(CorsPolicy(cors_settings()).preflight(get.get()));
}

TEST_CASE("a reply to an allowed origin names it and what may be read") {
  const Reply reply = decorated(cors_settings(), shop);
  CHECK(cors_header_of(reply, "Access-Control-Allow-Origin") == shop);
  CHECK(cors_header_of(reply, "Vary") == "Origin");
  CHECK(cors_header_of(reply, "Access-Control-Expose-Headers")->find("etag") != std::string::npos);
}

TEST_CASE("a reply to another origin, or without one, is left alone") {
  CHECK(decorated(cors_settings(), "https://evil.example.com").headers.empty());
  CHECK(decorated(cors_settings(), shop + ".evil.example.com").headers.empty());
  TestRequest request;
  Reply reply;
  CorsPolicy(cors_settings()).decorate(request.get(), reply);
  CHECK(reply.headers.empty());
}

TEST_CASE("a wildcard lets every origin in and echoes it") {
  auto settings = cors_settings();
  settings.cors_origins = {"*"};
  CHECK(cors_header_of(decorated(settings, "https://any.example.com"), "Access-Control-Allow-Origin") ==
        "https://any.example.com");
  CHECK(preflight(settings, "https://any.example.com", "GET"));
}

TEST_CASE("credentials are allowed where they are configured") {
  auto settings = cors_settings();
  settings.cors_credentials = true;
  CHECK(cors_header_of(decorated(settings, shop), "Access-Control-Allow-Credentials") == "true");
  CHECK(cors_header_of(*preflight(settings, shop, "GET"), "Access-Control-Allow-Credentials") == "true");
}

TEST_CASE("without CORS nothing is answered and nothing added") {
  auto settings = cors_settings();
  settings.cors_enabled = false;
  CHECK_FALSE(preflight(settings, shop, "GET"));
  CHECK(decorated(settings, shop).headers.empty());
}

TEST_CASE("the Cosmos DB API lets its own headers and PATCH through") {
  const CorsPolicy policy(cors_settings(), cosmos_cors_headers);
  const auto ask = [&](const std::string& method, const std::string& headers) {
    TestRequest request(Method::options, "/dbs");
    request.header("Origin", shop).header("Access-Control-Request-Method", method);
    request.header("Access-Control-Request-Headers", headers);
    return policy.preflight(request.get()).has_value();
  };
  CHECK(ask("PATCH", "authorization, x-ms-date, X-MS-Version, if-none-match, prefer"));
  CHECK_FALSE(ask("PATCH", "x-couch-persist"));
  CHECK_FALSE(ask("COPY", "x-ms-date"));
  CHECK_FALSE(preflight(cors_settings(), shop, "PUT", "x-ms-date"));
  CHECK_FALSE(preflight(cors_settings(), shop, "PATCH"));
  auto reading = cors_settings();
  reading.cors_methods = {"GET"};
  TestRequest request(Method::options, "/dbs");
  request.header("Origin", shop).header("Access-Control-Request-Method", "PATCH");
  CHECK_FALSE(CorsPolicy(reading, cosmos_cors_headers).preflight(request.get()));
}
