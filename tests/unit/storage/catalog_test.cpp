#include "storage/catalog.h"

#include <catch2/catch.hpp>

#include "support/temporary_folder.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::TemporaryFolder;

TEST_CASE("a database record survives reopening whole") {
  TemporaryFolder folder;
  DatabaseRecord record{"shop", "abc123", 1700000000, true, 77, {{0, 9, "partition-0"}, {10, 99, "partition-1"}}};
  {
    Catalog catalog(folder.path() / "catalog", config::Durability::ephemeral);
    REQUIRE(catalog.open());
    REQUIRE(catalog.add(record));
  }
  Catalog catalog(folder.path() / "catalog", config::Durability::ephemeral);
  REQUIRE(catalog.open());
  const auto found = *catalog.find("shop");
  REQUIRE(found);
  CHECK(found->instance_tag == "abc123");
  CHECK(found->created_s == 1700000000);
  CHECK(found->partitioned);
  CHECK(found->revs_limit == 77);
  REQUIRE(found->partition_map.size() == 2);
  CHECK(found->partition_map[1].first == 10);
  CHECK(found->partition_map[1].last == 99);
  CHECK(found->partition_map[1].folder == "partition-1");
}

TEST_CASE("a name is given once, and its folder becomes garbage when it is removed") {
  TemporaryFolder folder;
  Catalog catalog(folder.path() / "catalog", config::Durability::ephemeral);
  REQUIRE(catalog.open());
  const DatabaseRecord record{"shop", "abc123", 0, false, 1000, {{0, 9, "partition-0"}}};
  REQUIRE(catalog.add(record));
  CHECK(catalog.add(record).error().code == ErrorCode::precondition_failed);
  REQUIRE(catalog.remove("shop"));
  CHECK(catalog.remove("shop").error().code == ErrorCode::not_found);
  CHECK(*catalog.garbage() == std::vector<std::string>{"abc123"});
  REQUIRE(catalog.forget_garbage("abc123"));
  CHECK(catalog.garbage()->empty());
}

TEST_CASE("facts are kept by area and name") {
  TemporaryFolder folder;
  Catalog catalog(folder.path() / "catalog", config::Durability::ephemeral);
  REQUIRE(catalog.open());
  REQUIRE(catalog.set_fact("admins", "ann", "1"));
  REQUIRE(catalog.set_fact("admins", "bob", "2"));
  REQUIRE(catalog.set_fact("adminsx", "eve", "3"));
  CHECK(catalog.facts("admins")->size() == 2);
  CHECK(**catalog.fact("admins", "bob") == "2");
  REQUIRE(catalog.erase_fact("admins", "bob"));
  CHECK_FALSE(*catalog.fact("admins", "bob"));
}

TEST_CASE("a record keeps the definition that came with its database") {
  TemporaryFolder folder;
  DatabaseRecord record{"shop/orders", "abc123", 1, true, 1000, {{0, 9, "partition-0"}}};
  record.key_scheme = KeyScheme::multi_hash;
  record.definition = R"({"resource":{}})";
  Catalog catalog(folder.path() / "catalog", config::Durability::ephemeral);
  REQUIRE(catalog.open());
  REQUIRE(catalog.add(record));
  const auto found = *catalog.find("shop/orders");
  REQUIRE(found);
  CHECK(found->key_scheme == KeyScheme::multi_hash);
  CHECK(found->definition == R"({"resource":{}})");
  CHECK(found->partition_map.size() == 1);
}
