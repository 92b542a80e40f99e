// Caches that are refused memory: they are as they were before, and continue to discard entries.
#include <cstddef>
#include <new>
#include <string>

#include <catch2/catch.hpp>

#include "faults/failing_allocator.h"
#include "query/search/run/byte_bounded_cache.h"

using octavo::query::search::ByteBoundedCache;
using octavo::tests::fail_allocation;
using octavo::tests::stop_failing;

TEST_CASE("a cache that is refused memory for an entry does not have it, and still discards the least recently used") {
  bool refused = true;
  std::size_t n = 0;
  while (refused) {
    ++n;
    CAPTURE(n);
    // Given a cache with room for two entries, which has one
    ByteBoundedCache<std::string, int> cache(20);
    cache.insert("a", 1, 10);
    // When another one is added and the n-th allocation for it fails
    fail_allocation(n);
    try {
      cache.insert("b", 2, 10);
    } catch (const std::bad_alloc&) {
    }
    refused = stop_failing();
    CHECK((cache.find("b") == nullptr) == refused);
    CHECK(cache.find("a") != nullptr);
    // Then later entries displace those that are there
    for (const char* key : {"c", "d", "e"}) cache.insert(key, 3, 10);
    for (const char* key : {"a", "b", "c"}) CHECK(cache.find(key) == nullptr);
    for (const char* key : {"d", "e"}) CHECK(cache.find(key) != nullptr);
  }
  CHECK(n > 2);
}
