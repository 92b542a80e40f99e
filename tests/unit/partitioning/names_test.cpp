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
    octavo::tests::TemporaryFolder folder;
    FaultPlan faults;
    config::Settings settings;
    settings.data_dir = folder.path() / "data";
    settings.durability = config::Durability::ephemeral;
    auto engine = Engine::open(settings, {}, &faults).value();
    std::string name;
    {
      const auto shop = engine->create_database("shop", {}).value();
      REQUIRE(shop->set_security("{}"));
      EngineFixture::put(*shop, "a", "{}");
      faults.plan({.code = code, .from = from, .took_place = took_place, .folder_part = "data/catalog"});
      bool is_done = false;
      try {
        is_done = engine->rename_database(*shop, "store", true).has_value();
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
    for (int start = 0; start < 2; ++start) {
      CHECK(name_of(*engine, name) == name);
      CHECK(security_of(*engine, name) == "{}");
      CHECK(engine->databases().names() == std::vector<std::string>{name});
      CHECK(name_of(*engine, "shop") == name);
      CHECK(name_of(*engine, "store") == (name == "store" ? name : std::string()));
      CHECK(engine->find_database(name)->statistics().value().document_count == 2);
      engine.reset();
      engine = Engine::open(settings, {}, &faults).value();
    }
  }
  CHECK(from > 2);
  CHECK(from < faults_max);
}

}  // namespace octavo::partitioning
