#include "storage/catalog.h"

#include <sys/stat.h>

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

TEST_CASE("who changes a database that is gone does not change the next one of its name") {
  // Given a database that was deleted, and another of its name
  TemporaryFolder folder;
  Catalog catalog(folder.path() / "catalog", config::Durability::ephemeral);
  REQUIRE(catalog.open());
  const DatabaseRecord before{"shop", "before", 0, false, 1000, {{0, 9, "partition-0"}}};
  const DatabaseRecord after{"shop", "after", 0, false, 1000, {{0, 9, "partition-0"}}};
  REQUIRE(catalog.add(before));
  REQUIRE(catalog.remove("shop"));
  REQUIRE(catalog.add(after));
  // When a caller still holds the one before
  CHECK(catalog.replace(before).error().code == ErrorCode::not_found);
  CHECK(catalog.set_fact_of(before, "security", "{}").error().code == ErrorCode::not_found);
  // Then the new one is as it was
  CHECK((*catalog.find("shop"))->instance_tag == "after");
  CHECK_FALSE(*catalog.fact("security", "shop"));
  REQUIRE(catalog.set_fact_of(after, "security", "{}"));
  CHECK(**catalog.fact("security", "shop") == "{}");
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

TEST_CASE("a record keeps what its partitions were split off from") {
  TemporaryFolder folder;
  DatabaseRecord record{"shop", "abc123", 0, true, 1000, {}};
  record.partition_map = {{0, 9, "partition-3", {0, 1}}, {10, 19, "partition-4", {0, 1}}, {20, 99, "partition-2"}};
  Catalog catalog(folder.path() / "catalog", config::Durability::ephemeral);
  REQUIRE(catalog.open());
  REQUIRE(catalog.add(record));
  const auto found = *catalog.find("shop");
  REQUIRE(found);
  REQUIRE(found->partition_map.size() == 3);
  CHECK(found->partition_map[0].ancestors == std::vector<std::uint32_t>{0, 1});
  CHECK(found->partition_map[1].folder == "partition-4");
  CHECK(found->partition_map[2].ancestors.empty());
}

TEST_CASE("a record of a database with merged partitions keeps the former ones") {
  TemporaryFolder folder;
  DatabaseRecord record{"shop", "abc123", 0, true, 1000, {}};
  record.definition = "{}";
  record.partition_map = {{0, 9, "partition-3", {0, 1}}, {10, 99, "partition-2"}};
  record.former = {{0, 0, 4}, {1, 5, 9}};
  record.created_q = 3;
  Catalog catalog(folder.path() / "catalog", config::Durability::ephemeral);
  REQUIRE(catalog.open());
  REQUIRE(catalog.add(record));
  const auto found = *catalog.find("shop");
  REQUIRE(found);
  CHECK(found->partition_map[0].ancestors == std::vector<std::uint32_t>{0, 1});
  CHECK(found->definition == "{}");
  CHECK(found->former == record.former);
  CHECK(found->created_q == 3);
}

TEST_CASE("a database that came from a backup has a feed tag of its own, and everything else as before") {
  TemporaryFolder folder;
  Catalog catalog(folder.path() / "catalog", config::Durability::ephemeral);
  REQUIRE(catalog.open());
  DatabaseRecord record{"shop", "abc123", 0, false, 1000, {{0, 9, "partition-0"}}};
  record.sequence_base = 7;
  REQUIRE(catalog.add(record));
  REQUIRE(catalog.add({"other", "def456", 0, false, 1000, {{0, 9, "partition-0"}}}));
  int tags = 0;
  REQUIRE(catalog.replace_feed_tags([&] { return "tag" + std::to_string(++tags); }));
  const auto all = catalog.all();
  REQUIRE(all);
  REQUIRE(all->size() == 2);
  CHECK((*all)[0].name == "other");
  CHECK((*all)[0].feed_tag == "tag1");
  CHECK((*all)[1].feed_tag == "tag2");
  CHECK((*all)[1].instance_tag == record.instance_tag);
  CHECK((*all)[1].sequence_base == 7);
  CHECK((*all)[1].partition_map.front().folder == record.partition_map.front().folder);
}

TEST_CASE("a record keeps all of its ranges and ancestors, however many") {
  constexpr std::uint32_t range_count = 65'537;
  TemporaryFolder folder;
  DatabaseRecord record{"shop", "abc123", 0, true, 1000, {}};
  for (std::uint32_t i = 0; i < range_count; ++i) record.partition_map.push_back({i, i, partition_folder(i)});
  record.partition_map.front().ancestors.assign(range_count, 7);
  Catalog catalog(folder.path() / "catalog", config::Durability::ephemeral);
  REQUIRE(catalog.open());
  REQUIRE(catalog.add(record));
  const auto found = *catalog.find("shop");
  REQUIRE(found);
  REQUIRE(found->partition_map.size() == range_count);
  CHECK(found->partition_map.back().first == range_count - 1);
  CHECK(found->partition_map.back().folder == record.partition_map.back().folder);
  CHECK(found->partition_map.front().ancestors == record.partition_map.front().ancestors);
}

TEST_CASE("the folder of a physical partition tells its number, and nothing else does") {
  CHECK(partition_folder(7) == "partition-7");
  CHECK(partition_number("partition-7") == 7U);
  for (const char* other :
       {"partition-", "partition-x", "partition-7x", "partition--7", "partition-99999999", "index-7", ""}) {
    CHECK_FALSE(partition_number(other).has_value());
  }
}

TEST_CASE("beyond its end the catalog's file has disk space, for deletions on a full disk") {
  constexpr std::int64_t reserve_bytes = 512 << 10;
  TemporaryFolder folder;
  Catalog catalog(folder.path() / "catalog", config::Durability::ephemeral);
  REQUIRE(catalog.open());
  const auto reserved_bytes = [&] {
    struct stat file{};
    REQUIRE(::stat((folder.path() / "catalog/data.mdb").c_str(), &file) == 0);
    return std::int64_t{file.st_blocks} * 512 - file.st_size;
  };
  CHECK(reserved_bytes() >= reserve_bytes);
  const std::string large(2 << 20, 'x');
  REQUIRE(catalog.set_fact("area", "large", large));
  REQUIRE(catalog.set_fact("area", "small", "fact"));
  CHECK(reserved_bytes() >= reserve_bytes / 2);
}
