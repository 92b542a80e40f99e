// What an estimate of a range's size costs, and how right it is: octavo_bench_estimates [rows]
//
// A tree of `rows` rows (1,000,000 if not said) is written in order, written at random, and written in order with half
// of its rows deleted. The ranges begin anywhere, and have any length between 1 and all rows, each order of magnitude
// as often as another. The tree is in memory. A factor of 1.5 means that an estimate is half as large again as the
// range, or the range as the estimate. Prints Markdown.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "storage/lmdb/store.h"
#include "support/temporary_folder.h"

namespace {

using namespace octavo;
using namespace octavo::storage;
using Clock = std::chrono::steady_clock;

constexpr std::size_t batch = 10'000;
constexpr std::size_t ranges = 20'000;
const std::string value(20, 'v');

enum class Shape { in_order, at_random, half_deleted };

struct Range {
  std::string low;
  std::string high;
  std::size_t rows = 0;
};

std::string key(std::size_t number) {
  return fmt::format("{:016}", number);
}

template <class Change>
void change_all(Store& store, const std::vector<std::size_t>& numbers, Change change) {
  for (std::size_t begin = 0; begin < numbers.size(); begin += batch) {
    const auto done = store.write(64 << 20, [&](WriteTransaction& transaction) -> Expected<void> {
      const std::size_t end = std::min(numbers.size(), begin + batch);
      for (std::size_t i = begin; i < end; ++i) OCTAVO_TRY_VOID(change(transaction, key(numbers[i])));
      return {};
    });
    if (!done) throw std::runtime_error(done.error().reason);
  }
}

/// Writes the rows and returns how many have a number below i, for each i.
std::vector<std::uint32_t> fill(Store& store, std::size_t rows, Shape shape, std::mt19937_64& random) {
  std::vector<std::size_t> numbers(rows);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  if (shape == Shape::at_random) std::ranges::shuffle(numbers, random);
  const Tree tree = store.tree(0);
  change_all(store, numbers, [&](auto& transaction, const auto& row) { return transaction.put(tree, row, value); });

  std::vector<std::uint32_t> below(rows + 1, 1);
  if (shape == Shape::half_deleted) {
    std::erase_if(numbers, [&](std::size_t) { return random() % 2 == 0; });
    for (const std::size_t number : numbers) below[number] = 0;
    change_all(store, numbers, [&](auto& transaction, const auto& row) -> Expected<void> {
      OCTAVO_TRY_VOID(transaction.erase(tree, row));
      return {};
    });
  }
  std::exclusive_scan(below.begin(), below.end(), below.begin(), std::uint32_t{0});
  return below;
}

std::vector<Range> random_ranges(const std::vector<std::uint32_t>& below, std::mt19937_64& random) {
  const std::size_t rows = below.size() - 1;
  std::uniform_real_distribution<double> magnitude(0, std::log(static_cast<double>(rows)));
  std::vector<Range> found;
  while (found.size() < ranges) {
    const auto length = static_cast<std::size_t>(std::exp(magnitude(random)));
    const std::size_t low = random() % (rows - std::min(length, rows - 1));
    const std::size_t high = std::min(low + length, rows);
    found.push_back({key(low), key(high), below[high] - below[low]});
  }
  return found;
}

void measure(Store& store, std::string_view name, const std::vector<Range>& all, Closeness closeness) {
  const auto transaction = store.read();
  if (!transaction) throw std::runtime_error(transaction.error().reason);
  std::vector<double> factors;
  for (const auto& range : all) {  // also brings the pages into memory
    const auto estimate = transaction->rows_estimate(store.tree(0), range.low, range.high, closeness);
    if (!estimate) throw std::runtime_error("a range has no estimate");
    const auto ratio = (static_cast<double>(estimate->rows) + 1) / (static_cast<double>(range.rows) + 1);
    factors.push_back(std::max(ratio, 1 / ratio));
  }
  std::ranges::sort(factors);

  double best_us = 1e9;
  std::uint64_t sum = 0;
  for (int round = 0; round < 5; ++round) {
    const auto begin = Clock::now();
    for (const auto& range : all) {
      sum += transaction->rows_estimate(store.tree(0), range.low, range.high, closeness)->rows;
    }
    const std::chrono::duration<double, std::micro> elapsed = Clock::now() - begin;
    best_us = std::min(best_us, elapsed.count() / static_cast<double>(all.size()));
  }
  if (sum == 0) throw std::runtime_error("all ranges are empty");
  fmt::print("| {} | {} | {:.1f} | {:.2f} | {:.2f} | {:.2f} |\n", name,
             closeness == Closeness::rough ? "rough" : "close", best_us, factors[factors.size() / 2],
             factors[factors.size() * 99 / 100], factors.back());
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t rows = 1'000'000;
  if (argc > 1) {
    const std::string_view text = argv[1];
    const auto [end, error] = std::from_chars(text.begin(), text.end(), rows);
    if (error != std::errc{} || end != text.end() || rows < 1'000) {
      fmt::print(stderr, "octavo_bench_estimates [rows, at least 1000]\n");
      return 2;
    }
  }
  fmt::print("{} rows\n\n| rows | estimate | µs | median factor | 99 % | worst |\n|---|---|---:|---:|---:|---:|\n",
             rows);
  for (const auto& [shape, name] : {std::pair{Shape::in_order, "written in order"},
                                    {Shape::at_random, "written at random"},
                                    {Shape::half_deleted, "half of them deleted"}}) {
    tests::TemporaryFolder folder;
    Store::Options options;
    options.folder = folder.path() / "store";
    options.trees = {"rows"};
    options.durability = config::Durability::ephemeral;
    Store store(options);
    if (const auto created = store.create(); !created) throw std::runtime_error(created.error().reason);
    std::mt19937_64 random(7);
    const auto below = fill(store, rows, shape, random);
    const auto all = random_ranges(below, random);
    for (const auto closeness : {Closeness::rough, Closeness::close}) measure(store, name, all, closeness);
  }
}
