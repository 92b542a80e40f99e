// Projections whose writes fail: of the target, and of what they know.
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "query/database/database_services.h"
#include "query/project/projection_catalog.h"
#include "support/engine_fixture.h"
#include "support/eventually.h"
#include "support/fault_plan.h"
#include "support/patience.h"
#include "unit/query/definition_reader.h"
#include "unit/query/project/document_rows_form.h"

using namespace octavo;
using namespace std::chrono_literals;
using octavo::tests::EngineFixture;
using octavo::tests::eventually;
using octavo::tests::FaultPlan;
using octavo::tests::patiently;

namespace {

/// A source with the projection `p`, and its target.
class ProjectionFaultsFixture {
 public:
  explicit ProjectionFaultsFixture(std::uint64_t logical_partition_bytes_max = 20ULL << 30) {
    settings_.logical_partition_bytes_max = logical_partition_bytes_max;
    settings_.data_dir = folder_.path() / "data";
    settings_.durability = config::Durability::ephemeral;
    settings_.worker_threads = 2;
    start();
    source_ = engine_->create_database("source", {}).value();
    target_ = engine_->create_database("target", {.partitioned = true}).value();
  }

  void restart() {
    source_.reset();
    target_.reset();
    engine_.reset();
    start();
    source_ = engine_->open_database("source").value();
    target_ = engine_->open_database("target").value();
  }
  void add_projection(std::string_view members = R"("fields":["k","n"])",
                      const std::vector<std::shared_ptr<partitioning::Database>>& joined = {}) {
    const auto json =
        boost::json::parse(R"({"target":{"db":"target"},"key":"{k}","id":"{_id}",)" + std::string(members) + "}");
    auto definition = query::project::ProjectionDefinition::parse(json.as_object()).value();
    REQUIRE(projections().add("p", std::move(definition), *target_, joined));
  }

  query::project::Projections& projections() { return query::services_of(*source_)->projections(); }
  partitioning::Database& source() { return *source_; }
  partitioning::Engine& engine() { return *engine_; }
  FaultPlan& faults() { return faults_; }

  storage::Revision put(const std::string& id, int n, std::optional<storage::Revision> parent = {}) {
    return EngineFixture::put(*source_, id, fmt::format(R"({{"k":"k{}","n":{}}})", n % 2, n), parent).revision;
  }
  void remove(const std::string& id, const storage::Revision& revision) {
    EngineFixture::put(*source_, id, "{}", revision, true);
  }
  /// Waits until the projection has read everything.
  bool is_current() {
    return eventually(
        [&] {
          const auto view = projections().view("p");
          return view && view->current_through >= source_->watermark();
        },
        patiently(30s));
  }
  bool is_gone() {
    return eventually([&] { return !projections().view("p"); }, patiently(30s));
  }
  bool waits_for_fault() {
    return eventually([&] { return faults_.fired() > 0; }, patiently(30s));
  }
  /// The live row of this id, as its generation and its body.
  std::string row(const std::string& id) {
    const auto snapshot = target_->snapshot_for_document(id).value();
    const auto record = snapshot.find_stored_record(id).value();
    if (!record || record->deleted) return "none";
    return fmt::format("{} {}", record->revision.generation, snapshot.open(*record).value().body);
  }
  /// A part of the paths of the stores that a fault is for.
  std::string target_folder() const { return target_->folder().string(); }

 private:
  void start() {
    auto opened =
        partitioning::Engine::open(settings_,
                                   query::DatabaseServices::factory(nullptr, octavo::tests::read_definition, unix_now_s,
                                                                    octavo::tests::read_document_rows_form),
                                   &faults_);
    if (!opened) throw std::runtime_error(opened.error().reason);
    engine_ = std::move(*opened);
  }

  octavo::tests::TemporaryFolder folder_;
  config::Settings settings_;
  FaultPlan faults_;
  std::unique_ptr<partitioning::Engine> engine_;
  std::shared_ptr<partitioning::Database> source_;
  std::shared_ptr<partitioning::Database> target_;
};

}  // namespace

TEST_CASE("wherever its writes fail, a projection writes each change once as soon as they succeed again") {
  using At = storage::StorageCall;
  ProjectionFaultsFixture shop;
  shop.add_projection();
  const std::array<FaultPlan::Fault, 3> kinds{{
      {.code = ENOSPC, .calls = {At::put, At::erase, At::commit}, .lasting = true},
      {.code = EIO, .calls = {At::commit}, .took_place = true},
      {.code = FaultPlan::no_memory, .calls = {At::put, At::erase, At::begin_write}},
  }};
  int number = 0;
  for (const std::string& folder : {std::string("projection-"), shop.target_folder()}) {
    for (const auto& kind : kinds) {
      for (std::size_t from = 1; from <= 5; ++from) {
        const std::string id = "d" + std::to_string(++number);
        CAPTURE(folder, kind.code, from, id);
        const auto first = shop.put(id, 1);
        const auto gone = shop.put(id + "x", 1);
        REQUIRE(shop.is_current());
        auto fault = kind;
        fault.from = from;
        fault.folder_part = folder;
        shop.faults().plan(fault);
        shop.put(id, 3, first);
        shop.remove(id + "x", gone);
        shop.put(id + "y", 2);
        // There may be fewer calls than that.
        eventually([&] { return shop.faults().fired() > 0 || shop.faults().seen() + 1 < from; }, 1s);
        shop.faults().heal();
        REQUIRE(shop.is_current());
        CHECK(shop.row("k1:" + id) == R"(2 {"k":"k1","n":3})");
        CHECK(shop.row("k1:" + id + "x") == "none");
        CHECK(shop.row("k0:" + id + "y") == R"(1 {"k":"k0","n":2})");
      }
    }
  }
  const auto view = shop.projections().view("p").value();
  CHECK(view.status.numbers.rows == 2 * static_cast<std::uint64_t>(number));
  CHECK(view.status.numbers.occupied == 0);
}

TEST_CASE("a restart amid failing writes of a projection loses and doubles no row") {
  ProjectionFaultsFixture shop;
  shop.add_projection();
  const auto first = shop.put("a", 1);
  const auto gone = shop.put("b", 1);
  REQUIRE(shop.is_current());
  shop.faults().plan({.code = ENOSPC,
                      .calls = {storage::StorageCall::put, storage::StorageCall::commit},
                      .lasting = true,
                      .folder_part = shop.target_folder()});
  shop.put("a", 2, first);
  shop.remove("b", gone);
  REQUIRE(shop.waits_for_fault());
  shop.faults().heal();
  shop.restart();
  REQUIRE(shop.is_current());
  CHECK(shop.row("k1:a") == "none");
  CHECK(shop.row("k0:a") == R"(1 {"k":"k0","n":2})");
  CHECK(shop.row("k1:b") == "none");
}

TEST_CASE("a projection that is deleted amid failing writes leaves no row, not even one that it was deleting") {
  ProjectionFaultsFixture shop;
  shop.add_projection();
  const auto first = shop.put("a", 1);
  shop.put("b", 1);
  REQUIRE(shop.is_current());
  shop.faults().plan({.code = ENOSPC,
                      .calls = {storage::StorageCall::put, storage::StorageCall::erase, storage::StorageCall::commit},
                      .lasting = true,
                      .folder_part = shop.target_folder()});
  shop.remove("a", first);
  REQUIRE(shop.waits_for_fault());
  REQUIRE(shop.projections().remove("p", {}, false));
  shop.faults().heal();
  REQUIRE(shop.is_gone());
  CHECK(shop.row("k1:a") == "none");
  CHECK(shop.row("k1:b") == "none");
}

TEST_CASE("a projection of the name of one that was deleted twice stays") {
  ProjectionFaultsFixture shop;
  shop.add_projection();
  shop.put("a", 1);
  REQUIRE(shop.is_current());
  // Both deletions wait for the disk, the second one longer.
  shop.faults().plan({.code = ENOSPC,
                      .calls = {storage::StorageCall::put, storage::StorageCall::erase, storage::StorageCall::commit},
                      .lasting = true,
                      .folder_part = shop.target_folder()});
  REQUIRE(shop.projections().remove("p", {}, false));
  REQUIRE(shop.waits_for_fault());
  std::this_thread::sleep_for(1s);
  REQUIRE(shop.projections().remove("p", {}, false));
  std::this_thread::sleep_for(300ms);
  shop.faults().heal();
  REQUIRE(shop.is_gone());
  shop.add_projection();
  const auto is_forgotten = [&] {
    return query::project::projections_of(shop.engine().catalog(), shop.source().instance_tag()).value().empty();
  };
  CHECK(!eventually(is_forgotten, 3s));
}

TEST_CASE("rows that a joined document alters are made again in batches of bounded size") {
  ProjectionFaultsFixture shop;
  const auto users = shop.engine().create_database("users", {}).value();
  const auto before = EngineFixture::put(*users, "u", R"({"name":"old"})");
  shop.add_projection(R"("fields":{"k":true,"text":true,"name":"u.name"},)"
                      R"("joins":{"u":{"lookup":{"db":"users","id":"{u}"}}})",
                      {users});
  const std::string text(5'000'000, 'x');
  for (const char* const id : {"a", "b", "c"}) {
    EngineFixture::put(shop.source(), id, R"({"k":"k","u":"u","text":")" + text + "\"}");
  }
  REQUIRE(shop.is_current());
  shop.faults().plan({.calls = {storage::StorageCall::commit}, .from = SIZE_MAX, .folder_part = "projection-"});
  EngineFixture::put(*users, "u", R"({"name":"new"})", before.revision);
  REQUIRE(eventually(
      [&] {
        const auto view = shop.projections().view("p").value();
        return view.status.joins.front().current_through >= users->watermark();
      },
      patiently(30s)));
  for (const char* const id : {"k:a", "k:b", "k:c"}) CHECK(shop.row(id).find(R"("name":"new")") != std::string::npos);
  // The change, two rows, one row, and the end.
  CHECK(shop.faults().seen() == 4);
}

TEST_CASE("a partition key without room for rows of a projection does not stop those of others") {
  ProjectionFaultsFixture shop(20);
  shop.add_projection();
  shop.put("a", 1);
  shop.put("b", 11);
  shop.put("c", 21);
  shop.put("d", 2);
  REQUIRE(shop.is_current());
  CHECK(shop.row("k1:a") == R"(1 {"k":"k1","n":1})");
  CHECK(shop.row("k1:b") == "none");
  CHECK(shop.row("k0:d") == R"(1 {"k":"k0","n":2})");
  CHECK(shop.projections().view("p")->status.numbers.occupied == 2);
}
