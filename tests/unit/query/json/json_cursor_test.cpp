// One pass over the text of a document.
#include "query/json/json_cursor.h"

#include <string>
#include <string_view>

#include <catch2/catch.hpp>

using octavo::query::JsonCursor;

namespace {

/// What a walk over everything finds: `{a:1,b:[x,{}]}` without the quotes of names.
void walk(JsonCursor& cursor, std::string& found) {
  const char first = cursor.front();
  if (first != '{' && first != '[') {
    found += cursor.skip();
    return;
  }
  found += first;
  std::string_view separator;
  for (bool more = cursor.enter(); more; more = cursor.next()) {
    found += separator;
    separator = ",";
    if (first == '{') found += std::string(cursor.name()) + ':';
    walk(cursor, found);
  }
  found += first == '{' ? '}' : ']';
}

std::string walked(std::string_view json) {
  JsonCursor cursor(json);
  std::string found;
  walk(cursor, found);
  CHECK(cursor.front() == '\0');
  return found;
}

}  // namespace

TEST_CASE("a cursor walks over every value of a text") {
  CHECK(walked(R"({"a":1,"b":[-1.5e3,"x,]}",{},[],null,true],"c":{"d":{"e":false}}})") ==
        R"({a:1,b:[-1.5e3,"x,]}",{},[],null,true],c:{d:{e:false}}})");
  CHECK(walked("[]") == "[]");
  CHECK(walked("7") == "7");
}

TEST_CASE("a cursor decodes the names of members") {
  CHECK(walked(R"({"a\"b":1,"\u00e9\n":2,"":3})") == "{a\"b:1,\u00e9\n:2,:3}");
}

TEST_CASE("a cursor skips arrays and objects as a whole") {
  JsonCursor cursor(R"([{"a":["]",{"b":"}\""}]},[[1],2],"\\",3])");
  REQUIRE(cursor.enter());
  const JsonCursor begin = cursor;
  CHECK(cursor.skip() == R"({"a":["]",{"b":"}\""}]})");
  CHECK(begin.distance_to(cursor) == 23);
  REQUIRE(cursor.next());
  CHECK(cursor.skip() == "[[1],2]");
  REQUIRE(cursor.next());
  CHECK(cursor.skip() == R"("\\")");
  REQUIRE(cursor.next());
  CHECK(cursor.skip() == "3");
  CHECK_FALSE(cursor.next());
}
