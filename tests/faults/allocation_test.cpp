// Each kind of request, refused memory at its first allocation, its second, and so on until it runs through: it is
// answered, the server lives, nothing is half done, and the same request succeeds afterwards.
//
// Allocations are counted in all threads: the I/O thread, the writers, the workers that update indexes.
#include <new>

#include <catch2/catch.hpp>
#include <spdlog/spdlog.h>

#include "faults/failing_allocator.h"
#include "support/faulty_shop.h"
#include "support/shop_items.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

struct Run {
  std::size_t allocations = 0;
  std::size_t refused = 0;  ///< answered 503
  std::size_t dropped = 0;  ///< not answered by the API: the connection answers 503 itself
};

Run run_everywhere(FaultyShop& shop, const ShopRequest& request) {
  static int number = 0;
  Run run;
  int without_fault = 0;
  // Threads in the background allocate too, so the end is where two runs in a row meet no fault.
  for (std::size_t n = 1; without_fault < 2; ++n) {
    CAPTURE(request.name, n);
    const auto send = request.prepare(shop, std::to_string(++number));
    shop.before_run([n] { fail_allocation(n); });
    std::optional<Received> answer;
    try {
      answer = send();
    } catch (const std::bad_alloc&) {
      ++run.dropped;
    }
    const bool struck = stop_failing();
    shop.before_run(nullptr);
    without_fault = struck ? 0 : without_fault + 1;
    if (answer) {
      CAPTURE(answer->status, answer->body);
      const bool refused = struck && answer->status == 503;
      CHECK((refused || answer->broken || request.success.contains(answer->status)));
      if (refused) ++run.refused;
    }
    const Received again = send();
    CAPTURE(again.status, again.body);
    CHECK((request.success.contains(again.status) || request.repeated.contains(again.status)));
    if (struck) run.allocations = n;
    if (number % 8 == 0) shop.check();
  }
  shop.check();
  return run;
}

void run_and_tell(FaultyShop& shop, const ShopRequest& request) {
  const Run run = run_everywhere(shop, request);
  WARN(request.name << ": " << run.allocations << " allocations, " << run.refused << " times 503, " << run.dropped
                    << " dropped");
  CHECK(run.allocations > 5);
}

// What the background does for a request, and after it, while it is short of memory again and again.
void run_beside_shortage(FaultyShop& shop, const ShopRequest& request) {
  constexpr int rounds = 8;
  constexpr std::chrono::milliseconds follow_time{25};  // global indexes are updated by then
  static int number = 0;
  for (const unsigned one_in : {100U, 40U, 20U}) {
    for (int round = 0; round < rounds; ++round) {
      CAPTURE(request.name, one_in, round);
      const auto send = request.prepare(shop, std::to_string(++number));
      shop.before_run([one_in] { fail_in_background(one_in); });
      std::optional<Received> answer;
      try {
        answer = send();
      } catch (const std::bad_alloc&) {
        // That of a worker: the connection answers 503 itself.
      }
      if (round % 4 == 0) std::this_thread::sleep_for(follow_time);
      stop_failing();
      shop.before_run(nullptr);
      if (answer) {
        CAPTURE(answer->status, answer->body);
        CHECK((answer->status == 503 || answer->broken || request.success.contains(answer->status)));
      }
      const Received again = send();
      CAPTURE(again.status, again.body);
      CHECK((request.success.contains(again.status) || request.repeated.contains(again.status)));
    }
    shop.check();
  }
}

}  // namespace

TEST_CASE("the allocator fails the allocation it is told to") {
  fail_allocation(2);
  auto first = std::make_unique<int>(1);
  CHECK_THROWS_AS(std::make_unique<int>(2), std::bad_alloc);
  auto third = std::make_unique<int>(3);
  CHECK(stop_failing());
  CHECK(*first + *third == 4);
}

TEST_CASE("a request that is refused memory at any allocation is answered, and leaves nothing half done") {
  FaultyShop shop(config::Durability::ephemeral);
  auto requests = shop_reads();
  std::ranges::move(shop_writes(), std::back_inserter(requests));
  for (const ShopRequest& request : requests) run_and_tell(shop, request);
  shop.restart();
  shop.check_reads();
  shop.check();
}

TEST_CASE("requests are answered while threads in the background are short of memory") {
  spdlog::default_logger();  // made at the first call, without a way back; the server calls it when it starts
  std::vector<ShopRequest> requests;
  for (auto&& some : {shop_reads(), shop_writes(), shop_functions(), item_reads(), item_writes()}) {
    std::ranges::copy(some, std::back_inserter(requests));
  }
  // JavaScript has allocators of its own: a procedure is told that it used too much memory.
  std::erase_if(requests, [](const ShopRequest& request) {
    return request.name == "GET a search" || request.name.find("procedure") != std::string::npos;
  });
  for (const ShopRequest& request : requests) {
    FaultyShop shop(config::Durability::ephemeral);
    // No search index: Lucene++ does not stand a second shortage while it deals with the first.
    shop.add_view();
    shop.add_container();
    run_beside_shortage(shop, request);
    shop.restart();
    shop.check_reads();
    items::check_reads(shop);
    shop.check();
  }
}

TEST_CASE("a request of the Cosmos DB API that is refused memory is answered, and leaves nothing half done") {
  FaultyShop shop(config::Durability::ephemeral);
  shop.add_container();
  auto requests = item_reads();
  std::ranges::move(item_writes(), std::back_inserter(requests));
  // JavaScript has allocators of its own, which are bounded in another way.
  std::erase_if(requests,
                [](const ShopRequest& request) { return request.name.find("procedure") != std::string::npos; });
  for (const ShopRequest& request : requests) run_and_tell(shop, request);
  shop.restart();
  items::check_reads(shop);
  shop.check();
}
