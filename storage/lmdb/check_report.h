#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace octavo::storage {

/// Findings of a check. Bounded: after problems_max problems the rest are only counted.
struct CheckReport {
  static constexpr std::size_t problems_max = 100;
  std::uint64_t documents = 0;
  std::uint64_t feed_rows = 0;
  std::uint64_t rows_of_format_1 = 0;  ///< that have not been written again since (format_upgrade)
  std::uint64_t problem_count = 0;
  std::vector<std::string> problems;  ///< one line each, naming tree and key

  bool sound() const { return problem_count == 0; }
  void add(std::string problem) {
    ++problem_count;
    if (problems.size() < problems_max) problems.push_back(std::move(problem));
  }
};

}  // namespace octavo::storage
