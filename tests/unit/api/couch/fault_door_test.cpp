// Every kind of request, with every kind of fault, at every storage call it makes: the answer is an error of the right
// kind, reads go on, the same request succeeds afterwards, and the files are in order, also after a restart.
#include <algorithm>
#include <iterator>
#include <limits>

#include <catch2/catch.hpp>

#include "support/faulty_shop.h"

using namespace octavo;
using namespace octavo::tests;
using At = storage::StorageCall;

namespace {

// Sanitizers make each check many times as long: they see every few calls only.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kStride = 7;
#else
constexpr std::size_t kStride = 1;
#endif

struct FaultKind {
  std::string name;
  FaultPlan::Fault fault;
  std::set<int> statuses;  ///< how a request may be answered that meets it
};

const std::set<At> kEverything{};
const std::set<At> kOfTheDisk{At::create_folder, At::open, At::put, At::erase, At::commit, At::sync};

std::vector<FaultKind> fault_kinds() {
  return {
      {"the disk is full", {.code = ENOSPC, .calls = kOfTheDisk, .lasting = true}, {507}},
      {"one call finds the disk full", {.code = ENOSPC, .calls = kOfTheDisk}, {507}},
      {"the disk fails and stays so", {.code = EIO, .calls = {At::commit, At::sync}, .lasting = true}, {500}},
      {"one call fails on the disk", {.code = EIO, .calls = kOfTheDisk}, {500}},
      {"the meta page fails", {.code = EIO, .calls = {At::commit}, .panics = true}, {500}},
      {"the meta page fails, but is stored",
       {.code = EIO, .calls = {At::commit}, .took_place = true, .panics = true},
       {500}},
      {"the map is full", {.code = MDB_MAP_FULL, .calls = {At::put, At::erase}}, {}},
      {"no reader slot", {.code = MDB_READERS_FULL, .calls = {At::begin_read}}, {503}},
      {"no descriptor", {.code = EMFILE, .calls = {At::open}}, {503}},
      {"no address space", {.code = ENOMEM, .calls = {At::grow, At::open}}, {503}},
      {"no memory", {.code = FaultPlan::kNoMemory, .calls = kEverything}, {503}},
  };
}

/// One request that meets a fault, and what must hold after it.
void check_answer(const Received& answer, const ShopRequest& request, const FaultKind& kind) {
  if (request.success.contains(answer.status)) return;
  CAPTURE(answer.status, answer.body);
  CHECK(kind.statuses.contains(answer.status));
  CHECK_FALSE(text(answer.json(), "error").empty());
  CHECK_FALSE(text(answer.json(), "reason").empty());
}

/// _bulk_docs answers 201 with an error for each document that was not written.
void check_rows(const Received& answer, const FaultKind& kind) {
  const auto rows = answer.json();
  if (!rows.is_array()) return;
  for (const auto& row : rows.get_array()) {
    const auto error = text(row, "error");
    if (error.empty()) continue;
    const std::string expected = kind.statuses.contains(507)   ? "insufficient_storage"
                                 : kind.statuses.contains(500) ? "io_failure"
                                                               : "service unavailable";
    CHECK(error == expected);
  }
}

/// How many of the calls that may fail a request makes when none does. Work in the background adds its own now and then.
std::size_t calls_of(FaultyShop& faulty, const ShopRequest& request, const FaultKind& kind, const std::string& run) {
  const auto send = request.prepare(faulty, run);
  auto never = kind.fault;
  never.from = std::numeric_limits<std::size_t>::max();
  faulty.faults().plan(never);
  const Received answer = send();
  const std::size_t calls = faulty.faults().seen();
  faulty.faults().heal();
  CAPTURE(request.name, answer.status, answer.body);
  CHECK(request.success.contains(answer.status));
  return calls;
}

/// At each call, or at `points` of them, spread evenly.
void run_everywhere(FaultyShop& faulty, const ShopRequest& request, const FaultKind& kind,
                    std::size_t points = std::numeric_limits<std::size_t>::max()) {
  static int run = 0;
  // The first one opens what the next ones find open.
  calls_of(faulty, request, kind, std::to_string(++run));
  const std::size_t calls = calls_of(faulty, request, kind, std::to_string(++run));
  const std::size_t stride = std::max(kStride, (calls + points - 1) / points);
  for (std::size_t n = (stride + 1) / 2; n <= calls; n += stride) {
    CAPTURE(request.name, kind.name, n, calls);
    const auto send = request.prepare(faulty, std::to_string(++run));
    auto fault = kind.fault;
    fault.from = n;
    faulty.faults().plan(fault);
    const Received answer = send();
    const bool struck = faulty.faults().fired() > 0;
    // While the disk is full, or fails every write, what was acknowledged can be read.
    if (struck && fault.lasting && !fault.calls.contains(At::begin_read)) {
      CHECK(faulty.door().get("/shop/p0:d0").status == 200);
    }
    faulty.faults().heal();
    if (struck) {
      check_answer(answer, request, kind);
      check_rows(answer, kind);
    } else {
      CAPTURE(answer.status, answer.body);
      CHECK(request.success.contains(answer.status));
    }
    faulty.check_reads();
    const Received again = send();
    CAPTURE(again.status, again.body);
    CHECK((request.success.contains(again.status) || request.repeated.contains(again.status)));
    faulty.check();
  }
}

std::vector<ShopRequest> every_request() {
  std::vector<ShopRequest> requests = shop_reads();
  std::ranges::move(shop_writes(), std::back_inserter(requests));
  std::ranges::move(shop_functions(), std::back_inserter(requests));
  return requests;
}

}  // namespace

TEST_CASE("every request answers every fault") {
  const FaultKind kind = GENERATE(from_range(fault_kinds()));
  FaultyShop faulty;
  faulty.add_functions();
  for (const ShopRequest& request : every_request()) run_everywhere(faulty, request, kind, 2);
  faulty.restart();
  faulty.check_reads();
  faulty.check();
}

// Run by hand ([matrix]): it takes longer than all other tests of the API.
TEST_CASE("every request answers every fault at every storage call, and afterwards all is in order", "[.][matrix]") {
  const FaultKind kind = GENERATE(from_range(fault_kinds()));
  FaultyShop faulty;
  faulty.add_functions();
  for (const ShopRequest& request : every_request()) {
    run_everywhere(faulty, request, kind);
    // Each full map has doubled the map: without an end of that, the address space would not suffice in time.
    faulty.restart();
    faulty.check_reads();
    faulty.check();
  }
}
