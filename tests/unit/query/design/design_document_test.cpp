#include "query/design/design_document.h"

#include <string>

#include <catch2/catch.hpp>

using namespace octavo;
using namespace octavo::query;

namespace {

Expected<DesignDocumentPtr> read_design(std::string_view body) {
  return read_design_document("_design/shop", "1-abc", body);
}

std::string design_error_of(std::string_view body) {
  const auto design = read_design(body);
  if (design) return "";
  CHECK(design.error().code == ErrorCode::bad_request);
  CHECK(design.error().word == "invalid_design_doc");
  return design.error().reason;
}

}  // namespace

TEST_CASE("a design document is read with all its functions") {
  const auto read_result = read_design(R"({
    "views": {"by_price": {"map": "function(doc) { emit(\"a\"); }", "reduce": "_sum"}, "all": {"map": "m"},
              "lib": {"x": "exports.a = 1"}},
    "indexes": {"text": {"index": "i", "analyzer": {"name": "perfield"}}, "plain": {"index": "p"}},
    "filters": {"new": "f", "nested": {"not": "one"}},
    "updates": {"touch": "u"},
    "validate_doc_update": "v",
    "options": {"partitioned": false, "collation": "raw", "include_design": true, "local_seq": true}
  })");
  REQUIRE(read_result);
  const auto& design = **read_result;
  CHECK(design.id == "_design/shop");
  CHECK(design.revision == "1-abc");
  REQUIRE(design.views.size() == 2);
  REQUIRE(design.view("by_price"));
  CHECK(design.view("by_price")->map == "function(doc) { emit(\"a\"); }");
  CHECK(design.view("by_price")->reduce == "_sum");
  CHECK_FALSE(design.view("all")->reduce);
  CHECK(design.view("lib") == nullptr);
  CHECK(design.view_modules == R"({"views":{"lib":{"x": "exports.a = 1"}}})");
  REQUIRE(design.index("text"));
  CHECK(design.index("text")->analyzer == R"({"name": "perfield"})");
  CHECK(design.index("plain")->analyzer.empty());
  REQUIRE(design.filters.size() == 1);
  CHECK(design.filter("new")->source == "f");
  CHECK(design.filter("nested") == nullptr);
  CHECK(design.update("touch")->source == "u");
  CHECK(design.validate_doc_update == "v");
  CHECK(design.options.partitioned == false);
  CHECK(design.options.raw_collation);
  CHECK(design.options.include_design);
  CHECK(design.options.local_sequence);
  CHECK(design.body.starts_with(R"({"_id":"_design/shop","_rev":"1-abc",)"));
}

TEST_CASE("an empty design document has nothing in it") {
  const auto design = read_design("{}");
  REQUIRE(design);
  CHECK((*design)->views.empty());
  CHECK((*design)->body == R"({"_id":"_design/shop","_rev":"1-abc"})");
  CHECK((*design)->view_modules.empty());
  CHECK_FALSE((*design)->options.partitioned);
  CHECK((*design)->partitioned(true));
  CHECK_FALSE((*design)->partitioned(false));
}

TEST_CASE("design documents of other languages are none of JavaScript's") {
  CHECK(*read_design(R"({"language":"query","views":{"x":{"map":{"fields":{}},"reduce":"_count"}}})") == nullptr);
  CHECK(*read_design(R"({"language":"erlang","views":{"x":{"map":"fun"}}})") == nullptr);
  CHECK(*read_design(R"({"language":"javascript"})") != nullptr);
}

TEST_CASE("members of the wrong type are refused in CouchDB's words") {
  CHECK(design_error_of(R"({"language":1})") == "`language` field must have string type");
  CHECK(design_error_of(R"({"filters":[]})") == "`filters` field must have object type");
  CHECK(design_error_of(R"({"filters":{"a":1}})") == "`filters.a` field must have object or string type");
  CHECK(design_error_of(R"({"lists":1})") == "`lists` field must have object type");
  CHECK(design_error_of(R"({"options":[]})") == "`options` field must have object type");
  CHECK(design_error_of(R"({"options":{"partitioned":"yes"}})") ==
        "`options.partitioned` field must have boolean type");
  CHECK(design_error_of(R"({"rewrites":{}})") == "`rewrites` field must have string or array type");
  CHECK(design_error_of(R"({"shows":{"a":[]}})") == "`shows.a` field must have object or string type");
  CHECK(design_error_of(R"({"updates":{"a":null}})") == "`updates.a` field must have object or string type");
  CHECK(design_error_of(R"({"validate_doc_update":{}})") == "`validate_doc_update` field must have string type");
  CHECK(design_error_of(R"({"views":[]})") == "`views` field must have object type");
  CHECK(design_error_of(R"({"views":{"lib":"x"}})") == "`views.lib` field must have object type");
  CHECK(design_error_of(R"({"views":{"a":"x"}})") == "`views.a` field must have object type");
  CHECK(design_error_of(R"({"views":{"a":{}}})") == "View `a` must contain map function");
  std::string many = R"({"views":{)";
  for (int i = 0; i <= 10'000; ++i) many += (i == 0 ? "\"v" : ",\"v") + std::to_string(i) + R"(":{"map":"f"})";
  CHECK(design_error_of(many + "}}") == "A design document can have at most 10000 views");
  CHECK(design_error_of(R"({"views":{"a":{"map":{}}}})") == "`views.a.map` field must have string type");
  CHECK(design_error_of(R"({"views":{"a":{"map":"x","reduce":1}}})") == "`views.a.reduce` field must have string type");
  CHECK(design_error_of(R"({"language":"query","views":{"a":{"map":"x"}}})") ==
        "`views.a.map` field must have object type");
  CHECK(design_error_of(R"({"indexes":{"a":"x"}})") == "`indexes.a` field must have object type");
  CHECK(design_error_of(R"({"indexes":{"a":{"index":1}}})") == "`indexes.a.index` field must have string type");
}
