#include "api/cosmos/items/patch.h"

#include <string>

#include <catch2/catch.hpp>

#include "api/cosmos/items/patch_condition.h"

namespace octavo::api::cosmos {
namespace {

std::string patched(std::string_view body, std::string_view operations) {
  const auto patch = Patch::parse(operations);
  if (!patch) return "refused: " + patch.error().reason;
  auto result = patch->apply(body);
  return result ? *result : "failed: " + result.error().reason;
}

}  // namespace

TEST_CASE("a patch sets what is there and what is not") {
  CHECK(patched(R"({"a":1,"b":2})", R"([{"op":"set","path":"/a","value":3}])") == R"({"a":3,"b":2})");
  CHECK(patched(R"({"a":1})", R"([{"op":"add","path":"/c","value":{"x": [1, 2]}}])") == R"({"a":1,"c":{"x":[1,2]}})");
  CHECK(patched("{}", R"([{"op":"set","path":"/a","value":null}])") == R"({"a":null})");
}

TEST_CASE("what a patch does not touch keeps its text") {
  CHECK(patched(R"({"n":1.0,"big":12345678901234567890,"s":"\u00e9","a":1})", R"([{"op":"remove","path":"/a"}])") ==
        R"({"n":1.0,"big":12345678901234567890,"s":"\u00e9"})");
}

TEST_CASE("arrays are inserted into by add, and changed in place by set and replace") {
  CHECK(patched(R"({"l":[1,2]})", R"([{"op":"add","path":"/l/0","value":0}])") == R"({"l":[0,1,2]})");
  CHECK(patched(R"({"l":[1,2]})", R"([{"op":"add","path":"/l/-","value":3}])") == R"({"l":[1,2,3]})");
  CHECK(patched(R"({"l":[1,2]})", R"([{"op":"add","path":"/l/2","value":3}])") == R"({"l":[1,2,3]})");
  CHECK(patched(R"({"l":[1,2]})", R"([{"op":"set","path":"/l/0","value":0}])") == R"({"l":[0,2]})");
  CHECK(patched(R"({"l":[1,2]})", R"([{"op":"replace","path":"/l/1","value":0}])") == R"({"l":[1,0]})");
  CHECK(patched(R"({"l":[1,2]})", R"([{"op":"remove","path":"/l/0"}])") == R"({"l":[2]})");
  CHECK(patched(R"({"l":[]})", R"([{"op":"add","path":"/l/0","value":1}])") == R"({"l":[1]})");
  CHECK(patched(R"({"l":[1]})", R"([{"op":"add","path":"/l/3","value":1}])").starts_with("failed"));
  CHECK(patched(R"({"l":[1]})", R"([{"op":"set","path":"/l/01","value":1}])").starts_with("failed"));
}

TEST_CASE("sums of whole numbers are exact, others are doubles") {
  CHECK(patched(R"({"n":9007199254740993})", R"([{"op":"incr","path":"/n","value":1}])") ==
        R"({"n":9007199254740994})");
  CHECK(patched(R"({"n":1})", R"([{"op":"incr","path":"/n","value":0.5}])") == R"({"n":1.5})");
  CHECK(patched(R"({"n":9223372036854775807})", R"([{"op":"incr","path":"/n","value":1}])") ==
        R"({"n":9223372036854775808})");
  CHECK(patched("{}", R"([{"op":"incr","path":"/n","value":-2}])") == R"({"n":-2})");
  CHECK(patched(R"({"n":"1"})", R"([{"op":"incr","path":"/n","value":1}])").starts_with("failed"));
}

TEST_CASE("a move takes a value away and puts it elsewhere") {
  CHECK(patched(R"({"a":{"x":1},"b":{}})", R"([{"op":"move","from":"/a/x","path":"/b/y"}])") ==
        R"({"a":{},"b":{"y":1}})");
  CHECK(patched(R"({"a":1})", R"([{"op":"move","from":"/none","path":"/b"}])").starts_with("failed"));
  CHECK(patched(R"({"a":{}})", R"([{"op":"move","from":"/a","path":"/a/b"}])").starts_with("failed"));
}

TEST_CASE("names with dots, slashes and tildes are names") {
  CHECK(
      patched(
          R"({"a.b":1,"c/d":2,"e~f":3})",
          R"([{"op":"set","path":"/a.b","value":0},{"op":"set","path":"/c~1d","value":0},{"op":"move","from":"/e~0f","path":"/g"}])") ==
      R"({"a.b":0,"c/d":0,"g":3})");
}

TEST_CASE("only the names of the server and of documents are kept from patches") {
  CHECK(patched(R"({"_type":1})", R"([{"op":"set","path":"/_type","value":2}])") == R"({"_type":2})");
  for (const char* name : {"_ts", "_etag", "_rid", "_self", "_id", "_rev", "_deleted"}) {
    INFO(name);
    CHECK(patched("{}", R"([{"op":"set","path":"/)" + std::string(name) + R"(","value":1}])").starts_with("refused"));
  }
}

TEST_CASE("a number too large for arithmetic is not lost to it") {
  CHECK(patched(R"({"a":1e400})", R"([{"op":"incr","path":"/a","value":1}])").starts_with("failed"));
  CHECK(patched(R"({"a":1})", R"([{"op":"incr","path":"/a","value":1e400}])").starts_with("failed"));
}

TEST_CASE("operations that are none are refused, by number") {
  CHECK(patched("{}", "[]").starts_with("refused"));
  CHECK(patched("{}", R"({"operations":[{"op":"set","path":"/a","value":1},{"op":"swap","path":"/a"}]})")
            .starts_with("refused: For Operation(2)"));
  for (const char* operation : {R"({"op":"set","path":"a","value":1})", R"({"op":"set","path":"/","value":1})",
                                R"({"op":"set","path":"/a//b","value":1})", R"({"op":"set","path":"/a"})",
                                R"({"op":"set","path":"/_ts","value":1})", R"({"op":"incr","path":"/a","value":"1"})",
                                R"({"op":"move","path":"/a"})", R"({"op":1,"path":"/a"})", "1"}) {
    INFO(operation);
    CHECK(patched("{}", "[" + std::string(operation) + "]").starts_with("refused"));
  }
}

TEST_CASE("a patch brings its condition along") {
  const auto patch = Patch::parse(R"({"condition":"from c where c.a = 1","operations":[{"op":"remove","path":"/a"}]})");
  REQUIRE(patch.value().condition);
  const auto& rows = query::sql::document_rows();
  storage::DocumentView item;
  item.id = "a:1";
  item.body = R"({"a":1})";
  CHECK(meets_condition(*patch->condition, item, rows).value());
  item.body = R"({"a":2})";
  CHECK_FALSE(meets_condition(*patch->condition, item, rows).value());
}

TEST_CASE("a patch's condition is FROM with an alias and WHERE, and nothing else") {
  for (const char* condition : {"from c where c.a = 1", "FROM products p WHERE p.a = 1",
                                "from products AS p where p.a=1", "from c where c.a = 1 -- one"}) {
    INFO(condition);
    CHECK(parse_patch_condition(condition));
  }
  for (const char* condition :
       {"", "c.a = 1", "from c", "from where c.a = 1", "from c where", "from a b c where c.a = 1",
        "from c where c.a = 1) or (1 = 1", "from c where c.a = 1 order by c.a", "from c where udf.f(c.a)",
        "from c where d.a = 1"}) {
    INFO(condition);
    CHECK(parse_patch_condition(condition).error().code == ErrorCode::bad_request);
  }
}

}  // namespace octavo::api::cosmos
