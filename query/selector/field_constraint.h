#pragma once

#include <optional>
#include <vector>

#include <boost/json.hpp>

namespace octavo::query {

/// A range of values in collation order (collation.h); an unset bound is open.
struct Interval {
  std::optional<boost::json::value> lower;
  bool lower_inclusive = true;
  std::optional<boost::json::value> upper;
  bool upper_inclusive = true;

  /// One value only: lower and upper are the same and both inclusive.
  bool is_point() const;
  bool is_everything() const { return !lower && !upper; }
};

/// What a selector requires of one field: every matching document has, at that path, a value in one of `intervals`, or
/// no value at all if `may_be_missing`.
///
/// For `_id` the bounds are strings (or open) and their order is that of their bytes.
struct FieldConstraint {
  std::vector<Interval> intervals;  ///< in order, disjoint; empty: no value matches
  bool may_be_missing = true;
  /// The intervals express all of the selector's conditions on this path: a document whose value lies in them satisfies
  /// every one. If this holds for all of `Selector::fields_used()`, documents found by the constraints need no further
  /// check.
  bool exact = true;

  bool requires_exists() const { return !may_be_missing; }
  /// Nothing can match.
  bool is_empty() const { return intervals.empty() && !may_be_missing; }
  /// Values are not narrowed down at all (though the field may have to exist).
  bool is_everything() const { return intervals.size() == 1 && intervals[0].is_everything(); }
  /// Every interval is a single value (`$eq`, or `$or` over them), as an equality prefix of an index key requires.
  bool is_points() const;
};

/// The order of the bounds: the collation's, that of `_id`, or the collation's with strings by their bytes.
enum class BoundOrder { collation, raw, ordinal };

/// The part of a constraint in the collation's order that holds in any order of strings: only the type of strings,
/// arrays and objects. Not exact if this makes a difference.
FieldConstraint without_strings(FieldConstraint constraint);

/// Set operations; the results are in order and disjoint, and `exact` if all arguments are. Anything more is up to the
/// caller.
FieldConstraint intersect(const FieldConstraint& a, const FieldConstraint& b, BoundOrder order);
FieldConstraint unite(const std::vector<FieldConstraint>& parts, BoundOrder order);
/// True if every value (and absence) that `inner` allows is allowed by `outer`.
bool is_subset(const FieldConstraint& inner, const FieldConstraint& outer, BoundOrder order);

}  // namespace octavo::query
