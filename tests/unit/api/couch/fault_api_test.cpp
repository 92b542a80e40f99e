// Every kind of request, with every kind of fault, at every storage call it makes: the answer is an error of the right
// kind, reads continue, the same request succeeds afterwards, and the files are in order, also after a restart.
#include <algorithm>
#include <iterator>
#include <limits>

#include <catch2/catch.hpp>

#include "support/fault_matrix.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

void check_couch_error(const Received& answer, const FaultKind&) {
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

const FaultDialect couch_dialect{
    .check_error = check_couch_error,
    .check_success = check_rows,
    .read_one = [](FaultyShop& faulty) { return faulty.couch().get("/shop/p0:d0").status; },
    .check_reads = [](FaultyShop& faulty) { faulty.check_reads(); }};

void run_everywhere(FaultyShop& faulty, const ShopRequest& request, const FaultKind& kind,
                    std::size_t points = std::numeric_limits<std::size_t>::max()) {
  FaultMatrix(faulty, couch_dialect).run_everywhere(request, kind, points);
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
