#include "query/advice/index/shape_statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace octavo::query::advice {

namespace {

constexpr double share_of_bound = 1.0 / 3;  // as in System R, and most planners since
constexpr double unknown_share = 0.1;

// Whether the range is one value: the rest of an entry's key is the document id.
bool is_one_value(const KeyRange& range) {
  return range.end.size() == range.begin.size() + 1 && range.end.starts_with(range.begin);
}

std::vector<FieldPath> first_paths(const IndexDefinition& index, std::size_t count) {
  std::vector<FieldPath> paths;
  for (std::size_t i = 0; i < std::min(count, index.fields.size()); ++i) paths.push_back(index.fields[i].path);
  return paths;
}

// Whether the bound of a range is a value of a query, and not the end of a type: of the strings that a pattern is
// tested on, for example. Nothing is below null.
bool is_value(const boost::json::value& bound) {
  if (const auto* const text = bound.if_string()) return !text->empty();
  if (const auto* const list = bound.if_array()) return !list->empty();
  if (const auto* const object = bound.if_object()) return !object->empty();
  return bound.is_number();
}

bool has_value_bound(const Interval& interval) {
  return (interval.lower && is_value(*interval.lower)) || (interval.upper && is_value(*interval.upper));
}

/// The conditions of a query that an index can express.
struct Conditions {
  std::vector<FieldPath> equal;  ///< properties that must equal one value
  std::size_t ranges = 0;        ///< number of those with a range
  bool others = false;           ///< there are conditions beside these
};

Conditions conditions_of(const QueryOutline& outline) {
  Conditions found;
  const PlanRequest& request = *outline.plan;
  const Selector& selector = request.ordinal ? *request.ordinal : request.selector;
  const BoundOrder order = request.ordinal ? BoundOrder::ordinal : BoundOrder::collation;
  for (const FieldPath& path : selector.fields_used()) {
    const FieldConstraint constraint = selector.constraint_for(path, order);
    const bool is_one = constraint.exact && !constraint.may_be_missing && constraint.intervals.size() == 1;
    if (is_one && constraint.intervals[0].is_point()) {
      found.equal.push_back(path);
    } else if (is_one && has_value_bound(constraint.intervals[0])) {
      ++found.ranges;
    } else {
      found.others = true;
    }
  }
  return found;
}

}  // namespace

ShapeStatistics::ShapeStatistics(const ScannedDocuments& scanned, const QueryOutline& outline,
                                 std::optional<double> matches)
    : scanned_(scanned),
      outline_(outline),
      in_partition_(outline.in_logical_partition),
      matches_(matches),
      documents_(static_cast<double>(scanned.count)) {
  if (in_partition_ && scanned.logical_partitions > 0) documents_ /= static_cast<double>(scanned.logical_partitions);
  // The sides of a union have matches of their own.
  if (!sides_of_union(outline.plan->selector).empty()) matches_.reset();
  if (!matches_) return;
  const Conditions conditions = conditions_of(outline);
  has_others_ = conditions.others;
  if (conditions.others || conditions.ranges == 0) return;
  const double rows = conditions.equal.empty() ? documents_ : rows_of_value(conditions.equal);
  if (rows <= 0) return;
  known_share_ = std::pow(std::min(1.0, *matches_ / rows), 1.0 / static_cast<double>(conditions.ranges));
  source_ = RowSource::recorded;
}

Expected<ShapeStatistics::Documents> ShapeStatistics::documents() {
  const double count = std::max(1.0, static_cast<double>(scanned_.count));
  return Documents{static_cast<std::uint64_t>(std::llround(documents_)), static_cast<double>(scanned_.bytes) / count};
}

Expected<std::uint64_t> ShapeStatistics::entries(const IndexView& index) {
  // A path of an automatic index has entries only for documents with the property.
  if (!index.definition->automatic_path || index.definition->fields.size() != 1) {
    return static_cast<std::uint64_t>(std::llround(documents_));
  }
  const auto count = scanned_.values.count(first_paths(*index.definition, 1), in_partition_);
  if (!count || scanned_.count == 0) return static_cast<std::uint64_t>(std::llround(documents_));
  const double share = static_cast<double>(count->documents) / static_cast<double>(scanned_.count);
  return static_cast<std::uint64_t>(std::llround(share * documents_));
}

Expected<RowCount> ShapeStatistics::size(const IndexView& index, std::span<const KeyRange> /*ranges*/) {
  OCTAVO_TRY(const std::uint64_t all, entries(index));
  return RowCount{all, false};
}

// Of one logical partition, if the query reads one.
double ShapeStatistics::rows_of_value(std::span<const FieldPath> paths) {
  if (paths.empty()) return documents_;
  double rows = unknown_share * documents_;
  if (const auto count = scanned_.values.count(paths, in_partition_)) {
    rows = count->rows();
    note(RowSource::average);
  } else {
    note(RowSource::assumed);
  }
  rows = std::min(rows, documents_);
  return matches_ ? std::max(rows, *matches_) : rows;
}

// Of the documents that have the values of `before`.
double ShapeStatistics::range_share(const IndexBounds& bounds, std::span<const FieldPath> before,
                                    const FieldPath& path) {
  const std::size_t column = bounds.columns_used - 1;
  const std::size_t lower = bounds.start_key.size() > column && is_value(bounds.start_key[column]) ? 1 : 0;
  // `<MAX>` is the last one.
  const std::size_t upper = bounds.end_key.size() > column + 1 && is_value(bounds.end_key[column]) ? 1 : 0;
  if (lower + upper > 0) {
    if (known_share_) {
      note(RowSource::average);
      return *known_share_;
    }
    note(RowSource::assumed);
    return std::pow(share_of_bound, static_cast<double>(lower + upper));
  }
  // The property must exist, or have a certain type.
  std::vector<FieldPath> with(before.begin(), before.end());
  with.push_back(path);
  const auto has_it = scanned_.values.count(with, in_partition_);
  const auto all =
      before.empty() ? std::optional(ValueCount{scanned_.count, 1}) : scanned_.values.count(before, in_partition_);
  if (!has_it || !all || all->documents == 0) return 1;
  return std::min(1.0, static_cast<double>(has_it->documents) / static_cast<double>(all->documents));
}

Expected<RowCount> ShapeStatistics::size_in(const IndexView& index, const IndexBounds& bounds) {
  const IndexDefinition& definition = *index.definition;
  if (bounds.columns_used == 0) return size(index, bounds.ranges);
  if (bounds.ranges.empty()) return RowCount{0, false};
  const std::vector<FieldPath> paths = first_paths(definition, bounds.columns_used);
  const Selector& selector = outline_.plan->selector;
  const bool has_all = std::ranges::all_of(
      selector.fields_used(), [&](const FieldPath& path) { return std::ranges::find(paths, path) != paths.end(); });
  const bool is_exact = definition.automatic ? !has_others_ : std::ranges::all_of(bounds.column_exact, std::identity{});
  if (matches_ && has_all && is_exact && !definition.elements) {
    return RowCount{static_cast<std::uint64_t>(std::llround(std::max(1.0, *matches_))), false};
  }
  // Beside the values of an `$in` there is a range of arrays; documents with arrays there are not counted.
  const auto values = static_cast<double>(std::ranges::count_if(bounds.ranges, is_one_value));
  double rows = 0;
  if (definition.elements) {
    note(RowSource::assumed);
    rows = unknown_share * documents_;
  } else if (values > 0) {
    rows = values * rows_of_value(paths);
  } else {
    const auto before = std::span(paths).first(paths.size() - 1);
    const double combinations = bounds.point_columns >= before.size() ? 1 : static_cast<double>(bounds.ranges.size());
    rows = combinations * rows_of_value(before) * range_share(bounds, before, paths.back());
  }
  rows = std::clamp(rows, 1.0, std::max(1.0, documents_));
  return RowCount{static_cast<std::uint64_t>(std::llround(rows)), false};
}

Expected<RowCount> ShapeStatistics::size_of_ids(std::span<const IdRange> ranges) {
  double rows = 0;
  for (const IdRange& range : ranges) {
    if (range.is_point()) {
      rows += 1;
      continue;
    }
    const int bounds = (range.start ? 1 : 0) + (range.end ? 1 : 0);
    if (bounds > 0) note(RowSource::assumed);
    rows += documents_ * std::pow(share_of_bound, bounds);
  }
  return RowCount{static_cast<std::uint64_t>(std::llround(std::min(rows, documents_))), false};
}

RowSource ShapeStatistics::take_source() {
  return std::exchange(source_, RowSource::recorded);
}

void ShapeStatistics::expect(ValueStatistics& values, const IndexDefinition& index, const IndexBounds& bounds,
                             bool in_partition) {
  const std::vector<FieldPath> paths = first_paths(index, bounds.columns_used);
  for (std::size_t count = paths.size() == 0 ? 0 : paths.size() - 1; count <= paths.size(); ++count) {
    if (count > 0) values.expect(std::span(paths).first(count), in_partition);
  }
}

void ShapeStatistics::expect(ValueStatistics& values, const QueryOutline& outline) {
  if (!outline.plan) return;
  const Conditions conditions = conditions_of(outline);
  if (!conditions.equal.empty()) values.expect(conditions.equal, outline.in_logical_partition);
  if (outline.in_logical_partition) values.expect({}, true);
}

}  // namespace octavo::query::advice
