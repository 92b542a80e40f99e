// Both APIs write the properties of a database in formats of their own; the layers below see one record.
#include "api/models/database_properties.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "base/unix_time.h"
#include "query/database/database_services.h"
#include "support/cosmos_api_fixture.h"
#include "support/eventually.h"
#include "support/patience.h"
#include "unit/api/couch/couch_api_fixture.h"

using namespace octavo;
using octavo::tests::CosmosApiFixture;
using octavo::tests::CouchApiFixture;

namespace {

struct BothApis {
  static config::Settings settings() {
    config::Settings settings;
    settings.cosmos_key = crypto::base64_encode("of a test");
    return settings;
  }
  std::atomic<std::int64_t> ahead_s{0};  ///< of the clock by which tombstones are old
  CouchApiFixture couch{settings(),
                        {.extensions = query::DatabaseServices::factory(nullptr, api::read_definition,
                                                                        [this] { return unix_now_s() + ahead_s; })}};
  std::unique_ptr<CosmosApiFixture> cosmos_api = std::make_unique<CosmosApiFixture>(couch.engine(), couch.settings());

  CosmosApiFixture& cosmos() { return *cosmos_api; }
  void restart() {
    cosmos_api.reset();
    couch.restart();
    cosmos_api = std::make_unique<CosmosApiFixture>(couch.engine(), couch.settings());
  }
  query::DatabaseProperties properties(std::string_view name) {
    return api::read_definition(**couch.engine().open_database(name)).value();
  }
};

}  // namespace

TEST_CASE("a database of the CouchDB API has the properties that its definition sets") {
  BothApis apis;
  REQUIRE(apis.couch.put("/plain").status == 201);
  REQUIRE(apis.couch.put("/shop?ttl=60&throughput=500&all_versions=90").status == 201);
  const auto properties = apis.properties("shop");
  CHECK(properties.ttl_s == 60);
  CHECK(properties.throughput == 500);
  CHECK(properties.throughput_owner.empty());
  CHECK(properties.all_versions_s == 90);
  CHECK(properties.tombstone_retention_s == 0);
  CHECK_FALSE(properties.unique_keys);
  CHECK_FALSE(properties.automatic_index);
  // The text of earlier versions.
  const auto definition = (*apis.couch.engine().open_database("shop"))->definition();
  CHECK(definition->text == R"({"properties":{"ttl":60,"throughput":500,"all_versions":90}})");
  CHECK(api::to_couch_definition(properties) == definition->text);
  CHECK_FALSE(api::is_container(definition->text));

  CHECK(api::to_couch_definition(apis.properties("plain")).empty());
  CHECK((*apis.couch.engine().open_database("plain"))->definition()->text.empty());
}

TEST_CASE("tombstones are kept for ever by the CouchDB API unless it is told otherwise") {
  BothApis apis;
  REQUIRE(apis.couch.put("/shop?tombstone_retention=86400").status == 201);
  CHECK(apis.properties("shop").tombstone_retention_s == 86'400);
  const auto definition = (*apis.couch.engine().open_database("shop"))->definition();
  CHECK(definition->text == R"({"properties":{"tombstone_retention":86400}})");
  REQUIRE(apis.couch.put("/plain").status == 201);
  CHECK(apis.properties("plain").tombstone_retention_s == 0);
  CHECK_FALSE((*apis.couch.engine().open_database("plain"))->may_lack_tombstones());
  CHECK((*apis.couch.engine().open_database("shop"))->may_lack_tombstones());
}

TEST_CASE("a container has the properties that its definition sets, also after a restart") {
  BothApis apis;
  REQUIRE(apis.cosmos().post("/dbs", R"({"id":"mall"})").status == 201);
  REQUIRE(
      apis.cosmos()
          .post("/dbs/mall/colls",
                R"({"id":"items","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":60,)"
                R"("changeFeedPolicy":{"retentionDuration":3},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/a"]}]}})",
                {{"x-ms-offer-throughput", "700"}})
          .status == 201);
  const auto check = [&apis] {
    const auto properties = apis.properties("mall/items");
    CHECK(properties.ttl_s == 60);
    CHECK(properties.throughput == 700);
    CHECK(properties.throughput_owner.empty());
    CHECK(properties.all_versions_s == 180);
    CHECK(properties.tombstone_retention_s == 3'600);
    REQUIRE(properties.unique_keys);
    CHECK(properties.unique_keys->digests(R"({"a":1})").size() == 1);
    REQUIRE(properties.automatic_index);
    CHECK(properties.automatic_index->order() == query::StringOrder::bytes);
  };
  check();
  apis.restart();
  check();
}

TEST_CASE("a container drops tombstones after an hour, and refuses a feed that continues before them") {
  BothApis apis;
  REQUIRE(apis.cosmos().post("/dbs", R"({"id":"mall"})").status == 201);
  REQUIRE(apis.cosmos().post("/dbs/mall/colls", R"({"id":"items","partitionKey":{"paths":["/pk"]}})").status == 201);
  const auto key = octavo::tests::Headers{{"x-ms-documentdb-partitionkey", R"(["k"])"}};
  for (const std::string id : {"a", "b"}) {
    REQUIRE(apis.cosmos().post("/dbs/mall/colls/items/docs", R"({"id":")" + id + R"(","pk":"k"})", key).status == 201);
  }
  const auto feed = [&apis](const std::string& etag) {
    return apis.cosmos().get("/dbs/mall/colls/items/docs", {{"A-IM", "Incremental Feed"}, {"If-None-Match", etag}});
  };
  const std::string etag = feed("").header("etag").value();
  const std::string changes = "/mall%2Fitems/_changes";
  const std::string since(apis.couch.get(changes).json().at("last_seq").as_string());
  REQUIRE(apis.cosmos().send("DELETE", "/dbs/mall/colls/items/docs/a", "", key).status == 204);
  REQUIRE(apis.couch.get(changes + "?since=" + since).json().at("results").as_array().size() == 1);
  const auto database = apis.couch.engine().find_database("mall/items");
  REQUIRE(database->statistics().value().deleted_count == 1);

  apis.ahead_s = 3'700;
  // A retention that has changed is applied at once: it is now 61 minutes.
  REQUIRE(apis.cosmos()
              .put("/dbs/mall/colls/items",
                   R"({"id":"items","partitionKey":{"paths":["/pk"]},"changeFeedPolicy":{"retentionDuration":61}})")
              .status == 200);
  REQUIRE(octavo::tests::eventually([&] { return database->statistics().value().deleted_count == 0; },
                                    octavo::tests::patiently(std::chrono::seconds{20})));

  const auto refused = apis.couch.get(changes + "?since=" + since);
  CHECK(refused.status == 400);
  CHECK(refused.json().at("error") == "tombstones_gone");
  CHECK(apis.couch.get(changes).json().at("results").as_array().size() == 1);
  // The latest versions tell no deletions: a reader of them misses nothing.
  REQUIRE(apis.cosmos().post("/dbs/mall/colls/items/docs", R"({"id":"c","pk":"k"})", key).status == 201);
  const auto next = feed(etag);
  CHECK(next.status == 200);
  REQUIRE(next.json().at("Documents").as_array().size() == 1);
  CHECK(next.json().at("Documents").as_array()[0].at("id") == "c");
}

TEST_CASE("containers without throughput share their database's") {
  BothApis apis;
  REQUIRE(apis.cosmos().post("/dbs", R"({"id":"mall"})", {{"x-ms-offer-throughput", "900"}}).status == 201);
  REQUIRE(apis.cosmos().post("/dbs/mall/colls", R"({"id":"items","partitionKey":{"paths":["/pk"]}})").status == 201);
  const auto properties = apis.properties("mall/items");
  CHECK(properties.throughput_owner == "mall");
  CHECK(properties.throughput == 900);
  CHECK(api::properties_of(**apis.couch.engine().open_database("mall/items"))->throughput == 0);

  // Without any, a container shows a default that is not enforced.
  REQUIRE(apis.cosmos().post("/dbs", R"({"id":"free"})").status == 201);
  REQUIRE(apis.cosmos().post("/dbs/free/colls", R"({"id":"items","partitionKey":{"paths":["/pk"]}})").status == 201);
  CHECK(apis.properties("free/items").throughput_owner.empty());
  CHECK(apis.properties("free/items").throughput == 0);
}

TEST_CASE("the definition of a container without the members that make one is damaged") {
  BothApis apis;
  const auto database =
      apis.couch.engine().create_database("mall/items", {.definition = R"({"resource":{"defaultTtl":60}})"}).value();
  const auto properties = api::read_definition(*database);
  REQUIRE_FALSE(properties);
  CHECK(properties.error().code == ErrorCode::corrupted);
}
