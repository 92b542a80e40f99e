#include "api/couch/call/query_parameters.h"

#include <map>

#include <catch2/catch.hpp>

using namespace octavo;
using namespace octavo::api;
using namespace octavo::api::couch;

namespace {

ParameterValue of_text(std::string_view text) {
  return ParameterValue(text);
}

struct OneHeader final : HeaderSource {
  OneHeader(std::string header_name, std::string header_value)
      : name(std::move(header_name)), value(std::move(header_value)) {}
  std::optional<std::string_view> find(std::string_view wanted) const override {
    if (wanted != name) return std::nullopt;
    return std::string_view(value);
  }
  void for_each(FunctionRef<void(std::string_view, std::string_view)> visit) const override { visit(name, value); }
  std::string name;
  std::string value;
};

}  // namespace

TEST_CASE("a boolean may be written in any case") {
  CHECK(of_text("TRUE").as_boolean() == true);
  CHECK(of_text("false").as_boolean() == false);
}

TEST_CASE("an invalid boolean is a query_parse_error that quotes it") {
  const auto value = of_text("maybe").as_boolean();
  REQUIRE_FALSE(value.has_value());
  CHECK(value.error().word == "query_parse_error");
  CHECK(value.error().reason == "Invalid boolean parameter: \"maybe\"");
}

TEST_CASE("a count is a whole number") {
  CHECK(of_text("10").as_count() == 10U);
  CHECK(of_text("ten").as_count().error().reason == "Invalid value for integer: \"ten\"");
  CHECK(of_text("10x").as_count().error().reason == "Invalid value for integer: \"10x\"");
  CHECK(of_text("").as_count().error().word == "query_parse_error");
}

TEST_CASE("a count is not negative") {
  CHECK(of_text("-1").as_count().error().reason == "Invalid value for positive integer: \"-1\"");
}

TEST_CASE("values of a JSON body are read as they are") {
  const boost::json::value flag(true);
  const boost::json::value number(5);
  const boost::json::value word("x");
  CHECK(ParameterValue(flag).as_boolean() == true);
  CHECK(ParameterValue(number).as_count() == 5U);
  CHECK(ParameterValue(word).as_count().error().reason == "Invalid value for integer: \"x\"");
}

TEST_CASE("a content type may have parameters") {
  const OneHeader header("Content-Type", "application/json; charset=utf-8");
  Request request;
  request.headers = &header;
  CHECK(require_json_content_type(request).has_value());
}

TEST_CASE("another content type is refused with 415's word") {
  const OneHeader header("Content-Type", "text/plain");
  Request request;
  request.headers = &header;
  const auto checked = require_json_content_type(request);
  REQUIRE_FALSE(checked.has_value());
  CHECK(checked.error().word == "bad_content_type");
  CHECK(checked.error().reason ==
        "Content-Type must be application/json; with curl: -H 'Content-Type: application/json'");
}

TEST_CASE("If-None-Match may list several entity tags, weak ones too") {
  const OneHeader header("If-None-Match", "\"1-a\", W/\"2-b\"");
  Request request;
  request.headers = &header;
  CHECK(none_match_has(request, "\"1-a\""));
  CHECK(none_match_has(request, "\"2-b\""));
  CHECK_FALSE(none_match_has(request, "\"3-c\""));
}

TEST_CASE("a wildcard does not ask for multipart") {
  const OneHeader any("Accept", "*/*");
  const OneHeader named("Accept", "multipart/mixed;q=0.9, text/html");
  Request request;
  request.headers = &any;
  CHECK_FALSE(accepts_by_name(request, "multipart/mixed"));
  request.headers = &named;
  CHECK(accepts_by_name(request, "multipart/mixed"));
}

TEST_CASE("a client takes what Accept names or includes, and everything without Accept") {
  const OneHeader parts("Accept", "multipart/*;q=0.9, text/html");
  const OneHeader any("Accept", "text/html, */*;q=0.1");
  Request request;
  CHECK(accepts(request, "application/json"));
  request.headers = &parts;
  CHECK(accepts(request, "multipart/related"));
  CHECK_FALSE(accepts(request, "application/json"));
  request.headers = &any;
  CHECK(accepts(request, "application/json"));
}

TEST_CASE("a location keeps the colon of a partitioned id and encodes the rest") {
  const OneHeader host("Host", "example.org:5984");
  Request request;
  request.headers = &host;
  CHECK(location_of(request, "a/b", "p#1:x y") == "http://example.org:5984/a%2Fb/p%231:x%20y");
}
