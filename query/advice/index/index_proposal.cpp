#include "query/advice/index/index_proposal.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "query/advice/key_candidate.h"
#include "query/index/automatic_index.h"
#include "query/plan/planner.h"

namespace octavo::query::advice {

namespace {

namespace json = boost::json;

/// What a query, or one side of its `$or`, says of properties.
struct QueryFields {
  std::vector<FieldPath> equal;  ///< with one value, or some
  std::vector<FieldPath> ranges;
  std::vector<OrderedField> sort;
  std::vector<FieldPath> returned;
};

/// Whether an index can have the property, and a policy can name it.
bool is_indexable(const FieldPath& path) {
  constexpr std::array<std::string_view, 5> system{"_id", "_rev", "_deleted", "_attachments", "_conflicts"};
  if (path.empty() || std::ranges::find(system, path.parts()[0].name) != system.end()) return false;
  return std::ranges::none_of(path.parts(), [](const auto& part) { return part.index.has_value(); });
}

QueryFields fields_of(const PlanRequest& request, const Selector& selector, BoundOrder order) {
  QueryFields fields;
  for (const FieldPath& path : selector.fields_used()) {
    if (!is_indexable(path)) continue;
    const FieldConstraint constraint = selector.constraint_for(path, order);
    if (constraint.is_everything() || constraint.may_be_missing) continue;
    const bool has_point = std::ranges::any_of(constraint.intervals, &Interval::is_point);
    (has_point ? fields.equal : fields.ranges).push_back(path);
  }
  for (const OrderedField& field : request.sort) {
    if (!is_indexable(field.path)) return fields;
    const bool is_equal = std::ranges::find(fields.equal, field.path) != fields.equal.end();
    if (!is_equal) fields.sort.push_back(field);
  }
  for (const FieldPath& path : request.fields) {
    if (is_indexable(path)) fields.returned.push_back(path);
  }
  return fields;
}

/// Gathers proposals with the request units of the queries that they are for.
class Proposals {
 public:
  Proposals(const PresentIndexes& present, std::map<FieldPath, double> weights)
      : present_(present), weights_(std::move(weights)) {}

  void add_for(QueryFields query, bool in_logical_partition, double units) {
    std::ranges::stable_sort(query.equal, [&](const FieldPath& a, const FieldPath& b) {
      const double weight_a = weights_[a];
      const double weight_b = weights_[b];
      return weight_a != weight_b ? weight_a > weight_b : a.text() < b.text();
    });
    std::vector<OrderedField> equal;
    for (const FieldPath& path : query.equal) equal.push_back({path, false});
    const auto add = [&](std::vector<OrderedField> fields) { propose(std::move(fields), in_logical_partition, units); };
    const auto extended = [](std::vector<OrderedField> fields, const std::vector<OrderedField>& more) {
      for (const OrderedField& field : more) {
        const bool is_there = std::ranges::find(fields, field.path, &OrderedField::path) != fields.end();
        if (!is_there) fields.push_back(field);
      }
      return fields;
    };
    const auto in_order = extended(equal, query.sort);
    add(equal);
    add(in_order);
    add(query.sort);
    for (const OrderedField& one : equal) add({one});
    std::vector<OrderedField> rest;
    for (const FieldPath& path : query.ranges) {
      add(extended(equal, {{path, false}}));
      rest.push_back({path, false});
    }
    add(extended(in_order, rest));
    for (const FieldPath& path : query.returned) rest.push_back({path, false});
    if (!query.returned.empty()) add(extended(in_order, rest));
  }

  std::vector<IndexProposal> most_wanted() && {
    std::ranges::stable_sort(found_, [](const auto& a, const auto& b) { return a.units > b.units; });
    std::vector<IndexProposal> proposals;
    for (Wanted& wanted : found_) {
      if (proposals.size() < index_proposals_max) proposals.push_back(std::move(wanted.proposal));
    }
    return proposals;
  }

 private:
  struct Wanted {
    IndexProposal proposal;
    double units;
  };

  void propose(std::vector<OrderedField> fields, bool in_logical_partition, double units) {
    if (fields.empty() || fields.size() > proposal_fields_max) return;
    IndexProposal proposal{IndexProposal::Kind::json, std::move(fields), in_logical_partition};
    if (present_.is_container) {
      proposal.partitioned = false;
      proposal.kind = proposal.fields.size() == 1 ? IndexProposal::Kind::included_path : IndexProposal::Kind::composite;
      if (proposal.kind == IndexProposal::Kind::included_path) proposal.fields[0].descending = false;
    }
    if (exists(proposal)) return;
    const auto known = std::ranges::find(found_, proposal, &Wanted::proposal);
    if (known != found_.end()) {
      known->units += units;
    } else {
      found_.push_back({std::move(proposal), units});
    }
  }

  bool exists(const IndexProposal& proposal) const {
    const auto& automatic = present_.catalog->automatic;
    switch (proposal.kind) {
      case IndexProposal::Kind::included_path:
        return automatic && automatic->definition->automatic->covers(proposal.fields[0].path);
      case IndexProposal::Kind::composite:
        return automatic && std::ranges::find(automatic->definition->automatic->composites(), proposal.fields) !=
                                automatic->definition->automatic->composites().end();
      case IndexProposal::Kind::json:
        // A longer index with the same beginning does the same.
        return std::ranges::any_of(present_.catalog->indexes, [&](const IndexView& view) {
          const IndexDefinition& index = *view.definition;
          return !index.partial_filter && index.partitioned == proposal.partitioned &&
                 index.fields.size() >= proposal.fields.size() &&
                 std::equal(proposal.fields.begin(), proposal.fields.end(), index.fields.begin());
        });
    }
    return false;
  }

  const PresentIndexes& present_;
  std::map<FieldPath, double> weights_;
  std::vector<Wanted> found_;
};

struct ShapeFields {
  QueryFields fields;
  bool in_logical_partition;
  double units;
};

/// The queries, and the sides of those with an `$or`.
std::vector<ShapeFields> fields_of_shapes(std::span<const RecordedShape> shapes, bool is_container) {
  std::vector<ShapeFields> all;
  for (const RecordedShape& shape : shapes) {
    const auto& request = shape.outline->plan;
    if (!request || request->matches_nothing) continue;
    const bool by_bytes = is_container && request->ordinal;
    const Selector& selector = by_bytes ? *request->ordinal : request->selector;
    const BoundOrder order = by_bytes ? BoundOrder::ordinal : BoundOrder::collation;
    const bool in_partition = shape.outline->in_logical_partition;
    all.push_back({fields_of(*request, selector, order), in_partition, shape.request_units});
    for (const Selector& side : sides_of_union(selector)) {
      QueryFields fields = fields_of(*request, side, order);
      fields.sort.clear();
      fields.returned.clear();
      all.push_back({std::move(fields), in_partition, shape.request_units});
    }
  }
  return all;
}

json::array policy_path(std::string path) {
  return json::array{json::object{{"path", std::move(path)}}};
}

json::array& member(json::object& policy, std::string_view name) {
  auto& value = policy[name];
  return value.is_array() ? value.get_array() : value.emplace_array();
}

void add_to_policy(json::object& policy, const IndexProposal& proposal) {
  if (proposal.kind == IndexProposal::Kind::included_path) {
    const auto path = AdvisedPath::of(proposal.fields[0].path);
    if (path) member(policy, "includedPaths").push_back(json::object{{"path", path->text() + "/?"}});
    return;
  }
  json::array composite;
  for (const OrderedField& field : proposal.fields) {
    const auto path = AdvisedPath::of(field.path);
    if (!path) return;
    composite.push_back(json::object{{"path", path->text()}, {"order", field.descending ? "descending" : "ascending"}});
  }
  member(policy, "compositeIndexes").push_back(std::move(composite));
}

/// The policy's index with more parts.
IndexView automatic_with(const PresentIndexes& present, std::span<const IndexProposal* const> proposals) {
  const auto& automatic = present.catalog->automatic;
  json::object policy{{"indexingMode", "consistent"}, {"excludedPaths", policy_path("/*")}};
  StringOrder order = StringOrder::bytes;
  if (automatic) {
    policy = automatic->definition->automatic->to_json().at("policy").as_object();
    order = automatic->definition->automatic->order();
  }
  for (const IndexProposal* proposal : proposals) {
    if (proposal->kind != IndexProposal::Kind::json) add_to_policy(policy, *proposal);
  }
  IndexView view;
  if (automatic) view = *automatic;
  view.definition = automatic_definition(AutomaticIndex::from_policy(policy, order));
  return view;
}

void complete(IndexView& view, const std::vector<std::size_t>& partition_ids) {
  view.partition_ids = partition_ids;
  const std::size_t end = partition_ids.empty() ? 0 : std::ranges::max(partition_ids) + 1;
  view.local_ready.assign(end, true);
  view.numbers.assign(end, 1);
}

}  // namespace

std::string IndexProposal::identity() const {
  switch (kind) {
    case Kind::included_path:
      return fmt::format("auto{:016x}", AutomaticIndex::path_hash(fields[0].path));
    case Kind::composite:
      return fmt::format("auto{:016x}", AutomaticIndex::composite_hash(fields));
    case Kind::json:
      break;
  }
  return fmt::format("advised {} {}", partitioned, json::serialize(ordered_fields_to_json(fields)));
}

std::vector<IndexProposal> propose_indexes(std::span<const RecordedShape> shapes, const PresentIndexes& present) {
  std::vector<ShapeFields> queries = fields_of_shapes(shapes, present.is_container);
  std::map<FieldPath, double> weights;
  for (const ShapeFields& query : queries) {
    for (const FieldPath& path : query.fields.equal) weights[path] += query.units;
  }
  Proposals proposals(present, std::move(weights));
  for (ShapeFields& query : queries) {
    proposals.add_for(std::move(query.fields), query.in_logical_partition, query.units);
  }
  return std::move(proposals).most_wanted();
}

IndexCatalog catalog_with(const PresentIndexes& present, std::span<const IndexProposal* const> proposals) {
  IndexCatalog catalog = *present.catalog;
  bool changes_policy = false;
  for (const IndexProposal* proposal : proposals) {
    changes_policy = changes_policy || proposal->kind != IndexProposal::Kind::json;
    if (proposal->kind != IndexProposal::Kind::json) continue;
    auto definition = std::make_shared<IndexDefinition>();
    definition->identity = proposal->identity();
    definition->design_document = "_design/advised";
    definition->name = definition->identity;
    definition->fields = proposal->fields;
    definition->partitioned = proposal->partitioned;
    IndexView view;
    view.definition = std::move(definition);
    complete(view, present.partition_ids);
    catalog.indexes.push_back(std::move(view));
  }
  if (changes_policy) {
    catalog.automatic = automatic_with(present, proposals);
    complete(*catalog.automatic, present.partition_ids);
  }
  return catalog;
}

}  // namespace octavo::query::advice
