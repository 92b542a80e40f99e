#include "query/plan/planner.h"

#include <map>
#include <random>

#include <catch2/catch.hpp>

#include "query/index/index_entry.h"
#include "query/json/parsed_document.h"
#include "query/mango/find_request.h"

using namespace octavo;
using namespace octavo::query;

namespace {

// Says of every index what it was told; by default that each range has one row.
class FakeStatistics : public PlannerStatistics {
 public:
  std::uint64_t all = 10'000;
  std::map<std::string, RowCount> rows;

  Expected<Documents> documents() override { return Documents{all, 250}; }
  Expected<std::uint64_t> entries(const IndexView&) override { return all; }
  Expected<RowCount> size(const IndexView& index, std::span<const KeyRange> ranges) override {
    const auto found = rows.find(index.definition->name);
    return found == rows.end() ? RowCount{ranges.size(), true} : found->second;
  }
  Expected<RowCount> size_of_ids(std::span<const IdRange> ranges) override { return RowCount{ranges.size(), true}; }
};

IndexDefinitionPtr definition(std::string_view name, std::string_view def, bool partitioned = false) {
  const auto json = *parse_json(def);
  auto result = std::make_shared<IndexDefinition>();
  result->design_document = "_design/" + std::string(name);
  result->name = name;
  result->fields = *parse_ordered_fields(json.at("fields"));
  if (const auto* filter = json.as_object().if_contains("filter")) result->partial_filter = *Selector::parse(*filter);
  result->partitioned = partitioned;
  result->identity = name;
  return result;
}

struct Setting {
  IndexCatalog catalog;
  FakeStatistics statistics;
  PlannerScope scope;

  void add(std::string_view name, std::string_view def) {
    IndexView view;
    view.definition = definition(name, def, true);
    view.numbers = {1};
    view.local_ready = {true};
    catalog.indexes.push_back(std::move(view));
  }
  Expected<PlannerResult> plan(std::string_view request) {
    scope.partition_query = true;
    const FindRequest parsed = *parse_find_request(request, "p", 25);
    return plan_query(parsed.plan_request(), catalog, scope, statistics);
  }
  std::string chosen(std::string_view request) {
    const auto result = plan(request);
    if (!result) return std::string(result.error().word);
    const auto& branches = result->plans[0].branches;
    if (branches.size() > 1) return "union";
    return branches.empty() ? "nothing" : branches[0].index ? branches[0].index->definition->name : "primary";
  }
};

}  // namespace

TEST_CASE("an index that narrows is preferred to reading all documents") {
  Setting setting;
  CHECK(setting.chosen(R"({"selector":{"a":1}})") == "primary");
  setting.add("a", R"({"fields":["a"]})");
  CHECK(setting.chosen(R"({"selector":{"a":1}})") == "a");
  CHECK(setting.chosen(R"({"selector":{"a":{"$exists":true}}})") == "a");
  CHECK(setting.chosen(R"({"selector":{"b":1}})") == "primary");
  CHECK(setting.chosen(R"({"selector":{}})") == "primary");
}

TEST_CASE("of two indexes the one with fewer rows in range is chosen") {
  Setting setting;
  setting.add("a", R"({"fields":["a"]})");
  setting.add("b", R"({"fields":["b"]})");
  setting.statistics.rows["a"] = {100, true};
  setting.statistics.rows["b"] = {3, true};
  CHECK(setting.chosen(R"({"selector":{"a":1,"b":1}})") == "b");
  setting.statistics.rows["b"] = {128, false};
  CHECK(setting.chosen(R"({"selector":{"a":1,"b":1}})") == "a");
}

TEST_CASE("a longer index is chosen when it narrows by more fields, the shorter when it does not") {
  Setting setting;
  setting.add("ab", R"({"fields":["a","b"]})");
  setting.add("a", R"({"fields":["a"]})");
  CHECK(setting.chosen(R"({"selector":{"a":1,"b":{"$gt":1}}})") == "ab");
  CHECK(setting.chosen(R"({"selector":{"a":1}})") == "a");
}

TEST_CASE("conditions on _id go to the primary index") {
  Setting setting;
  setting.add("a", R"({"fields":["a"]})");
  setting.statistics.rows["a"] = {100, true};
  CHECK(setting.chosen(R"({"selector":{"_id":"p:1","a":1}})") == "primary");
  const auto result = setting.plan(R"({"selector":{"_id":{"$in":["p:2","p:1"]}}})");
  REQUIRE(result->plans[0].branches[0].id_ranges.size() == 2);
  CHECK(result->plans[0].branches[0].id_ranges[0].is_point());
  CHECK_FALSE(result->plans[0].branches[0].recheck);
}

TEST_CASE("an index in the order of the sort is walked forward or backward, otherwise the sort is in memory") {
  Setting setting;
  setting.add("ab", R"({"fields":["a",{"b":"desc"}]})");
  const auto plan = [&](std::string_view request) { return setting.plan(request)->plans[0]; };
  CHECK_FALSE(plan(R"({"selector":{"a":{"$gt":1}},"sort":["a",{"b":"desc"}]})").sort_in_memory);
  const auto backward = plan(R"({"selector":{"a":{"$gt":1}},"sort":[{"a":"desc"},"b"]})");
  CHECK_FALSE(backward.sort_in_memory);
  CHECK(backward.descending);
  CHECK(plan(R"({"selector":{"a":{"$gt":1}},"sort":["a","b"]})").sort_in_memory);
  // A field with one value does not count.
  CHECK_FALSE(plan(R"({"selector":{"a":1},"sort":["b"]})").sort_in_memory);
  CHECK(plan(R"({"selector":{"a":{"$in":[1,2]}},"sort":["b"]})").sort_in_memory);
  CHECK(plan(R"({"selector":{},"sort":["c"]})").sort_in_memory);
  CHECK_FALSE(plan(R"({"selector":{},"sort":[{"_id":"desc"}]})").sort_in_memory);
}

TEST_CASE("the limit makes an index in sort order cheaper than a small sort") {
  Setting setting;
  setting.add("a", R"({"fields":["a"]})");
  setting.add("t", R"({"fields":["t"]})");
  setting.statistics.rows["a"] = {128, false};
  setting.statistics.rows["t"] = {128, false};
  CHECK(setting.chosen(R"({"selector":{"t":{"$gt":0},"a":{"$gt":0}},"sort":["t"],"limit":5})") == "t");
}

TEST_CASE("documents are not tested when the ranges say all") {
  Setting setting;
  setting.add("ab", R"({"fields":["a","b"]})");
  setting.add("p", R"({"fields":["c"],"filter":{"type":"order"}})");
  const auto recheck = [&](std::string_view request) { return setting.plan(request)->plans[0].branches[0].recheck; };
  CHECK_FALSE(recheck(R"({"selector":{"a":1,"b":{"$gt":3,"$lt":5}}})"));
  CHECK_FALSE(recheck(R"({"selector":{"type":"order","c":7}})"));
  CHECK(recheck(R"({"selector":{"a":1,"x":1}})"));
  CHECK(recheck(R"({"selector":{"a":1,"b":{"$exists":false}}})"));
  CHECK(recheck(R"({"selector":{"a":{"$gt":1},"b":1}})"));
}

TEST_CASE("a partial index serves only selectors that imply its filter") {
  Setting setting;
  setting.add("p", R"({"fields":["c"],"filter":{"type":"order"}})");
  CHECK(setting.chosen(R"({"selector":{"type":"order","c":7}})") == "p");
  CHECK(setting.chosen(R"({"selector":{"type":"order"}})") == "p");
  CHECK(setting.chosen(R"({"selector":{"c":7}})") == "primary");
  CHECK(setting.chosen(R"({"selector":{"type":"item","c":7}})") == "primary");
}

TEST_CASE("a partial index that use_index names need not be implied, and is tested with its filter") {
  Setting setting;
  setting.add("p", R"({"fields":["c","d"],"filter":{"type":{"$regex":"^o"}}})");
  const auto named = setting.plan(R"({"selector":{"c":7},"use_index":"p"})");
  REQUIRE(named->plans[0].branches[0].index);
  CHECK(named->plans[0].warnings.empty());
  CHECK_FALSE(named->plans[0].branches[0].recheck);
  CHECK(named->plans[0].branches[0].selector.fields_used().size() == 2);
  CHECK(setting.chosen(R"({"selector":{"c":7},"use_index":["p","p"]})") == "p");
  CHECK(setting.chosen(R"({"selector":{"c":7},"use_index":["p","q"]})") == "primary");
  CHECK(setting.chosen(R"({"selector":{"d":7},"use_index":"p"})") == "primary");
  CHECK(setting.chosen(R"({"selector":{},"use_index":"p"})") == "primary");
  CHECK(setting.chosen(R"({"selector":{},"sort":["c"],"use_index":"p"})") == "p");
  // Its entries have what is tested, and what its filter looks at they need not have.
  const auto covered = setting.plan(R"({"selector":{"c":7,"d":{"$mod":[2,0]}},"fields":["d"],"use_index":"p"})");
  CHECK(covered->plans[0].covering);
  CHECK(covered->plans[0].branches[0].selector.fields_used().size() == 2);
  // A side of an `$or` that the index does not have whole is not left to it.
  setting.add("b", R"({"fields":["b"]})");
  CHECK(setting.chosen(R"({"selector":{"$or":[{"c":1},{"b":1}]},"use_index":"p"})") == "primary");
}

TEST_CASE("of a design document that use_index names, an index of all documents is preferred to a partial one") {
  Setting setting;
  setting.add("p", R"({"fields":["c"],"filter":{"type":"order"}})");
  setting.add("whole", R"({"fields":["c"]})");
  auto in_one = std::make_shared<IndexDefinition>(*setting.catalog.indexes[1].definition);
  in_one->design_document = "_design/p";
  setting.catalog.indexes[1].definition = in_one;
  setting.statistics.rows["whole"] = {500, false};
  CHECK(setting.chosen(R"({"selector":{"c":7},"use_index":"p"})") == "whole");
  CHECK(setting.chosen(R"({"selector":{"c":7},"use_index":["p","p"]})") == "p");
  CHECK(setting.chosen(R"({"selector":{"c":7,"type":"order"},"use_index":"p"})") == "p");
}

TEST_CASE("strict rules need an index for a sort, and a name for a partial index") {
  Setting setting;
  setting.add("b", R"({"fields":["b"]})");
  setting.add("partial", R"({"fields":["a"],"filter":{"type":"x"}})");
  const auto chosen = [&](std::string_view request) -> std::string {
    setting.scope.partition_query = true;
    const auto parsed = with_strict_rules(*parse_find_request(request, "p", 25));
    if (!parsed) return std::string(parsed.error().word);
    const auto result = plan_query(parsed->plan_request(), setting.catalog, setting.scope, setting.statistics);
    if (!result) return std::string(result.error().word);
    const auto& branches = result->plans[0].branches;
    if (branches.size() > 1) return "union";
    return branches[0].index ? branches[0].index->definition->name : "primary";
  };
  CHECK(chosen(R"({"selector":{"a":{"$gt":1}},"sort":["a"]})") == "no_usable_index");
  CHECK(chosen(R"({"selector":{"b":{"$gt":1}},"sort":["b"]})") == "b");
  CHECK(chosen(R"({"selector":{"$or":[{"b":1},{"b":2}]},"sort":["a"]})") == "no_usable_index");
  CHECK(chosen(R"({"selector":{"c":1},"sort":[{"_id":"desc"}]})") == "primary");
  CHECK(chosen(R"({"selector":{"b":1},"sort":["b",{"c":"desc"}]})") == "unsupported_mixed_sort");
  CHECK(chosen(R"({"selector":{"a":1,"type":"x"}})") == "primary");
  CHECK(chosen(R"({"selector":{"a":1,"type":"x"},"use_index":"partial"})") == "partial");
  CHECK(setting.chosen(R"({"selector":{"a":1,"type":"x"}})") == "partial");
}

TEST_CASE("an alternative between fields uses an index for each side, or none") {
  Setting setting;
  setting.add("a", R"({"fields":["a"]})");
  CHECK(setting.chosen(R"({"selector":{"$or":[{"a":1},{"b":1}]}})") == "primary");
  setting.add("b", R"({"fields":["b"]})");
  CHECK(setting.chosen(R"({"selector":{"$or":[{"a":1},{"b":1}]}})") == "union");
  CHECK(setting.chosen(R"({"selector":{"$or":[{"a":1},{"a":5}]}})") == "a");
  CHECK(setting.chosen(R"({"selector":{"x":1,"$or":[{"a":1},{"_id":"p:1"}]}})") == "union");
}

TEST_CASE("a union takes turns with the walk of another condition that may reach the limit sooner") {
  Setting setting;
  for (const char* name : {"a", "b", "c"}) setting.add(name, R"({"fields":[")" + std::string(name) + R"("]})");
  setting.statistics.rows = {{"a", {40, true}}, {"b", {4'000, true}}, {"c", {5'000, true}}};
  const std::string common = R"("c":{"$gt":1},"$or":[{"a":1},{"b":1}])";
  // 4,040 of 10,000 documents match one side, so each walk finds 20 results soon.
  const auto limited = setting.plan(R"({"selector":{)" + common + R"(},"limit":20})");
  REQUIRE(limited->plans.size() == 2);
  const Plan& united = limited->plans[limited->sure];
  CHECK(united.branches.size() == 2);
  CHECK(united.expected < united.most);
  CHECK(limited->plans[1 - limited->sure].branches[0].index->definition->name == "c");
  CHECK(limited->plans[0].expected <= limited->plans[1].expected);
  // A page that the other walk has ended continues with it, beside the union.
  setting.scope.pinned = "c";
  const auto next = setting.plan(R"({"selector":{)" + common + R"(},"limit":20})");
  REQUIRE(next->plans.size() == 2);
  CHECK(next->plans[0].branches[0].index->definition->name == "c");
  CHECK(next->sure == 1);
  setting.scope.pinned.reset();
  // All matches are needed: only the surest plan is run.
  const auto counted = setting.plan(R"({"selector":{)" + common + R"(},"count":true})");
  REQUIRE(counted->plans.size() == 1);
  CHECK(counted->plans[0].branches.size() == 2);
}

TEST_CASE("an index that has the fields of the results spares no document if the results are sorted in memory") {
  Setting setting;
  setting.add("a", R"({"fields":["a"]})");
  setting.statistics.rows["a"] = {400, true};
  const auto whole = setting.plan(R"({"selector":{"a":1},"sort":["b"]})");
  const auto fields = setting.plan(R"({"selector":{"a":1},"sort":["b"],"fields":["a"]})");
  CHECK_FALSE(fields->plans[0].covering);
  CHECK(fields->plans[0].most == whole->plans[0].most);
  CHECK(setting.plan(R"({"selector":{"a":1},"fields":["a"]})")->plans[0].most < whole->plans[0].most);
}

TEST_CASE("a side of a union continues by the index that its bookmark names, the sides after it by any") {
  Setting setting;
  for (const std::string name : {"a", "b", "c"}) setting.add(name, R"({"fields":[")" + name + R"("]})");
  setting.statistics.rows = {{"a", {10, false}}, {"b", {11, false}}};
  const std::string_view request = R"({"selector":{"$or":[{"c":1},{"a":5,"b":2}]},"limit":10})";
  const auto names = [&] {
    const auto result = setting.plan(request);
    if (!result) return std::string(result.error().word);
    std::string all;
    for (const Branch& branch : result->plans[0].branches) all += branch.index ? branch.index->definition->name : "?";
    return all;
  };
  CHECK(names() == "ca");
  setting.statistics.rows["a"].rows = 13;
  CHECK(names() == "cb");
  setting.scope.pinned = "a";
  setting.scope.pinned_side = 1;
  CHECK(names() == "ca");
  setting.scope.pinned = "c";
  CHECK(names() == "invalid_bookmark");
  CHECK(setting.plan(request).error().code == ErrorCode::index_gone);
  setting.scope.pinned_side = 0;
  CHECK(names() == "cb");
  setting.scope.pinned = "";
  CHECK(names() == "invalid_bookmark");
  setting.scope.pinned = "b";
  setting.scope.pinned_side = 2;
  CHECK(names() == "invalid_bookmark");
}

TEST_CASE("one range in place of very many values is not one value") {
  Setting setting;
  setting.add("ab", R"({"fields":["a","b"]})");
  std::string list = "[0";
  for (int i = 1; i <= 512; ++i) list += "," + std::to_string(i);
  const std::string selector = R"({"selector":{"a":{"$in":)" + list + R"(]}},"sort":["b"],"use_index":"ab"})";
  const auto result = setting.plan(selector);
  REQUIRE(result);
  const Plan& plan = result->plans[0];
  REQUIRE(plan.branches.size() == 1);
  CHECK(plan.branches[0].bounds.ranges.size() == 1);
  CHECK(plan.branches[0].bounds.point_columns == 0);
  CHECK(plan.sort_in_memory);
}

TEST_CASE("a selector that contradicts itself reads nothing") {
  Setting setting;
  setting.add("a", R"({"fields":["a"]})");
  CHECK(setting.plan(R"({"selector":{"a":{"$gt":5,"$lt":3}}})")->plans[0].branches[0].bounds.ranges.empty());
  CHECK(setting.chosen(R"({"selector":{"$or":[]}})") == "nothing");
}

TEST_CASE("an index that is being built is not counted on when told so") {
  Setting setting;
  setting.add("a", R"({"fields":["a"]})");
  setting.catalog.indexes[0].local_ready = {false};
  CHECK(setting.chosen(R"({"selector":{"a":1}})") == "a");
  setting.scope.ignore_unbuilt = true;
  CHECK(setting.chosen(R"({"selector":{"a":1}})") == "primary");
}

TEST_CASE("every candidate has its reason, and the chosen one its ranges") {
  Setting setting;
  setting.add("a", R"({"fields":["a"]})");
  setting.add("ab", R"({"fields":["a","b"]})");
  setting.add("c", R"({"fields":["c"]})");
  setting.add("p", R"({"fields":["a"],"filter":{"type":"x"}})");
  setting.catalog.indexes.push_back({definition("g", R"({"fields":["a"]})", false), nullptr, {}, {}});
  const auto result = setting.plan(R"({"selector":{"a":1,"b":{"$gt":2}},"fields":["a"]})");
  REQUIRE(result);
  const Plan& plan = result->plans[0];
  const Branch& branch = plan.branches[0];
  REQUIRE(branch.index);
  CHECK(branch.index->definition->name == "ab");
  CHECK(plan.covering);
  CHECK(boost::json::value(branch.bounds.start_key) == boost::json::parse("[1,2]"));
  CHECK(boost::json::value(branch.bounds.end_key) == boost::json::parse(R"([1,"<MAX>"])"));
  std::map<std::string, std::string> reasons;
  for (const Candidate& candidate : result->candidates) {
    if (!candidate.chosen) reasons[candidate.index ? candidate.index->definition->name : "primary"] = candidate.reason;
  }
  CHECK(reasons == std::map<std::string, std::string>{{"primary", "unfavored_type"},
                                                      {"a", "less_overlap"},
                                                      {"c", "field_mismatch"},
                                                      {"p", "is_partial"},
                                                      {"g", "scope_mismatch"}});
}

TEST_CASE("key ranges hold the entries of all matching documents, and only those when they say all") {
  std::mt19937 random(5);
  const auto pick = [&](std::initializer_list<const char*> values) {
    return std::string(*(values.begin() + random() % values.size()));
  };
  const auto value = [&] {
    return pick({"null", "false", "true", "-1", "0", "1", "2", "2.5", "\"\"", "\"a\"", "\"B\"", "\"b\"", "[]", "[1]",
                 "{}", "{\"x\":1}"});
  };
  DocumentParser parser;
  for (int round = 0; round < 3000; ++round) {
    const auto condition = [&] {
      switch (random() % 7) {
        case 0:
          return R"({"$in":[)" + value() + "," + value() + "]}";
        case 1:
          return std::string(random() % 2 ? R"({"$exists":true})" : R"({"$exists":false})");
        case 2:
          return R"({"$gte":)" + value() + R"(,"$lt":)" + value() + "}";
        case 3:
          return R"({"$ne":)" + value() + "}";
        case 4:
          return value();
        default:
          return "{\"" + pick({"$lt", "$lte", "$gt", "$gte", "$eq"}) + "\":" + value() + "}";
      }
    };
    std::string selector_text = "{";
    for (const char* field : {"a", "b", "c"}) {
      if (random() % 3 == 0) continue;
      if (selector_text.size() > 1) selector_text += ',';
      selector_text += std::string("\"") + field + "\":" + condition();
    }
    selector_text += "}";
    const Selector selector = *Selector::parse(*parse_json(selector_text));
    const auto index = definition(
        "i", R"({"fields":[{"a":")" + pick({"asc", "desc"}) + R"("},{"b":")" + pick({"asc", "desc"}) + R"("}]})");
    const auto bounds = bounds_for(*index, selector, {});
    CAPTURE(selector_text, bounds.ranges.size());
    bool told = bounds.columns_used == 2 || selector.fields_used().empty();
    for (const bool exact : bounds.column_exact) told = told && exact;
    for (const FieldPath& path : selector.fields_used()) told = told && !path.is("c");
    for (int i = 0; i < 10; ++i) {
      std::string body = "{";
      for (const char* field : {"a", "b", "c"}) {
        if (random() % 4 == 0) continue;
        if (body.size() > 1) body += ',';
        body += std::string("\"") + field + "\":" + value();
      }
      body += "}";
      CAPTURE(body);
      const auto root = *parser.parse(body);
      std::string key, entry;
      REQUIRE(append_index_entry(*index, {root, body, "id", {}}, key, entry));
      const bool in_range = std::ranges::any_of(
          bounds.ranges, [&](const KeyRange& range) { return range.begin <= key && key < range.end; });
      const bool matches = selector.matches(root, "id", "1-x");
      if (matches) CHECK(in_range);
      if (told && in_range) CHECK(matches);
    }
    for (std::size_t i = 1; i < bounds.ranges.size(); ++i) CHECK(bounds.ranges[i - 1].end < bounds.ranges[i].begin);
  }
}
