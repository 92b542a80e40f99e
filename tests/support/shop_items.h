#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "support/faulty_shop.h"

/// Requests of the Cosmos DB API on the container of a FaultyShop.
namespace octavo::tests {

namespace items {

inline constexpr const char* docs_path = "/dbs/mall/colls/items/docs";

inline Headers of_key(std::string_view key, Headers headers = {}) {
  headers.try_emplace("x-ms-documentdb-partitionkey", fmt::format("[\"{}\"]", key));
  return headers;
}

inline std::string path(std::string_view id) {
  return fmt::format("{}/{}", docs_path, id);
}

/// Upserts an item while nothing fails.
inline void put(FaultyShop& shop, const std::string& id, std::string_view key) {
  const auto answer = shop.cosmos().post(docs_path, fmt::format(R"({{"id":"{}","pk":"{}","n":1}})", id, key),
                                         of_key(key, {{"x-ms-documentdb-is-upsert", "true"}}));
  REQUIRE((answer.status == 200 || answer.status == 201));
}

inline Received query(FaultyShop& shop, std::string_view text, Headers headers = {}) {
  headers.try_emplace("x-ms-documentdb-isquery", "true");
  return shop.cosmos().post(docs_path, fmt::format(R"({{"query":"{}"}})", text), std::move(headers));
}

/// Reads of all kinds answer.
inline void check_reads(FaultyShop& shop) {
  CHECK(shop.cosmos().get(path("d0"), of_key("p0")).status == 200);
  CHECK(shop.cosmos().get(docs_path).status == 200);
  CHECK(shop.cosmos().get(docs_path, {{"A-IM", "Incremental Feed"}}).status == 200);
  CHECK(query(shop, "SELECT * FROM c WHERE c.n = 3").status == 200);
  CHECK(query(shop, "SELECT * FROM c ORDER BY c.n", of_key("p1")).status == 200);
  CHECK(shop.cosmos().get("/dbs/mall/colls/items").status == 200);
}

inline std::string container(const std::string& id) {
  return fmt::format(R"({{"id":"{}","partitionKey":{{"paths":["/pk"],"kind":"Hash","version":2}}}})", id);
}

}  // namespace items

inline std::vector<ShopRequest> item_reads() {
  using N = const std::string&;
  const auto get = [](std::string target, Headers headers = {}) {
    return [target, headers](FaultyShop& shop, N) {
      return [&shop, target, headers] { return shop.cosmos().get(target, headers); };
    };
  };
  const auto query = [](std::string text, Headers headers = {}) {
    return [text, headers](FaultyShop& shop, N) {
      return [&shop, text, headers] { return items::query(shop, text, headers); };
    };
  };
  return {
      {"read an item", get(items::path("d0"), items::of_key("p0")), {200}, {}},
      {"list items", get(items::docs_path), {200}, {}},
      {"list items of a key", get(items::docs_path, items::of_key("p1")), {200}, {}},
      {"the change feed", get(items::docs_path, {{"A-IM", "Incremental Feed"}}), {200}, {}},
      {"all versions", get(items::docs_path, {{"A-IM", "Full-Fidelity Feed"}, {"If-None-Match", "\"0\""}}), {200}, {}},
      {"a query over everything", query("SELECT * FROM c WHERE c.n = 3"), {200}, {}},
      {"a sorted query of a key", query("SELECT * FROM c ORDER BY c.n", items::of_key("p1")), {200}, {}},
      {"a grouped query", query("SELECT c.pk, COUNT(1) AS n FROM c GROUP BY c.pk"), {200}, {}},
      {"read the container", get("/dbs/mall/colls/items"), {200}, {}},
      {"list containers", get("/dbs/mall/colls"), {200}, {}},
      {"list databases", get("/dbs"), {200}, {}},
  };
}

inline std::vector<ShopRequest> item_writes() {
  using N = const std::string&;
  using items::docs_path;
  using items::of_key;
  return {
      {"create an item",
       [](FaultyShop& shop, N n) {
         return [&shop, n] {
           return shop.cosmos().post(docs_path, fmt::format(R"({{"id":"new{}","pk":"p0","n":7}})", n), of_key("p0"));
         };
       },
       {201},
       {409}},
      {"upsert an item",
       [](FaultyShop& shop, N n) {
         items::put(shop, "up" + n, "p1");
         return [&shop, n] {
           return shop.cosmos().post(docs_path, fmt::format(R"({{"id":"up{}","pk":"p1","n":8}})", n),
                                     of_key("p1", {{"x-ms-documentdb-is-upsert", "true"}}));
         };
       },
       {200},
       {}},
      {"replace an item",
       [](FaultyShop& shop, N n) {
         items::put(shop, "re" + n, "p1");
         return [&shop, n] {
           return shop.cosmos().put(items::path("re" + n), fmt::format(R"({{"id":"re{}","pk":"p1","n":9}})", n),
                                    of_key("p1"));
         };
       },
       {200},
       {}},
      {"patch an item on a condition",
       [](FaultyShop& shop, N n) {
         items::put(shop, "pa" + n, "p0");
         return [&shop, n] {
           return shop.cosmos().send(
               "PATCH", items::path("pa" + n),
               R"({"condition":"from c where c.n = 1","operations":[{"op":"incr","path":"/n","value":1}]})",
               of_key("p0"));
         };
       },
       {200},
       {412}},
      {"delete an item",
       [](FaultyShop& shop, N n) {
         items::put(shop, "gone" + n, "p1");
         return [&shop, n] { return shop.cosmos().del(items::path("gone" + n), of_key("p1")); };
       },
       {204},
       {404}},
      {"a transactional batch",
       [](FaultyShop& shop, N n) {
         items::put(shop, "old" + n, "p0");
         return [&shop, n] {
           const auto body =
               fmt::format(R"([{{"operationType":"Create","resourceBody":{{"id":"one{0}","pk":"p0","n":1}}}},)"
                           R"({{"operationType":"Upsert","resourceBody":{{"id":"two{0}","pk":"p0","n":2}}}},)"
                           R"({{"operationType":"Delete","id":"old{0}"}}])",
                           n);
           auto answer = shop.cosmos().post(
               docs_path, body,
               of_key("p0", {{"x-ms-cosmos-is-batch-request", "true"}, {"x-ms-cosmos-batch-atomic", "true"}}));
           // Here it was done before, as a whole.
           if (answer.status == 207) CHECK(answer.json().at(0).at("statusCode").as_int64() == 409);
           return answer;
         };
       },
       {200},
       {207}},
      {"delete all items of a key",
       [](FaultyShop& shop, N n) {
         for (const char* id : {"a", "b", "c"}) items::put(shop, id, "key" + n);
         return [&shop, n] {
           return shop.cosmos().post("/dbs/mall/colls/items/operations/partitionkeydelete", "", of_key("key" + n));
         };
       },
       {200},
       {}},
      {"create a stored procedure and run it",
       [](FaultyShop& shop, N n) {
         return [&shop, n] {
           const auto body =
               fmt::format(R"({{"id":"s{0}","body":"function () {{ const c = getContext().getCollection();)"
                           R"( c.upsertDocument(c.getSelfLink(), {{id: 'by{0}', pk: 'p0'}}); }}"}})",
                           n);
           const auto made = shop.cosmos().post("/dbs/mall/colls/items/sprocs", body);
           if (made.status != 201 && made.status != 409) return made;
           return shop.cosmos().post("/dbs/mall/colls/items/sprocs/s" + n, "[]", of_key("p0"));
         };
       },
       {200},
       {}},
  };
}

/// Requests about databases and containers.
inline std::vector<ShopRequest> container_writes() {
  using N = const std::string&;
  const auto made = [](FaultyShop& shop, const std::string& id) {
    REQUIRE(shop.cosmos().post("/dbs/mall/colls", items::container(id)).status == 201);
  };
  return {
      {"create a container",
       [](FaultyShop& shop, N n) {
         return [&shop, n] { return shop.cosmos().post("/dbs/mall/colls", items::container("c" + n)); };
       },
       {201},
       {409},
       true},
      {"replace a container's indexing policy",
       [made](FaultyShop& shop, N n) {
         made(shop, "r" + n);
         return [&shop, n] {
           auto definition = boost::json::parse(items::container("r" + n)).as_object();
           definition["indexingPolicy"] = boost::json::parse(
               R"({"indexingMode":"consistent","includedPaths":[{"path":"/n/?"}],"excludedPaths":[{"path":"/*"}]})");
           return shop.cosmos().put("/dbs/mall/colls/r" + n, boost::json::serialize(definition));
         };
       },
       {200},
       {},
       true},
      {"delete a container",
       [made](FaultyShop& shop, N n) {
         made(shop, "x" + n);
         return [&shop, n] { return shop.cosmos().del("/dbs/mall/colls/x" + n); };
       },
       {204},
       {404}},
      {"create a database",
       [](FaultyShop& shop, N n) {
         return [&shop, n] { return shop.cosmos().post("/dbs", fmt::format(R"({{"id":"mall{}"}})", n)); };
       },
       {201},
       {409}},
      {"delete a database with a container",
       [](FaultyShop& shop, N n) {
         REQUIRE(shop.cosmos().post("/dbs", fmt::format(R"({{"id":"doomed{}"}})", n)).status == 201);
         REQUIRE(shop.cosmos().post("/dbs/doomed" + n + "/colls", items::container("c")).status == 201);
         return [&shop, n] { return shop.cosmos().del("/dbs/doomed" + n); };
       },
       {204},
       {404}},
      {"create a user",
       [](FaultyShop& shop, N n) {
         return [&shop, n] { return shop.cosmos().post("/dbs/mall/users", fmt::format(R"({{"id":"u{}"}})", n)); };
       },
       {201},
       {409}},
  };
}

}  // namespace octavo::tests
