#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "query/sql/evaluate/program.h"

namespace octavo::query::sql {

/// One aggregate over the values that are added.
class Accumulator {
 public:
  explicit Accumulator(AggregateKind kind) : kind_(kind) {}

  /// Returns the additional memory that it took, in bytes.
  std::size_t add(Evaluation& evaluation, const Value& value);
  Value result(Evaluation& evaluation) const;

 private:
  AggregateKind kind_;
  bool impossible_ = false;  ///< had a value for which it is not defined
  std::uint64_t count_ = 0;
  double sum_ = 0;
  std::string best_key_;  ///< of the minimum or maximum
  std::string text_;      ///< of it as JSON; for lists and sets: their elements, separated by commas
  std::unordered_set<std::string> seen_;
};

/// Rows grouped by the values of their GROUP BY expressions, in the order of these values; without GROUP BY there is
/// one group from the beginning.
class Groups {
 public:
  explicit Groups(const Program& program);

  /// Adds the bound row. With `groups_max`, keeps only the first groups in their order after `after`, and drops those
  /// that cannot be among them. False: the evaluation failed.
  bool add_row(Evaluation& evaluation, std::size_t groups_max = SIZE_MAX, const std::string* after = nullptr);
  /// Appends the key of the group that the bound row belongs to. False: the evaluation failed.
  bool append_key(Evaluation& evaluation, std::string& out) const;
  std::size_t bytes() const { return bytes_; }
  std::size_t size() const { return groups_.size(); }

  struct Group {
    std::vector<std::string> values;  ///< of the GROUP BY expressions, as JSON; empty: undefined
    std::vector<Accumulator> accumulators;
    std::size_t bytes = 0;
  };
  using Map = std::map<std::string, Group, std::less<>>;
  const Map& all() const { return groups_; }

  /// Makes projected expressions refer to `group`.
  void select(Evaluation& evaluation, const Group& group) const;
  void unselect(Evaluation& evaluation) const { evaluation.group = outer_; }
  Value aggregate(Evaluation& evaluation, std::size_t number) const;
  Value key(Evaluation& evaluation, std::size_t number) const;

 private:
  Group make_group() const;

  const Program& program_;
  Map groups_;
  std::size_t bytes_ = 0;
  std::vector<Value> arguments_;  ///< of the aggregates, of the row that is being added
  mutable const Group* selected_ = nullptr;
  mutable const Groups* outer_ = nullptr;
};

}  // namespace octavo::query::sql
