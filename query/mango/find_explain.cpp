#include "query/mango/find_explain.h"

#include <utility>

#include "query/plan/explain.h"

namespace octavo::query {

namespace {

namespace json = boost::json;

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
      const auto& first = branch.id_ranges.front().start;
      const auto& last = branch.id_ranges.back().end;
      start = first ? json::value(*first) : json::value(nullptr);
      end = last ? json::value(*last) : json::value("<MAX>");
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

}  // namespace

json::object explain(const FindRequest& request, std::span<const Plan> plans, std::size_t sure,
                     const std::vector<Candidate>& candidates, std::string_view database,
                     bool database_is_partitioned) {
  const Plan& plan = plans[0];
  json::value index(nullptr);
  if (!plan.branches.empty()) {
    index = explain_index(plan.branches[0].index);
  } else if (!candidates.empty()) {
    index = explain_index(candidates[0].index);
  }
  json::array fields;
  for (const FieldPath& field : request.fields) fields.push_back(json::string(field.text()));
  json::array others;
  for (const Candidate& candidate : candidates) {
    if (!candidate.chosen) others.push_back(explain_candidate(candidate));
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

}  // namespace octavo::query
