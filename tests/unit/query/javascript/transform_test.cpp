// Transforms: functions that make rows of a document.
#include "query/javascript/transform.h"

#include <catch2/catch.hpp>

using namespace octavo;
using namespace octavo::query::javascript;

namespace {

Expected<std::string> transform_by(std::string_view source, std::string_view document = "{}",
                                   std::string_view joined = "{}") {
  std::vector<Program::Function> functions{{.name = "", .source = std::string(source)}};
  const auto program =
      std::make_shared<const Program>("database", std::move(functions), std::string(), Program::Kind::transform);
  return transform(program, document, joined);
}

std::string transform_refusal_of(std::string_view source) {
  const auto rows = transform_by(source);
  if (rows) return *rows;
  CHECK(rows.error().code == ErrorCode::function_failed);
  return rows.error().reason;
}

}  // namespace

TEST_CASE("a transform returns rows as an array, whatever it returned") {
  CHECK(transform_by("(doc) => doc", R"({"a":[1.50]})").value() == R"([{"a":[1.5]}])");
  CHECK(transform_by("(doc, joined) => [joined, {}]", "{}", R"({"n":1})").value() == R"([{"n":1},{}])");
  for (const char* const nothing : {"() => null", "() => undefined", "() => []", "function (doc) {}"}) {
    CHECK(transform_by(nothing).value() == "[]");
  }
}

TEST_CASE("what is no row is refused, and so are too many") {
  CHECK(transform_refusal_of("() => [{}, 7]").find("returned number for a row") != std::string::npos);
  CHECK(transform_refusal_of("async () => ({})").find("returned a promise") != std::string::npos);
  CHECK(transform_refusal_of("() => Array(101).fill({})").find("101 rows") != std::string::npos);
  CHECK(transform_refusal_of("() => { throw 'no'; }").find("no") != std::string::npos);
}

TEST_CASE("a transform knows no clock and no random numbers, and keeps no variables") {
  for (const char* const source :
       {"() => ({t: Date.now()})", "() => ({t: new Date()})", "() => ({t: Date()})", "() => ({t: Math.random()})",
        "() => ({t: new (Object.getPrototypeOf(new Date(0)).constructor)()})",
        "() => ({t: Reflect.construct(Date, [], Object)})"}) {
    CHECK(transform_refusal_of(source).find("cannot be used in a transform") != std::string::npos);
  }
  CHECK(
      transform_by("() => ({t: new Date(0), u: new Date(2020, 1) instanceof Date, v: Date.UTC(1970, 0, 2)})").value() ==
      R"([{"t":"1970-01-01T00:00:00.000Z","u":true,"v":86400000}])");
  CHECK(transform_refusal_of("() => { n = 1; return {n}; }").find("n is not defined") != std::string::npos);
}

TEST_CASE("the depth of calls is a limit, and no exception of the document") {
  const auto deep = transform_by("() => { const f = () => 1 + f(); return {n: f()}; }");
  REQUIRE(!deep);
  CHECK(deep.error().code == ErrorCode::function_stopped);
}

TEST_CASE("a transform is checked before it runs") {
  CHECK(check_transform("(doc) => doc"));
  CHECK(check_transform("function f(doc) { return doc; }"));
  for (const char* const source : {"(doc) =>", "7", "f(", "(() => Date.now())() || ((doc) => doc)"}) {
    const auto checked = check_transform(source);
    REQUIRE(!checked);
    CHECK(checked.error().code == ErrorCode::bad_request);
    CHECK(!checked.error().reason.empty());
  }
}
