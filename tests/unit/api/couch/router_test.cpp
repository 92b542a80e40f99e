#include "api/couch/call/router.h"

#include <catch2/catch.hpp>

using namespace octavo;
using namespace octavo::api;
using namespace octavo::api::couch;

namespace {

Task<Expected<Reply>> nothing(Call&) {
  co_return Reply{};
}

const Router& example() {
  RouteList routes;
  const auto add = [&](Method method, std::string_view pattern) {
    routes.push_back({method, pattern, Access::anyone, nothing});
  };
  add(Method::get, "/");
  add(Method::get, "/_node/{node}/_stats");
  add(Method::put, "/{db}");
  add(Method::get, "/{db}");
  add(Method::get, "/{db}/_all_docs");
  add(Method::post, "/{db}/_all_docs");
  add(Method::get, "/{db}/{docid}");
  add(Method::copy, "/{db}/{docid}");
  add(Method::del, "/{db}/{docid}");
  add(Method::get, "/{db}/{docid}/{attachment*}");
  add(Method::get, "/{db}/_local");
  add(Method::post, "/{db}/_partition/{partition}/_find");
  add(Method::get, "/{db}/_partition/{partition}/{rest*}");
  add(Method::get, "/{db}/_design/{ddoc}/_info");
  static const Router router(std::move(routes));
  return router;
}

std::string parameter(const Router::Match& match, std::string_view name) {
  for (const auto& [known, value] : match.parameters) {
    if (known == name) return value;
  }
  return "(none)";
}

}  // namespace

TEST_CASE("a literal segment wins over a parameter") {
  const auto match = example().match(Method::get, {"db", "_all_docs"});
  REQUIRE(match.route != nullptr);
  CHECK(match.route->pattern == "/{db}/_all_docs");
  CHECK(parameter(match, "db") == "db");
}

TEST_CASE("a parameter takes a whole segment, slashes inside it included") {
  const auto match = example().match(Method::get, {"a/b", "x/y"});
  REQUIRE(match.route != nullptr);
  CHECK(match.route->pattern == "/{db}/{docid}");
  CHECK(parameter(match, "db") == "a/b");
  CHECK(parameter(match, "docid") == "x/y");
}

TEST_CASE("HEAD is served by the route of GET") {
  const auto match = example().match(Method::head, {"db"});
  REQUIRE(match.route != nullptr);
  CHECK(match.route->method == Method::get);
}

TEST_CASE("a known path with another method tells what is allowed") {
  const auto match = example().match(Method::put, {"db", "doc"});
  CHECK(match.route == nullptr);
  CHECK(match.allowed_methods == "DELETE,GET,HEAD,COPY");
}

TEST_CASE("an unknown path allows nothing") {
  const auto match = example().match(Method::get, {"_node", "x", "y", "z"});
  CHECK((match.route == nullptr || match.route->pattern == "/{db}/{docid}/{attachment*}"));
}

TEST_CASE("a design document is a document id of two segments") {
  const auto match = example().match(Method::get, {"db", "_design", "orders"});
  REQUIRE(match.route != nullptr);
  CHECK(match.route->pattern == "/{db}/{docid}");
  CHECK(parameter(match, "docid") == "_design/orders");
}

TEST_CASE("a local document is a document id of two segments") {
  const auto match = example().match(Method::get, {"db", "_local", "checkpoint"});
  REQUIRE(match.route != nullptr);
  CHECK(parameter(match, "docid") == "_local/checkpoint");
}

TEST_CASE("a pattern that names something of a design document wins") {
  const auto match = example().match(Method::get, {"db", "_design", "orders", "_info"});
  REQUIRE(match.route != nullptr);
  CHECK(match.route->pattern == "/{db}/_design/{ddoc}/_info");
  CHECK(parameter(match, "ddoc") == "orders");
}

TEST_CASE("what follows a document id is an attachment, its slashes kept") {
  const auto match = example().match(Method::get, {"db", "_design", "orders", "a", "b.txt"});
  REQUIRE(match.route != nullptr);
  CHECK(parameter(match, "docid") == "_design/orders");
  CHECK(parameter(match, "attachment") == "a/b.txt");
}

TEST_CASE("the server's own paths name no local document") {
  const auto match = example().match(Method::get, {"_node", "_local", "_stats"});
  REQUIRE(match.route != nullptr);
  CHECK(match.route->pattern == "/_node/{node}/_stats");
  CHECK(parameter(match, "node") == "_local");
}

TEST_CASE("an unknown path below a partition falls to the rest") {
  const auto match = example().match(Method::get, {"db", "_partition", "p", "a", "b"});
  REQUIRE(match.route != nullptr);
  CHECK(match.route->pattern == "/{db}/_partition/{partition}/{rest*}");
  CHECK(parameter(match, "rest") == "a/b");
}

TEST_CASE("a known path below a partition keeps its own methods") {
  const auto match = example().match(Method::get, {"db", "_partition", "p", "_find"});
  CHECK(match.route == nullptr);
  CHECK(match.allowed_methods == "POST");
}

TEST_CASE("the root has a route of its own") {
  const auto match = example().match(Method::get, {});
  REQUIRE(match.route != nullptr);
  CHECK(match.route->pattern == "/");
}
