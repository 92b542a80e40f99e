#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "api/models/database_properties.h"
#include "query/database/index_check.h"
#include "storage/partition/partition_check.h"
#include "support/cosmos_api_fixture.h"
#include "support/engine_fixture.h"
#include "support/fault_plan.h"
#include "unit/api/couch/couch_api_fixture.h"

namespace octavo::tests {

/// A small shop behind the CouchDB API, with a local and a global index, on an engine that can be made to fail.
class FaultyShop {
 public:
  explicit FaultyShop(config::Durability durability = config::Durability::commit)
      : couch_(settings(), {.extensions = query::DatabaseServices::factory(nullptr, api::read_definition),
                            .faults = &faults_,
                            .durability = durability}) {
    REQUIRE(couch_.put("/shop?partitioned=true&q=2").status == 201);
    std::string docs;
    for (int i = 0; i < 6; ++i) {
      docs += fmt::format(R"({}{{"_id":"p{}:d{}","n":{}}})", i == 0 ? "" : ",", i % 2, i, i);
    }
    REQUIRE(couch_.post("/shop/_bulk_docs", R"({"docs":[)" + docs + "]}").status == 201);
    REQUIRE(couch_.post("/shop/_index", R"({"index":{"fields":["n"]},"ddoc":"local","name":"local"})").status == 200);
    REQUIRE(
        couch_.post("/shop/_index", R"({"index":{"fields":["n"]},"ddoc":"global","name":"global","partitioned":false})")
            .status == 200);
    check();
  }

  /// A view and a search index, which follow the feed.
  void add_functions() {
    put_functions(R"(,"indexes":{"all":{"analyzer":"keyword","index":"function(doc) { index('n', doc.n); }"}})");
  }
  /// The view alone.
  void add_view() { put_functions(""); }

  /// The container `mall/items` of the Cosmos DB API, indexed by every path, with a log of all versions.
  void add_container() {
    cosmos_ = std::make_unique<CosmosApiFixture>(couch_.engine(), couch_.settings());
    REQUIRE(cosmos().post("/dbs", R"({"id":"mall"})").status == 201);
    REQUIRE(cosmos()
                .post("/dbs/mall/colls", R"({"id":"items","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
                      "changeFeedPolicy":{"retentionDuration":60}})",
                      {{"x-ms-offer-throughput", "20000"}})
                .status == 201);
    for (int i = 0; i < 6; ++i) {
      REQUIRE(cosmos()
                  .post("/dbs/mall/colls/items/docs", fmt::format(R"({{"id":"d{}","pk":"p{}","n":{}}})", i, i % 2, i))
                  .status == 201);
    }
    check();
  }

  CouchApiFixture& couch() { return couch_; }
  CosmosApiFixture& cosmos() { return *cosmos_; }
  /// Called when the next request of either API is ready to run.
  void before_run(const std::function<void()>& call) {
    couch_.before_run = call;
    if (cosmos_) cosmos_->before_run = call;
  }
  FaultPlan& faults() { return faults_; }

  /// Creates or changes a document while nothing fails; its revision.
  std::string revision_of(const std::string& id) {
    const auto existing = couch_.get("/shop/" + id);
    if (existing.status == 200) return text(existing.json(), "_rev");
    const auto created = couch_.put("/shop/" + id, R"({"n":1})");
    REQUIRE(created.status == 201);
    return text(created.json(), "rev");
  }

  /// Asks for a compaction, and waits for its end. While nothing fails, it must succeed.
  Received compact(std::string_view target) {
    const storage::CompactionQueue& compactions = couch_.engine().compactions();
    const auto wait = [&] {
      while (compactions.totals().waiting > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    wait();  // for one whose request was answered with an error
    const std::uint64_t failed_before = compactions.totals().failed;
    const Received answer = couch_.post(target, "{}");
    wait();
    const bool is_disturbed = faults_.is_armed() || couch_.before_run;
    if (!is_disturbed) CHECK(compactions.totals().failed == failed_before);
    return answer;
  }

  /// Reads of all kinds answer.
  void check_reads() {
    CHECK(couch_.get("/shop/p0:d0").status == 200);
    CHECK(couch_.get("/shop/_all_docs?include_docs=true").status == 200);
    CHECK(couch_.get("/shop/_changes").status == 200);
    CHECK(couch_.get("/shop/_partition/p1/_all_docs").status == 200);
    CHECK(couch_.get("/_all_dbs").status == 200);
    CHECK(couch_.get("/_up").status == 200);
  }

  /// Documents, feed, counters and indexes of all databases agree; indexes first catch up with their documents.
  void check() {
    for (const std::string& name : couch_.engine().databases().names()) {
      CAPTURE(name);
      const auto opened = couch_.engine().open_database(name);
      REQUIRE(opened);
      auto& database = **opened;
      storage::CheckReport report;
      for (std::size_t i = 0; i < database.physical_partition_count(); ++i) {
        const auto partition = storage::check_partition(database.physical_partition(i), database.partitioned());
        REQUIRE(partition);
        for (const auto& problem : partition->problems) report.add(problem);
      }
      // What follows the documents in the background may have met the fault too; it tries again by itself.
      const auto give_up = std::chrono::steady_clock::now() + catch_up_max;
      auto indexes = run_task(query::check_indexes(*query::services_of(database), report));
      while (!indexes && std::chrono::steady_clock::now() < give_up) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        indexes = run_task(query::check_indexes(*query::services_of(database), report));
      }
      if (!indexes) report.add("indexes: " + indexes.error().reason);
      CAPTURE(report.problems);
      CHECK(report.problem_count == 0);
    }
  }

  void restart() {
    const bool has_container = std::exchange(cosmos_, nullptr) != nullptr;
    couch_.restart();
    if (has_container) cosmos_ = std::make_unique<CosmosApiFixture>(couch_.engine(), couch_.settings());
  }

 private:
  void put_functions(const std::string& others) {
    const std::string view = R"("views":{"v":{"map":"function(doc) { emit(doc.n, 1); }","reduce":"_sum"}})";
    const std::string body = R"({"options":{"partitioned":false},)" + view + others + "}";
    REQUIRE(couch_.put("/shop/_design/functions", body).status == 201);
    check();
  }

  /// Longer than the longest pause between two attempts of the background, on a busy machine too.
  static constexpr std::chrono::seconds catch_up_max{30};

  static config::Settings settings() {
    config::Settings settings;
    settings.worker_threads = 2;
    settings.writer_threads = 2;
    settings.cosmos_key = "a2V5IG9mIHRoZSBzaG9w";
    settings.enforce_throughput = false;  // what throughput gives a container here is its physical partitions
    return settings;
  }

  FaultPlan faults_;
  CouchApiFixture couch_;
  std::unique_ptr<CosmosApiFixture> cosmos_;
};

/// One kind of request, and how it may be answered.
struct ShopRequest {
  using Send = std::function<Received()>;
  std::string name;
  /// Puts in place what the request needs, while nothing fails; what comes back sends it, as often as it is called.
  /// `n` makes documents and databases new ones.
  std::function<Send(FaultyShop&, const std::string& n)> prepare;
  std::set<int> success;
  std::set<int> repeated;  ///< also right where an earlier attempt took effect, though its answer was an error
  bool design = false;     ///< changes indexes
};

inline std::vector<ShopRequest> shop_reads() {
  const auto get = [](std::string target) {
    return
        [target](FaultyShop& shop, const std::string&) { return [&shop, target] { return shop.couch().get(target); }; };
  };
  const auto find = [](std::string target) {
    return [target](FaultyShop& shop, const std::string&) {
      return [&shop, target] { return shop.couch().post(target, R"({"selector":{"n":3}})"); };
    };
  };
  return {
      {"GET a document", get("/shop/p0:d0?revs_info=true"), {200}, {}},
      {"GET _all_docs", get("/shop/_all_docs?include_docs=true"), {200}, {}},
      {"GET a partition", get("/shop/_partition/p0/_all_docs"), {200}, {}},
      {"GET _changes", get("/shop/_changes?include_docs=true"), {200}, {}},
      {"GET the database", get("/shop"), {200}, {}},
      {"_find by the global index", find("/shop/_find"), {200}, {}},
      {"_find by the local index", find("/shop/_partition/p1/_find"), {200}, {}},
  };
}

/// Requests of a shop with functions. The documents that they ask for were just written, so that a view or search index
/// has to be written first.
inline std::vector<ShopRequest> shop_functions() {
  using N = const std::string&;
  const auto after_a_write = [](std::string target) {
    return [target](FaultyShop& shop, N n) {
      shop.revision_of("p0:followed" + n);
      return [&shop, target] { return shop.couch().get("/shop/_design/functions/" + target); };
    };
  };
  return {
      {"GET a view", after_a_write("_view/v?reduce=false"), {200}, {}},
      {"GET a reduced view", after_a_write("_view/v?group=true"), {200}, {}},
      {"GET a search", after_a_write("_search/all?q=n:1"), {200}, {}},
      {"POST _compact of a design document",
       [](FaultyShop& shop, N n) {
         shop.revision_of("p0:followed" + n);
         return [&shop] { return shop.compact("/shop/_compact/functions"); };
       },
       {202},
       {}},
      {"PUT a design document with functions, and ask it",
       [](FaultyShop& shop, N n) {
         return [&shop, n] {
           const std::string body = fmt::format(
               R"({{"options":{{"partitioned":false}},"views":{{"v":{{"map":"function(doc) {{ if (doc.n === 5) emit({}); }}"}}}},)"
               R"("validate_doc_update":"function(doc) {{ if (doc.never) throw({{forbidden: 'no'}}); }}"}})",
               n);
           const auto stored = shop.couch().put("/shop/_design/f" + n, body);
           if (stored.status != 201 && stored.status != 409) return stored;
           return shop.couch().get("/shop/_design/f" + n + "/_view/v?limit=1");
         };
       },
       {200},
       {},
       true},
      {"DELETE a design document with functions",
       [](FaultyShop& shop, N n) {
         const auto made =
             shop.couch().put("/shop/_design/x" + n,
                              R"({"views":{"v":{"map":"function(doc) { if (doc.n === 5) emit()" + n + "); }\"}}}");
         REQUIRE(made.status == 201);
         return [&shop, target = "/shop/_design/x" + n + "?rev=" + text(made.json(), "rev")] {
           return shop.couch().del(target);
         };
       },
       {200},
       {404, 409},
       true},
  };
}

/// Deletes what the run before made. A request allocates more with each database and index that there is: without this,
/// a test that fails each of its allocations in turn may have more to do after each run than before it.
inline void delete_of_run_before(FaultyShop& shop, std::string_view prefix, const std::string& n) {
  const std::string target = std::string(prefix) + std::to_string(std::stoi(n) - 1);
  const int status = shop.couch().del(target).status;
  REQUIRE((status == 200 || status == 404));
}

inline std::vector<ShopRequest> shop_writes() {
  using N = const std::string&;
  return {
      {"PUT a new document",
       [](FaultyShop& shop, N n) { return [&shop, n] { return shop.couch().put("/shop/p0:new" + n, R"({"n":7})"); }; },
       {201},
       {409}},
      {"PUT a change",
       [](FaultyShop& shop, N n) {
         return [&shop, id = "/shop/p1:changed" + n, revision = shop.revision_of("p1:changed" + n)] {
           return shop.couch().put(id, R"({"n":8,"_rev":")" + revision + "\"}");
         };
       },
       {201},
       {409}},
      {"DELETE a document",
       [](FaultyShop& shop, N n) {
         return [&shop, target = "/shop/p1:gone" + n + "?rev=" + shop.revision_of("p1:gone" + n)] {
           return shop.couch().del(target);
         };
       },
       {200},
       {404, 409}},
      {"PUT a conflict",
       [](FaultyShop& shop, N n) {
         shop.revision_of("p0:forked" + n);
         return [&shop, id = "/shop/p0:forked" + n + "?new_edits=false"] {
           return shop.couch().put(id, R"({"n":9,"_rev":"1-00000000000000000000000000000001"})");
         };
       },
       {201},
       {}},
      {"_bulk_docs over both physical partitions",
       [](FaultyShop& shop, N n) {
         std::string docs;
         for (int i = 0; i < 6; ++i) {
           docs += fmt::format(R"({}{{"_id":"p{}:bulk{}_{}","n":{}}})", i == 0 ? "" : ",", i % 2, n, i, i);
         }
         return [&shop, docs] { return shop.couch().post("/shop/_bulk_docs", R"({"docs":[)" + docs + "]}"); };
       },
       {201},
       {}},
      {"an atomic batch",
       [](FaultyShop& shop, N n) {
         return [&shop, n] {
           return shop.couch().post(
               "/shop/_partition/p0/_batch",
               fmt::format(R"({{"docs":[{{"_id":"p0:one{0}"}},{{"_id":"p0:two{0}","n":1}}]}})", n));
         };
       },
       {201},
       {409}},
      {"PUT a local document",
       [](FaultyShop& shop, N n) {
         return [&shop, n] { return shop.couch().put("/shop/_local/l" + n, R"({"n":1})"); };
       },
       {201},
       {409}},
      {"_purge",
       [](FaultyShop& shop, N n) {
         return [&shop, n, revision = shop.revision_of("p1:purged" + n)] {
           return shop.couch().post("/shop/_purge", fmt::format(R"({{"p1:purged{}":["{}"]}})", n, revision));
         };
       },
       {200, 201},
       {}},
      {"POST _compact",
       [](FaultyShop& shop, N n) {
         const std::string id = "p1:compacted" + n;
         const std::string revision = shop.revision_of(id);
         REQUIRE(shop.couch().put("/shop/" + id, R"({"n":2,"_rev":")" + revision + "\"}").status == 201);
         return [&shop] { return shop.compact("/shop/_compact"); };
       },
       {202},
       {}},
      {"PUT _security",
       [](FaultyShop& shop, N n) {
         return [&shop, n] {
           return shop.couch().put("/shop/_security", R"({"members":{"names":[],"roles":[]},"n":)" + n + "}");
         };
       },
       {200},
       {}},
      {"PUT _revs_limit",
       [](FaultyShop& shop, N n) { return [&shop, n] { return shop.couch().put("/shop/_revs_limit", "1" + n); }; },
       {200},
       {}},
      {"PUT a database",
       [](FaultyShop& shop, N n) {
         delete_of_run_before(shop, "/made", n);
         return [&shop, n] { return shop.couch().put("/made" + n + "?q=2"); };
       },
       {201},
       {412}},
      {"DELETE a database",
       [](FaultyShop& shop, N n) {
         REQUIRE(shop.couch().put("/doomed" + n).status == 201);
         return [&shop, n] { return shop.couch().del("/doomed" + n); };
       },
       {200},
       {404}},
      {"POST a local index",
       [](FaultyShop& shop, N n) {
         delete_of_run_before(shop, "/shop/_index/_design/newl/json/l", n);
         return [&shop, n] {
           return shop.couch().post("/shop/_index",
                                    fmt::format(R"({{"index":{{"fields":["l{0}"]}},"ddoc":"newl","name":"l{0}"}})", n));
         };
       },
       {200},
       {},
       true},
      {"POST a global index",
       [](FaultyShop& shop, N n) {
         delete_of_run_before(shop, "/shop/_index/_design/newg/json/g", n);
         return [&shop, n] {
           return shop.couch().post(
               "/shop/_index",
               fmt::format(R"({{"index":{{"fields":["g{0}"]}},"ddoc":"newg","name":"g{0}","partitioned":false}})", n));
         };
       },
       {200},
       {},
       true},
      {"DELETE an index",
       [](FaultyShop& shop, N n) {
         REQUIRE(shop.couch()
                     .post("/shop/_index",
                           fmt::format(R"({{"index":{{"fields":["x{0}"]}},"ddoc":"x{0}","name":"x{0}"}})", n))
                     .status == 200);
         return [&shop, n] { return shop.couch().del("/shop/_index/_design/x" + n + "/json/x" + n); };
       },
       {200},
       {404},
       true},
  };
}

}  // namespace octavo::tests
