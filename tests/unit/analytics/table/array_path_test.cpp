#include "analytics/table/array_path.h"

#include <deque>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

namespace octavo {
namespace {

using analytics::ArrayPath;

/// Each element with its positions: `0.1=x `.
std::string elements_of(std::string_view path_text, std::string_view document) {
  const auto path = ArrayPath::parse(path_text).value();
  const auto outermost = path.outermost(document);
  if (!outermost) return "none";
  std::string shown;
  path.for_each_element(*outermost, [&](ArrayPath::Positions positions, query::JsonCursor& element) {
    for (const auto position : positions) shown += std::to_string(position) + '.';
    shown.back() = '=';
    shown += std::string(element.skip()) + ' ';
  });
  return shown;
}

std::string without(std::string_view value, const std::vector<ArrayPath::Names>& paths) {
  std::deque<std::string> texts;
  return std::string(analytics::without_arrays(value, paths, texts));
}

}  // namespace

TEST_CASE("a path of arrays has names, and [] behind those of arrays") {
  CHECK(ArrayPath::parse("/a")->arrays() == 1);
  CHECK(ArrayPath::parse("/a")->parent().empty());
  const auto nested = ArrayPath::parse("/a/b/[]/c/d");
  REQUIRE(nested);
  CHECK(nested->arrays() == 2);
  CHECK(nested->parent() == "/a/b");
  CHECK(nested->names() == ArrayPath::Names{"c", "d"});
  for (const char* text :
       {"", "a", "/", "//a", "/a/", "/[]", "/[]/a", "/a/[]", "/a/[]/[]/b", "/_a", "/a/b/c/d/e/f/g/h/i"}) {
    INFO(text);
    CHECK_FALSE(ArrayPath::parse(text));
  }
}

TEST_CASE("elements come with the positions of those around them") {
  const std::string_view document = R"({"x":[1],"a":{"b":[{"c":[1,[2]]},3,{"c":{}},{"c":[]},{"c":["d"]}]}})";
  CHECK(elements_of("/x", document) == "0=1 ");
  CHECK(elements_of("/a/b/[]/c", document) == R"(0.0=1 0.1=[2] 4.0="d" )");
  CHECK(elements_of("/a", document) == "none");
  CHECK(elements_of("/a/b/c", document) == "none");
  CHECK(elements_of("/y/b", document) == "none");
}

TEST_CASE("arrays elsewhere are left out, and all else stays as it is") {
  CHECK(without(R"({"a":{"b":[1],"é\"":[2]},"b":[3]})", {{"a", "b"}}) == R"({"a":{"é\"":[2]},"b":[3]})");
  CHECK(without(R"({"a":{"b":[1],"c":{"d":[]}}})", {{"a", "b"}, {"a", "c", "d"}}) == R"({"a":{"c":{}}})");
  CHECK(without(R"({"a":{"b":{"c":1}}})", {{"a", "b"}}) == R"({"a":{"b":{"c":1}}})");
  CHECK(without("[1]", {{"a", "b"}}) == "[1]");
}

}  // namespace octavo
