#include "api/couch/queries/find_explain.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "partitioning/throughput/request_charge.h"
#include "query/plan/explain.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;

json::array field_names(const std::vector<query::FieldPath>& fields) {
  json::array names;
  for (const query::FieldPath& field : fields) names.push_back(json::string(field.text()));
  return names;
}

// The options of the request, with the values of those that it does not name.
json::object options_json(const query::FindRequest& request) {
  json::array index;
  for (const auto& part : request.use_index) index.push_back(json::string(part));
  json::object order;
  for (const auto& field : request.sort) order[field.path.text()] = field.descending ? "desc" : "asc";
  json::object options{{"use_index", std::move(index)},
                       {"bookmark", request.bookmark ? *request.bookmark : std::string("nil")},
                       {"limit", request.limit},
                       {"skip", request.skip},
                       {"sort", std::move(order)},
                       {"fields", request.aggregation ? json::array() : field_names(request.fields)},
                       {"partition", request.partition},
                       {"r", request.r},
                       {"conflicts", request.conflicts},
                       {"stale", request.stale_ok ? json::value("ok") : json::value(false)},
                       {"update", request.update},
                       {"stable", request.stable},
                       {"execution_stats", request.execution_stats},
                       {"allow_fallback", request.allow_fallback}};
  if (request.aggregation) {
    for (const auto& option : request.aggregation->options) options[option.key()] = option.value();
  }
  return options;
}

json::value partition_json(const query::FindRequest& request) {
  return request.partition.empty() ? json::value(nullptr) : json::value(request.partition);
}

json::object mrargs_json(const query::FindRequest& request, const query::Plan& plan) {
  json::object args{{"include_docs", !plan.covering}, {"view_type", "map"}, {"reduce", false}};
  args["partition"] = partition_json(request);
  json::value start(nullptr);
  json::value end(nullptr);
  if (plan.branches.size() == 1) {
    const query::Branch& branch = plan.branches[0];
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

bool is_indexable(const query::Selector& selector, const query::FieldPath& path) {
  const query::FieldConstraint constraint = selector.constraint_for(path);
  return !(constraint.is_everything() && constraint.may_be_missing);
}

json::array selector_hints(const query::Selector& selector) {
  json::array indexable;
  json::array unindexable;
  for (const query::FieldPath& path : selector.fields_used()) {
    (is_indexable(selector, path) ? indexable : unindexable).push_back(json::string(path.text()));
  }
  return json::array{json::object{
      {"type", "json"}, {"indexable_fields", std::move(indexable)}, {"unindexable_fields", std::move(unindexable)}}};
}

json::value sort_json(const std::vector<query::search::SortKey>& sort) {
  using query::search::SortKey;
  if (sort.empty()) return "relevance";
  json::array keys;
  for (const SortKey& key : sort) {
    keys.push_back(json::string((key.descending ? "-" : "") + key.field +
                                (key.kind == SortKey::Kind::number ? "<number>" : "<string>")));
  }
  return keys;
}

}  // namespace

json::object explain_find(const partitioning::Database& database, const query::PreparedFind& find) {
  const query::FindRequest& request = find.request;
  const query::Plan& plan = find.plans[0];
  json::value index(nullptr);
  if (!plan.branches.empty()) {
    index = query::explain_index(plan.branches[0].index);
  } else if (!find.candidates.empty()) {
    index = query::explain_index(find.candidates[0].index);
  }
  json::object reply{{"dbname", database.name()}, {"index", std::move(index)}, {"partitioned", database.partitioned()}};
  reply["selector"] = request.selector.to_json();
  reply["opts"] = options_json(request);
  reply["limit"] = request.limit;
  reply["skip"] = request.skip;
  reply["fields"] = field_names(request.fields);
  reply["index_candidates"] = query::explain_rejected(find.candidates);
  reply["selector_hints"] = selector_hints(request.selector);
  reply["mrargs"] = mrargs_json(request, plan);
  reply["covering"] = plan.covering;
  reply["plan"] = query::explain_plans(find.plans, find.sure);
  return reply;
}

json::object explain_find(const partitioning::Database& database, const query::search::TextFind& find) {
  const query::FindRequest& request = find.request;
  return json::object{{"dbname", database.name()},
                      {"index", find.definition->to_json()},
                      {"partitioned", database.partitioned()},
                      {"selector", request.text_selector ? *request.text_selector : request.selector.to_json()},
                      {"opts", options_json(request)},
                      {"limit", std::min(request.limit, query::search::find_text_limit_max)},
                      {"skip", request.skip},
                      {"fields", field_names(request.fields)},
                      {"index_candidates", json::array{}},
                      {"selector_hints", json::array{}},
                      {"query", find.query.text},
                      {"partition", partition_json(request)},
                      {"sort", sort_json(find.sort)}};
}

}  // namespace octavo::api::couch
