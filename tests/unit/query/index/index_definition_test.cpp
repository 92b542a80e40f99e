#include "query/index/index_definition.h"

#include <catch2/catch.hpp>

#include "query/database/create_index.h"
#include "query/json/parsed_document.h"

using namespace octavo;
using namespace octavo::query;

namespace {

Expected<CreateIndexRequest> request_of(std::string_view text) {
  return parse_create_index(*parse_json(text));
}

std::string word_of(std::string_view text) {
  const auto request = request_of(text);
  return request ? "" : std::string(request.error().word);
}

std::string created(std::string_view text, bool partitioned = false) {
  return **add_index_to_design_document(*request_of(text), std::nullopt, partitioned);
}

}  // namespace

TEST_CASE("an index request becomes a design document as CouchDB stores it") {
  const std::string body = created(R"({"index":{"fields":["foo",{"bar":"desc"}]},"ddoc":"d","name":"n"})");
  CHECK(boost::json::parse(body) == boost::json::parse(R"({"language":"query","views":{"n":{
    "map":{"fields":{"foo":"asc","bar":"desc"},"partial_filter_selector":{}},
    "reduce":"_count","options":{"def":{"fields":["foo",{"bar":"desc"}]}}}}})"));
}

TEST_CASE("an index without names is called by the hash of its request") {
  const auto request = request_of(R"({"index":{"fields":["foo"]}})");
  REQUIRE(request);
  CHECK(request->name.size() == 40);
  CHECK(request->design_document == "_design/" + request->name);
  CHECK(request_of(R"({"index":{"fields":["foo"]}})")->name == request->name);
  CHECK(request_of(R"({"index":{"fields":["bar"]}})")->name != request->name);
}

TEST_CASE("creating the same index twice says that it exists") {
  const std::string text = R"({"index":{"fields":["foo"],"partial_filter_selector":{"a":1}},"ddoc":"d","name":"n"})";
  const auto again = add_index_to_design_document(*request_of(text), created(text), false);
  REQUIRE(again);
  CHECK_FALSE(again->has_value());
}

TEST_CASE("a design document can hold several indexes, and loses them one by one") {
  const std::string one = created(R"({"index":{"fields":["a"]},"ddoc":"d","name":"1"})");
  const auto two =
      **add_index_to_design_document(*request_of(R"({"index":{"fields":["b"]},"ddoc":"d","name":"2"})"), one, false);
  CHECK(definitions_from_design_document("_design/d", two, false)->size() == 2);
  const auto left = *remove_index_from_design_document(two, "1");
  CHECK(definitions_from_design_document("_design/d", left, false)->size() == 1);
  CHECK(remove_index_from_design_document(left, "2")->empty());
  CHECK(remove_index_from_design_document(left, "x").error().code == ErrorCode::not_found);
}

TEST_CASE("removing an index leaves the rest of its design document as it was, in its order") {
  const auto body = [](std::string_view views) {
    return R"({"language":"query","views":{)" + std::string(views) + R"(},"options":{"partitioned":true},"more":1})";
  };
  const std::string a = R"("a":{"map":{"fields":{"a":"asc"}}})";
  const std::string b = R"("b":{"map":{"fields":{"b":"asc"}}})";
  const std::string c = R"("c":{"map":{"fields":{"c":"asc"}}})";
  CHECK(*remove_index_from_design_document(body(a + "," + b + "," + c), "a") == body(b + "," + c));
  CHECK(*remove_index_from_design_document(body(a), "a") ==
        R"({"language":"query","options":{"partitioned":true},"more":1})");
  CHECK(remove_index_from_design_document(R"({"language":"query","views":{)" + a + R"(},"options":{}})", "a")->empty());
}

TEST_CASE("an index is local by default in a partitioned database, and global elsewhere") {
  const auto partitioned = [](std::string_view text, bool database) {
    return definitions_from_design_document("_design/d", created(text, database), database)->front()->partitioned;
  };
  CHECK(partitioned(R"({"index":{"fields":["a"]}})", true));
  CHECK_FALSE(partitioned(R"({"index":{"fields":["a"]}})", false));
  CHECK_FALSE(partitioned(R"({"index":{"fields":["a"]},"partitioned":false})", true));
  const auto refused =
      add_index_to_design_document(*request_of(R"({"index":{"fields":["a"]},"partitioned":true})"), {}, false);
  CHECK(refused.error().reason == "partitioned option cannot be true in a non-partitioned database.");
}

TEST_CASE("the partitioned option of a design document cannot be changed by a second index") {
  const std::string one = created(R"({"index":{"fields":["a"]},"ddoc":"d","partitioned":false})", true);
  const auto other = add_index_to_design_document(
      *request_of(R"({"index":{"fields":["b"]},"ddoc":"d","partitioned":true})"), one, true);
  REQUIRE_FALSE(other);
  CHECK(other.error().word == "invalid_partitioned_option");
}

TEST_CASE("the identity of an index depends on its content alone") {
  const auto identity = [](std::string_view text, bool database = false) {
    return definitions_from_design_document("_design/d", created(text, database), database)->front()->identity;
  };
  const auto base = identity(R"({"index":{"fields":["a","b"]},"name":"1"})");
  CHECK(base.size() == 32);
  CHECK(identity(R"({"index":{"fields":["a","b"]},"name":"2"})") == base);
  CHECK(identity(R"({"index":{"fields":["b","a"]}})") != base);
  CHECK(identity(R"({"index":{"fields":["a",{"b":"desc"}]}})") != base);
  CHECK(identity(R"({"index":{"fields":["a","b"],"partial_filter_selector":{"x":1}}})") != base);
  CHECK(identity(R"({"index":{"fields":["a","b"]}})", true) != base);
}

TEST_CASE("bad index requests are refused with the dialect's words") {
  CHECK(word_of(R"({})") == "missing_required_key");
  CHECK(word_of(R"({"index":{}})") == "missing_required_key");
  CHECK(word_of(R"({"index":[]})") == "invalid_index");
  CHECK(word_of(R"({"index":{"fields":"a"}})") == "invalid_sort_json");
  CHECK(word_of(R"({"index":{"fields":[{"foo":2}]}})") == "invalid_sort_dir");
  CHECK(word_of(R"({"index":{"fields":[{"foo":"asc","bar":"desc"}]}})") == "invalid_sort_field");
  CHECK(word_of(R"({"index":{"fields":[""]}})") == "invalid_sort_field");
  CHECK(word_of(R"({"index":{"fields":["a"]},"type":"geo"})") == "invalid_index");
  CHECK(word_of(R"({"index":{"fields":["a"]},"type":1.5})") == "invalid_string");
  CHECK(word_of(R"({"index":{"fields":["a"]},"name":true})") == "invalid_string");
  CHECK(word_of(R"({"index":{"fields":["a"]},"ddoc":""})") == "invalid_index_name");
  CHECK(word_of(R"({"index":{"fields":["a"]},"foo":1})") == "invalid_key");
  CHECK(word_of(R"({"index":{"fields":["a"],"foo":1}})") == "invalid_key");
  CHECK(word_of(R"({"index":{"fields":["a"]},"w":0})") == "invalid_pos_integer");
  CHECK(word_of(R"({"index":{"fields":["a"]},"type":"text"})") == "invalid_index_fields_definition");
  CHECK(request_of(R"({"index":{},"type":"text"})")->is_text);
  CHECK(request_of(R"({"index":{"fields":["a"]},"type":"nouveau"})").error().code == ErrorCode::unsupported);
}
