#include "api/http/request.h"

#include <random>

#include <catch2/catch.hpp>

using namespace octavo::api;

namespace {

std::vector<std::string> segments(std::string_view target) {
  Request request;
  REQUIRE(parse_target(target, request));
  return request.segments;
}

}  // namespace

TEST_CASE("a target is split at its slashes before it is decoded") {
  CHECK(segments("/a%2Fb/c%3Ad") == std::vector<std::string>{"a/b", "c:d"});
}

TEST_CASE("the root has no segments") {
  CHECK(segments("/").empty());
}

TEST_CASE("empty segments are left out") {
  CHECK(segments("/db/") == std::vector<std::string>{"db"});
  CHECK(segments("//db//x//") == std::vector<std::string>{"db", "x"});
  CHECK(segments("///").empty());
}

TEST_CASE("a plus is itself in the path and a space in the query") {
  Request request;
  REQUIRE(parse_target("/a+b?c+d=e+f%2B", request));
  CHECK(request.segments.front() == "a+b");
  CHECK(request.query.front().name == "c d");
  CHECK(request.query.front().value == "e f+");
}

TEST_CASE("a plus in the path can be read as a space, and an encoded one stays") {
  Request request;
  REQUIRE(parse_target("/a+b/c%2Bd//e?f=%2B", request));
  read_plus_as_space(request);
  CHECK(request.segments == std::vector<std::string>{"a b", "c+d", "e"});
  CHECK(request.query.front().value == "+");
}

TEST_CASE("the raw path stays as it was sent") {
  Request request;
  REQUIRE(parse_target("/a%2Fb?x=1", request));
  CHECK(request.raw_path == "/a%2Fb");
  CHECK(request.target == "/a%2Fb?x=1");
}

TEST_CASE("a repeated parameter means its last value") {
  Request request;
  REQUIRE(parse_target("/?a=1&b=2&a=3", request));
  CHECK(request.parameter("a") == "3");
  CHECK(request.parameter("b") == "2");
  CHECK(request.parameter("c") == std::nullopt);
}

TEST_CASE("a parameter without a value is empty, not absent") {
  Request request;
  REQUIRE(parse_target("/?a&b=", request));
  CHECK(request.parameter("a") == "");
  CHECK(request.parameter("b") == "");
}

TEST_CASE("parsing again leaves nothing of the request before") {
  Request request;
  REQUIRE(parse_target("/one/two/three?a=1&b=2", request));
  REQUIRE(parse_target("/four?c=3", request));
  CHECK(request.segments == std::vector<std::string>{"four"});
  REQUIRE(request.query.size() == 1);
  CHECK(request.query.front().name == "c");
}

TEST_CASE("malformed targets are refused") {
  Request request;
  CHECK_FALSE(parse_target("", request));
  CHECK_FALSE(parse_target("db", request));
  CHECK_FALSE(parse_target("*", request));
  CHECK_FALSE(parse_target("/%", request));
  CHECK_FALSE(parse_target("/%4", request));
  CHECK_FALSE(parse_target("/%zz", request));
  CHECK_FALSE(parse_target("/?a=%g0", request));
  CHECK_FALSE(parse_target("/a\x01", request));
}

TEST_CASE("a target of more parts than any resource has is refused") {
  std::string path;
  std::string query = "/?";
  for (std::size_t i = 0; i < target_parts_max; ++i) {
    path += "/a";
    query += "a&";
  }
  Request request;
  CHECK(parse_target(path, request));
  CHECK(parse_target(query, request));
  CHECK_FALSE(parse_target(path + "/a", request));
  CHECK_FALSE(parse_target(query + "a", request));
}

TEST_CASE("a request tells what its decoded target holds, and gives it back") {
  // Given a long element, and then a short one in its place, which keeps what the long one had
  Request request;
  REQUIRE(parse_target('/' + std::string(50'000, 'a') + "?q=" + std::string(10'000, 'b'), request));
  REQUIRE(parse_target("/a?q=b", request));
  CHECK(request.target_bytes() >= 60'000);
  // When it is given back, nothing is left
  request.release_target();
  CHECK(request.target_bytes() < 100);
}

TEST_CASE("whatever is encoded decodes to itself") {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::string text(random() % 40, '\0');
    for (auto& c : text) c = static_cast<char>(random());
    REQUIRE(percent_decode(percent_encode(text), false) == text);
    REQUIRE(percent_decode(percent_encode(text), true) == text);
  }
}

TEST_CASE("methods have the names of a request line") {
  CHECK(to_string(Method::get) == "GET");
  CHECK(to_string(Method::del) == "DELETE");
  CHECK(to_string(Method::copy) == "COPY");
}
