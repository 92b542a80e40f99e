// Which name leads to which database: renaming and aliases, also when the disk fails meanwhile.
#include <cerrno>
#include <new>
#include <string>

#include <catch2/catch.hpp>

#include "support/engine_fixture.h"
#include "support/fault_plan.h"

namespace octavo::partitioning {
namespace {

using octavo::tests::EngineFixture;
using octavo::tests::FaultPlan;

constexpr std::size_t faults_max = 1000;

std::string name_of(Engine& engine, std::string_view name) {
  const auto database = engine.find_database(name);
  return database ? database->name() : std::string();
}

std::string security_of(Engine& engine, std::string_view name) {
  const auto database = engine.find_database(name);
  const auto security = database ? database->security() : nullptr;
  return security ? *security : std::string();
}

constexpr auto no_facts = []() -> Expected<std::vector<storage::FactChange>> {
  return std::vector<storage::FactChange>();
};

}  // namespace

TEST_CASE("databases take each other's names in one step, with what is kept by name") {
  EngineFixture fixture;
  auto& catalog = fixture.engine().catalog();
  REQUIRE(fixture.create("old")->set_security(R"({"of":"old"})"));
  REQUIRE(fixture.create("new")->set_security(R"({"of":"new"})"));
  const auto before = catalog.find("old").value().value();
  const auto successor = catalog.find("new").value().value();

  const storage::Renaming renamings[] = {{before, "former"}, {successor, "old"}};
  const storage::FactChange facts[] = {storage::Catalog::alias("new", successor.instance_tag), {"area", "gone", {}}};
  REQUIRE(catalog.set_fact("area", "gone", "value"));
  REQUIRE(catalog.rename(renamings, facts));

  fixture.stop();
  fixture.start();
  auto& engine = fixture.engine();
  CHECK(engine.find_database("old")->instance_tag() == successor.instance_tag);
  CHECK(engine.find_database("former")->instance_tag() == before.instance_tag);
  CHECK(security_of(engine, "old") == R"({"of":"new"})");
  CHECK(security_of(engine, "former") == R"({"of":"old"})");
  CHECK(name_of(engine, "new") == "old");
  CHECK_FALSE(*engine.catalog().fact("area", "gone"));
}

TEST_CASE("a successor takes the name with positions above all that clients know") {
  EngineFixture fixture;
  auto& engine = fixture.engine();
  const auto shop = fixture.create("shop", {.q = 3});
  EngineFixture::put(*shop, "a", "{}");
  REQUIRE(shop->set_security("{}"));
  const auto plain = fixture.create("plain");
  CHECK(engine.hand_over_name(*shop, "former", *plain, no_facts).error().code == ErrorCode::conflict);
  const auto next = fixture.create("next", {.q = 2, .origin = DatabaseOrigin::after(*shop)});
  EngineFixture::put(*next, "b", "{}");
  CHECK(next->watermark() == next->sequence_base() + 1);
  CHECK(next->changes_after(0) == 1);
  CHECK(next->partition_ids().front() >= shop->partition_map().partition_id_end());

  REQUIRE(engine.hand_over_name(*shop, "former", *next, no_facts));
  CHECK(engine.find_database("shop") == next);
  CHECK(engine.find_database("next") == next);
  CHECK(engine.find_database("former") == shop);
  CHECK(security_of(engine, "shop") == "{}");
  const auto third = fixture.create("third", {.q = 1, .origin = DatabaseOrigin::after(*next)});
  REQUIRE(engine.hand_over_name(*next, "former2", *third, no_facts));
  CHECK(third->created_q() == 1);
  // The two may swap their names.
  const auto fourth = fixture.create("fourth", {.origin = DatabaseOrigin::after(*third)});
  REQUIRE(engine.hand_over_name(*third, "fourth", *fourth, no_facts));
  CHECK(engine.find_database("fourth") == third);
  CHECK(engine.find_database("shop") == fourth);
}

TEST_CASE("a gate that two keep closed opens when both have opened it") {
  Gate gate;
  gate.close();
  gate.close();
  gate.open();
  CHECK_FALSE(gate.enter());
  gate.open();
  CHECK(gate.enter());
}

TEST_CASE("requests that write wait until a gate opens, and are counted while they are inside") {
  Gate gate;
  auto pass = gate.enter();
  REQUIRE(pass);
  gate.close();
  CHECK_FALSE(gate.enter());
  CHECK_FALSE(gate.is_empty());
  auto moved = std::move(*pass);
  pass.reset();
  CHECK_FALSE(gate.is_empty());
  {
    const auto ended = std::move(moved);
  }
  CHECK(gate.is_empty());
  gate.open();
  CHECK(gate.enter());
}

TEST_CASE("a name that is taken is not given, and nothing of the request takes place") {
  EngineFixture fixture;
  auto& engine = fixture.engine();
  const auto shop = fixture.create("shop");
  const auto other = fixture.create("other");
  REQUIRE(engine.add_alias("known", *other));
  CHECK(engine.rename_database(*shop, "other", true).error().code == ErrorCode::precondition_failed);
  CHECK(engine.rename_database(*shop, "known", true).error().code == ErrorCode::precondition_failed);
  CHECK(engine.add_alias("other", *shop).error().code == ErrorCode::precondition_failed);
  CHECK(engine.add_alias("known", *shop).error().code == ErrorCode::precondition_failed);
  CHECK(engine.create_database("known", {}).error().code == ErrorCode::precondition_failed);
  CHECK(engine.remove_alias("known", *shop).error().code == ErrorCode::not_found);
  CHECK(name_of(engine, "shop") == "shop");
  CHECK(name_of(engine, "known") == "other");
}

TEST_CASE("a database is found by its tag, whatever its name") {
  EngineFixture fixture;
  auto& engine = fixture.engine();
  const auto shop = fixture.create("shop");
  REQUIRE(engine.rename_database(*shop, "store", false));
  const auto other = fixture.create("shop");
  CHECK(engine.open_incarnation("shop", shop->instance_tag()).value() == shop);
  CHECK(engine.open_incarnation("shop", other->instance_tag()).value() == other);
  REQUIRE(engine.delete_database("store"));
  CHECK(engine.open_incarnation("shop", shop->instance_tag()).error().code == ErrorCode::not_found);
}

TEST_CASE("a database that is deleted or gone is not renamed") {
  EngineFixture fixture;
  auto& engine = fixture.engine();
  const auto shop = fixture.create("shop");
  REQUIRE(engine.add_alias("alias", *shop));
  REQUIRE(engine.delete_database("shop"));
  CHECK(engine.rename_database(*shop, "store", true).error().code == ErrorCode::not_found);
  CHECK(engine.add_alias("other", *shop).error().code == ErrorCode::not_found);
  CHECK(name_of(engine, "alias").empty());
  CHECK(fixture.create("alias")->name() == "alias");
}

TEST_CASE("a rename that meets a failing disk leaves the database under one name, the same after a restart") {
  const bool took_place = GENERATE(false, true);
  const int code = took_place ? EIO : GENERATE(EIO, ENOSPC, FaultPlan::no_memory);
  std::size_t from = 1;
  for (bool failed = true; failed && from < faults_max; ++from) {
    FaultPlan faults;
    EngineFixture fixture({}, {}, &faults);
    std::string name;
    {
      const auto shop = fixture.create("shop");
      REQUIRE(shop->set_security("{}"));
      EngineFixture::put(*shop, "a", "{}");
      faults.plan({.code = code, .from = from, .took_place = took_place, .folder_part = "data/catalog"});
      bool is_done = false;
      try {
        is_done = fixture.engine().rename_database(*shop, "store", true).has_value();
      } catch (const std::bad_alloc&) {
        is_done = false;
      }
      failed = faults.fired() > 0;
      faults.heal();
      name = shop->name();
      INFO("fault " << from << ", code " << code << ", name " << name);
      REQUIRE((name == "shop" || name == "store"));
      CHECK((name == "store" || !is_done));
      EngineFixture::put(*shop, "b", "{}");
      REQUIRE(shop->set_revs_limit(7));  // finds its row in the catalog
    }
    for (int run = 0; run < 2; ++run) {
      CHECK(name_of(fixture.engine(), name) == name);
      CHECK(security_of(fixture.engine(), name) == "{}");
      CHECK(fixture.engine().databases().names() == std::vector<std::string>{name});
      CHECK(name_of(fixture.engine(), "shop") == name);
      CHECK(name_of(fixture.engine(), "store") == (name == "store" ? name : std::string()));
      CHECK(fixture.engine().find_database(name)->statistics().value().document_count == 2);
      fixture.stop();
      fixture.start();
    }
  }
  CHECK(from > 2);
  CHECK(from < faults_max);
}

TEST_CASE("a change-over that meets a failing disk gives the name to one database, the same after a restart") {
  const bool took_place = GENERATE(false, true);
  const int code = took_place ? EIO : GENERATE(EIO, ENOSPC);
  std::size_t from = 1;
  for (bool failed = true; failed && from < faults_max; ++from) {
    FaultPlan faults;
    EngineFixture fixture({}, {}, &faults);
    std::string tag;
    {
      const auto shop = fixture.create("shop");
      const auto next = fixture.create("next", {.origin = DatabaseOrigin::after(*shop)});
      REQUIRE(shop->set_security("{}"));
      faults.plan({.code = code, .from = from, .took_place = took_place, .folder_part = "data/catalog"});
      const auto facts = []() -> Expected<std::vector<storage::FactChange>> {
        return std::vector<storage::FactChange>{{"area", "name", "value"}};
      };
      const bool is_done = fixture.engine().hand_over_name(*shop, "former", *next, facts).has_value();
      failed = faults.fired() > 0;
      faults.heal();
      tag = fixture.engine().find_database("shop")->instance_tag();
      INFO("fault " << from << ", code " << code);
      CHECK(tag == (is_done ? next : shop)->instance_tag());
      CHECK((is_done ? next : shop)->name() == "shop");
      CHECK((is_done ? shop : next)->name() == (is_done ? "former" : "next"));
      REQUIRE(shop->set_revs_limit(7));
      REQUIRE(next->set_revs_limit(7));
    }
    fixture.stop();
    fixture.start();
    CHECK(fixture.engine().find_database("shop")->instance_tag() == tag);
    CHECK(security_of(fixture.engine(), "shop") == "{}");
    const bool is_handed_over = fixture.engine().find_database("former") != nullptr;
    CHECK(fixture.engine().catalog().fact("area", "name")->has_value() == is_handed_over);
    CHECK(name_of(fixture.engine(), "next") == (is_handed_over ? "shop" : "next"));
  }
  CHECK(from > 2);
  CHECK(from < faults_max);
}

}  // namespace octavo::partitioning
