// Databases with a common prefix get another one together, also when the disk fails meanwhile.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "support/engine_fixture.h"
#include "support/fault_plan.h"

namespace octavo::partitioning {
namespace {

using octavo::tests::EngineFixture;
using octavo::tests::FaultPlan;

bool is_member(std::string_view definition) {
  return definition == "member";
}

void create_members(EngineFixture& fixture) {
  for (const char* name : {"one/a", "one/b"}) fixture.create(name, {.definition = "member"});
}

std::string name_behind(Engine& engine, std::string_view name) {
  const auto database = engine.find_database(name);
  return database ? database->name() : std::string();
}

Expected<void> rename_members(Engine& engine, const std::string& before, const std::string& name, bool keep_alias) {
  const auto member = [](std::string_view definition) { return is_member(definition); };
  const auto nothing_else = [] { return Expected<std::vector<storage::FactChange>>(); };
  return engine.rename_group({{before, name}, keep_alias}, member, {{"area", "name", name}}, nothing_else);
}

}  // namespace

TEST_CASE("nothing changes the catalog between what decides the facts and the change of the names") {
  EngineFixture fixture;
  create_members(fixture);
  auto& engine = fixture.engine();
  auto& catalog = engine.catalog();
  const auto member = [](std::string_view definition) { return is_member(definition); };
  std::thread other;
  std::atomic<bool> is_stored{false};
  const auto decide = [&]() -> Expected<std::vector<storage::FactChange>> {
    // Another request does the same as what defines a store in a group: it looks at the names and stores a fact.
    other = std::thread([&] {
      const auto look = [&]() -> Expected<std::vector<storage::FactChange>> {
        OCTAVO_TRY(const auto decided, catalog.fact("area", "decided"));
        return std::vector<storage::FactChange>{{"area", "seen", decided.value_or("nothing")}};
      };
      is_stored = catalog.change_facts(look).has_value();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK(!is_stored);
    return std::vector<storage::FactChange>{{"area", "decided", "yes"}};
  };
  REQUIRE(engine.rename_group({{"one/", "two/"}, false}, member, {{"area", "name", "two/"}}, decide));
  other.join();
  CHECK(is_stored);
  CHECK(*catalog.fact("area", "seen") == "yes");
}

TEST_CASE("facts that cannot be decided leave the names") {
  EngineFixture fixture;
  create_members(fixture);
  const auto member = [](std::string_view definition) { return is_member(definition); };
  const auto refuse = []() -> Expected<std::vector<storage::FactChange>> {
    return fail(ErrorCode::precondition_failed, "There is a group.", "file_exists");
  };
  auto& engine = fixture.engine();
  const auto renamed = engine.rename_group({{"one/", "two/"}, true}, member, {{"area", "name", "two/"}}, refuse);
  CHECK(renamed.error().code == ErrorCode::precondition_failed);
  CHECK(name_behind(engine, "one/a") == "one/a");
  CHECK(name_behind(engine, "two/a").empty());
}

TEST_CASE("members get the prefix with their aliases, and the prefix of before leads to them") {
  EngineFixture fixture;
  create_members(fixture);
  fixture.create("one/other");
  REQUIRE(fixture.engine().add_alias("one/c", *fixture.engine().find_database("one/a")));
  REQUIRE(rename_members(fixture.engine(), "one/", "two/", true));
  for (int run = 0; run < 2; ++run) {
    auto& engine = fixture.engine();
    CHECK(engine.databases().names() == std::vector<std::string>{"one/other", "two/a", "two/b"});
    for (const char* name : {"one/a", "two/a", "one/c", "two/c"}) CHECK(name_behind(engine, name) == "two/a");
    CHECK(name_behind(engine, "one/other") == "one/other");
    CHECK(name_behind(engine, "one/none").empty());
    CHECK(engine.create_database("one/a", {}).error().code == ErrorCode::precondition_failed);
    CHECK(engine.create_database("one/new", {}).error().code == ErrorCode::precondition_failed);
    CHECK(engine.delete_database("one/a").error().code == ErrorCode::bad_request);
    fixture.stop();
    fixture.start();
  }
  // What was the prefix's alias becomes its name again, and an alias of an alias leads to it, too.
  auto& engine = fixture.engine();
  REQUIRE(rename_members(engine, "two/", "three/", true));
  CHECK(name_behind(engine, "one/b") == "three/b");
  REQUIRE(rename_members(engine, "three/", "one/", false));
  CHECK(name_behind(engine, "two/b") == "one/b");
  CHECK(name_behind(engine, "three/b").empty());
  CHECK(engine.databases().prefix_aliases_of("one/") == std::vector<std::string>{"two/"});
}

TEST_CASE("members do not get names that are taken, and then none gets another name") {
  EngineFixture fixture;
  create_members(fixture);
  auto& engine = fixture.engine();
  fixture.create("two/b");
  CHECK(rename_members(engine, "one/", "two/", true).error().code == ErrorCode::precondition_failed);
  REQUIRE(engine.add_alias("three/b", *engine.find_database("two/b")));
  CHECK(rename_members(engine, "one/", "three/", true).error().code == ErrorCode::precondition_failed);
  REQUIRE(engine.add_alias("one/c", *engine.find_database("one/a")));
  fixture.create("four/c");
  CHECK(rename_members(engine, "one/", "four/", true).error().code == ErrorCode::precondition_failed);
  REQUIRE(engine.add_prefix_alias("five/", "two/"));
  CHECK(rename_members(engine, "one/", "five/", true).error().code == ErrorCode::precondition_failed);
  CHECK(rename_members(engine, "one/", std::string(499, 'x') + '/', true).error().code == ErrorCode::bad_request);
  for (const char* name : {"one/a", "one/b"}) CHECK(name_behind(engine, name) == name);
  CHECK_FALSE(*engine.catalog().fact("area", "name"));
}

TEST_CASE("a failing disk leaves all members under one prefix, the same after a restart") {
  const bool took_place = GENERATE(false, true);
  const int code = took_place ? EIO : GENERATE(EIO, ENOSPC);
  constexpr std::size_t faults_max = 1'000;
  std::size_t from = 1;
  for (bool failed = true; failed && from < faults_max; ++from) {
    FaultPlan faults;
    EngineFixture fixture({}, {}, &faults);
    create_members(fixture);
    faults.plan({.code = code, .from = from, .took_place = took_place, .folder_part = "data/catalog"});
    const bool is_done = rename_members(fixture.engine(), "one/", "two/", false).has_value();
    failed = faults.fired() > 0;
    faults.heal();
    const auto names = fixture.engine().databases().names();
    INFO("fault " << from << ", code " << code << ", name " << names.front());
    const bool is_renamed = names == std::vector<std::string>{"two/a", "two/b"};
    CHECK((is_renamed || (!is_done && names == std::vector<std::string>{"one/a", "one/b"})));
    fixture.stop();
    fixture.start();
    CHECK(fixture.engine().databases().names() == names);
    CHECK(fixture.engine().catalog().fact("area", "name")->has_value() == is_renamed);
  }
  CHECK(from > 2);
  CHECK(from < faults_max);
}

}  // namespace octavo::partitioning
