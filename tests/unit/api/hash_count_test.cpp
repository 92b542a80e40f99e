// How often a request hashes the partition key of its document: once, whatever it does with the document.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "base/murmur3.h"
#include "support/faulty_shop.h"

// The linker option --wrap (tests/CMakeLists.txt) gives these names to the function that callers of murmur3_x64_128 get
// and to murmur3_x64_128 itself.
#define MURMUR3_SYMBOL "_ZN6octavo15murmur3_x64_128ESt17basic_string_viewIcSt11char_traitsIcEE"

namespace octavo {

Hash128 counted_murmur3(std::string_view bytes) asm("__wrap_" MURMUR3_SYMBOL);
Hash128 uncounted_murmur3(std::string_view bytes) asm("__real_" MURMUR3_SYMBOL);

namespace {

// These count in this thread, which runs a test's requests. Threads in the background hash keys of the same documents.
thread_local std::string counted_bytes;
thread_local int counted_hashes = 0;

}  // namespace

Hash128 counted_murmur3(std::string_view bytes) {
  if (bytes == counted_bytes) ++counted_hashes;
  return uncounted_murmur3(bytes);
}

namespace tests::hash_count {

namespace {

constexpr const char* container_path = "/dbs/mall/colls/items/docs";

// Runs `request`, which must hash the string `key` `expected` times.
template <class Request>
void check_hashes(std::string_view key, int expected, Request request) {
  counted_bytes = '\x08' + std::string(key) + '\xFF';  // as it is hashed
  counted_hashes = 0;
  request();
  counted_bytes.clear();
  CHECK(counted_hashes == expected);
}

void limit_throughput(FaultyShop& shop, std::string_view database) {
  const auto budget = std::make_shared<partitioning::ThroughputBudget>(2);
  budget->set_rate(1'000'000);
  (*shop.couch().engine().open_database(database))->meter().set_budget(budget);
}

}  // namespace

TEST_CASE("a request of the CouchDB API for one document hashes its partition key once") {
  const bool limited = GENERATE(true, false);
  CAPTURE(limited);
  FaultyShop shop(config::Durability::ephemeral);
  auto& couch = shop.couch();
  if (limited) limit_throughput(shop, "shop");
  std::string revision;
  check_hashes("pn", 1, [&] {
    const auto created = couch.put("/shop/pn:1", R"({"n":1})");
    REQUIRE(created.status == 201);
    revision = std::string(created.json().at("rev").as_string());
  });
  check_hashes("pn", 1, [&] { REQUIRE(couch.get("/shop/pn:1").status == 200); });
  check_hashes("pn", 1, [&] { REQUIRE(couch.get("/shop/pn:2").status == 404); });
  check_hashes("pn", 1, [&] { REQUIRE(couch.get("/shop/pn:1?rev=" + revision).status == 200); });
  check_hashes("pn", 1, [&] { REQUIRE(couch.get("/shop/pn:1?open_revs=all").status == 200); });
  check_hashes("pn", 1, [&] { REQUIRE(couch.put("/shop/pn:1", "{}").status == 409); });
  check_hashes("pn", 1, [&] { REQUIRE(couch.del("/shop/pn:1?rev=" + revision).status == 200); });
}

TEST_CASE("a bulk request of the CouchDB API hashes the partition key once per document, and an atomic one once") {
  FaultyShop shop(config::Durability::ephemeral);
  limit_throughput(shop, "shop");
  const std::string docs = R"({"docs":[{"_id":"pn:1"},{"_id":"pn:2"},{"_id":"pn:3"}]})";
  check_hashes("pn", 3, [&] { REQUIRE(shop.couch().post("/shop/_bulk_docs", docs).status == 201); });
  const std::string batch = R"({"docs":[{"_id":"pn:4"},{"_id":"pn:5"},{"_id":"pn:6"}]})";
  check_hashes("pn", 1, [&] { REQUIRE(shop.couch().post("/shop/_partition/pn/_batch", batch).status == 201); });
}

TEST_CASE("a request of the Cosmos DB API for one item hashes its partition key once") {
  FaultyShop shop(config::Durability::ephemeral);
  shop.add_container();
  limit_throughput(shop, "mall/items");
  auto& cosmos = shop.cosmos();
  const Headers key{{"x-ms-documentdb-partitionkey", R"(["pn"])"}};
  const std::string item = fmt::format("{}/i", container_path);
  const std::string text = R"({"id":"i","pk":"pn","n":1})";
  check_hashes("pn", 1, [&] { REQUIRE(cosmos.post(container_path, text, key).status == 201); });
  check_hashes("pn", 1, [&] { REQUIRE(cosmos.get(item, key).status == 200); });
  check_hashes("pn", 1, [&] { REQUIRE(cosmos.put(item, text, key).status == 200); });
  const std::string patch = R"({"operations":[{"op":"set","path":"/n","value":2}]})";
  check_hashes("pn", 1, [&] { REQUIRE(cosmos.send("PATCH", item, patch, key).status == 200); });
  Headers atomic = key;
  atomic.emplace("x-ms-cosmos-is-batch-request", "true");
  atomic.emplace("x-ms-cosmos-batch-atomic", "true");
  const std::string batch = R"([{"operationType":"Read","id":"i"},{"operationType":"Delete","id":"i"}])";
  check_hashes("pn", 1, [&] { REQUIRE(cosmos.post(container_path, batch, atomic).status == 200); });
}

}  // namespace tests::hash_count
}  // namespace octavo
