// Indexes that have not read a deletion before its tombstone was dropped.
#include "support/dropped_tombstones.h"

#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "query/database/database_services.h"
#include "query/database/index_check.h"
#include "support/engine_fixture.h"
#include "unit/query/definition_reader.h"

namespace octavo::query {
namespace {

using octavo::tests::EngineFixture;
using octavo::tests::run_task;

constexpr std::string_view design_index =
    R"({"language":"query","views":{"n":{"map":{"fields":{"n":"asc"}},"reduce":"_count",)"
    R"("options":{"def":{"fields":["n"]}}}}})";
constexpr std::string_view design_view = R"({"views":{"all":{"map":"function (doc) { emit(doc.n); }"}}})";

/// A database whose indexes can be left behind, as while they fail.
class Shop {
 public:
  Shop() {
    database_ = fixture_.create("shop", {.q = 2});
    put("_design/index", std::string(design_index));
    put("_design/view", std::string(design_view));
  }

  partitioning::Database& database() { return *database_; }
  void put(const std::string& id, std::string body) { EngineFixture::put(*database_, id, std::move(body)); }
  void fill(int begin, int end) {
    for (int n = begin; n < end; ++n) put("d" + std::to_string(n), R"({"n":)" + std::to_string(n) + "}");
  }
  void remove(const std::string& id) {
    const auto found = *database_->snapshot_for_document(id)->find(id);
    EngineFixture::put(*database_, id, "{}", found->revision, true);
  }
  void restart(bool with_indexes) {
    database_.reset();
    fixture_.stop();
    with_indexes_ = with_indexes;
    fixture_.start();
    database_ = fixture_.engine().find_database("shop");
  }
  /// The indexes catch up, and agree with the documents.
  void check() {
    storage::CheckReport report;
    REQUIRE(run_task(check_indexes(*services_of(*database_), report)));
    for (const auto& problem : report.problems) FAIL_CHECK(problem);
  }

 private:
  std::unique_ptr<partitioning::DatabaseExtension> extend(partitioning::Database& opened) {
    return with_indexes_ ? factory_(opened) : nullptr;
  }

  bool with_indexes_ = true;
  const partitioning::ExtensionFactory factory_ = DatabaseServices::factory(nullptr, octavo::tests::read_definition);
  EngineFixture fixture_{[this](partitioning::Database& opened) { return extend(opened); }};
  std::shared_ptr<partitioning::Database> database_;
};

}  // namespace

TEST_CASE("indexes lose documents whose tombstones were dropped before they read them") {
  Shop shop;
  shop.fill(0, 40);
  shop.check();
  shop.restart(false);
  for (int n = 0; n < 40; n += 2) shop.remove("d" + std::to_string(n));
  shop.remove("d1");
  REQUIRE(octavo::tests::drop_tombstones(shop.database()) == 21);
  shop.put("d1", R"({"n":100})");  // created again
  shop.fill(40, 50);
  shop.restart(true);
  shop.check();
  // They follow as before.
  shop.remove("d3");
  shop.check();
  REQUIRE(octavo::tests::drop_tombstones(shop.database()) == 1);
  shop.fill(50, 55);
  shop.check();
}

TEST_CASE("indexes that are made after tombstones were dropped have the documents that there are") {
  Shop shop;
  shop.restart(false);
  shop.fill(0, 20);
  for (int n = 0; n < 10; ++n) shop.remove("d" + std::to_string(n));
  REQUIRE(octavo::tests::drop_tombstones(shop.database()) == 10);
  shop.restart(true);
  shop.check();
}

}  // namespace octavo::query
