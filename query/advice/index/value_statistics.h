#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "query/json/field_path.h"
#include "query/view/distinct_estimate.h"

namespace octavo::query::advice {

/// Documents that have some properties, and how many different values these have together.
struct ValueCount {
  std::uint64_t documents = 0;
  std::uint64_t values = 0;

  /// Documents of a value, if all have about the same number.
  double rows() const { return values == 0 ? 0 : static_cast<double>(documents) / static_cast<double>(values); }
};

/// Counts the different values of sets of properties in the documents of a scan, each by a HyperLogLog sketch of 2 KB
/// (standard error 2.3 %). Not thread-safe.
class ValueStatistics {
 public:
  static constexpr std::size_t paths_max = 64;
  static constexpr std::size_t sets_max = 256;

  /// Before the first document: the set is to be counted. Without effect if there are too many. `in_partition`: equal
  /// values in different logical partitions differ.
  void expect(std::span<const FieldPath> paths, bool in_partition);
  void add(const simdjson::dom::element& body, std::string_view partition_key);
  /// nullopt: the set is not counted.
  std::optional<ValueCount> count(std::span<const FieldPath> paths, bool in_partition) const;
  std::uint64_t documents() const { return documents_; }

 private:
  struct Set {
    std::vector<std::size_t> paths;  ///< numbers, sorted
    bool in_partition;
    std::uint64_t documents = 0;
    views::DistinctEstimate values;
  };
  std::optional<std::vector<std::size_t>> numbers_of(std::span<const FieldPath> paths) const;

  std::vector<FieldPath> paths_;
  std::vector<Set> sets_;
  std::vector<std::uint64_t> hashes_;  ///< by path, of the present document; 0: it lacks the property
  std::uint64_t documents_ = 0;
};

}  // namespace octavo::query::advice
