#include "query/selector/field_constraint.h"

#include <algorithm>

#include "query/collation/collation.h"
#include "query/json/large_integer.h"

namespace octavo::query {

namespace {

namespace json = boost::json;

int compare_values(const json::value& a, const json::value& b, BoundOrder order) {
  if (order == BoundOrder::ordinal && is_text(a) && is_text(b)) return a.get_string().compare(b.get_string());
  return order == BoundOrder::raw ? compare_raw(a, b) : compare(a, b);
}

int compare_lower(const Interval& a, const Interval& b, BoundOrder order) {
  if (!a.lower || !b.lower) return (a.lower ? 1 : 0) - (b.lower ? 1 : 0);
  if (const int values = compare_values(*a.lower, *b.lower, order); values != 0) return values;
  return (a.lower_inclusive ? 0 : 1) - (b.lower_inclusive ? 0 : 1);
}

int compare_upper(const Interval& a, const Interval& b, BoundOrder order) {
  if (!a.upper || !b.upper) return (a.upper ? 0 : 1) - (b.upper ? 0 : 1);
  if (const int values = compare_values(*a.upper, *b.upper, order); values != 0) return values;
  return (a.upper_inclusive ? 1 : 0) - (b.upper_inclusive ? 1 : 0);
}

bool is_void(const Interval& interval, BoundOrder order) {
  if (!interval.lower || !interval.upper) return false;
  const int values = compare_values(*interval.lower, *interval.upper, order);
  return values > 0 || (values == 0 && !(interval.lower_inclusive && interval.upper_inclusive));
}

/// True if there is no value between `a` and `b`, which begins no earlier than `a`.
bool touches(const Interval& a, const Interval& b, BoundOrder order) {
  if (!a.upper || !b.lower) return true;
  const int values = compare_values(*b.lower, *a.upper, order);
  return values < 0 || (values == 0 && (b.lower_inclusive || a.upper_inclusive));
}

}  // namespace

bool Interval::is_point() const {
  // A point's bounds are made from one value, so they are equal, not only equivalent.
  return lower && upper && lower_inclusive && upper_inclusive && *lower == *upper;
}

bool FieldConstraint::is_points() const {
  return !may_be_missing && std::ranges::all_of(intervals, [](const Interval& i) { return i.is_point(); });
}

FieldConstraint intersect(const FieldConstraint& a, const FieldConstraint& b, BoundOrder order) {
  FieldConstraint result{{}, a.may_be_missing && b.may_be_missing, a.exact && b.exact};
  std::size_t i = 0, k = 0;
  while (i < a.intervals.size() && k < b.intervals.size()) {
    const Interval& left = a.intervals[i];
    const Interval& right = b.intervals[k];
    const Interval& from = compare_lower(left, right, order) >= 0 ? left : right;
    const bool is_left_first = compare_upper(left, right, order) <= 0;
    const Interval& to = is_left_first ? left : right;
    Interval common{from.lower, from.lower_inclusive, to.upper, to.upper_inclusive};
    if (!is_void(common, order)) result.intervals.push_back(std::move(common));
    (is_left_first ? i : k) += 1;
  }
  return result;
}

FieldConstraint unite(const std::vector<FieldConstraint>& parts, BoundOrder order) {
  FieldConstraint result{{}, false, true};
  std::vector<const Interval*> all;
  for (const FieldConstraint& part : parts) {
    result.may_be_missing = result.may_be_missing || part.may_be_missing;
    result.exact = result.exact && part.exact;
    for (const Interval& interval : part.intervals) {
      if (!is_void(interval, order)) all.push_back(&interval);
    }
  }
  std::ranges::sort(all, [&](const Interval* a, const Interval* b) { return compare_lower(*a, *b, order) < 0; });
  for (const Interval* interval : all) {
    if (result.intervals.empty() || !touches(result.intervals.back(), *interval, order)) {
      result.intervals.push_back(*interval);
    } else if (Interval& last = result.intervals.back(); compare_upper(last, *interval, order) < 0) {
      last.upper = interval->upper;
      last.upper_inclusive = interval->upper_inclusive;
    }
  }
  return result;
}

FieldConstraint without_strings(FieldConstraint constraint) {
  const auto start_of = [](const json::value& value) {
    return is_text(value)     ? json::value("")
           : value.is_array() ? json::value(json::array())
                              : json::value(json::object());
  };
  const auto is_plain = [](const json::value& value) {
    return !is_text(value) && !value.is_array() && !value.is_object();
  };
  std::vector<FieldConstraint> parts;
  for (Interval& interval : constraint.intervals) {
    if (interval.lower && !is_plain(*interval.lower)) {
      auto start = start_of(*interval.lower);
      if (*interval.lower != start || !interval.lower_inclusive) constraint.exact = false;
      interval.lower = std::move(start);
      interval.lower_inclusive = true;
    }
    if (interval.upper && !is_plain(*interval.upper) &&
        (interval.upper_inclusive || *interval.upper != start_of(*interval.upper))) {
      constraint.exact = false;
      interval.upper_inclusive = false;
      if (interval.upper->is_string()) {
        interval.upper = json::array();
      } else if (interval.upper->is_array()) {
        interval.upper = json::object();
      } else {
        interval.upper.reset();
      }
    }
    parts.push_back({{std::move(interval)}, false, true});
  }
  constraint.intervals = unite(parts, BoundOrder::collation).intervals;
  return constraint;
}

bool is_subset(const FieldConstraint& inner, const FieldConstraint& outer, BoundOrder order) {
  if (inner.may_be_missing && !outer.may_be_missing) return false;
  // Among ordered, disjoint intervals only the first that ends no earlier than `small` can contain it.
  auto large = outer.intervals.begin();
  return std::ranges::all_of(inner.intervals, [&](const Interval& small) {
    while (large != outer.intervals.end() && compare_upper(*large, small, order) < 0) ++large;
    return large != outer.intervals.end() && compare_lower(*large, small, order) <= 0;
  });
}

}  // namespace octavo::query
