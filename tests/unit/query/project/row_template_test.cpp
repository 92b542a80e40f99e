#include "query/project/row_template.h"

#include <set>

#include <catch2/catch.hpp>

using octavo::query::project::RowTemplate;

namespace {

std::optional<std::string> fill_template(std::string_view text, std::string_view row,
                                         std::string_view source_id = "s") {
  return RowTemplate::parse(text).value().fill(row, source_id);
}

std::string template_refusal(std::string_view text) {
  const auto parsed = RowTemplate::parse(text);
  return parsed ? "accepted" : parsed.error().reason;
}

}  // namespace

TEST_CASE("a template of a row takes the values of its paths, and texts between them") {
  CHECK(fill_template("{a}", R"({"a":"x"})") == "x");
  CHECK(fill_template("o-{c.id}-{n.1}", R"({"c":{"id":"7"},"n":["p","q"]})") == "o-7-q");
  CHECK(fill_template("{_id}/{a}", R"({"a":"x"})", "s:1") == "s%3A1/x");
  CHECK(fill_template("{{{a}}}", R"({"a":"x"})") == "{x}");
  CHECK(fill_template("fixed", "{}") == "fixed");
}

TEST_CASE("a row without a value of its template has no id") {
  CHECK(fill_template("x{a}", "{}") == std::nullopt);
  CHECK(fill_template("x{a.b}", R"({"a":1})") == std::nullopt);
  CHECK(fill_template("{a}", R"({"a":""})") == std::nullopt);
  CHECK(fill_template("x{a}", R"({"a":""})") == "x");
}

TEST_CASE("a template of a row encodes what has a meaning in ids, and marks the types of values") {
  CHECK(fill_template("{a}", R"({"a":"50%:x"})") == "50%25%3Ax");
  CHECK(fill_template("{a}", R"({"a":"!x!"})") == "%21x!");
  CHECK(fill_template("{a}", R"({"a":"_x_"})") == "%5Fx_");
  CHECK(fill_template("k{a}", R"({"a":"_x"})") == "k_x");
  CHECK(fill_template("{a}", R"({"a":1.50})") == "!1.50");
  CHECK(fill_template("{a}", R"({"a":null})") == "!null");
  CHECK(fill_template("{a}", R"({"a":true})") == "!true");
  CHECK(fill_template("{a}", R"({"a":{"b":["%"]}})") == R"(!{"b"%3A["%25"]})");
  CHECK(fill_template("{a}", R"({"a":"\u0041\n"})") == "A\n");
}

TEST_CASE("the text of a template stays as it is, except what a partition key cannot have") {
  CHECK(fill_template("order:{a}%25:%", R"({"a":":"})") == "order:%3A%25:%");
  CHECK(fill_template("_x:{a}", R"({"a":"1"})") == "%5Fx:1");
  CHECK(RowTemplate::parse("order:{a}%").value().fill_key(R"({"a":":"})", "s") == "order%3A%3A%");
}

TEST_CASE("different values of a path give different ids") {
  const std::set<std::string> values{
      R"("1")", "1",          R"("!1")",     R"("%211")",        R"("%21")",    R"("!")",         R"("null")",
      "null",   R"("!null")", R"("_a")",     R"("%5Fa")",        R"("%255Fa")", R"(":")",         R"("%3A")",
      R"("%")", R"("%25")",   R"(["%"])",    R"(["%25"])",       R"({"a":1})",  R"("{\"a\":1}")", R"("!{\"a\":1}")",
      "true",   R"("true")",  R"("\u0000")", R"("\u0000\u0000")"};
  for (const char* const text : {"{a}", "x{a}", "_{a}"}) {
    std::set<std::string> ids;
    for (const auto& value : values) {
      CAPTURE(text, value);
      CHECK(ids.insert(fill_template(text, R"({"a":)" + value + "}").value()).second);
    }
  }
}

TEST_CASE("a template is unique if the id of the source document is its only value") {
  const auto is_unique = [](std::string_view text) { return RowTemplate::parse(text).value().is_unique(); };
  CHECK(is_unique("{_id}"));
  CHECK(is_unique("order-{_id}:x"));
  CHECK(!is_unique("{a}"));
  CHECK(!is_unique("fixed"));
  // 1-2 and 3, or 1 and 2-3, would have the same one.
  CHECK(!is_unique("{a}-{_id}"));
}

TEST_CASE("a template of a lookup encodes nothing, and one path keeps the type of its value") {
  const auto plain = [](std::string_view text, std::string_view row) {
    return RowTemplate::parse(text).value().fill_plain(row, "s:1");
  };
  const auto json = [](std::string_view text, std::string_view row) {
    return RowTemplate::parse(text).value().fill_json(row, "s:1");
  };
  CHECK(plain("u:{a}", R"({"a":"%:!"})") == "u:%:!");
  CHECK(plain("{a}-{_id}", R"({"a":1})") == "1-s:1");
  CHECK(plain("{a}", "{}") == std::nullopt);
  CHECK(json("{a}", R"({"a":1})") == "1");
  CHECK(json("{a}", R"({"a":"x"})") == R"("x")");
  CHECK(json("{_id}", "{}") == R"("s:1")");
  CHECK(json("k{a}", R"({"a":1})") == R"("k1")");
}

TEST_CASE("a template that is not valid is refused with the position") {
  CHECK(template_refusal("ab}") ==
        "The template 'ab}' is not valid at position 2: '}' without '{'; write '}}' for the character "
        "itself.");
  CHECK(template_refusal("a{b").find("position 1: '{' without '}'") != std::string::npos);
  CHECK(template_refusal("a{}").find("position 1: the braces are empty") != std::string::npos);
  CHECK(template_refusal("ab{x..y}").find("position 3: ") != std::string::npos);
  CHECK(template_refusal("").find("it is empty") != std::string::npos);
  CHECK(template_refusal(std::string(1024, 'x')) == "accepted");
  CHECK(template_refusal(std::string(1025, 'x')).find("1024 bytes") != std::string::npos);
}
