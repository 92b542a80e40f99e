// The sizes of ranges that the planner sees, in a real database.
#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "partitioning/partition_move.h"
#include "unit/query/mango/find_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

constexpr std::size_t measured_documents = 30'000;

std::string measured_id(std::size_t number) {
  const std::string digits = std::to_string(number);
  return "d" + std::string(5 - digits.size(), '0') + digits;
}

// Writes the documents in random order.
void write_measured_documents(partitioning::Database& database, std::mt19937& random) {
  constexpr std::size_t at_once = 500;
  std::vector<std::size_t> numbers(measured_documents);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  std::ranges::shuffle(numbers, random);
  for (std::size_t i = 0; i < numbers.size(); i += at_once) {
    std::vector<storage::DocumentWrite> writes(at_once);
    for (std::size_t j = 0; j < at_once; ++j) {
      writes[j].id = measured_id(numbers[i + j]);
      writes[j].body = R"({"n":)" + std::to_string(numbers[i + j]) + "}";
    }
    const auto results = run_task(database.write(std::move(writes)));
    REQUIRE(std::ranges::all_of(results, [](const auto& result) { return result.has_value(); }));
  }
}

/// How the planner sees `low` <= number < `high`: by the index of the numbers, or by the ids.
std::uint64_t rows_seen(FindFixture& fixture, bool by_id, std::size_t low, std::size_t high) {
  const auto value = [&](std::size_t number) { return by_id ? json::value(measured_id(number)) : json::value(number); };
  const json::object range{{"$gte", value(low)}, {"$lt", value(high)}};
  const json::object query{{"selector", json::object{{by_id ? "_id" : "n", range}}}};
  const auto explained = fixture.explain(json::serialize(query));
  for (const query::Candidate& candidate : explained->candidates) {
    if (candidate.index.has_value() != by_id) return candidate.rows;
  }
  throw std::runtime_error("no such candidate");
}

/// The factor by which 99 of 100 sizes of random ranges are wrong at most.
double usual_factor(FindFixture& fixture, bool by_id, std::mt19937& random) {
  std::vector<double> factors;
  for (int i = 0; i < 200; ++i) {
    auto low = random() % measured_documents;
    auto high = random() % measured_documents;
    if (high < low) std::swap(low, high);
    const auto actual = static_cast<double>(high - low + 1);
    const auto seen = static_cast<double>(rows_seen(fixture, by_id, low, high) + 1);
    factors.push_back(std::max(seen / actual, actual / seen));
  }
  std::ranges::sort(factors);
  return factors[factors.size() * 99 / 100];
}

}  // namespace

TEST_CASE("sizes of ranges are right within a factor of 1.5, also in a bulk-built index and after a split") {
  FindFixture fixture;
  std::mt19937 random(7);
  write_measured_documents(*fixture.database, random);
  CHECK(usual_factor(fixture, true, random) < 1.5);

  fixture.create_index(R"({"index":{"fields":["n"]},"ddoc":"by-n","name":"by-n"})");
  fixture.wait_for_indexes();
  CHECK(usual_factor(fixture, false, random) < 1.5);

  const std::function<bool()> never = [] { return false; };
  const std::size_t partition_id = fixture.database->partition_ids().front();
  REQUIRE(partitioning::PartitionMove(fixture.database, {partition_id}, never).run().has_value());
  CHECK(fixture.database->partition_ids().size() == 2);
  CHECK(usual_factor(fixture, true, random) < 1.5);
  CHECK(usual_factor(fixture, false, random) < 1.5);
}
