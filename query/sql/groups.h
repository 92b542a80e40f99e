#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "query/sql/program.h"

namespace octavo::query::sql {

/// One aggregate over the values it has been given.
class Accumulator {
 public:
  explicit Accumulator(AggregateKind kind) : kind_(kind) {}

  /// Bytes of memory that it took in addition.
  std::size_t add(Evaluation& evaluation, const Value& value);
  Value result(Evaluation& evaluation) const;

 private:
  AggregateKind kind_;
  bool impossible_ = false;  ///< had a value that it is not defined for
  std::uint64_t count_ = 0;
  double sum_ = 0;
  std::string best_key_;  ///< of the minimum or maximum
  std::string text_;      ///< of it as JSON; of lists and sets: their elements, separated by commas
  std::unordered_set<std::string> seen_;
};

/// Rows gathered by the values of their GROUP BY expressions, in the order of these; without GROUP BY one group, which
/// is there from the beginning.
class Groups {
 public:
  explicit Groups(const Program& program);

  /// Adds the row that is bound. With `groups_max`, only the first groups in their order after `after` are kept: those
  /// that cannot be among them are dropped. False: the evaluation failed.
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

  /// Makes `group` the one that expressions of the projection are about.
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
