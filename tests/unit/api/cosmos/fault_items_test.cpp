// Requests of the Cosmos DB API with every kind of fault: the answer is an error of the right kind in its dialect,
// reads continue, the same request succeeds afterwards, and the files are in order, also after a restart.
#include <algorithm>
#include <iterator>

#include <catch2/catch.hpp>

#include "support/fault_matrix.h"
#include "support/shop_items.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

void check_cosmos_error(const Received& answer, const FaultKind&) {
  const std::string code = text(answer.json(), "code");
  CHECK(code == (answer.status == 507   ? "InsufficientStorage"
                 : answer.status == 503 ? "ServiceUnavailable"
                                        : "InternalServerError"));
  CHECK_FALSE(text(answer.json(), "message").empty());
}

const FaultDialect cosmos_dialect{
    .check_error = check_cosmos_error,
    .check_success = [](const Received&, const FaultKind&) {},
    .read_one = [](FaultyShop& shop) { return shop.cosmos().get(items::path("d0"), items::of_key("p0")).status; },
    .check_reads = items::check_reads};

std::vector<ShopRequest> every_item_request() {
  std::vector<ShopRequest> requests = item_reads();
  std::ranges::move(item_writes(), std::back_inserter(requests));
  std::ranges::move(container_writes(), std::back_inserter(requests));
  return requests;
}

void restart_and_check(FaultyShop& shop) {
  shop.restart();
  items::check_reads(shop);
  shop.check();
}

}  // namespace

TEST_CASE("requests of the Cosmos DB API answer every fault") {
  const FaultKind kind = GENERATE(from_range(fault_kinds()));
  FaultyShop shop;
  shop.add_container();
  for (const ShopRequest& request : every_item_request())
    FaultMatrix(shop, cosmos_dialect).run_everywhere(request, kind, 1);
  restart_and_check(shop);
}

// Run by hand ([matrix]): it takes longer than all other tests of the API.
TEST_CASE("requests of the Cosmos DB API answer every fault at every storage call", "[.][matrix]") {
  const FaultKind kind = GENERATE(from_range(fault_kinds()));
  FaultyShop shop;
  shop.add_container();
  for (const ShopRequest& request : every_item_request()) {
    FaultMatrix(shop, cosmos_dialect).run_everywhere(request, kind);
    // Each full map has doubled the map: without an end of that, the address space would not suffice in time.
    restart_and_check(shop);
  }
}
