#include "query/functions/design_functions.h"

#include <string>

#include <catch2/catch.hpp>

#include "query/database/database_services.h"
#include "query/javascript/functions.h"
#include "support/engine_fixture.h"
#include "unit/query/definition_reader.h"

using namespace octavo;
using namespace octavo::query;
using octavo::tests::EngineFixture;

namespace {

class DesignShop {
 public:
  DesignShop()
      : fixture(DatabaseServices::factory(nullptr, octavo::tests::read_definition)),
        database(fixture.create("shop", {.partitioned = false, .q = 3})) {}

  DesignFunctions& functions() { return services_of(*database)->design_functions(); }
  std::size_t validation_count() {
    const auto validation = functions().validation();
    REQUIRE(validation);
    return *validation ? (*validation)->programs.size() : 0;
  }
  storage::Revision put(std::string id, std::string body, std::optional<storage::Revision> parent = {},
                        bool deleted = false) {
    return EngineFixture::put(*database, std::move(id), std::move(body), parent, deleted).revision;
  }

  EngineFixture fixture;
  std::shared_ptr<partitioning::Database> database;
};

const std::string forbidding_rule = R"({"validate_doc_update":"function() { throw {forbidden: 'no'}; }"})";

}  // namespace

TEST_CASE("a database without validate functions validates nothing") {
  DesignShop shop;
  CHECK(shop.validation_count() == 0);
  shop.put("_design/views", R"({"views":{"a":{"map":"function(doc) {}"}}})");
  shop.put("_design/mango", R"({"language":"query","note":"has no \"validate_doc_update\" of its own"})");
  shop.put("a", forbidding_rule);
  CHECK(shop.validation_count() == 0);
}

TEST_CASE("validate functions come and go with their design documents") {
  DesignShop shop;
  CHECK(shop.validation_count() == 0);
  const auto first = shop.put("_design/a", forbidding_rule);
  CHECK(shop.validation_count() == 1);
  shop.put("_design/b", forbidding_rule);
  CHECK(shop.validation_count() == 2);
  shop.put("_design/a", "{}", first, true);
  REQUIRE(shop.validation_count() == 1);
  const auto validation = *shop.functions().validation();
  CHECK(validation->programs[0]->functions()[0].name == "_design/b validate_doc_update");
  const auto valid = javascript::validate(validation->programs[0], 0, "{}", std::nullopt, "{}", "{}");
  REQUIRE_FALSE(valid);
  CHECK(valid.error().reason == "no");
}

TEST_CASE("a database that is opened again validates as before") {
  DesignShop shop;
  shop.put("_design/a", forbidding_rule);
  shop.database.reset();
  shop.fixture.stop();
  shop.fixture.start();
  shop.database = *shop.fixture.engine().open_database("shop");
  CHECK(shop.validation_count() == 1);
}

TEST_CASE("functions of a design document are found as they are stored now") {
  DesignShop shop;
  CHECK(shop.functions().find("none").error().code == ErrorCode::not_found);
  const auto revision = shop.put("_design/d", R"({"filters":{"f":"one","g":"two"},"updates":{"u":"three"},
                                                "views":{"v":{"map":"four"}}})");
  const auto found = shop.functions().find("d");
  REQUIRE(found);
  CHECK((*found)->document->filters.size() == 2);
  CHECK((*found)->filters->functions()[1].source == "two");
  CHECK((*found)->filters->functions()[1].name == "_design/d filter g");
  CHECK((*found)->updates->functions()[0].source == "three");
  CHECK((*found)->views->functions()[0].source == "four");
  CHECK(*shop.functions().find("d") == *found);

  const auto second = shop.put("_design/d", R"({"filters":{"f":"other"}})", revision);
  CHECK((*shop.functions().find("d"))->filters->functions()[0].source == "other");
  shop.put("_design/d", "{}", second, true);
  CHECK(shop.functions().find("d").error().code == ErrorCode::deleted);
}

TEST_CASE("functions of another language are not run") {
  DesignShop shop;
  shop.put("_design/e", R"({"language":"erlang","filters":{"f":"fun"}})");
  CHECK(shop.functions().find("e").error().word == "unknown_query_language");
}

TEST_CASE("a rule of another language lets nothing in") {
  DesignShop shop;
  const auto rev = shop.put("_design/e", R"({"language":"erlang","validate_doc_update":"fun(_) -> ok end."})");
  REQUIRE(shop.validation_count() == 1);
  const auto validation = *shop.functions().validation();
  const auto valid = javascript::validate(validation->programs[0], 0, "{}", std::nullopt, "{}", "{}");
  REQUIRE_FALSE(valid);
  CHECK(valid.error().code == ErrorCode::forbidden);
  CHECK(valid.error().reason.starts_with("_design/e has a validate_doc_update of another language"));
  shop.put("_design/e", "{}", rev, true);
  CHECK(shop.validation_count() == 0);
}

TEST_CASE("a design document is refused for what does not compile") {
  const auto function_error_of = [](std::string_view body, bool replicated = false) -> std::string {
    const auto document = read_design_document("_design/d", "", body);
    REQUIRE(document);
    const auto checked = check_functions(**document, replicated);
    return checked ? "" : std::string(checked.error().word) + ": " + checked.error().reason;
  };
  CHECK(function_error_of(R"({"views":{"v":{"map":"function(doc) { emit(1); }","reduce":"_stats"}}})").empty());
  CHECK(function_error_of(R"({"views":{"v":{"map":"function(doc) {"}}})") ==
        "compilation_error: Compilation of the map function in the 'v' view failed: "
        "SyntaxError: expected expression, got ')' (line 2) (function(doc) {)");
  CHECK(function_error_of(R"({"views":{"v":{"map":"function(doc) {}","reduce":"7"}}})") ==
        "compilation_error: Compilation of the reduce function in the 'v' view failed: "
        "Error: Expression does not eval to a function. (7)");
  CHECK(function_error_of(R"({"views":{"v":{"map":"function(doc) {}","reduce":"_nonsense"}}})") ==
        "invalid_design_doc: `_nonsense` is not a supported reduce function.");
  for (const std::string reduce : {"_top", "_top_0", "_top_101", "_bottom_x", "_"}) {
    const std::string body = R"({"views":{"v":{"map":"function(doc) {}","reduce":")" + reduce + R"("}}})";
    INFO(reduce);
    CHECK(function_error_of(body) == "invalid_design_doc: `" + reduce + "` is not a supported reduce function.");
    CHECK(function_error_of(body, true).empty());
  }
  const std::string others = R"({"filters":{"f":"("},"updates":{"u":"("},"validate_doc_update":"("})";
  CHECK(function_error_of(others).starts_with(
      "compilation_error: Compilation of the filter function in the 'f' filter failed:"));
  CHECK(function_error_of(others, true).empty());
}
