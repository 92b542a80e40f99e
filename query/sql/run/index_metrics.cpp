#include "query/sql/run/index_metrics.h"

#include <algorithm>

#include "query/sql/constraints/sql_constraints.h"

namespace octavo::query::sql {

namespace {

namespace json = boost::json;

// Limit of paths in one suggested composite index: one with more is rarely worthwhile.
constexpr std::size_t composite_paths_max = 8;

std::string path_text(const FieldPath& path) {
  std::string text;
  for (const auto& part : path.parts()) {
    text += '/';
    const bool plain = part.name.find_first_of("/\"'*?[] ") == std::string::npos;
    text += plain ? part.name : '"' + part.name + '"';
  }
  return text;
}

std::string single_spec(const FieldPath& array, const FieldPath* below = nullptr) {
  std::string text = path_text(array);
  if (below != nullptr) text += "/[]" + path_text(*below);
  return text + "/?";
}

std::vector<std::string> composite_spec(const std::vector<OrderedField>& fields) {
  std::vector<std::string> texts;
  for (const OrderedField& field : fields) {
    texts.push_back(path_text(field.path) + (field.descending ? " DESC" : " ASC"));
  }
  return texts;
}

template <class Spec>
void add_once(std::vector<Spec>& specs, Spec spec) {
  if (std::ranges::find(specs, spec) == specs.end()) specs.push_back(std::move(spec));
}

void add_utilized(IndexMetrics& metrics, const IndexDefinition& definition) {
  if (definition.elements) {
    add_once(metrics.utilized_single, single_spec(definition.elements->array, &definition.elements->below));
  } else if (definition.fields.size() == 1) {
    add_once(metrics.utilized_single, single_spec(definition.fields[0].path));
  } else {
    add_once(metrics.utilized_composite, composite_spec(definition.fields));
  }
}

void add_utilized(IndexMetrics& metrics, const Plan& plan) {
  for (const Branch& branch : plan.branches) {
    if (branch.index) add_utilized(metrics, *branch.index->definition);
    for (const LeapStream& stream : branch.leaps) add_utilized(metrics, *stream.index.definition);
  }
}

// First the properties that equal something, then those that are sorted by, or else one that lies in a range.
std::vector<OrderedField> useful_composite(const SqlConstraints& constraints) {
  std::vector<OrderedField> fields;
  std::vector<OrderedField> ranges;
  const auto is_sorted_by = [&](const FieldPath& path) {
    return std::ranges::any_of(constraints.sort, [&](const auto& field) { return field.path == path; });
  };
  for (const FieldPath& path : constraints.ordinal.fields_used()) {
    const FieldConstraint constraint = constraints.ordinal.constraint_for(path, BoundOrder::ordinal);
    if (path.is("_id") || is_sorted_by(path) || !constraint.requires_exists() || constraint.is_everything()) continue;
    (constraint.is_points() ? fields : ranges).push_back({path, false});
  }
  if (constraints.sort.empty()) {
    if (!ranges.empty()) fields.push_back(ranges.front());
  } else {
    fields.insert(fields.end(), constraints.sort.begin(), constraints.sort.end());
  }
  if (fields.size() < 2 || fields.size() > composite_paths_max) fields.clear();
  return fields;
}

json::array single_json(const std::vector<std::string>& specs, bool flat) {
  json::array list;
  for (const std::string& spec : specs) {
    json::object entry{{"IndexSpec", spec}, {"IndexImpactScore", "High"}};
    if (flat) {
      entry["FilterExpression"] = "";
      entry["FilterPreciseSet"] = true;
      entry["IndexPreciseSet"] = true;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

json::array composite_json(const std::vector<std::vector<std::string>>& specs, bool flat) {
  json::array list;
  for (const auto& spec : specs) {
    json::object entry{{"IndexSpecs", json::array(spec.begin(), spec.end())}, {"IndexImpactScore", "High"}};
    if (flat) entry["IndexPreciseSet"] = true;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

json::object IndexMetrics::to_json() const {
  return {{"UtilizedIndexes", json::object{{"SingleIndexes", single_json(utilized_single, false)},
                                           {"CompositeIndexes", composite_json(utilized_composite, false)}}},
          {"PotentialIndexes", json::object{{"SingleIndexes", single_json(potential_single, false)},
                                            {"CompositeIndexes", composite_json(potential_composite, false)}}}};
}

json::object IndexMetrics::to_flat_json() const {
  return {{"UtilizedSingleIndexes", single_json(utilized_single, true)},
          {"PotentialSingleIndexes", single_json(potential_single, true)},
          {"UtilizedCompositeIndexes", composite_json(utilized_composite, true)},
          {"PotentialCompositeIndexes", composite_json(potential_composite, true)}};
}

IndexMetrics index_metrics_of(const PreparedSql& prepared, const AutomaticIndex* automatic,
                              std::span<const FieldPath> key_paths) {
  IndexMetrics metrics;
  for (const Plan& plan : prepared.plans) add_utilized(metrics, plan);
  for (const FieldPath& path : key_paths) add_once(metrics.utilized_single, single_spec(path));
  const SqlConstraints constraints = constraints_of(*prepared.query, *prepared.shape);
  const auto add_potential = [&](const FieldPath& array, const FieldPath* below) {
    if (array.empty() || array.is("_id") || (automatic != nullptr && automatic->covers(array, below))) return;
    add_once(metrics.potential_single, single_spec(array, below));
  };
  const auto element_paths = constraints.ordinal.element_paths();
  for (const FieldPath& path : constraints.ordinal.fields_used()) {
    const bool in_elements = std::ranges::any_of(element_paths, [&](const auto& pair) { return pair.first == path; });
    if (!in_elements) add_potential(path, nullptr);
  }
  for (const auto& [array, below] : element_paths) add_potential(array, &below);
  for (const OrderedField& field : constraints.sort) add_potential(field.path, nullptr);
  // If a composite index is used, no other one is suggested.
  if (const auto fields = useful_composite(constraints); !fields.empty() && metrics.utilized_composite.empty()) {
    metrics.potential_composite.push_back(composite_spec(fields));
  }
  return metrics;
}

}  // namespace octavo::query::sql
