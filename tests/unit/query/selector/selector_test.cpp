#include "query/selector/selector.h"

#include <chrono>

#include <catch2/catch.hpp>

#include "query/json/parsed_document.h"
#include "support/patience.h"

using namespace octavo;
using namespace octavo::query;
using octavo::tests::patiently;
namespace json = boost::json;

namespace {

Selector selector(std::string_view text) {
  const auto parsed = Selector::parse(*parse_json(text));
  if (!parsed) FAIL(text << ": " << parsed.error().reason);
  return *parsed;
}

bool matches(std::string_view selector_text, std::string_view document) {
  DocumentParser parser;
  return selector(selector_text).matches(*parser.parse(document), "the-id", "1-abc");
}

std::string normalized(std::string_view text) {
  return json::serialize(selector(text).to_json());
}

std::string refused(std::string_view text) {
  const auto parsed = Selector::parse(*parse_json(text));
  return parsed ? "accepted" : parsed.error().reason;
}

}  // namespace

TEST_CASE("the empty selector matches every document") {
  CHECK(matches("{}", "{}"));
  CHECK(matches("{}", R"({"a":1})"));
  CHECK(Selector().matches(*DocumentParser().parse("{}"), "a", "1-b"));
}

TEST_CASE("a bare value means equality") {
  CHECK(matches(R"({"a":1})", R"({"a":1.0})"));
  CHECK_FALSE(matches(R"({"a":1})", R"({"a":2})"));
  CHECK_FALSE(matches(R"({"a":1})", R"({"b":1})"));
  CHECK(matches(R"({"a":[1,2]})", R"({"a":[1,2]})"));
}

TEST_CASE("an empty object as condition matches only an empty object") {
  CHECK(normalized(R"({"x":{}})") == R"({"x":{"$eq":{}}})");
  CHECK(matches(R"({"x":{}})", R"({"x":{}})"));
  CHECK_FALSE(matches(R"({"x":{}})", R"({"x":{"a":1}})"));
  CHECK_FALSE(matches(R"({"x":{}})", R"({"x":[]})"));
  CHECK_FALSE(matches(R"({"$not":{"x":{}}})", "{}"));
  CHECK(matches(R"({"$not":{"x":{}}})", R"({"x":[]})"));
}

TEST_CASE("several conditions are an implicit $and") {
  CHECK(normalized(R"({"a":1,"b":{"$gt":2,"$lt":5}})") ==
        R"({"$and":[{"a":{"$eq":1}},{"$and":[{"b":{"$gt":2}},{"b":{"$lt":5}}]}]})");
  CHECK(matches(R"({"a":1,"b":{"$gt":2,"$lt":5}})", R"({"a":1,"b":3})"));
  CHECK_FALSE(matches(R"({"a":1,"b":{"$gt":2,"$lt":5}})", R"({"a":1,"b":5})"));
}

TEST_CASE("nested objects are nested fields") {
  CHECK(normalized(R"({"x":{"a":1}})") == R"({"x.a":{"$eq":1}})");
  CHECK(matches(R"({"x":{"a":1}})", R"({"x":{"a":1,"b":2}})"));
  CHECK(matches(R"({"x.b":2})", R"({"x":{"a":1,"b":2}})"));
  CHECK(matches(R"({"x\\.b":2})", R"({"x.b":2})"));
  CHECK(matches(R"({"x.1":2})", R"({"x":[1,2]})"));
}

TEST_CASE("$lt, $lte, $gte and $gt compare by collation") {
  CHECK(matches(R"({"a":{"$lt":5}})", R"({"a":4})"));
  CHECK_FALSE(matches(R"({"a":{"$lt":5}})", R"({"a":5})"));
  CHECK(matches(R"({"a":{"$lte":5}})", R"({"a":5})"));
  CHECK(matches(R"({"a":{"$gte":5}})", R"({"a":5.0})"));
  CHECK_FALSE(matches(R"({"a":{"$gt":5}})", R"({"a":5})"));
  CHECK(matches(R"({"a":{"$gt":"B"}})", R"({"a":"c"})"));
}

TEST_CASE("comparisons go across types") {
  CHECK(matches(R"({"a":{"$lt":5}})", R"({"a":null})"));
  CHECK(matches(R"({"a":{"$gt":5}})", R"({"a":"x"})"));
  CHECK(matches(R"({"a":{"$gt":null}})", R"({"a":false})"));
  CHECK(matches(R"({"a":{"$lt":{}}})", R"({"a":[1]})"));
}

TEST_CASE("$ne needs the field") {
  CHECK(matches(R"({"a":{"$ne":1}})", R"({"a":2})"));
  CHECK_FALSE(matches(R"({"a":{"$ne":1}})", R"({"a":1})"));
  CHECK_FALSE(matches(R"({"a":{"$ne":1}})", "{}"));
}

TEST_CASE("$exists tells absent from present, null included") {
  CHECK(matches(R"({"a":{"$exists":true}})", R"({"a":null})"));
  CHECK_FALSE(matches(R"({"a":{"$exists":true}})", "{}"));
  CHECK(matches(R"({"a":{"$exists":false}})", "{}"));
  CHECK_FALSE(matches(R"({"a":{"$exists":false}})", R"({"a":1})"));
  CHECK(matches(R"({"a.b":{"$exists":false}})", R"({"a":{}})"));
  CHECK_FALSE(matches(R"({"a.b":{"$exists":false}})", R"({"a":5})"));
}

TEST_CASE("$type names the six types") {
  CHECK(matches(R"({"a":{"$type":"null"}})", R"({"a":null})"));
  CHECK(matches(R"({"a":{"$type":"boolean"}})", R"({"a":false})"));
  CHECK(matches(R"({"a":{"$type":"number"}})", R"({"a":1e3})"));
  CHECK(matches(R"({"a":{"$type":"string"}})", R"({"a":""})"));
  CHECK(matches(R"({"a":{"$type":"array"}})", R"({"a":[]})"));
  CHECK(matches(R"({"a":{"$type":"object"}})", R"({"a":{}})"));
  CHECK_FALSE(matches(R"({"a":{"$type":"integer"}})", R"({"a":1})"));
}

TEST_CASE("$in looks for the value, or for the elements of an array") {
  CHECK(matches(R"({"a":{"$in":[1,"x",null]}})", R"({"a":"x"})"));
  CHECK_FALSE(matches(R"({"a":{"$in":[1,"x"]}})", R"({"a":"y"})"));
  CHECK(matches(R"({"a":{"$in":[1,"x"]}})", R"({"a":["y","x"]})"));
  CHECK_FALSE(matches(R"({"a":{"$in":[["x"]]}})", R"({"a":["x"]})"));
  CHECK(matches(R"({"a":{"$in":[["x"]]}})", R"({"a":[["x"]]})"));
  CHECK_FALSE(matches(R"({"a":{"$in":[]}})", R"({"a":1})"));
  CHECK_FALSE(matches(R"({"a":{"$in":[1]}})", "{}"));
}

TEST_CASE("long $in lists find their members too") {
  const std::string list = R"([9,"b",{"x":1},3,null,"a",true,[1],5.5,"z",-1])";
  CHECK(matches(R"({"a":{"$in":)" + list + "}}", R"({"a":"a"})"));
  CHECK(matches(R"({"a":{"$in":)" + list + "}}", R"({"a":{"x":1}})"));
  CHECK(matches(R"({"a":{"$in":)" + list + "}}", R"({"a":[7,5.5]})"));
  CHECK_FALSE(matches(R"({"a":{"$in":)" + list + "}}", R"({"a":"c"})"));
  CHECK(matches(R"({"a":{"$nin":)" + list + "}}", R"({"a":"c"})"));
}

TEST_CASE("$nin is the opposite of $in, for fields that exist") {
  CHECK(matches(R"({"a":{"$nin":[1,2]}})", R"({"a":3})"));
  CHECK_FALSE(matches(R"({"a":{"$nin":[1,2]}})", R"({"a":[5,2]})"));
  CHECK(matches(R"({"a":{"$nin":[]}})", R"({"a":3})"));
  CHECK_FALSE(matches(R"({"a":{"$nin":[1]}})", "{}"));
}

TEST_CASE("$size counts the elements of an array") {
  CHECK(matches(R"({"a":{"$size":2}})", R"({"a":[1,2]})"));
  CHECK_FALSE(matches(R"({"a":{"$size":2}})", R"({"a":[1]})"));
  CHECK_FALSE(matches(R"({"a":{"$size":2}})", R"({"a":"ab"})"));
}

TEST_CASE("$mod takes integers only and keeps the sign of the dividend") {
  CHECK(matches(R"({"a":{"$mod":[28,1]}})", R"({"a":57})"));
  CHECK_FALSE(matches(R"({"a":{"$mod":[28,1]}})", R"({"a":58})"));
  CHECK_FALSE(matches(R"({"a":{"$mod":[2,1]}})", R"({"a":1.0})"));
  CHECK_FALSE(matches(R"({"a":{"$mod":[2,1]}})", R"({"a":"1"})"));
  CHECK(matches(R"({"a":{"$mod":[2,-1]}})", R"({"a":-3})"));
  CHECK(matches(R"({"a":{"$mod":[-1,0]}})", R"({"a":-9223372036854775808})"));
}

TEST_CASE("$regex searches strings") {
  CHECK(matches(R"({"a":{"$regex":"^[0-9a-f]+$"}})", R"({"a":"3a0df5e"})"));
  CHECK_FALSE(matches(R"({"a":{"$regex":"^[0-9a-f]+$"}})", R"({"a":"3a0gf5e"})"));
  CHECK(matches(R"({"a":{"$regex":"(?i)OCT"}})", R"({"a":"an octavo"})"));
  CHECK_FALSE(matches(R"({"a":{"$regex":"^.$"}})", R"({"a":"é"})"));  // two bytes
  CHECK(matches(R"({"a":{"$regex":"^{"}})", R"({"a":"{x}"})"));
  CHECK_FALSE(matches(R"({"a":{"$regex":"4"}})", R"({"a":42})"));
}

TEST_CASE("$regex takes patterns that other engines read differently as PCRE does") {
  const auto finds = [](const std::string& pattern, const std::string& text) {
    return matches(R"({"a":{"$regex":")" + pattern + R"("}})", R"({"a":")" + text + R"("})");
  };
  CHECK(finds("[[:punct:]]b", "a+b"));
  CHECK_FALSE(finds("[[:punct:]]b", "ab"));
  CHECK(finds("^[a&&b]$", "b"));
  CHECK(finds("^[a&&b]$", "&"));
  CHECK(finds("^[^[]+$", "{x}"));
  CHECK_FALSE(finds("^[^[]+$", "x[0]"));
  CHECK(finds("a{,2}", "a{,2}"));
  CHECK(finds("(?P<n>a)(?P=n)", "baab"));
}

TEST_CASE("a hostile pattern ends soon and does not match") {
  const std::string document = R"({"a":")" + std::string(5000, 'a') + R"(b"})";
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(matches(R"({"a":{"$regex":"^(a+)+$"}})", document));
  CHECK_FALSE(matches(R"({"a":{"$regex":"^(a|aa)+$"}})", document));
  CHECK(std::chrono::steady_clock::now() - begin < patiently(std::chrono::seconds(2)));
}

TEST_CASE("$beginsWith compares bytes") {
  CHECK(matches(R"({"a":{"$beginsWith":"foo"}})", R"({"a":"food"})"));
  CHECK(matches(R"({"a":{"$beginsWith":""}})", R"({"a":""})"));
  CHECK_FALSE(matches(R"({"a":{"$beginsWith":"foo"}})", R"({"a":"Food"})"));
  CHECK_FALSE(matches(R"({"a":{"$beginsWith":"foo"}})", R"({"a":"fo"})"));
  CHECK_FALSE(matches(R"({"a":{"$beginsWith":"4"}})", R"({"a":42})"));
  // CouchDB finds none of these: there the last character of the prefix must be a whole grapheme.
  CHECK(matches(R"({"a":{"$beginsWith":"e"}})", R"({"a":"e\u0301x"})"));
  CHECK(matches(R"({"a":{"$beginsWith":"a\r"}})", R"({"a":"a\r\nb"})"));
}

TEST_CASE("$all needs every argument among the elements") {
  CHECK(matches(R"({"a":{"$all":["x","y"]}})", R"({"a":["y","z","x"]})"));
  CHECK_FALSE(matches(R"({"a":{"$all":["x","y"]}})", R"({"a":["x"]})"));
  CHECK_FALSE(matches(R"({"a":{"$all":[]}})", R"({"a":["x"]})"));
  CHECK(matches(R"({"a":{"$all":[["x",1]]}})", R"({"a":["x",1]})"));
  CHECK_FALSE(matches(R"({"a":{"$all":["x"]}})", R"({"a":"x"})"));
  CHECK_FALSE(matches(R"({"a":{"$all":[1]}})", R"({"a":[1.0]})"));
}

TEST_CASE("$elemMatch matches when one element does") {
  CHECK(matches(R"({"a":{"$elemMatch":{"$gte":80,"$lt":85}}})", R"({"a":[10,82]})"));
  CHECK_FALSE(matches(R"({"a":{"$elemMatch":{"$gte":80,"$lt":85}}})", R"({"a":[79,86]})"));
  CHECK(matches(R"({"a":{"$elemMatch":{"sku":"x","qty":{"$gt":1}}}})",
                R"({"a":[{"sku":"x","qty":1},{"sku":"x","qty":2}]})"));
  CHECK_FALSE(matches(R"({"a":{"$elemMatch":{"$eq":1}}})", R"({"a":[]})"));
  CHECK_FALSE(matches(R"({"a":{"$elemMatch":{"$eq":1}}})", R"({"a":1})"));
}

TEST_CASE("$allMatch matches when all elements do, and there is one") {
  CHECK(matches(R"({"a":{"$allMatch":{"$eq":0}}})", R"({"a":[0,0]})"));
  CHECK_FALSE(matches(R"({"a":{"$allMatch":{"$eq":0}}})", R"({"a":[0,1]})"));
  CHECK_FALSE(matches(R"({"a":{"$allMatch":{"$eq":0}}})", R"({"a":[]})"));
}

TEST_CASE("$keyMapMatch looks at the names of an object's members") {
  CHECK(matches(R"({"a":{"$keyMapMatch":{"$regex":"^[a-z]+$"}}})", R"({"a":{"b4":1,"hello":2}})"));
  CHECK(matches(R"({"a":{"$keyMapMatch":{"$eq":"k"}}})", R"({"a":{"k":1}})"));
  CHECK_FALSE(matches(R"({"a":{"$keyMapMatch":{"$eq":"k"}}})", R"({"a":{}})"));
  CHECK_FALSE(matches(R"({"a":{"$keyMapMatch":{"$eq":"k"}}})", R"({"a":["k"]})"));
}

TEST_CASE("negations move down to the comparisons") {
  CHECK(normalized(R"({"$not":{"a":{"$gt":10}}})") == R"({"a":{"$lte":10}})");
  CHECK(normalized(R"({"$not":{"$and":[{"a":{"$gt":10}},{"a":{"$lt":5}}]}})") ==
        R"({"$or":[{"a":{"$lte":10}},{"a":{"$gte":5}}]})");
  CHECK(normalized(R"({"$nor":[{"a":1},{"b":{"$in":[1]}}]})") == R"({"$and":[{"a":{"$ne":1}},{"b":{"$nin":[1]}}]})");
  CHECK(normalized(R"({"$not":{"$not":{"a":1}}})") == R"({"a":{"$eq":1}})");
  CHECK(normalized(R"({"a":{"$not":{"$regex":"x"}}})") == R"({"a":{"$not":{"$regex":"x"}}})");
  CHECK(normalized(R"({"$not":{"a":{"$exists":true}}})") == R"({"a":{"$exists":false}})");
}

TEST_CASE("a negated operator still needs the field") {
  CHECK(matches(R"({"a":{"$not":{"$regex":"x"}}})", R"({"a":"y"})"));
  CHECK(matches(R"({"a":{"$not":{"$regex":"x"}}})", R"({"a":5})"));
  CHECK_FALSE(matches(R"({"a":{"$not":{"$regex":"x"}}})", "{}"));
}

TEST_CASE("$and, $or and $nor of nothing match everything") {
  CHECK(matches(R"({"x":{"$and":[]}})", "{}"));
  CHECK(matches(R"({"x":{"$or":[]}})", "{}"));
  CHECK(matches(R"({"x":{"$nor":[]}})", "{}"));
  CHECK(matches(R"({"x":{"$not":{"$and":[]}}})", "{}"));
}

TEST_CASE("$or needs one, $nor none of its conditions") {
  CHECK(matches(R"({"$or":[{"a":1},{"b":2}]})", R"({"b":2})"));
  CHECK_FALSE(matches(R"({"$or":[{"a":1},{"b":2}]})", R"({"b":1})"));
  CHECK(matches(R"({"x":{"$nor":[{"$lt":3},{"$gt":7}]}})", R"({"x":6})"));
  CHECK_FALSE(matches(R"({"x":{"$nor":[{"$lt":3},{"$gt":7}]}})", "{}"));
}

TEST_CASE("inside $elemMatch a negation is a plain one") {
  CHECK(matches(R"({"a":{"$elemMatch":{"$not":{"x":5}}}})", R"({"a":[{}]})"));
  CHECK(matches(R"({"a":{"$elemMatch":{"$nor":[{"x":5}]}}})", R"({"a":[{"x":5},{"x":6}]})"));
  CHECK_FALSE(matches(R"({"a":{"$elemMatch":{"$nor":[{"x":5}]}}})", R"({"a":[{"x":5}]})"));
}

TEST_CASE("$nor of values works inside $elemMatch, $allMatch and $keyMapMatch, where it never matches in CouchDB") {
  CHECK(matches(R"({"a":{"$elemMatch":{"$nor":[{"$eq":1}]}}})", R"({"a":[1,5]})"));
  CHECK_FALSE(matches(R"({"a":{"$elemMatch":{"$nor":[{"$eq":1}]}}})", R"({"a":[1]})"));
  CHECK(matches(R"({"a":{"$allMatch":{"$nor":[{"$eq":2},{"$gt":5}]}}})", R"({"a":[1,5]})"));
  CHECK_FALSE(matches(R"({"a":{"$allMatch":{"$nor":[{"$eq":2},{"$gt":5}]}}})", R"({"a":[1,2]})"));
  CHECK(matches(R"({"a":{"$keyMapMatch":{"$nor":[{"$eq":"x"}]}}})", R"({"a":{"x":1,"y":2}})"));
  CHECK_FALSE(matches(R"({"a":{"$keyMapMatch":{"$nor":[{"$eq":"x"}]}}})", R"({"a":{"x":1}})"));
}

TEST_CASE("_id and _rev are fields") {
  CHECK(matches(R"({"_id":"the-id"})", "{}"));
  CHECK(matches(R"({"_id":{"$gt":null}})", "{}"));
  CHECK(matches(R"({"_id":{"$beginsWith":"the-"}})", "{}"));
  CHECK_FALSE(matches(R"({"_id":"The-id"})", "{}"));
  CHECK(matches(R"({"_rev":"1-abc"})", "{}"));
  CHECK(matches(R"({"_id":{"$exists":true}})", "{}"));
  CHECK_FALSE(matches(R"({"_id.x":{"$exists":false}})", "{}"));
}

TEST_CASE("_id is ordered by bytes") {
  CHECK(matches(R"({"_id":{"$gt":"Z"}})", "{}"));
  CHECK_FALSE(matches(R"({"_id":{"$lt":{}}})", "{}"));
  CHECK(matches(R"({"_id":{"$in":["1","2","3","4","5","6","7","8","9","the-id"]}})", "{}"));
}

TEST_CASE("_deleted and _attachments are fields of documents that have them") {
  DocumentParser parser, attachment_parser;
  SelectorSubject subject;
  subject.body = *parser.parse("{}");
  subject.id = "a";
  subject.rev = "1-b";
  CHECK(selector(R"({"_deleted":{"$exists":false}})").matches(subject));
  CHECK_FALSE(selector(R"({"_attachments":{"$exists":true}})").matches(subject));
  subject.deleted = true;
  subject.attachments = *attachment_parser.parse(R"({"f.txt":{"length":5}})");
  CHECK(selector(R"({"_deleted":true})").matches(subject));
  CHECK_FALSE(selector(R"({"_deleted":{"$exists":false}})").matches(subject));
  CHECK(selector(R"({"_attachments":{"f\\.txt":{"length":5}}})").matches(subject));
}

TEST_CASE("a condition without a field looks at the whole document") {
  CHECK(matches(R"({"$and":[{"$gt":null}]})", R"({"a":1})"));
  CHECK(matches(R"({"$and":[{"$type":"object"}]})", "{}"));
  CHECK(matches(R"({"$or":[{"$keyMapMatch":{"$eq":"_rev"}}]})", "{}"));
  CHECK(matches(R"({"$and":[{"$eq":{"_id":"the-id","_rev":"1-abc","a":1}}]})", R"({"a":1})"));
  CHECK(selector(R"({"$and":[{"$gt":null}]})").needs_whole_document());
  CHECK_FALSE(selector(R"({"a":1})").needs_whole_document());
}

TEST_CASE("bad arguments are refused in Mango's words") {
  CHECK(refused("[]") == "Selector must be a JSON object, not: []");
  CHECK(refused(R"({"$and":5})") == "Bad argument for operator $and: 5");
  CHECK(refused(R"({"a":{"$or":{}}})") == "Bad argument for operator $or: {}");
  CHECK(refused(R"({"$not":[]})") == "Bad argument for operator $not: []");
  CHECK(refused(R"({"a":{"$in":5}})") == "Bad argument for operator $in: 5");
  CHECK(refused(R"({"a":{"$exists":1}})") == "Bad argument for operator $exists: 1");
  CHECK(refused(R"({"a":{"$type":1}})") == "Bad argument for operator $type: 1");
  CHECK(refused(R"({"a":{"$mod":[1]}})") == "Bad argument for operator $mod: [1]");
  CHECK(refused(R"({"a":{"$mod":[0,1]}})") == "Bad argument for operator $mod: [0,1]");
  CHECK(refused(R"({"a":{"$mod":[2.0,1]}})").starts_with("Bad argument for operator $mod"));
  CHECK(refused(R"({"a":{"$regex":"("}})") == "Bad argument for operator $regex: \"(\"");
  CHECK(refused(R"({"a":{"$size":-1}})") == "Bad argument for operator $size: -1");
  CHECK(refused(R"({"a":{"$all":"x"}})") == "Bad argument for operator $all: \"x\"");
  CHECK(refused(R"({"a":{"$elemMatch":5}})") == "Bad argument for operator $elemMatch: 5");
  CHECK(refused(R"({"a":{"$beginsWith":5}})") == "Bad argument for operator $beginsWith: 5");
  CHECK(refused(R"({"a":{"$foo":5}})") == "Invalid operator: $foo");
  CHECK(refused(R"({"$where":5})") == "Unsupported operator: $where");
  CHECK(refused(R"({"$gt":5})") == "One or more conditions is missing a field name.");
  CHECK(refused(R"({"":5})") == "One or more conditions is missing a field name.");
  CHECK(refused(R"({"a..b":5})") == "Invalid field name: a..b");
}

TEST_CASE("errors have CouchDB's short names") {
  const auto name = [](std::string_view text) { return mango_error_name(Selector::parse(*parse_json(text)).error()); };
  CHECK(name(R"({"a":{"$in":5}})") == "bad_arg");
  CHECK(name(R"({"a":{"$foo":5}})") == "invalid_operator");
  CHECK(name(R"({"$near":5})") == "not_supported");
  CHECK(name(R"({"$gt":5})") == "invalid_selector");
  CHECK(name("5") == "invalid_selector_json");
}

TEST_CASE("$text is refused as unsupported") {
  CHECK(Selector::parse(json::parse(R"({"$text":"x"})")).error().code == ErrorCode::unsupported);
}

TEST_CASE("selectors are bounded in depth, conditions and pattern length") {
  std::string deep = "1";
  for (int i = 0; i < 100; ++i) deep = R"({"$and":[{"a":)" + deep + "}]}";
  CHECK(refused(deep).starts_with("Selector is nested over"));
  std::string wide = R"({"$or":[)";
  for (int i = 0; i < 20'000; ++i) wide += R"({"a":1},)";
  wide.back() = ']';
  CHECK(refused(wide + "}").starts_with("Selector has over"));
  CHECK(refused(R"({"a":{"$regex":")" + std::string(10'000, 'a') + R"("}})").starts_with("Bad argument"));
}

TEST_CASE("the values that a selector lists are bounded, in one list or in several") {
  const auto list = [](std::size_t count) {
    std::string text = "[1";
    for (std::size_t i = 1; i < count; ++i) text += ",1";
    return text + "]";
  };
  for (const std::string op : {"$in", "$nin", "$all"}) {
    CHECK(refused("{\"a\":{\"" + op + "\":" + list(100'000) + "}}") == "accepted");
    CHECK(refused("{\"a\":{\"" + op + "\":" + list(100'001) + "}}") ==
          "Selector lists over 100000 values in $in, $nin and $all");
  }
  const std::string half = list(50'001);
  const std::string both = R"({"a":{"$in":)" + half + R"(},"b":{"$not":{"$in":)" + half + "}}}";
  CHECK(refused(both).starts_with("Selector lists over"));
}

TEST_CASE("a selector may outlive the JSON it was parsed from") {
  auto parsed = [] {
    json::monotonic_resource memory;
    return *Selector::parse(
        json::parse(R"({"a":{"$in":["one string long enough to be allocated somewhere"]}})", &memory));
  }();
  DocumentParser parser;
  CHECK(parsed.matches(*parser.parse(R"({"a":"one string long enough to be allocated somewhere"})"), "a", "1-b"));
}

TEST_CASE("fields used are listed once, in order") {
  std::vector<std::string> names;
  const Selector used = selector(R"({"b":1,"$or":[{"a.c":2},{"b":{"$gt":1}}],"l":{"$elemMatch":{"x":1}},"_id":"y"})");
  for (const FieldPath& path : used.fields_used()) names.push_back(path.text());
  CHECK(names == std::vector<std::string>{"b", "a.c", "l", "_id"});
}

TEST_CASE("conjuncts are flattened") {
  CHECK(selector(R"({"a":1,"b":{"$gt":2,"$lt":5}})").conjuncts().size() == 3);
  CHECK(selector(R"({"$or":[{"a":1},{"b":1}]})").conjuncts().size() == 1);
  CHECK(selector("{}").conjuncts().empty());
}
