#include "query/advice/index/index_gain.h"

#include <random>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "query/json/parsed_document.h"
#include "query/mango/find_request.h"
#include "query/mango/find_shape.h"

using namespace octavo;
using namespace octavo::query;
using namespace octavo::query::advice;

namespace {

/// Recorded queries of a database with 10,000 documents {a: 100 values, b: 10, c: each another one, t: 1,000}.
struct Advised {
  static constexpr std::uint64_t documents = 10'000;

  RequestRecorder recorder{[this] { return now_s; }, [] { return WriteCounters{1'000, documents}; }};
  std::int64_t now_s = 1'000'000;
  PresentIndexes present{std::make_shared<IndexCatalog>(), false, {0}};
  std::vector<IndexProposal> proposals;

  void record(std::string_view body, double units, std::uint64_t results, int count = 100) {
    const FindRequest request = *parse_find_request(body, "", 25);
    std::string shape;
    append_shape(shape, request);
    RecordedQuery query{.text = shape, .request_units = units, .results = results, .partitions = 1};
    if (results < request.limit) query.matches = results;
    for (int i = 0; i < count; ++i) recorder.record(query, [&] { return outline_of(request); });
  }

  void add_index(std::string_view fields) {
    auto definition = std::make_shared<IndexDefinition>();
    definition->fields = *parse_ordered_fields(*parse_json(fields));
    definition->identity = definition->name = fields;
    IndexView view;
    view.definition = std::move(definition);
    view.numbers = {1};
    view.local_ready = {true};
    view.partition_ids = {0};
    auto catalog = std::make_shared<IndexCatalog>(*present.catalog);
    catalog->indexes.push_back(std::move(view));
    present.catalog = std::move(catalog);
  }

  std::vector<IndexGain> choose(WriteRate writes = {}, std::size_t max = 5) {
    now_s += 86'400;
    recorded = recorder.recorded();
    proposals = propose_indexes(recorded.shapes, present);
    ValueStatistics values;
    expect_values(values, recorded.shapes, present, proposals);
    DocumentParser parser(LargeIntegers::rounded);
    for (std::uint64_t n = 0; n < documents; ++n) {
      const std::uint64_t mixed = n * 7'919;
      values.add(*parser.parse(fmt::format(R"({{"a":{},"b":"v{}","c":{},"t":{}}})", mixed % 100, mixed / 100 % 10, n,
                                           mixed % 1'000)),
                 "");
    }
    const ScannedDocuments scanned{values, documents, documents * 400, 0};
    return *choose_indexes({.recorded = recorded,
                            .scanned = scanned,
                            .present = present,
                            .proposals = proposals,
                            .writes = writes,
                            .physical_partitions = 1},
                           max);
  }

  std::string fields(const IndexGain& gain) const {
    std::string text;
    for (const OrderedField& field : proposals[gain.proposal].fields) {
      text += (text.empty() ? "" : ",") + field.path.text() + (field.descending ? "-" : "");
    }
    return text;
  }

  RecordedRequests recorded;
};

}  // namespace

TEST_CASE("the property with one value is indexed, and saves what is no longer read") {
  Advised advised;
  advised.record(R"({"selector":{"a":1},"limit":200})", 960, 100);
  const auto gains = advised.choose();
  REQUIRE(gains.size() == 1);
  CHECK(advised.fields(gains[0]) == "a");
  REQUIRE(gains[0].serves.size() == 1);
  const ServedShape& served = gains[0].serves[0];
  CHECK(served.now == 960);
  CHECK(served.then == Approx(3.5 + 100 * (0.02 + 0.07 + 0.02 * 400 / 1024) + 100 * 0.02 * 400 / 1024).epsilon(0.02));
  CHECK(gains[0].saves_per_day == Approx(100 * (960 - served.then)).epsilon(0.001));
  CHECK(served.source == RowSource::recorded);
}

TEST_CASE("queries of one shape with other limits than the first one are charged for what they find") {
  Advised advised;
  advised.record(R"({"selector":{"a":1},"limit":5})", 50, 5, 1);
  advised.record(R"({"selector":{"a":1},"limit":200})", 960, 100);
  const auto gains = advised.choose();
  REQUIRE(gains.size() == 1);
  CHECK(gains[0].serves[0].then == Approx(3.5 + 99 * (0.09 + 0.04 * 400 / 1024)).epsilon(0.02));
}

TEST_CASE("properties with one value come first, then the order, then ranges") {
  Advised advised;
  advised.record(R"({"selector":{"a":1,"t":{"$gt":5}},"sort":[{"t":"desc"}],"limit":10})", 960, 10);
  const auto gains = advised.choose();
  REQUIRE(gains.size() == 1);
  CHECK(advised.fields(gains[0]) == "a,t-");
  CHECK_FALSE(gains[0].serves[0].sorts_in_memory);
}

TEST_CASE("a beginning that several shapes share makes one index of two") {
  Advised advised;
  advised.record(R"({"selector":{"a":1,"c":5}})", 960, 1);
  advised.record(R"({"selector":{"a":1},"limit":200})", 960, 100);
  const auto gains = advised.choose({.per_day = 400, .rows = 1});
  REQUIRE(gains.size() == 1);
  CHECK(advised.fields(gains[0]) == "a,c");
  CHECK(gains[0].serves.size() == 2);
}

TEST_CASE("an index that costs as much as it saves is not advised") {
  Advised advised;
  advised.record(R"({"selector":{"a":1},"limit":200})", 960, 100);
  const double saved = advised.choose()[0].saves_per_day;
  const double writes = saved / 0.45;
  CHECK(advised.choose({.per_day = 2.02 * writes, .rows = 1}).empty());
  CHECK_FALSE(advised.choose({.per_day = 0.3 * writes, .rows = 1}).empty());
  CHECK(advised.choose({.per_day = 0.3 * writes, .rows = 2}).empty());
}

TEST_CASE("what the present indexes do already is not advised") {
  Advised advised;
  advised.add_index(R"(["a","b"])");
  advised.record(R"({"selector":{"a":1},"limit":200})", 15, 100);
  CHECK(advised.choose().empty());
}

TEST_CASE("nothing is saved where the planner itself sees no better plan, whatever was recorded") {
  Advised advised;
  advised.add_index(R"(["a"])");
  // Recorded long ago, with many more documents.
  advised.record(R"({"selector":{"a":1,"b":{"$regex":"x"}},"limit":200})", 9'000, 90);
  CHECK(advised.choose().empty());
}

TEST_CASE("a pattern narrows an index to strings only, however few documents match") {
  Advised advised;
  advised.record(R"({"selector":{"b":{"$regex":"x"}}})", 960, 1);
  CHECK(advised.choose().empty());
}

TEST_CASE("a second index counts what the first one leaves") {
  Advised advised;
  advised.record(R"({"selector":{"a":1},"limit":200})", 960, 100);
  advised.record(R"({"selector":{"c":1}})", 950, 1);
  const auto gains = advised.choose();
  REQUIRE(gains.size() == 2);
  CHECK(advised.fields(gains[0]) == "c");
  CHECK(advised.fields(gains[1]) == "a");
  CHECK(advised.choose({}, 1).size() == 1);
}

TEST_CASE("a range whose share is unknown is assumed to have a third, and the advice says so") {
  Advised advised;
  advised.record(R"({"selector":{"t":{"$gt":5}},"limit":8000})", 960, 8'000);
  const auto gains = advised.choose();
  REQUIRE(gains.size() == 1);
  CHECK(gains[0].serves[0].source == RowSource::assumed);
  CHECK(gains[0].serves[0].then > 300);
}

TEST_CASE("the share of a range follows from what the queries found") {
  Advised advised;
  advised.record(R"({"selector":{"t":{"$gt":5},"b":"v1"},"limit":100})", 960, 10);
  const auto gains = advised.choose();
  REQUIRE(gains.size() == 1);
  CHECK(advised.fields(gains[0]) == "b,t");
  CHECK(gains[0].serves[0].then < 10);
}

TEST_CASE("a plan with a proposal is the plan that the planner makes once the index exists") {
  std::mt19937 random(7);
  const auto pick = [&](std::initializer_list<const char*> texts) {
    return std::string(*(texts.begin() + static_cast<std::ptrdiff_t>(random() % texts.size())));
  };
  for (int round = 0; round < 30; ++round) {
    Advised advised;
    const std::string body = fmt::format(
        R"({{"selector":{{{}{}"a":{}}},{}"limit":{}}})", pick({"", R"("b":"v3",)", R"("b":{"$in":["v1","v2"]},)"}),
        pick({"", R"("t":{"$gt":500},)", R"("t":{"$gt":5,"$lt":50},)"}), pick({"1", R"({"$gte":99})", R"({"$ne":4})"}),
        pick({"", R"("sort":["t"],)", R"("sort":[{"a":"desc"}],)", R"("fields":["a","b","t"],)"}),
        pick({"5", "25", "20000"}));
    INFO(body);
    advised.record(body, 960, 2);
    const auto gains = advised.choose();
    for (const IndexGain& gain : gains) {
      CHECK(gain.saves_per_day > 0);
      for (const ServedShape& served : gain.serves) CHECK(served.then < served.now);
      const IndexProposal& proposal = advised.proposals[gain.proposal];
      const RecordedShape& shape = *gain.serves[0].shape;
      // The outline with the proposal, and the request itself with a real index of these fields.
      ValueStatistics none;
      const ScannedDocuments scanned{none, Advised::documents, Advised::documents * 400, 0};
      ShapeStatistics statistics(scanned, *shape.outline, 2.0);
      const IndexProposal* const chosen = &proposal;
      const IndexCatalog with = catalog_with(advised.present, {&chosen, 1});
      const auto foretold = plan_query(*shape.outline->plan, with, {}, statistics);
      Advised real;
      real.add_index(boost::json::serialize(ordered_fields_to_json(proposal.fields)));
      const auto made =
          plan_query(parse_find_request(body, "", 25)->plan_request(), *real.present.catalog, {}, statistics);
      REQUIRE((foretold && made));
      REQUIRE(foretold->plans.size() == made->plans.size());
      CHECK(foretold->sure == made->sure);
      for (std::size_t i = 0; i < made->plans.size(); ++i) {
        const Plan& a = foretold->plans[i];
        const Plan& b = made->plans[i];
        CHECK(a.sort_in_memory == b.sort_in_memory);
        CHECK(a.covering == b.covering);
        CHECK(a.descending == b.descending);
        REQUIRE(a.branches.size() == b.branches.size());
        for (std::size_t k = 0; k < a.branches.size(); ++k) {
          CHECK(a.branches[k].index.has_value() == b.branches[k].index.has_value());
          CHECK(a.branches[k].recheck == b.branches[k].recheck);
          CHECK(a.branches[k].bounds.columns_used == b.branches[k].bounds.columns_used);
          CHECK(a.branches[k].bounds.ranges.size() == b.branches[k].bounds.ranges.size());
        }
      }
    }
  }
}

TEST_CASE("queries of every form are planned, and none is promised a charge below that of its base") {
  for (const char* body : {
           R"({"selector":{}})",
           R"({"selector":{"$or":[{"a":1},{"b":"v2"}]}})",
           R"({"selector":{"$and":[{"$or":[{"a":1},{"c":2}]},{"t":{"$lt":9}}]},"sort":["t"]})",
           R"({"selector":{"$nor":[{"a":1},{"b":2}]}})",
           R"({"selector":{"a":{"$elemMatch":{"$gt":5}},"b":{"$all":[1,2]},"c":{"$size":3}}})",
           R"({"selector":{"a":{"$mod":[3,1]},"b":{"$type":"string"},"c":{"$exists":false}}})",
           R"({"selector":{"a":{"$in":[]},"b":{"$nin":[1]}}})",
           R"({"selector":{"_id":{"$gt":"x"},"a":1}})",
           R"({"selector":{"a":1,"a.b":{"$beginsWith":"x"},"x.0.y":5}})",
           R"({"selector":{"a":null,"b":{"$ne":7}},"fields":["a","b"]})",
           R"({"selector":{"a":[1,2],"b":{"c":1}},"sort":[{"_id":"desc"}]})",
           R"({"selector":{"$or":[]}})",
           R"({"selector":{"_conflicts":{"$exists":true}},"conflicts":true})",
       }) {
    INFO(body);
    Advised advised;
    advised.record(body, 960, 2);
    for (const IndexGain& gain : advised.choose()) {
      for (const ServedShape& served : gain.serves) CHECK((served.then > 2 && served.then < 960));
    }
  }
}
