#include "query/view/distinct_estimate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/murmur3.h"

namespace octavo::query::views {

namespace {

// Ertl, "New cardinality estimation algorithms for HyperLogLog sketches", section 4.
double sigma(double x) {
  if (x == 1.0) return INFINITY;
  double y = 1;
  double z = x;
  double before = 0;
  do {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  } while (z != before);
  return z;
}

double tau(double x) {
  if (x == 0.0 || x == 1.0) return 0.0;
  double y = 1;
  double z = 1 - x;
  double before = 0;
  do {
    x = std::sqrt(x);
    before = z;
    y *= 0.5;
    z -= (1 - x) * (1 - x) * y;
  } while (z != before);
  return z / 3;
}

}  // namespace

void DistinctEstimate::add(std::string_view key) {
  const std::uint64_t hash = murmur3_x64_128(key).high;
  const std::size_t number = hash >> (64 - precision_bits);
  const std::uint64_t rest = hash << precision_bits;
  const int rank = rest == 0 ? rank_max : std::countl_zero(rest) + 1;
  ranks_[number] = std::max(ranks_[number], static_cast<std::uint8_t>(rank));
}

void DistinctEstimate::merge(const DistinctEstimate& other) {
  for (std::size_t i = 0; i < register_count; ++i) ranks_[i] = std::max(ranks_[i], other.ranks_[i]);
}

std::uint64_t DistinctEstimate::count() const {
  std::array<int, rank_max + 1> histogram{};
  for (const auto rank : ranks_) ++histogram[std::min<int>(rank, rank_max)];
  constexpr double m = register_count;
  double z = m * tau(1 - histogram[rank_max] / m);
  for (int k = rank_max - 1; k >= 1; --k) z = 0.5 * (z + histogram[static_cast<std::size_t>(k)]);
  z += m * sigma(histogram[0] / m);
  constexpr double alpha = 0.5 / std::numbers::ln2;
  return static_cast<std::uint64_t>(std::llround(alpha * m * m / z));
}

void DistinctEstimate::append_to(std::string& state) const {
  const auto used = register_count - static_cast<std::size_t>(std::ranges::count(ranks_, 0));
  if (3 * used >= register_count) {
    state.push_back('\1');
    state.append(reinterpret_cast<const char*>(ranks_.data()), ranks_.size());
    return;
  }
  state.push_back('\0');
  for (std::size_t i = 0; i < register_count; ++i) {
    if (ranks_[i] == 0) continue;
    state.push_back(static_cast<char>(i >> 8));
    state.push_back(static_cast<char>(i));
    state.push_back(static_cast<char>(ranks_[i]));
  }
}

DistinctEstimate DistinctEstimate::from(std::string_view state) {
  DistinctEstimate estimate;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(state[i]); };
  if (state.starts_with('\1') && state.size() == register_count + 1) {
    for (std::size_t i = 0; i < register_count; ++i) estimate.ranks_[i] = byte(i + 1);
  } else if (state.starts_with('\0')) {
    for (std::size_t i = 1; i + 2 < state.size(); i += 3) {
      const std::size_t number = std::size_t{byte(i)} << 8 | byte(i + 1);
      if (number < register_count) estimate.ranks_[number] = byte(i + 2);
    }
  }
  return estimate;
}

}  // namespace octavo::query::views
