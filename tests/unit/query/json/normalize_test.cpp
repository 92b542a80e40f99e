#include "query/json/normalize.h"

#include <map>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "support/random.h"

using namespace octavo;
using namespace octavo::query;
using octavo::tests::below;
using octavo::tests::Random;

namespace {

std::string minified(std::string_view text) {
  std::string out;
  const auto result = normalize_value(text, out);
  return result ? out : result.error().reason;
}

struct Normalized {
  std::string body;
  std::vector<SpecialField> special;
};

Normalized document(std::string_view text) {
  Normalized result;
  const auto done = normalize_document(text, result.body, result.special);
  if (!done) result.body = done.error().reason;
  return result;
}

bool is_refused(std::string_view text) {
  std::string out = "kept";
  const auto result = normalize_value(text, out);
  return !result && result.error().code == ErrorCode::bad_request && out == "kept";
}

}  // namespace

TEST_CASE("white space between tokens goes, inside strings it stays") {
  CHECK(minified(" { \"a b\" :\t[ 1 , \"x  y\" ,\r\n{ } , [ ] ] } ") == R"({"a b":[1,"x  y",{},[]]})");
}

TEST_CASE("numbers keep their source text") {
  CHECK(minified("[12345678901234567890, 1.0, 1e400, -0, -0.0, 1E+5, 0.1000]") ==
        "[12345678901234567890,1.0,1e400,-0,-0.0,1E+5,0.1000]");
}

TEST_CASE("escapes in strings stay as sent") {
  CHECK(minified(R"(["\u00e9\/\n\"\\","é"])") == R"(["\u00e9\/\n\"\\","é"])");
}

TEST_CASE("any JSON value may be normalised, only an object is a document") {
  CHECK(minified(" true ") == "true");
  CHECK(minified("\"x\"") == "\"x\"");
  CHECK(document("[1]").body == "Document must be a JSON object");
  CHECK(document("12").body == "Document must be a JSON object");
}

TEST_CASE("top-level fields that begin with an underscore are taken out with their raw text") {
  const auto result = document(R"({ "_id" : "x:1", "a": {"_b": 1}, "_rev":"1-a", "c":2, "_attachments": {"f": {}} })");
  CHECK(result.body == R"({"a":{"_b":1},"c":2})");
  REQUIRE(result.special.size() == 3);
  CHECK(result.special[0].name == "_id");
  CHECK(result.special[0].raw == "\"x:1\"");
  CHECK(result.special[1].name == "_rev");
  CHECK(result.special[2].name == "_attachments");
  CHECK(result.special[2].raw == R"({"f": {}})");
}

TEST_CASE("a special field is recognised when its underscore is escaped") {
  const auto result = document(R"({"\u005fid":"x","\u005Frev":"1-a"})");
  CHECK(result.body == "{}");
  REQUIRE(result.special.size() == 2);
  CHECK(result.special[0].name == "_id");
  CHECK(result.special[1].name == "_rev");
}

TEST_CASE("commas are right wherever the special fields stand") {
  CHECK(document(R"({"_id":1})").body == "{}");
  CHECK(document(R"({"_id":1,"a":1})").body == R"({"a":1})");
  CHECK(document(R"({"a":1,"_id":1})").body == R"({"a":1})");
  CHECK(document(R"({"a":1,"_id":1,"_rev":2})").body == R"({"a":1})");
  CHECK(document(R"({"a":1,"_id":1,"b":2,"_rev":2,"c":3})").body == R"({"a":1,"b":2,"c":3})");
}

TEST_CASE("of repeated special fields the last counts") {
  const auto result = document(R"({"_id":"a","x":1,"_id":"b"})");
  REQUIRE(result.special.size() == 1);
  CHECK(result.special[0].raw == "\"b\"");
}

TEST_CASE("more special fields than any document has are refused") {
  std::string text = "{";
  for (int i = 0; i < 100; ++i) text += "\"_f" + std::to_string(i) + "\":1,";
  CHECK(document(text + "\"a\":1}").body.find("too many fields") != std::string::npos);
}

TEST_CASE("of members with one name the last wins, at every level") {
  CHECK(minified(R"({"a":1,"b":2,"a":3})") == R"({"b":2,"a":3})");
  CHECK(minified(R"({"a":1,"a":2,"a":3})") == R"({"a":3})");
  CHECK(minified(R"([{"x":{"a":[1,{"q":1,"q":2}],"a":{"a":1,"a":2}}}])") == R"([{"x":{"a":{"a":2}}}])");
}

TEST_CASE("names that differ only in escapes are one name") {
  CHECK(minified(R"({"\u0061":1,"a":2})") == R"({"a":2})");
  CHECK(minified(R"({"a":1,"\u0061":2})") == R"({"\u0061":2})");
  CHECK(minified(R"({"😀":1,"\ud83d\ude00":2})") == R"({"\ud83d\ude00":2})");
}

TEST_CASE("repeated names are found among many members") {
  std::string text = "{";
  for (int i = 0; i < 500; ++i) text += "\"k" + std::to_string(i % 100) + "\":" + std::to_string(i) + ",";
  text.back() = '}';
  std::string expected = "{";
  for (int i = 400; i < 500; ++i) expected += "\"k" + std::to_string(i % 100) + "\":" + std::to_string(i) + ",";
  expected.back() = '}';
  CHECK(minified(text) == expected);
}

TEST_CASE("repeated names inside a special field or a dropped member do no harm") {
  CHECK(document(R"({"a":{"x":1,"x":2},"_s":{"y":1,"y":2},"a":{"x":3,"x":4},"b":5})").body == R"({"a":{"x":4},"b":5})");
}

TEST_CASE("text that is not JSON is refused and leaves the output alone") {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "[1,]",
                           "{\"a\":1,}",
                           "{,}",
                           "{\"a\"}",
                           "{\"a\" 1}",
                           "{a:1}",
                           "[1 2]",
                           "nul",
                           "tru",
                           "True",
                           "nulll",
                           "01",
                           "-",
                           "+1",
                           "1.",
                           ".5",
                           "1e",
                           "1e+",
                           "0x10",
                           "NaN",
                           "Infinity",
                           "\"abc",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "[1]]",
                           "{} {}",
                           "[\"a\",",
                           "\"a\nb\"",
                           "'a'",
                           "[1,,2]",
                           "//x",
                           "{\"a\":1 \"b\":2}",
                           "\xEF\xBB\xBF{}"}) {
    INFO(text);
    CHECK(is_refused(text));
  }
}

TEST_CASE("a NUL byte is refused, an escaped one is a character") {
  using namespace std::string_literals;
  CHECK(is_refused("{\"a\":\"x\0y\"}"s));
  CHECK(is_refused("{}\0"s));
  CHECK(minified(R"("\u0000")") == R"("\u0000")");
}

TEST_CASE("lone surrogates are refused, pairs are fine") {
  CHECK(is_refused(R"("\ud800")"));
  CHECK(is_refused(R"("\udc00")"));
  CHECK(is_refused(R"("\ud800x")"));
  CHECK(is_refused(R"("\ud800\ud800")"));
  CHECK(is_refused(R"("\ud800\u0061")"));
  CHECK(is_refused(R"({"\udfff":1})"));
  CHECK(minified(R"("\ud83d\ude00")") == R"("\ud83d\ude00")");
}

TEST_CASE("invalid UTF-8 is refused with its place") {
  CHECK(minified("\"ab\xC0\xAF\"") == "invalid UTF-8 JSON at byte 3: not UTF-8");
  CHECK(is_refused("\"\xED\xA0\x80\""));
  CHECK(is_refused("\"\xF4\x90\x80\x80\""));
  CHECK(is_refused("\"\xE2\x82\""));
}

TEST_CASE("errors name the byte") {
  CHECK(minified("") == "invalid UTF-8 JSON at byte 0: the text is empty");
  CHECK(minified(R"({"a":tru})") == "invalid UTF-8 JSON at byte 5: a value was expected");
  CHECK(minified("{\"a\":1}x") == "invalid UTF-8 JSON at byte 7: text after the value");
}

TEST_CASE("nesting is allowed up to the limit and no further") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(minified(nested(json_depth_max)) == nested(json_depth_max));
  CHECK(is_refused(nested(json_depth_max + 1)));
  CHECK(is_refused(std::string(100'000, '[')));
  CHECK(is_refused(std::string(100'000, '{')));
}

TEST_CASE("the output is appended to what is there") {
  std::string out = "before";
  REQUIRE(normalize_value(" [ 1 ] ", out));
  CHECK(out == "before[1]");
}

namespace {

/// Random JSON text with random white space; `model` gets the value as boost::json reads it.
std::string random_text(Random& random, int depth) {
  static const std::vector<std::string> scalars = {"1",
                                                   "-2.5e3",
                                                   "true",
                                                   "false",
                                                   "null",
                                                   "\"\"",
                                                   "\"ab\"",
                                                   "\"é\"",
                                                   "\"\\u00e9\"",
                                                   "\"long string over sixteen bytes\"",
                                                   "\"q\\\"uote \\\\ and more text behind it\""};
  static const std::vector<std::string> names = {"a", "b", "\\u0061", "name", "a longer member name, yes", "é", ""};
  static const std::vector<std::string> spaces = {"", "", " ", "\n  "};
  const auto space = [&] { return spaces[below(random, spaces.size())]; };
  const std::size_t kind = depth > 4 ? 0 : below(random, 4);
  if (kind <= 1) return space() + scalars[below(random, scalars.size())] + space();
  const bool is_object = kind == 2;
  std::string text = space() + (is_object ? "{" : "[") + space();
  const std::size_t count = below(random, 7);
  for (std::size_t i = 0; i < count; ++i) {
    if (i != 0) text += ",";
    if (is_object) text += space() + "\"" + names[below(random, names.size())] + "\"" + space() + ":";
    text += random_text(random, depth + 1);
  }
  return text + (is_object ? "}" : "]") + space();
}

}  // namespace

TEST_CASE("random documents read the same before and after, and a second pass changes nothing") {
  Random random(7);
  for (int round = 0; round < 3000; ++round) {
    const std::string text = random_text(random, 0);
    std::string once, twice;
    REQUIRE(normalize_value(text, once));
    REQUIRE(normalize_value(once, twice));
    INFO(text);
    REQUIRE(once == twice);
    REQUIRE(boost::json::parse(once) == boost::json::parse(text));
  }
}

TEST_CASE("random damage never crashes the normaliser, and what it accepts is JSON") {
  Random random(11);
  for (int round = 0; round < 5000; ++round) {
    std::string text = random_text(random, 0);
    for (std::size_t i = below(random, 4) + 1; i > 0 && !text.empty(); --i) {
      const std::size_t at = below(random, text.size());
      switch (below(random, 3)) {
        case 0:
          text[at] = "{}[]\",:\\x0 \x80"[below(random, 12)];
          break;
        case 1:
          text.erase(at, 1);
          break;
        default:
          text.insert(at, 1, "{}[]\",:\\u1"[below(random, 10)]);
      }
    }
    std::string out;
    boost::json::error_code error;
    boost::json::parse(text, error);
    INFO(text);
    REQUIRE(normalize_value(text, out).has_value() == !error);
  }
}

TEST_CASE("decoding a string resolves every escape") {
  std::string out;
  append_decoded_string(R"(a\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00z)", out);
  CHECK(out == "a\"\\/\b\f\n\r\tAé€😀z");
}
