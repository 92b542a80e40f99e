// Properties that queries compute: what may define one, and where they stand for a property of the item.

#include "query/sql/compile/computed_properties.h"

#include <catch2/catch.hpp>

#include "query/sql/constraints/sql_constraints.h"
#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

sql::ComputedProperties::Ptr computed(std::vector<sql::ComputedProperty> properties) {
  auto parsed = sql::ComputedProperties::parse(properties);
  if (!parsed) throw std::runtime_error(parsed.error().reason);
  return *parsed;
}

/// Why a definition of one property `cp` is refused.
std::string refusal(std::string query) {
  const std::vector<sql::ComputedProperty> properties{{"cp", std::move(query)}};
  const auto parsed = sql::ComputedProperties::parse(properties);
  return parsed ? "accepted" : parsed.error().reason;
}

class Products : public SqlFixture {
 public:
  Products() {
    put("bike", R"({"name":"Mountain BIKE","price":600,"discount":0.5,"tags":["outdoor","wheels"],)"
                R"("cp_hidden":"stored"})");
    put("helmet", R"({"name":"helmet","price":50,"discount":0.1,"tags":["outdoor"],"cp_hidden":"stored"})");
    put("tent", R"({"name":"Tent","price":200,"tags":"none"})");
  }

  std::string ask_computed(std::string_view text, std::uint64_t items = 1000,
                           const std::vector<sql::SqlParameter>& parameters = {}) {
    const auto parsed = sql::SqlQuery::parse(text, parameters, properties);
    if (!parsed) return parsed.error().to_json();
    std::string results;
    std::optional<std::string> continuation;
    do {
      sql::SqlOptions options;
      options.page_items_max = items;
      const Page next = page(*parsed, {}, options, continuation);
      if (!next.error.empty()) return "error: " + next.error;
      if (!next.results.empty() && !results.empty()) results += ",\n";
      results += next.results;
      continuation = next.continuation;
    } while (continuation);
    return joined(results);
  }

  sql::ComputedProperties::Ptr properties =
      computed({{"cp_lower", "SELECT VALUE LOWER(c.name) FROM c"},
                {"cp_final", "SELECT VALUE c.price * (1 - c.discount) FROM root c"},
                {"cp_loud", "SELECT VALUE ARRAY_CONCAT(p.tags, ['!']) FROM products AS p"},
                {"cp_box", "SELECT VALUE {name: c.name, size: {big: c.price > 100}} FROM c"},
                {"cp_hidden", "SELECT VALUE CONCAT(c.cp_hidden, '+') FROM c"}});
};

}  // namespace

TEST_CASE("a computed property is SELECT VALUE of an expression of the item, and nothing more") {
  CHECK(refusal("SELECT VALUE LOWER(c.name) FROM c") == "accepted");
  CHECK(refusal("SELECT VALUE {a: [c.a, c['b']], t: c.x ?? 'none'} FROM MyContainer AS c") == "accepted");
  CHECK(refusal("SELECT VALUE c FROM c") == "accepted");
  CHECK(refusal("selec").starts_with("The computed property 'cp' is not valid: "));
  CHECK_THAT(refusal("SELECT VALUE LOWR(c.name) FROM c"), Catch::Contains("'LOWR' is not a recognized"));
  CHECK_THAT(refusal("SELECT VALUE d.name FROM c"), Catch::Contains("'d' could not be resolved"));
  for (const char* wrong : {"SELECT c.name FROM c", "SELECT * FROM c"}) {
    CHECK_THAT(refusal(wrong), Catch::Contains("SELECT VALUE … FROM c"));
  }
  for (const char* wrong : {"SELECT VALUE 1", "SELECT VALUE t FROM c JOIN t IN c.tags"}) {
    CHECK_THAT(refusal(wrong), Catch::Contains("one source in FROM"));
  }
  for (const char* wrong : {"SELECT VALUE t FROM t IN c.tags", "SELECT VALUE a.city FROM c.address a",
                            "SELECT VALUE x FROM (SELECT VALUE c FROM c) AS x"}) {
    CHECK_THAT(refusal(wrong), Catch::Contains("FROM of its query must name the item itself"));
  }
  for (const char* wrong : {"SELECT VALUE c.a FROM c WHERE c.a > 1", "SELECT VALUE c.a FROM c GROUP BY c.a",
                            "SELECT VALUE c.a FROM c ORDER BY c.a", "SELECT TOP 1 VALUE c.a FROM c",
                            "SELECT DISTINCT VALUE c.a FROM c", "SELECT VALUE c.a FROM c OFFSET 0 LIMIT 1"}) {
    CHECK_THAT(refusal(wrong), Catch::Contains("must not have WHERE, GROUP BY"));
  }
  for (const char* wrong :
       {"SELECT VALUE (SELECT VALUE 1) FROM c", "SELECT VALUE EXISTS(SELECT 1 FROM t IN c.a) FROM c",
        "SELECT VALUE ARRAY(SELECT VALUE t FROM t IN c.a) FROM c"}) {
    CHECK_THAT(refusal(wrong), Catch::Contains("must not have subqueries"));
  }
  for (const char* wrong : {"SELECT VALUE COUNT(1) FROM c", "SELECT VALUE [MAX(c.a)] FROM c"}) {
    CHECK_THAT(refusal(wrong), Catch::Contains("must not have aggregates"));
  }
  CHECK_THAT(refusal("SELECT VALUE udf.f(c.a) FROM c"), Catch::Contains("user-defined functions"));
  CHECK_THAT(refusal("SELECT VALUE st_distance(c.a, c.b) FROM c"), Catch::Contains("spatial functions"));
  for (const char* wrong : {"SELECT VALUE c.a > RAND() FROM c", "SELECT VALUE GetCurrentDateTime() FROM c",
                            "SELECT VALUE [GetCurrentTimestamp()] FROM c", "SELECT VALUE GETCURRENTTICKS() FROM c",
                            "SELECT VALUE c.a < NOW() FROM c", "SELECT VALUE c.a > AGO('dd', 1) FROM c"}) {
    CHECK_THAT(refusal(wrong), Catch::Contains("value changes by itself"));
  }
  CHECK_THAT(refusal("SELECT VALUE c.a = @a FROM c"), Catch::Contains("parameter"));
  CHECK_THAT(refusal("SELECT VALUE '" + std::string(17'000, 'x') + "' FROM c"), Catch::Contains("16 KB"));
}

TEST_CASE("computed properties have names of their own, are twenty at most, and do not build on each other") {
  using List = std::vector<sql::ComputedProperty>;
  const auto reason = [](const List& list) {
    const auto parsed = sql::ComputedProperties::parse(list);
    return parsed ? std::string("accepted") : parsed.error().reason;
  };
  const std::string one = "SELECT VALUE 1 FROM c";
  CHECK(sql::ComputedProperties::parse({}).value() == nullptr);
  CHECK_THAT(reason({{"", one}}), Catch::Contains("must have a name"));
  CHECK_THAT(reason({{"a/b", one}}), Catch::Contains("must not have a '/'"));
  CHECK_THAT(reason({{"a", one}, {"b", one}, {"a", one}}), Catch::Contains("another one of this name"));
  CHECK_THAT(reason({{"a", one}, {"b", "SELECT VALUE [d.x, UPPER(d.a.deep)] FROM d"}}),
             Catch::Contains("refers to another computed property, 'a'"));
  CHECK(reason({{"a", one}, {"b", "SELECT VALUE c.x.a FROM c"}}) == "accepted");
  List many;
  for (int i = 0; i < 20; ++i) many.push_back({"p" + std::to_string(i), one});
  CHECK(reason(many) == "accepted");
  many.push_back({"p20", one});
  CHECK_THAT(reason(many), Catch::Contains("at most 20"));
}

TEST_CASE("a query names computed properties wherever a property may stand") {
  Products products;
  CHECK(products.ask_computed("SELECT c._id, c.cp_lower FROM c") ==
        R"([{"_id":"bike","cp_lower":"mountain bike"},{"_id":"helmet","cp_lower":"helmet"},)"
        R"({"_id":"tent","cp_lower":"tent"}])");
  CHECK(products.ask_computed("SELECT VALUE c._id FROM c WHERE c.cp_final < 100") == R"(["helmet"])");
  CHECK(products.ask_computed("SELECT VALUE c._id FROM c WHERE c[\"cp_lower\"] = 'tent'") == R"(["tent"])");
  CHECK(products.ask_computed("SELECT VALUE x.cp_box.size.big FROM root x WHERE x.cp_box.name != 'Tent'") ==
        "[true,false]");
  CHECK(products.ask_computed("SELECT VALUE c.cp_loud[1] FROM c") == R"(["wheels","!"])");
  CHECK(products.ask_computed("SELECT c._id, t FROM c JOIN t IN c.cp_loud WHERE t != 'outdoor'") ==
        R"([{"_id":"bike","t":"wheels"},{"_id":"bike","t":"!"},{"_id":"helmet","t":"!"}])");
  CHECK(products.ask_computed("SELECT VALUE t FROM t IN c.cp_loud") == R"(["outdoor","wheels","!","outdoor","!"])");
  CHECK(products.ask_computed("SELECT VALUE b.size FROM c.cp_box b") == R"([{"big":true},{"big":false},{"big":true}])");
  CHECK(products.ask_computed("SELECT VALUE c._id FROM c "
                              "WHERE EXISTS(SELECT 1 FROM t IN c.cp_loud WHERE t = 'wheels')") == R"(["bike"])");
  CHECK(products.ask_computed("SELECT VALUE ARRAY(SELECT VALUE UPPER(c.cp_lower)) FROM c WHERE c._id = 'tent'") ==
        R"([["TENT"]])");
}

TEST_CASE("results are sorted, grouped, counted and told apart by computed properties, and paged") {
  Products products;
  for (const std::uint64_t items : {1000, 1}) {
    CHECK(products.ask_computed("SELECT VALUE c._id FROM c ORDER BY c.cp_lower DESC", items) ==
          R"(["tent","bike","helmet"])");
    // Items without the property come first, as with any property.
    CHECK(products.ask_computed("SELECT VALUE [c.cp_final] FROM c ORDER BY c.cp_final", items) == "[[],[45],[300]]");
    CHECK(products.ask_computed("SELECT c.cp_box.size.big AS big, COUNT(1) AS n, SUM(c.cp_final) AS sum FROM c "
                                "GROUP BY c.cp_box.size.big",
                                items) == R"([{"big":false,"n":1,"sum":45},{"big":true,"n":2,"sum":300}])");
    CHECK(products.ask_computed("SELECT DISTINCT VALUE c.cp_box.size.big FROM c", items) == "[false,true]");
    CHECK(products.ask_computed("SELECT VALUE c._id FROM c WHERE c.cp_final > 0", items) == R"(["bike","helmet"])");
  }
  CHECK(products.ask_computed("SELECT VALUE MAX(c.cp_lower) FROM c") == R"(["tent"])");
}

TEST_CASE("a computed property hides the stored one of its name, save where the whole item is asked for") {
  Products products;
  CHECK(products.ask_computed("SELECT VALUE c.cp_hidden FROM c") == R"(["stored+","stored+"])");
  CHECK(products.ask_computed("SELECT VALUE c._id FROM c WHERE c.cp_hidden = 'stored'") == "[]");
  CHECK(products.ask_computed("SELECT VALUE c._id FROM c WHERE NOT IS_DEFINED(c.cp_hidden)") == R"(["tent"])");
  const std::string whole = products.ask_computed("SELECT * FROM c WHERE c.cp_final = 300");
  CHECK_THAT(whole, Catch::Contains(R"("cp_hidden":"stored")"));
  CHECK_THAT(whole, !Catch::Contains("cp_lower"));
  CHECK(products.ask("SELECT VALUE c.cp_hidden FROM c") == R"(["stored","stored"])");
}

TEST_CASE("no index is asked for what is computed, also when one knows a stored property of that name") {
  Products products;
  products.create_index(R"({"index":{"fields":["cp_hidden"]}})");
  products.create_index(R"({"index":{"fields":["cp_lower"]}})");
  CHECK(products.ask("SELECT VALUE c._id FROM c WHERE c.cp_hidden = 'stored'") == R"(["bike","helmet"])");
  CHECK(products.used_index());
  CHECK(products.ask_computed("SELECT VALUE c._id FROM c WHERE c.cp_hidden = 'stored+'") == R"(["bike","helmet"])");
  CHECK_FALSE(products.used_index());
  CHECK(products.ask_computed("SELECT VALUE c._id FROM c WHERE c.cp_lower = 'tent' ORDER BY c.cp_lower") ==
        R"(["tent"])");
  CHECK_FALSE(products.used_index());
  const std::string text = "SELECT * FROM c WHERE c.cp_lower = 'a' AND c.pk = 1 AND c.cp_lower.x = 2";
  const auto query = sql::SqlQuery::parse(text, {}, products.properties);
  const auto fixed = sql::fixed_properties(**query);
  REQUIRE(fixed.size() == 1);
  CHECK(fixed[0].path == std::vector<std::string>{"pk"});
}

TEST_CASE("a continuation ends when the computed property that the query names is redefined") {
  Products products;
  const auto parse = [&](const sql::ComputedProperties::Ptr& properties) {
    return sql::SqlQuery::parse("SELECT VALUE c.cp_lower FROM c", {}, properties).value();
  };
  const auto other = computed({{"cp_lower", "SELECT VALUE UPPER(c.name) FROM c"}});
  CHECK(parse(products.properties)->fingerprint() != parse(other)->fingerprint());
  const auto more = computed({{"cp_lower", "SELECT VALUE LOWER(c.name) FROM c"}, {"cp_new", "SELECT VALUE 1 FROM c"}});
  CHECK(parse(products.properties)->fingerprint() == parse(more)->fingerprint());
}

TEST_CASE("a computed property may be named by a parameter") {
  Products db;
  const auto ask = [&](std::string_view text, const char* name) {
    return db.ask_computed(text, 1000, {{"@name", name}});
  };
  CHECK(ask("SELECT VALUE c[@name] FROM c", "\"cp_lower\"") == R"(["mountain bike","helmet","tent"])");
  CHECK(ask("SELECT VALUE c._id FROM c WHERE c[@name] = 'tent'", "\"cp_lower\"") == R"(["tent"])");
  CHECK(ask("SELECT VALUE c[@name].size.big FROM c", "\"cp_box\"") == R"([true,false,true])");
  CHECK(ask("SELECT VALUE c[@name] FROM c", "\"cp_hidden\"") == R"(["stored+","stored+"])");
  CHECK(ask("SELECT c[@name] AS n, COUNT(1) AS k FROM c GROUP BY c[@name]", "\"price\"") ==
        R"([{"n":50,"k":1},{"n":200,"k":1},{"n":600,"k":1}])");
  CHECK(ask("SELECT VALUE c.tags[@name] FROM c", "0") == R"(["outdoor","outdoor"])");
  CHECK(ask("SELECT VALUE c[@name] FROM c", "null") == "[]");
}
