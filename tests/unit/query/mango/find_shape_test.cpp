#include "query/mango/find_shape.h"

#include <string>

#include <catch2/catch.hpp>

using octavo::query::FindRequest;
using octavo::query::parse_find_request;

namespace {

FindRequest find_request_of(std::string_view body) {
  return *parse_find_request(body, {}, 25);
}

std::string shape_of_find(std::string_view body) {
  std::string out;
  octavo::query::append_shape(out, find_request_of(body));
  return out;
}

}  // namespace

TEST_CASE("the shape of a find has its fields and operators, and no values") {
  CHECK(shape_of_find(R"({"selector":{"year":2020}})") == "year $eq ?");
  CHECK(shape_of_find(R"({"selector":{"year":2019},"limit":7,"fields":["a"]})") == "year $eq ?");
  CHECK(shape_of_find(R"({"selector":{"year":2020,"car.model":{"$gt":"a"}}})") == "(year $eq ? and car.model $gt ?)");
  CHECK(shape_of_find(R"({"selector":{"$or":[{"a":1},{"b":{"$in":[1,2,3]}}]}})") == "(a $eq ? or b $in ?)");
  CHECK(shape_of_find(R"({"selector":{}})") == "{}");
}

TEST_CASE("the shape of a find has its sort") {
  CHECK(shape_of_find(R"({"selector":{"a":1},"sort":[{"a":"desc"},{"b":"desc"}]})") == "a $eq ? sort a desc b desc");
}

TEST_CASE("the shape of a find shows the conditions on elements") {
  CHECK(shape_of_find(R"({"selector":{"tags":{"$elemMatch":{"name":"x"}}}})") == "tags $elemMatch name $eq ?");
}

TEST_CASE("the shape of a very long selector is bounded") {
  std::string body = R"({"selector":{"$or":[)";
  for (int i = 0; i < 5'000; ++i)
    body += (i > 0 ? "," : "") + std::string(R"({"field)") + std::to_string(i) + R"(":1})";
  CHECK(shape_of_find(body + "]}}").size() < 10'000);
}

TEST_CASE("fields that must equal one value are found in a find") {
  const auto outline = octavo::query::outline_of(
      find_request_of(R"({"selector":{"a":1,"b":{"$gt":2},"$and":[{"c.d":"x"}],"$or":[{"e":1},{"f":2}]}})"));
  std::vector<std::string> texts;
  for (const auto& path : outline.equalities) texts.push_back(path.text());
  CHECK(texts == std::vector<std::string>{"a", "c.d"});
}
