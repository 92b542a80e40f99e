#include "query/plan/explain.h"

#include <utility>

#include "partitioning/throughput/request_charge.h"

namespace octavo::query {

namespace {

namespace json = boost::json;

constexpr std::size_t ranges_shown_max = 64;

// The values that the selector allows in the fields that narrow the index.
json::array ranges_json(const IndexDefinition& index, const Selector& selector, const IndexBounds& bounds) {
  json::array columns;
  for (std::size_t i = 0; i < bounds.columns_used; ++i) {
    const FieldConstraint constraint = constraint_on(index, index.fields[i], selector, nullptr);
    json::array intervals;
    for (const Interval& interval : constraint.intervals) {
      if (intervals.size() == ranges_shown_max) break;
      if (interval.is_point()) {
        intervals.push_back(json::object{{"equal", *interval.lower}});
        continue;
      }
      json::object shown;
      if (interval.lower) shown[interval.lower_inclusive ? "from" : "above"] = *interval.lower;
      if (interval.upper) shown[interval.upper_inclusive ? "to" : "below"] = *interval.upper;
      intervals.push_back(std::move(shown));
    }
    columns.push_back(json::object{{"field", index.fields[i].path.text()},
                                   {"values", std::move(intervals)},
                                   {"includes_missing", !bounds.column_exists[i]}});
  }
  return columns;
}

json::array id_ranges_json(const std::vector<IdRange>& ranges) {
  json::array shown;
  for (const IdRange& range : ranges) {
    if (shown.size() == ranges_shown_max) break;
    json::object object;
    if (range.is_point()) {
      object["equal"] = *range.start;
    } else {
      if (range.start) object[range.start_inclusive ? "from" : "above"] = *range.start;
      if (range.end) object[range.end_inclusive ? "to" : "below"] = *range.end;
    }
    shown.push_back(std::move(object));
  }
  return shown;
}

json::object branch_json(const Branch& branch) {
  json::object shown{{"index", explain_index(branch.index)}, {"tests_documents", branch.recheck}};
  if (branch.index) {
    shown["key_ranges"] = ranges_json(*branch.index->definition, branch.selector, branch.bounds);
    shown["range_count"] = branch.bounds.ranges.size();
    shown["built"] = branch.index->is_built();
    if (!branch.filters.empty() || !branch.leaps.empty()) {
      json::array fields;
      for (const LeapStream& stream : branch.leaps) {
        for (const OrderedField& field : stream.index.definition->fields)
          fields.push_back(json::string(field.path.text()));
      }
      for (const EntryCondition& condition : branch.filters) fields.push_back(json::string(condition.field));
      shown["intersected_with"] = std::move(fields);
    }
  } else {
    shown["id_ranges"] = id_ranges_json(branch.id_ranges);
  }
  return shown;
}

json::object explain_plan(const Plan& plan) {
  json::array branches;
  for (const Branch& branch : plan.branches) branches.push_back(branch_json(branch));
  return {{"branches", std::move(branches)},
          {"expected_charge", partitioning::rounded_charge(plan.expected)},
          {"charge_at_most", partitioning::rounded_charge(plan.most)},
          {"sorts_in_memory", plan.sort_in_memory}};
}

json::object candidate_json(const Candidate& candidate) {
  json::object reason{{"name", candidate.reason}};
  if (!candidate.detail.empty()) reason["detail"] = candidate.detail;
  json::object analysis{{"usable", candidate.usable},
                        {"reasons", json::array{std::move(reason)}},
                        {"ranking", candidate.ranking},
                        {"covering", candidate.index ? json::value(candidate.covering) : json::value(nullptr)}};
  if (candidate.usable) {
    analysis["expected_charge"] = partitioning::rounded_charge(candidate.expected);
    analysis["charge_at_most"] = partitioning::rounded_charge(candidate.most);
    analysis["estimated_rows"] = candidate.rows;
    analysis["estimated_rows_exact"] = candidate.rows_exact;
    analysis["serves_sort"] = candidate.serves_sort;
  }
  return json::object{{"index", explain_index(candidate.index)}, {"analysis", std::move(analysis)}};
}

}  // namespace

json::object explain_index(const std::optional<IndexView>& index) {
  return index ? index->definition->to_json() : primary_index_to_json();
}

json::object explain_plans(std::span<const Plan> plans, std::size_t sure) {
  json::object shown = explain_plan(plans[0]);
  json::array warnings;
  for (const std::string& warning : plans[0].warnings) warnings.push_back(json::string(warning));
  shown["warnings"] = std::move(warnings);
  if (plans.size() == 1) return shown;
  json::array others;
  for (std::size_t i = 1; i < plans.size(); ++i) others.push_back(explain_plan(plans[i]));
  shown["takes_turns_with"] = std::move(others);
  shown["safe_plan"] = sure;
  return shown;
}

json::array explain_rejected(std::span<const Candidate> candidates) {
  json::array shown;
  for (const Candidate& candidate : candidates) {
    if (!candidate.chosen) shown.push_back(candidate_json(candidate));
  }
  return shown;
}

}  // namespace octavo::query
