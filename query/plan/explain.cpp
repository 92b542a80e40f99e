#include "query/plan/explain.h"

#include <algorithm>
#include <cmath>

namespace octavo::query {

namespace {

namespace json = boost::json;

constexpr std::size_t kRangesShownMax = 64;

json::object index_json(const std::optional<IndexView>& index) {
  return index ? index->definition->to_json() : primary_index_to_json();
}

json::value bound(const std::optional<json::value>& value) {
  return value ? *value : json::value(nullptr);
}

// The values that the selector allows in the fields that narrow the index.
json::array ranges_json(const IndexDefinition& index, const Selector& selector, const IndexBounds& bounds) {
  json::array columns;
  for (std::size_t i = 0; i < bounds.columns_used; ++i) {
    const FieldConstraint constraint = constraint_on(index, index.fields[i], selector, nullptr);
    json::array intervals;
    for (const Interval& interval : constraint.intervals) {
      if (intervals.size() == kRangesShownMax) break;
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
    if (shown.size() == kRangesShownMax) break;
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
  json::object shown{{"index", index_json(branch.index)}, {"tests_documents", branch.recheck}};
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

double rounded(double charge) {
  return std::round(charge * 100) / 100;
}

json::object candidate_json(const Candidate& candidate) {
  json::object reason{{"name", candidate.reason}};
  if (!candidate.detail.empty()) reason["detail"] = candidate.detail;
  json::object analysis{{"usable", candidate.usable},
                        {"reasons", json::array{std::move(reason)}},
                        {"ranking", candidate.ranking},
                        {"covering", candidate.index ? json::value(candidate.covering) : json::value(nullptr)}};
  if (candidate.usable) {
    analysis["expected_charge"] = rounded(candidate.expected);
    analysis["charge_at_most"] = rounded(candidate.most);
    analysis["estimated_rows"] = candidate.rows;
    analysis["estimated_rows_exact"] = candidate.rows_exact;
    analysis["serves_sort"] = candidate.serves_sort;
  }
  return json::object{{"index", index_json(candidate.index)}, {"analysis", std::move(analysis)}};
}

bool is_indexable(const Selector& selector, const FieldPath& path) {
  const FieldConstraint constraint = selector.constraint_for(path);
  return !(constraint.is_everything() && constraint.may_be_missing);
}

json::object mrargs_json(const FindRequest& request, const Plan& plan) {
  json::object args{{"include_docs", !plan.covering}, {"view_type", "map"}, {"reduce", false}};
  args["partition"] = request.partition.empty() ? json::value(nullptr) : json::value(request.partition);
  json::value start(nullptr);
  json::value end(nullptr);
  if (plan.branches.size() == 1) {
    const Branch& branch = plan.branches[0];
    if (branch.index) {
      start = branch.bounds.start_key;
      end = branch.bounds.end_key;
    } else if (!branch.id_ranges.empty()) {
      const auto text = [](const std::optional<std::string>& id) {
        return id ? std::optional<json::value>(json::value(*id)) : std::nullopt;
      };
      start = bound(text(branch.id_ranges.front().start));
      end = branch.id_ranges.back().end ? json::value(*branch.id_ranges.back().end) : json::value("<MAX>");
    }
    if (plan.descending) std::swap(start, end);
  }
  args["start_key"] = std::move(start);
  args["end_key"] = std::move(end);
  args["direction"] = plan.descending ? "rev" : "fwd";
  args["stable"] = request.stable;
  args["update"] = request.update;
  args["conflicts"] = request.conflicts ? json::value(true) : json::value("undefined");
  return args;
}

json::object explain_plan(const Plan& plan) {
  json::array branches;
  for (const Branch& branch : plan.branches) branches.push_back(branch_json(branch));
  return {{"branches", std::move(branches)},
          {"expected_charge", rounded(plan.expected)},
          {"charge_at_most", rounded(plan.most)},
          {"sorts_in_memory", plan.sort_in_memory}};
}

}  // namespace

json::object explain(const FindRequest& request, std::span<const Plan> plans, std::size_t sure,
                     const std::vector<Candidate>& candidates, std::string_view database,
                     bool database_is_partitioned) {
  const Plan& plan = plans[0];
  json::value index(nullptr);
  if (!plan.branches.empty()) {
    index = index_json(plan.branches[0].index);
  } else if (!candidates.empty()) {
    index = index_json(candidates[0].index);
  }
  json::array fields;
  for (const FieldPath& field : request.fields) fields.push_back(json::string(field.text()));
  json::array others;
  for (const Candidate& candidate : candidates) {
    if (!candidate.chosen) others.push_back(candidate_json(candidate));
  }
  json::array indexable;
  json::array unindexable;
  for (const FieldPath& path : request.selector.fields_used()) {
    (is_indexable(request.selector, path) ? indexable : unindexable).push_back(json::string(path.text()));
  }
  json::object reply{{"dbname", database}, {"index", std::move(index)}, {"partitioned", database_is_partitioned}};
  reply["selector"] = request.selector.to_json();
  reply["opts"] = request.options_to_json();
  reply["limit"] = request.limit;
  reply["skip"] = request.skip;
  reply["fields"] = std::move(fields);
  reply["index_candidates"] = std::move(others);
  reply["selector_hints"] = json::array{json::object{
      {"type", "json"}, {"indexable_fields", std::move(indexable)}, {"unindexable_fields", std::move(unindexable)}}};
  reply["mrargs"] = mrargs_json(request, plan);
  reply["covering"] = plan.covering;
  reply["plan"] = explain_plans(plans, sure);
  return reply;
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
  shown["surest"] = sure;
  return shown;
}

}  // namespace octavo::query
