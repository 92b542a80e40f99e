// Finds the indexes that can serve a query, and how they serve it.
#include <algorithm>
#include <utility>

#include "query/index/automatic_index.h"
#include "query/plan/internal/planner_run.h"
#include "query/plan/sort_fit.h"

namespace octavo::query {

namespace {

namespace json = boost::json;

// Maximum number of paths of the automatic index that are examined; each costs some reads.
constexpr std::size_t automatic_views_max = 24;

std::vector<IdRange> id_ranges_of(const FieldConstraint& constraint) {
  std::vector<IdRange> ranges;
  const auto text = [](const std::optional<json::value>& bound) -> std::optional<std::string> {
    if (!bound || !bound->is_string()) return std::nullopt;
    return std::string(bound->get_string());
  };
  for (const Interval& interval : constraint.intervals) {
    ranges.push_back({text(interval.lower), interval.lower_inclusive, text(interval.upper), interval.upper_inclusive});
  }
  return ranges;
}

bool is_design_name(std::string_view stored, std::string_view asked) {
  if (asked.starts_with("_design/")) return stored == asked;
  return stored.starts_with("_design/") && stored.substr(8) == asked;
}

}  // namespace

bool is_named(const IndexView& view, const std::vector<std::string>& use_index) {
  if (use_index.empty()) return false;
  if (!is_design_name(view.definition->design_document, use_index[0])) return false;
  return use_index.size() == 1 || view.definition->name == use_index[1];
}

const FieldPath& id_path() {
  static const FieldPath path = *FieldPath::parse("_id");
  return path;
}

Candidate Planner::examine_primary(const Selector& selector) const {
  Candidate candidate;
  candidate.usable = true;
  FieldConstraint constraint = selector.constraint_for(id_path());
  candidate.id_ranges = id_ranges_of(constraint);
  const bool only_id =
      std::ranges::all_of(selector.fields_used(), [](const FieldPath& path) { return path.is("_id"); });
  candidate.recheck = !(only_id && constraint.exact && !selector.needs_whole_document());
  const auto& sort = request_.sort;
  candidate.serves_sort = sort.empty() || (sort.size() == 1 && sort[0].path.is("_id"));
  candidate.sort_descending = candidate.serves_sort && !sort.empty() && sort[0].descending;
  return candidate;
}

// Whether documents without the path may be results that the query is to find at the path.
bool Planner::needs_absences(const FieldPath& path, const Condition& condition) const {
  const Selector& told = condition.ordinal ? *condition.ordinal : condition.selector;
  const auto constraint = told.constraint_for(path, condition.ordinal ? BoundOrder::ordinal : BoundOrder::collation);
  if (!constraint.may_be_missing) return false;
  const bool is_sorted_by = std::ranges::find(request_.sort, path, &OrderedField::path) != request_.sort.end();
  return is_sorted_by ? request_.sort_keeps_missing : !constraint.is_everything();
}

// The paths of the automatic index that the query constrains or sorts by, each as an index.
std::vector<IndexView> Planner::automatic_views(const Condition& condition) const {
  std::vector<IndexView> views;
  if (!catalog_.automatic) return views;
  const AutomaticIndexPtr& automatic = catalog_.automatic->definition->automatic;
  const auto add_view = [&](IndexView view) {
    if (views.size() >= automatic_views_max) return;
    for (const IndexView& known : views) {
      if (known.definition->automatic_path == view.definition->automatic_path) return;
    }
    views.push_back(std::move(view));
  };
  const auto add = [&](IndexDefinitionPtr definition) {
    IndexView view = *catalog_.automatic;
    view.definition = std::move(definition);
    add_view(std::move(view));
  };
  const auto add_path = [&](const FieldPath& path) {
    // Fields that the storage keeps outside the body have no entries.
    if (path.empty() || path.is("_id") || path.is("_rev") || path.parts()[0].name == "_attachments" ||
        path.is("_deleted")) {
      return;
    }
    if (automatic->covers(path)) add_view(catalog_.automatic_path(path, needs_absences(path, condition)));
  };
  for (const OrderedField& field : request_.sort) add_path(field.path);
  for (const FieldPath& path : condition.selector.fields_used()) add_path(path);
  for (const auto& [array, below] : condition.selector.element_paths()) {
    if (!array.empty() && automatic->covers(array, &below)) add(automatic_path_definition(automatic, array, &below));
  }
  for (std::size_t i = 0; i < automatic->composites().size(); ++i) add(automatic_composite_definition(automatic, i));
  return views;
}

// Whether a walk over the index is in the requested order. If so, sets the candidate's direction.
bool Planner::serves_sort(const IndexView& view, const Condition& condition, Candidate& candidate) const {
  const IndexDefinition& definition = *view.definition;
  const SortFit fit = fit_sort(definition, candidate.bounds, request_.sort);
  if (!fit.serves) return false;
  candidate.sort_descending = fit.descending;
  if (request_.sort.empty()) return true;
  const bool by_bytes = definition.automatic && definition.automatic->order() == StringOrder::bytes;
  if (!by_bytes) return !request_.sort_is_ordinal;
  if (condition.ordinal) return true;
  // The bytes are in Mango's order, too, for values that are not strings, arrays or objects.
  const FieldConstraint below_strings{{Interval{std::nullopt, true, json::value(""), false}}, false, true};
  return std::ranges::all_of(definition.fields, [&](const OrderedField& field) {
    const bool sorted_by =
        std::ranges::any_of(request_.sort, [&](const auto& other) { return other.path == field.path; });
    auto constraint = constraint_on(definition, field, condition.selector, nullptr);
    constraint.may_be_missing = false;
    return !sorted_by || is_subset(constraint, below_strings, BoundOrder::collation);
  });
}

Expected<Candidate> Planner::examine(const IndexView& view, const Condition& condition) {
  const Selector& selector = condition.selector;
  Candidate candidate;
  candidate.index = view;
  const IndexDefinition& definition = *view.definition;
  if (!definition.automatic && definition.partitioned != scope_.partition_query) {
    candidate.reason = "scope_mismatch";
    candidate.detail = definition.partitioned ? "serves queries of one partition only" : "spans all partitions";
    return candidate;
  }
  // Conflicts are not part of the bodies that indexes are made of.
  const bool has_conflicts =
      std::ranges::any_of(definition.fields, is_of_conflicts, &OrderedField::path) ||
      (definition.partial_filter && std::ranges::any_of(definition.partial_filter->fields_used(), is_of_conflicts));
  if (has_conflicts) {
    candidate.reason = "field_mismatch";
    candidate.detail = "indexes do not contain conflicts: the documents are read for _conflicts";
    return candidate;
  }
  // A request that names a partial index gets what the index contains, as in CouchDB.
  candidate.leaves_out = definition.partial_filter && !selector.implies(*definition.partial_filter);
  if (candidate.leaves_out && !is_named(view, request_.use_index)) {
    candidate.reason = "is_partial";
    candidate.detail = "the selector may match documents that its partial_filter_selector leaves out";
    return candidate;
  }
  const std::vector<OrderedField> nothing;
  candidate.bounds =
      bounds_for(definition, selector, request_.sort_keeps_missing ? nothing : request_.sort, condition.ordinal);
  candidate.serves_sort = serves_sort(view, condition, candidate);
  candidate.recheck = definition.automatic || needs_recheck(candidate, selector);
  // A sort in memory reads the documents.
  const bool in_requested_order = request_.sort.empty() || candidate.serves_sort;
  candidate.covering = !definition.automatic && in_requested_order && is_covering(candidate, selector);
  for (std::size_t i = 0; i < definition.fields.size() && !request_.sort_keeps_missing; ++i) {
    const auto& path = definition.fields[i].path;
    const bool sorted_by = std::ranges::any_of(request_.sort, [&](const auto& field) { return field.path == path; });
    const bool sure = i < candidate.bounds.columns_used && candidate.bounds.column_exists[i];
    if (sorted_by && !sure) candidate.columns_that_must_exist.push_back(i);
  }
  if (definition.automatic) {
    // Automatic entries do not say which fields are missing.
    if (!candidate.columns_that_must_exist.empty()) candidate.serves_sort = request_.sort.empty();
    candidate.columns_that_must_exist.clear();
    const auto& bounds = candidate.bounds;
    const bool is_complete = definition.fields.size() > 1 || definition.absence;
    const bool missing = !is_complete && (!bounds.narrows() || !bounds.column_exists[0]);
    const bool repeats = definition.elements && bounds.point_columns == 0 && !bounds.ranges.empty();
    if (missing || repeats) {
      candidate.reason = "field_mismatch";
      candidate.detail = missing ? "it lacks documents without the field, " + definition.fields[0].path.text()
                                 : "it may have several entries of a document in its range";
      return candidate;
    }
    // A result that began in the order of this index continues in it, whatever was written since. So no row is lost or
    // returned twice.
    const bool goes_on = is_pinned(candidate) && !scope_.pinned_side;
    if (!request_.sort.empty() && candidate.serves_sort && !goes_on) {
      OCTAVO_TRY(candidate.serves_sort, statistics_.order_is_exact(view));
    }
  }
  const bool in_order = !request_.sort.empty() && candidate.serves_sort;
  // An aggregation reads all matches; entries are shorter than documents.
  const bool spares_documents = request_.is_aggregated && candidate.covering;
  const bool filter_narrows = definition.partial_filter && !candidate.leaves_out;
  if (!candidate.bounds.narrows() && !filter_narrows && !in_order && !spares_documents) {
    candidate.reason = "field_mismatch";
    candidate.detail = "the selector says nothing of its first field, " + definition.fields[0].path.text();
    return candidate;
  }
  if (!view.ready(scope_.partition_id) && scope_.ignore_unbuilt) {
    candidate.reason = "not_built";
    candidate.detail = "it is still being built";
    return candidate;
  }
  if (view.global && scope_.ignore_global) {
    candidate.reason = "not_current";
    candidate.detail = "it cannot be updated now";
    return candidate;
  }
  candidate.usable = true;
  return candidate;
}

// False if the ranges, together with the filter of a partial index, express the whole selector.
bool Planner::needs_recheck(const Candidate& candidate, const Selector& selector) const {
  if (selector.needs_whole_document()) return true;
  const IndexDefinition& definition = *candidate.index->definition;
  for (const FieldPath& path : selector.fields_used()) {
    bool told = false;
    for (std::size_t i = 0; i < candidate.bounds.columns_used; ++i) {
      told = told || (definition.fields[i].path == path && candidate.bounds.column_exact[i]);
    }
    // Only an exact constraint makes an exact column. An empty one has no ranges, and may not be exact.
    if (told && !candidate.bounds.ranges.empty()) continue;
    if (!told && !definition.partial_filter) return true;
    const FieldConstraint wanted = selector.constraint_for(path);
    if (!wanted.exact) return true;
    if (told) continue;
    const FieldConstraint filtered = definition.partial_filter->constraint_for(path);
    if (!is_subset(filtered, wanted, path.is("_id") ? BoundOrder::raw : BoundOrder::collation)) return true;
  }
  return false;
}

bool Planner::is_covering(const Candidate& candidate, const Selector& selector) const {
  if (request_.fields.empty()) return false;
  const IndexDefinition& definition = *candidate.index->definition;
  const auto held = [&](const FieldPath& path) {
    return path.is("_id") ||
           std::ranges::any_of(definition.fields, [&](const auto& field) { return field.path == path; });
  };
  if (!std::ranges::all_of(request_.fields, held)) return false;
  if (!candidate.recheck) return true;
  // The selector is tested on the entry, which must have all its fields. An absent field must not matter, because the
  // entry does not say why it is absent.
  if (selector.needs_whole_document()) return false;
  return std::ranges::all_of(selector.fields_used(), [&](const FieldPath& path) {
    return held(path) && selector.constraint_for(path).requires_exists();
  });
}

// Rules out what CouchDB would not choose (PlanRequest::strict).
void Planner::keep_to_strict_rules(std::vector<Candidate>& candidates) const {
  for (Candidate& candidate : candidates) {
    if (!candidate.usable) continue;
    const bool partial = candidate.index && candidate.index->definition->partial_filter &&
                         !is_named(*candidate.index, request_.use_index);
    if (partial) {
      candidate.usable = false;
      candidate.reason = "is_partial";
      candidate.detail = "with query.find_strict, only use_index may choose it";
    } else if (!request_.sort.empty() && !candidate.serves_sort) {
      candidate.usable = false;
      candidate.reason = "sort_order_mismatch";
      candidate.detail = "with query.find_strict, results are not sorted in memory";
    }
  }
}

Expected<std::vector<Candidate>> Planner::examine_all(const Condition& condition) {
  std::vector<Candidate> candidates;
  candidates.reserve(1 + catalog_.indexes.size());
  candidates.push_back(examine_primary(condition.selector));
  for (const IndexView& view : catalog_.indexes) {
    OCTAVO_TRY(auto candidate, examine(view, condition));
    candidates.push_back(std::move(candidate));
  }
  for (const IndexView& view : automatic_views(condition)) {
    OCTAVO_TRY(auto candidate, examine(view, condition));
    candidates.push_back(std::move(candidate));
  }
  if (request_.strict) keep_to_strict_rules(candidates);
  OCTAVO_TRY_VOID(estimate_all(candidates, condition.selector));
  return candidates;
}

}  // namespace octavo::query
