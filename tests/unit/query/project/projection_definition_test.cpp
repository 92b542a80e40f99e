#include "query/project/projection_definition.h"

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace octavo;
using query::project::check_projection_name;
using query::project::ProjectionDefinition;

namespace {

Expected<ProjectionDefinition> parse_projection(std::string_view json) {
  return ProjectionDefinition::parse(boost::json::parse({json.data(), json.size()}).as_object());
}

/// The word of the error that a definition with these members beside the target meets.
std::string projection_word_of(const std::string& members) {
  const auto parsed = parse_projection(R"({"target":{"db":"t"},)" + members + "}");
  return parsed ? "accepted" : std::string(parsed.error().word);
}

std::string projection_join_of(const std::string& join) {
  return R"("fields":["a"],"joins":{"j":)" + join + "}";
}

}  // namespace

TEST_CASE("a projection's target can be swapped if it is exclusive, and can be created") {
  const auto swapping = [](std::string_view target) {
    return parse_projection(R"({"fields":["a"],"swap":"database","target":)" + std::string(target) + "}");
  };
  const auto parsed = swapping(R"({"db":"t","exclusive":true,"create":{}})");
  REQUIRE(parsed);
  CHECK(parsed->swaps_target);
  CHECK(swapping(R"({"db":"t","exclusive":true})").error().word == "projection_syntax");
  CHECK(swapping(R"({"db":"t","create":{}})").error().word == "projection_syntax");
}

TEST_CASE("a projection's definition is read") {
  const auto parsed = parse_projection(
      R"({"where":"c.a > 1","include_derived":true,"target":{"db":"t","exclusive":true},"key":"{k}","id":"{_id}",)"
      R"("fields":{"*":true,"n":"c.n + 1","x y":true},"newest":{"by":"date","n":3},"on_error":"stop","fan_out_max":7,)"
      R"("joins":{"u":{"lookup":{"db":"users","id":"{user}"},"when":"c.user","required":true},)"
      R"("l":{"count":{"db":"likes","by":"{post}","equals":"{_id}","where":"c.ok","include_derived":true}}}})");
  REQUIRE(parsed);
  CHECK(parsed->where == "c.a > 1");
  CHECK((parsed->include_derived && parsed->exclusive && parsed->keeps_all && parsed->stops_on_error));
  CHECK(parsed->target == "t");
  CHECK(parsed->key->text() == "{k}");
  REQUIRE(parsed->fields.size() == 2);
  CHECK(parsed->fields[0].expression == "c.n + 1");
  CHECK(parsed->fields[1].expression == R"(c["x y"])");
  CHECK(parsed->newest->count == 3);
  CHECK(parsed->fan_out_max == 7);
  REQUIRE(parsed->joins.size() == 2);
  CHECK((parsed->joins[0].required && !parsed->joins[0].is_count));
  CHECK((parsed->joins[1].is_count && parsed->joins[1].include_derived && parsed->joins[1].where == "c.ok"));
}

TEST_CASE("rows have fields or come from a function, and a target may say how it is created") {
  const auto parsed =
      parse_projection(R"({"target":{"db":"t","create":{"partitioned":true}},"transform":"(doc) => doc"})");
  REQUIRE(parsed);
  CHECK(parsed->transform == "(doc) => doc");
  CHECK(parsed->fields.empty());
  REQUIRE(parsed->creation);
  CHECK(parsed->creation->at("partitioned") == true);
  CHECK(projection_word_of(R"("key":"{a}")") == "projection_syntax");
  CHECK(projection_word_of(R"("fields":["a"],"transform":"f")") == "projection_syntax");
  CHECK(projection_word_of(R"("transform":null)") == "projection_syntax");
  CHECK(projection_word_of(R"("fields":["a"],"swap":"rows")") == "accepted");
  CHECK(projection_word_of(R"("fields":["a"],"swap":"all")") == "projection_syntax");
  const std::string most = R"("transform":")" + std::string(query::project::transform_bytes_max, 'x');
  CHECK(projection_word_of(most + "\"") == "accepted");
  CHECK(projection_word_of(most + "x\"") == "limit");
  CHECK(!parse_projection(R"({"target":{"db":"t","create":true},"fields":["a"]})"));
}

TEST_CASE("a list of names is short for fields of these names") {
  const auto parsed = parse_projection(R"({"target":{"db":"t"},"fields":["a","b\"c"]})");
  REQUIRE(parsed);
  CHECK(parsed->fields[1].name == "b\"c");
  CHECK(parsed->fields[1].expression == R"(c["b\"c"])");
}

TEST_CASE("unknown members of a projection are refused at every level") {
  CHECK(projection_word_of(R"("fields":["a"],"filter":"x")") == "unknown_member");
  CHECK(projection_word_of(R"("fields":["a"],"newest":{"by":"a","n":1,"x":1})") == "unknown_member");
  CHECK(projection_word_of(projection_join_of(R"({"lookup":{"db":"d","id":"{a}"},"x":1})")) == "unknown_member");
  CHECK(projection_word_of(projection_join_of(R"({"lookup":{"db":"d","id":"{a}","by":"{a}"}})")) == "unknown_member");
  CHECK(projection_word_of(projection_join_of(R"({"count":{"db":"d","by":"{a}","equals":"{a}","id":"{a}"}})")) ==
        "unknown_member");
}

TEST_CASE("members of a projection of another type are refused") {
  for (const char* const members : {R"("x":1)",
                                    R"("fields":1)",
                                    R"("fields":[1])",
                                    R"("fields":{"*":false})",
                                    R"("fields":{"a":1})",
                                    R"("fields":{"a":false})",
                                    R"("fields":["_a"])",
                                    R"("fields":[""])",
                                    R"("fields":["a","a"])",
                                    R"("fields":["a"],"where":1)",
                                    R"("fields":["a"],"where":"c.a","selector":{})",
                                    R"("fields":["a"],"selector":{"$x":1})",
                                    R"("fields":["a"],"include_derived":1)",
                                    R"("fields":["a"],"key":1)",
                                    R"("fields":["a"],"id":"{")",
                                    R"("fields":["a"],"newest":1)",
                                    R"("fields":["a"],"newest":{"n":1})",
                                    R"("fields":["a"],"newest":{"by":"a","n":1.5})",
                                    R"("fields":["a"],"on_error":"wait")",
                                    R"("fields":["a"],"on_error":1)",
                                    R"("fields":["a"],"fan_out_max":0)",
                                    R"("fields":["a"],"joins":[])"}) {
    CAPTURE(members);
    const auto word = projection_word_of(members);
    CHECK((word == "projection_syntax" || word == "unknown_member"));
  }
  CHECK(parse_projection(R"({"target":"t","fields":["a"]})").error().word == "projection_syntax");
  CHECK(parse_projection(R"({"target":{"db":""},"fields":["a"]})").error().word == "projection_syntax");
  CHECK(parse_projection(R"({"target":{"db":"t","x":1},"fields":["a"]})").error().word == "unknown_member");
}

TEST_CASE("a join of a projection is either a lookup or a count, and complete") {
  CHECK(projection_word_of(projection_join_of(R"({"lookup":{"db":"d","id":"{a}"}})")) == "accepted");
  for (const char* const join :
       {"1", "{}", R"({"lookup":1})", R"({"lookup":{"db":"d"}})", R"({"lookup":{"id":"{a}"}})",
        R"({"count":{"db":"d","by":"{a}"}})", R"({"count":{"db":"d","equals":"{a}"}})",
        R"({"lookup":{"db":"d","id":"{a}"},"count":{"db":"d","by":"{a}","equals":"{a}"}})",
        R"({"count":{"db":"d","by":"{a}","equals":"{a}"},"required":true})",
        R"({"lookup":{"db":"d","id":"{a}"},"when":""})", R"({"lookup":{"db":"d","id":"{a}"},"required":1})"}) {
    CAPTURE(join);
    CHECK(projection_word_of(projection_join_of(join)) == "projection_syntax");
  }
}

TEST_CASE("a projection has limits") {
  const auto fields = [](int count) {
    std::string list;
    for (int i = 0; i < count; ++i) list += fmt::format(R"({}"f{}")", i > 0 ? "," : "", i);
    return R"("fields":[)" + list + "]";
  };
  CHECK(projection_word_of(fields(100)) == "accepted");
  CHECK(projection_word_of(fields(101)) == "limit");
  CHECK(projection_word_of(R"("fields":["a"],"newest":{"by":"a","n":10000})") == "accepted");
  CHECK(projection_word_of(R"("fields":["a"],"newest":{"by":"a","n":10001})") == "limit");
  CHECK(projection_word_of(R"("fields":["a"],"newest":{"by":"a","n":0})") == "limit");
  std::string joins;
  for (int i = 0; i < 9; ++i)
    joins += fmt::format(R"({}"j{}":{{"lookup":{{"db":"d","id":"x"}}}})", i > 0 ? "," : "", i);
  CHECK(projection_word_of(R"("fields":["a"],"joins":{)" + joins + "}") == "limit");
}

TEST_CASE("the name of a projection is a word") {
  for (const char* const name : {"a", "9", "by_user-2"}) CHECK(check_projection_name(name));
  CHECK(check_projection_name(std::string(128, 'a')));
  CHECK(!check_projection_name(std::string(129, 'a')));
  for (const char* const name : {"", "_a", "-a", "a/b", "a b", "\xC3\xA4"}) {
    CAPTURE(name);
    CHECK(check_projection_name(name).error().word == "projection_syntax");
  }
}
