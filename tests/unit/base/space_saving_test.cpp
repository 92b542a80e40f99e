#include "base/sketch/space_saving.h"

#include <map>
#include <random>
#include <string>

#include <catch2/catch.hpp>

#include "base/fnv.h"

using octavo::fnv1a_64;

namespace {

struct Count {
  int times = 0;
};
using Sketch = octavo::SpaceSaving<Count, 64>;

Sketch::Entry& add(Sketch& sketch, const std::string& key, double weight = 1) {
  auto& entry = sketch.add(key, fnv1a_64(key), weight);
  ++entry.note.times;
  return entry;
}

}  // namespace

TEST_CASE("while there is room, a space-saving sketch counts exactly") {
  Sketch sketch;
  for (int i = 0; i < 640; ++i) add(sketch, std::to_string(i % 64), 2);
  REQUIRE(sketch.entries().size() == 64);
  for (const auto& entry : sketch.entries()) {
    CHECK(entry.weight == 20);
    CHECK(entry.error_max == 0);
    CHECK(entry.note.times == 10);
  }
}

TEST_CASE("a space-saving sketch finds every key above its share, never too low, never too high by more than that") {
  std::mt19937 random(7);
  Sketch sketch;
  std::map<std::string, double> exact;
  double total = 0;
  for (int i = 0; i < 50'000; ++i) {
    // Eight frequent keys among thousands of rare ones.
    const std::string key = random() % 2 == 0 ? "f" + std::to_string(random() % 8) : std::to_string(random() % 5'000);
    const double weight = 1 + static_cast<double>(random() % 9);
    add(sketch, key, weight);
    exact[key] += weight;
    total += weight;
  }
  const double share = total / 64;
  std::map<std::string, Sketch::Entry> found;
  for (const auto& entry : sketch.entries()) {
    found[entry.key] = entry;
    INFO(entry.key);
    CHECK(entry.weight >= exact[entry.key]);
    CHECK(entry.weight - entry.error_max <= exact[entry.key]);
    CHECK(entry.error_max <= share);
  }
  for (const auto& [key, weight] : exact) {
    INFO(key);
    if (weight > share) CHECK(found.contains(key));
  }
}

TEST_CASE("a key that replaces another one in a space-saving sketch starts with a new note") {
  Sketch sketch;
  for (int i = 0; i < 64; ++i) {
    add(sketch, std::to_string(i));
    add(sketch, std::to_string(i));
  }
  const auto& entry = add(sketch, "new");
  CHECK(entry.note.times == 1);
  CHECK(entry.weight == 3);
  CHECK(entry.error_max == 2);
}

TEST_CASE("a cleared space-saving sketch is empty") {
  Sketch sketch;
  for (int i = 0; i < 100; ++i) add(sketch, std::to_string(i));
  sketch.clear();
  CHECK(sketch.entries().empty());
  CHECK(add(sketch, "1").weight == 1);
}
