#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include <catch2/catch.hpp>

#include "group_fixture.h"
#include "query/javascript/interruption.h"
#include "support/fault_plan.h"
#include "support/patience.h"

using namespace octavo;
using namespace octavo::query::views;
using octavo::tests::FaultPlan;
using octavo::tests::GroupFixture;
using octavo::tests::json_of;
using octavo::tests::patiently;

namespace {

using RowLines = std::vector<std::string>;

ViewGroupDefinition definition_of(std::vector<octavo::query::ViewSource> views) {
  ViewGroupDefinition definition;
  definition.views = std::move(views);
  return definition;
}

const octavo::query::ViewSource tags_view{
    "by_tags", "function(doc) { doc.tags.forEach(function(tag) { emit(tag, doc.n); }); }", "_sum"};
const octavo::query::ViewSource date_view{"by_date", "function(doc) { if (doc.date) emit(doc.date, doc.n); }", "_sum"};

query::views::KeyRange key_range(std::optional<std::string> start, std::optional<std::string> end,
                                 bool descending = false) {
  query::views::KeyRange keys;
  if (start) keys.start = json_of(*start);
  if (end) keys.end = json_of(*end);
  keys.descending = descending;
  return keys;
}

}  // namespace

TEST_CASE("a document's rows are what its newest state emits") {
  GroupFixture fixture(definition_of({tags_view}));
  fixture.put("a", R"({"tags":["x","y","x"],"n":1})");
  fixture.put("b", R"({"tags":["x"],"n":2})");
  CHECK(fixture.rows("by_tags") == RowLines{R"(a "x" 1)", R"(a "x" 1)", R"(b "x" 2)", R"(a "y" 1)"});
  fixture.put("a", R"({"tags":["y","z"],"n":5})");
  CHECK(fixture.rows("by_tags") == RowLines{R"(b "x" 2)", R"(a "y" 5)", R"(a "z" 5)"});
  fixture.put("b", "");
  CHECK(fixture.rows("by_tags") == RowLines{R"(a "y" 5)", R"(a "z" 5)"});
  fixture.put("a", R"({"n":5})");  // the function throws: no rows
  CHECK(fixture.rows("by_tags").empty());
  CHECK(!fixture.problem());
}

TEST_CASE("the rows of a Mango index are the arrays of its fields") {
  const auto definition = octavo::query::views::view_group_of_indexes("_design/d", R"({"language":"query","views":{
      "two":{"map":{"fields":{"a":"asc","b.c":"desc"},"partial_filter_selector":{"n":{"$gt":0}}}},
      "one":{"map":{"fields":{"_id":"asc"}}},"function":{"map":"function(doc) {}"}}})",
                                                                      false);
  REQUIRE(definition);
  CHECK(ViewGroupDefinition::from_content(definition->content())->of_indexes);
  GroupFixture fixture(*definition);
  fixture.put("x", R"({"a":"e","b":{"c":1.50},"n":1})");
  fixture.put("y", R"({"a":null,"b":{"c":[2]},"n":1})");
  fixture.put("z", R"({"a":1,"n":1})");              // lacks a field
  fixture.put("w", R"({"a":1,"b":{"c":1},"n":0})");  // does not match
  fixture.put("_design/e", R"({"a":1,"b":{"c":1},"n":1})");
  CHECK(fixture.rows("two") == RowLines{"y [null,[2]] null", "x [\"e\",1.50] null"});
  CHECK(fixture.rows("one") == RowLines{"w [\"w\"] null", "x [\"x\"] null", "y [\"y\"] null", "z [\"z\"] null"});
  CHECK(fixture.reduced("one", 0) == RowLines{"null 4"});
  CHECK(fixture.reduced("two", 1) == RowLines{"[null] 1", "[\"e\"] 1"});
  fixture.put("x", R"({"a":2,"b":{"c":3},"n":1})");
  fixture.put("y", "");
  CHECK(fixture.rows("two") == RowLines{"x [2,3] null"});
  CHECK(!fixture.problem());
}

TEST_CASE("only design documents of language query have views of indexes, and functions have another identity") {
  CHECK_FALSE(
      octavo::query::views::view_group_of_indexes("_design/d", R"({"views":{"v":{"map":{"fields":["a"]}}}})", false));
  CHECK_FALSE(octavo::query::views::view_group_of_indexes("_design/d", R"({"language":"query"})", false));
  auto definition = definition_of({tags_view});
  const auto content = definition.content();
  CHECK(content.find("language") == std::string::npos);
  definition.of_indexes = true;
  CHECK(definition.content() != content);
}

TEST_CASE("keys of every type come in CouchDB's order, or raw") {
  auto definition = definition_of({{"all", "function(doc) { emit(doc.k, null); }", {}}});
  const bool raw = GENERATE(false, true);
  definition.options.raw_collation = raw;
  GroupFixture fixture(std::move(definition));
  const RowLines keys{"null",   "false",  "true", "1",     "2.5", R"("a")",
                      R"("A")", R"("b")", "[]",   "[1,2]", "{}",  R"({"a":1})"};
  for (std::size_t i = 0; i < keys.size(); ++i) fixture.put("d" + std::to_string(i), R"({"k":)" + keys[i] + "}");
  fixture.put("none", "{}");  // emits undefined
  RowLines found;
  for (const auto& row : fixture.rows("all")) found.push_back(row.substr(row.find(' ') + 1));
  if (raw) {
    CHECK(found == RowLines{"1 null", "2.5 null", "false null", "null null", "null null", "true null", "{} null",
                            R"({"a":1} null)", "[] null", "[1,2] null", R"("A" null)", R"("a" null)", R"("b" null)"});
  } else {
    CHECK(found == RowLines{"null null", "null null", "false null", "true null", "1 null", "2.5 null", R"("a" null)",
                            R"("A" null)", R"("b" null)", "[] null", "[1,2] null", "{} null", R"({"a":1} null)"});
  }
}

TEST_CASE("keys may be long, and documents may have many rows") {
  GroupFixture fixture(
      definition_of({{"long", "function(doc) { for (var i = 0; i < 300; ++i) emit(doc.k + i, i); }", "_count"}}));
  const std::string text(100'000, 'k');
  fixture.put("a", R"({"k":")" + text + R"("})");
  fixture.put("b", R"({"k":"short"})");
  CHECK(fixture.rows("long").size() == 600);
  CHECK(fixture.reduced("long", 0) == RowLines{"null 600"});
  CHECK(fixture.rows("long", key_range("\"" + text + "17\"", "\"" + text + "17\"")).size() == 1);
  CHECK(!fixture.problem());
  fixture.put("a", "");
  CHECK(fixture.rows("long").size() == 300);
}

TEST_CASE("halves of surrogate pairs do not keep an index from being built") {
  GroupFixture fixture(definition_of(
      {{"odd", "function(doc) { emit('\\ud800', 1); emit(doc._id, '\\udfff'); emit(doc._id, 2); }", "_sum"}}));
  fixture.put("a", "{}");
  CHECK(fixture.rows("odd").size() == 3);
  CHECK(!fixture.problem());
}

TEST_CASE("bounds of ranges are CouchDB's") {
  GroupFixture fixture(definition_of({{"k", "function(doc) { emit(doc.k, null); }", {}}}));
  for (int i = 0; i < 30; ++i) fixture.put("d" + std::to_string(10 + i), R"({"k":)" + std::to_string(i / 3) + "}");
  const auto ids = [&](const query::views::KeyRange& keys, std::uint64_t skip = 0) {
    RowLines all;
    for (const auto& row : fixture.rows("k", keys, {}, skip)) all.push_back(row.substr(0, row.find(' ')));
    return all;
  };
  CHECK(ids(key_range("2", "3")) == RowLines{"d16", "d17", "d18", "d19", "d20", "d21"});
  CHECK(ids(key_range("3", "2", true)) == RowLines{"d21", "d20", "d19", "d18", "d17", "d16"});
  auto keys = key_range("2", "3");
  keys.inclusive_end = false;
  CHECK(ids(keys) == RowLines{"d16", "d17", "d18"});
  keys = key_range("3", "2", true);
  keys.inclusive_end = false;
  CHECK(ids(keys) == RowLines{"d21", "d20", "d19"});
  keys = key_range("2", "3");
  keys.start_document = "d17";
  keys.end_document = "d19";
  CHECK(ids(keys) == RowLines{"d17", "d18", "d19"});
  keys.inclusive_end = false;
  CHECK(ids(keys) == RowLines{"d17", "d18"});
  keys = key_range("3", "2", true);
  keys.start_document = "d20";
  keys.end_document = "d17";
  CHECK(ids(keys) == RowLines{"d20", "d19", "d18", "d17"});
  CHECK(ids(key_range("8.5", std::nullopt)) == RowLines{"d37", "d38", "d39"});
  CHECK(ids(key_range(std::nullopt, "0.5")) == RowLines{"d10", "d11", "d12"});
  CHECK(ids(key_range("2", "5"), 10) == RowLines{"d26", "d27"});
  CHECK(ids(key_range("5", "2", true), 10) == RowLines{"d17", "d16"});
  CHECK(ids(key_range("2", "5"), 12).empty());
  CHECK(
      ids(key_range("5", "2")) ==
      RowLines{"No"});  // "No rows can match your key range, reverse your start_key and end_key or set descending=true"
  CHECK(fixture.rows("k", key_range("2", "5", true)).front() ==
        "No rows can match your key range, reverse your start_key and end_key or set descending=false");
  CHECK(fixture.rows("k", key_range("5", "2")).front() ==
        "No rows can match your key range, reverse your start_key and end_key or set descending=true");
}

TEST_CASE("rows are counted from either end") {
  GroupFixture fixture(definition_of({{"k", "function(doc) { emit(doc.k, null); }", {}}}));
  std::vector<octavo::query::FeedDocument> documents;
  for (int i = 0; i < 500; ++i) {
    documents.push_back(fixture.document("d" + std::to_string(i), R"({"k":)" + std::to_string(i) + "}"));
  }
  REQUIRE(fixture.apply(documents));
  const auto counts = [&](const query::views::KeyRange& keys) {
    return *count_rows(*fixture.group, 0, *row_range(*fixture.group, 0, {}, keys));
  };
  CHECK(counts({}).total == 500);
  CHECK(counts({}).offset == 0);
  CHECK(counts(key_range("123", std::nullopt)).offset == 123);
  CHECK(counts(key_range("123", std::nullopt, true)).offset == 376);
  CHECK(counts(key_range("600", std::nullopt)).empty);
}

TEST_CASE("groups are reduced by equal keys, by first elements, and within ranges") {
  GroupFixture fixture(definition_of({date_view}));
  fixture.put("a", R"({"date":[2019,1,28],"n":1})");
  fixture.put("b", R"({"date":[2019,1,28],"n":2})");
  fixture.put("c", R"({"date":[2019,2,1],"n":4})");
  fixture.put("d", R"({"date":[2020,1,1],"n":8})");
  fixture.put("e", R"({"date":"unknown","n":16})");
  fixture.put("f", R"({"date":[2020],"n":32})");
  CHECK(fixture.reduced("by_date", 0) == RowLines{"null 63"});
  CHECK(fixture.reduced("by_date", 1) == RowLines{R"("unknown" 16)", "[2019] 7", "[2020] 40"});
  CHECK(fixture.reduced("by_date", 2) ==
        RowLines{R"("unknown" 16)", "[2019,1] 3", "[2019,2] 4", "[2020] 32", "[2020,1] 8"});
  CHECK(fixture.reduced("by_date", ReduceScan::exact) ==
        RowLines{R"("unknown" 16)", "[2019,1,28] 3", "[2019,2,1] 4", "[2020] 32", "[2020,1,1] 8"});
  CHECK(fixture.reduced("by_date", 1, key_range(std::nullopt, std::nullopt, true)) ==
        RowLines{"[2020] 40", "[2019] 7", R"("unknown" 16)"});
  CHECK(fixture.reduced("by_date", 1, key_range("[2019,2]", "[2020]")) == RowLines{"[2019] 4", "[2020] 32"});
  CHECK(fixture.reduced("by_date", 0, key_range("[2021]", std::nullopt)).empty());
}

TEST_CASE("any edits leave rows, summaries and reductions as the documents say") {
  const bool partitioned = GENERATE(false, true);
  auto definition = definition_of({{"custom", "function(doc) { if (doc.y) emit([doc.y, doc.m], doc.n); }",
                                    "function(keys, values, rereduce) { return sum(values); }"},
                                   {"plain", "function(doc) { if (doc.y) emit([doc.y, doc.m], doc.n); }", "_sum"}});
  definition.partitioned = partitioned;
  GroupFixture fixture(std::move(definition));
  std::mt19937 random(11);
  struct State {
    int y, m, n;
  };
  std::map<std::string, State> model;
  for (int round = 0; round < 12; ++round) {
    std::map<std::string, std::string> bodies;
    for (int i = 0; i < 400; ++i) {
      const auto id = (partitioned ? "p" + std::to_string(random() % 3) + ":" : "") + std::to_string(random() % 900);
      const State state{static_cast<int>(2000 + random() % 4), static_cast<int>(random() % 12),
                        static_cast<int>(random() % 100)};
      if (random() % (round > 8 ? 2 : 5) == 0) {
        model.erase(id);
        bodies[id] = "";
      } else {
        model[id] = state;
        bodies[id] = R"({"y":)" + std::to_string(state.y) + R"(,"m":)" + std::to_string(state.m) + R"(,"n":)" +
                     std::to_string(state.n) + "}";
      }
    }
    std::vector<octavo::query::FeedDocument> documents;
    for (const auto& [id, body] : bodies) documents.push_back(fixture.document(id, body));
    REQUIRE(fixture.apply(documents));
    if (round == 6) fixture.start(fixture.sequence);
    const auto problem = fixture.problem();
    INFO(problem.value_or(""));
    CHECK(!problem);
    const std::string partition = partitioned ? "p1" : "";
    std::map<std::pair<int, int>, int> months;
    std::map<int, int> years;
    for (const auto& [id, state] : model) {
      if (!id.starts_with(partition)) continue;
      months[{state.y, state.m}] += state.n;
      years[state.y] += state.n;
    }
    RowLines by_month, by_year;
    for (const auto& [key, sum] : months) {
      by_month.push_back("[" + std::to_string(key.first) + "," + std::to_string(key.second) + "] " +
                         std::to_string(sum));
    }
    for (const auto& [year, sum] : years) by_year.push_back("[" + std::to_string(year) + "] " + std::to_string(sum));
    for (const std::string view : {"plain", "custom"}) {
      CHECK(fixture.reduced(view, ReduceScan::exact, {}, partition) == by_month);
      CHECK(fixture.reduced(view, 1, {}, partition) == by_year);
      std::ranges::reverse(by_year);
      CHECK(fixture.reduced(view, 1, key_range(std::nullopt, std::nullopt, true), partition) == by_year);
      std::ranges::reverse(by_year);
    }
  }
}

TEST_CASE("a custom reduce that does not shrink, or throws, does not keep the index from being built") {
  GroupFixture fixture(definition_of(
      {{"grows", "function(doc) { emit(doc._id, 'x'.repeat(200)); }", "function(k, v) { return v.concat(v); }"},
       {"throws", "function(doc) { emit(doc._id, 1); }", "function(k, v) { throw 'no'; }"}}));
  std::vector<octavo::query::FeedDocument> documents;
  for (int i = 0; i < 300; ++i) documents.push_back(fixture.document("d" + std::to_string(i), "{}"));
  REQUIRE(fixture.apply(documents));
  CHECK(fixture.rows("grows").size() == 300);
  const auto grown = fixture.reduced("grows", 0);
  REQUIRE(grown.size() == 1);
  CHECK(grown[0].find("reduce_overflow_error") != std::string::npos);
  CHECK(fixture.reduced("throws", 0) == RowLines{"null null"});
}

TEST_CASE("a batch with large rows is taken in parts") {
  GroupFixture fixture(definition_of({{"large", "function(doc) { emit(doc._id, 'x'.repeat(4000000)); }", {}}}));
  std::vector<octavo::query::FeedDocument> documents;
  for (int i = 0; i < 30; ++i) documents.push_back(fixture.document("d" + std::to_string(i), "{}"));
  const auto taken = fixture.group->apply({documents, 0, fixture.sequence, true, false});
  REQUIRE(taken);
  CHECK(*taken >= 1);
  CHECK(*taken < 20);  // of 120 MB
  CHECK(fixture.group->checkpoint() == documents[*taken - 1].sequence);
  CHECK(fixture.group->complete_through() == 0);
  REQUIRE(fixture.apply({documents.begin() + static_cast<std::ptrdiff_t>(*taken), documents.end()}));
  CHECK(fixture.group->complete_through() == fixture.sequence);
  CHECK(!fixture.problem());
}

TEST_CASE("a group that is stopped while a reduce runs ends soon, as it was") {
  GroupFixture fixture(
      definition_of({{"slow", "function(doc) { emit(doc._id, 1); }",
                      "function(k, v) { while (true) { try { while (true) {} } finally { continue; } } }"}}));
  const auto begun = std::chrono::steady_clock::now();
  std::jthread stop([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    fixture.stopping->store(true);
  });
  // The thread of the group's owner does this, too.
  const octavo::query::javascript::StoppableCalls calls(*fixture.stopping);
  CHECK(!fixture.apply({fixture.document("a", "{}")}));
  CHECK(std::chrono::steady_clock::now() - begun < patiently(std::chrono::seconds(3)));
  CHECK(fixture.group->checkpoint() == 0);
}

TEST_CASE("a reduce of a query does not keep the index from growing") {
  GroupFixture fixture(definition_of({{"slow", "function(doc) { emit(doc._id, doc.s); }",
                                       "function(k, v) { var b = Date.now(); if (v.length === 1) while (Date.now() - b "
                                       "< 2500) {} return v.length; }"}}));
  REQUIRE(fixture.apply({fixture.document("a", "{}"), fixture.document("b", "{}")}));
  octavo::query::views::KeyRange one;
  one.start = one.end = "a";
  std::vector<std::string> reduced;
  std::atomic<bool> query_ended = false;
  std::jthread query([&] {
    reduced = fixture.reduced("slow", 0, one);
    query_ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto begun = std::chrono::steady_clock::now();
  std::vector<octavo::query::FeedDocument> documents;
  for (int i = 0; i < 8; ++i) {
    documents.push_back(fixture.document("c" + std::to_string(i), R"({"s":")" + std::string(1'000'000, 'x') + "\"}"));
  }
  REQUIRE(fixture.apply(documents));
  // With sanitizers it may take longer than the query, though it does not wait for it.
  CHECK((!query_ended || std::chrono::steady_clock::now() - begun < patiently(std::chrono::milliseconds(1500))));
  query.join();
  CHECK(reduced == RowLines{"null 1"});
}

TEST_CASE("a batch whose commit fails leaves the old state, and can be given again") {
  FaultPlan faults;
  GroupFixture fixture(definition_of({tags_view}), &faults);
  fixture.put("a", R"({"tags":["x"],"n":1})");
  const auto before = fixture.group->checkpoint();
  faults.plan({.code = ENOSPC, .calls = {FaultPlan::Call::commit}});
  const auto document = fixture.document("a", R"({"tags":["y"],"n":2})");
  const auto failed = fixture.apply({document});
  REQUIRE(!failed);
  CHECK(failed.error().code == ErrorCode::disk_full);
  CHECK(fixture.group->checkpoint() == before);
  CHECK(fixture.rows("by_tags") == RowLines{R"(a "x" 1)"});
  CHECK(!fixture.problem());
  faults.heal();
  REQUIRE(fixture.apply({document}));
  CHECK(fixture.rows("by_tags") == RowLines{R"(a "y" 2)"});
  CHECK(!fixture.problem());
}

TEST_CASE("a group resumes at its checkpoint; one of another past starts from the beginning") {
  GroupFixture fixture(definition_of({tags_view}));
  fixture.put("a", R"({"tags":["x"],"n":1})");
  fixture.start(fixture.sequence);
  CHECK(fixture.group->checkpoint() == fixture.sequence);
  CHECK(fixture.rows("by_tags").size() == 1);
  fixture.start(0);
  CHECK(fixture.group->checkpoint() == 0);
  CHECK(fixture.rows("by_tags").empty());
}

TEST_CASE("purged documents are found by their ids") {
  GroupFixture fixture(definition_of({tags_view}));
  for (int i = 0; i < 20; ++i) fixture.put("d" + std::to_string(i), R"({"tags":["x"],"n":1})");
  bool end = false;
  int calls = 0;
  while (!end) {
    const auto is_gone = [](std::string_view id) -> Expected<bool> { return id.ends_with('7'); };
    CHECK(fixture.group->knows_deletions_through() == fixture.group->checkpoint());
    const auto step =
        fixture.group->remove_purged({.purge_count = 3, .dropped_through = 40, .watermark = 50, .is_gone = is_gone}, 6);
    REQUIRE(step);
    end = *step;
    ++calls;
  }
  CHECK(calls == 4);
  CHECK(fixture.group->purge_count() == 3);
  CHECK(fixture.group->knows_deletions_through() == 50);
  CHECK(fixture.reduced("by_tags", 0) == RowLines{"null 18"});
}

TEST_CASE("purged documents that are known are removed without a look at the others") {
  GroupFixture fixture(definition_of({tags_view}));
  for (int i = 0; i < 20; ++i) fixture.put("d" + std::to_string(i), R"({"tags":["x"],"n":1})");
  const auto since = fixture.group->checkpoint();
  const auto ahead = fixture.group->remove_known({.gone = {"d7"}, .since = since + 1, .purge_count = 2});
  REQUIRE(ahead);
  CHECK_FALSE(*ahead);
  const auto removed = fixture.group->remove_known({.gone = {"d7", "never"}, .since = since, .purge_count = 2});
  REQUIRE(removed);
  CHECK(*removed);
  CHECK(fixture.group->purge_count() == 2);
  CHECK(fixture.reduced("by_tags", 0) == RowLines{"null 19"});
}

TEST_CASE("options decide what functions see") {
  auto definition = definition_of({{"all", "function(doc) { emit(doc._id, doc._local_seq); }", {}}});
  SECTION("design documents are left out, and there is no _local_seq") {
    GroupFixture fixture(std::move(definition));
    fixture.put("_design/x", "{}");
    fixture.put("a", "{}");
    CHECK(fixture.rows("all") == RowLines{R"(a "a" null)"});
  }
  SECTION("unless they ask for them") {
    definition.options.include_design = true;
    definition.options.local_sequence = true;
    GroupFixture fixture(std::move(definition));
    fixture.put("_design/x", "{}");
    fixture.put("a", "{}");
    CHECK(fixture.rows("all") == RowLines{R"(_design/x "_design/x" 1)", R"(a "a" 2)"});
  }
}

TEST_CASE("what a definition says decides its identity, and nothing else") {
  const auto design = [](std::string_view body) {
    return *view_group_of(**octavo::query::read_design_document("_design/d", "1-a", body), false);
  };
  const auto identity = [&](std::string_view body) { return query::feed_index_identity(design(body).content()); };
  const auto base =
      identity(R"({"views":{"a":{"map":"function(d) {}"},"b":{"map":"function(e) {}","reduce":"_sum"}}})");
  CHECK(base == identity(R"({"views":{"b":{"map":"function(e) {}","reduce":"_sum"},"a":{"map":"function(d) {}"}},
                             "filters":{"x":"function() {}"},"other":1})"));
  CHECK(base != identity(R"({"views":{"a":{"map":"function(d) { }"},"b":{"map":"function(e) {}","reduce":"_sum"}}})"));
  CHECK(base != identity(R"({"views":{"a":{"map":"function(d) {}"},"b":{"map":"function(e) {}","reduce":"_count"}}})"));
  CHECK(base != identity(R"({"options":{"collation":"raw"},
                             "views":{"a":{"map":"function(d) {}"},"b":{"map":"function(e) {}","reduce":"_sum"}}})"));
  const auto read = ViewGroupDefinition::from_content(design(R"({"views":{"lib":{"m":"exports.x = 1"},
      "a":{"map":"function(d) {}"}},"options":{"local_seq":true}})")
                                                          .content());
  REQUIRE(read);
  CHECK(read->modules == R"({"views":{"lib":{"m":"exports.x = 1"}}})");
  CHECK(read->options.local_sequence);
}
