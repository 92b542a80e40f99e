// Derives what the planner needs from a selector: the values a field must have, and whether one selector implies
// another.

#include <algorithm>
#include <map>
#include <set>

#include "query/collation/collation.h"
#include "query/json/large_integer.h"
#include "query/selector/internal/text.h"
#include "query/selector/selector.h"

namespace octavo::query {

namespace {

namespace json = boost::json;

/// `$nin` and `$in` lists longer than this are not turned into the gaps between their values.
constexpr std::size_t gaps_max = 64;

/// Nodes, listed values and intervals that `implies` examines before it gives up and returns false.
constexpr std::size_t implication_work_max = 500'000;

/// Intervals that conjunctions may carry from one condition to the next, in total. Each `$ne` adds one: thousands of
/// them would take quadratic time, for ranges that are of no use.
constexpr std::size_t narrowing_work_max = 50'000;

const Interval everything{};

FieldConstraint values(std::vector<Interval> intervals, bool exact) {
  return {std::move(intervals), false, exact};
}
FieldConstraint any_value(bool exact) {
  return values({everything}, exact);
}

Interval point(const json::value& value) {
  return {value, true, value, true};
}
Interval below(const json::value& value, bool inclusive) {
  return {std::nullopt, true, value, inclusive};
}
Interval above(const json::value& value, bool inclusive) {
  return {value, inclusive, std::nullopt, true};
}

Interval numbers() {
  return {json::value(true), false, json::value(""), false};
}
Interval strings() {
  return {json::value(""), true, json::value(json::array()), false};
}
Interval arrays() {
  return {json::value(json::array()), true, json::value(json::object()), false};
}
Interval objects() {
  return above(json::value(json::object()), true);
}

FieldConstraint values_of_type(std::string_view type) {
  if (type == "null") return values({point(nullptr)}, true);
  if (type == "boolean") return values({{json::value(false), true, json::value(true), true}}, true);
  if (type == "number") return values({numbers()}, true);
  if (type == "string") return values({strings()}, true);
  if (type == "array") return values({arrays()}, true);
  if (type == "object") return values({objects()}, true);
  return values({}, true);
}

Interval strings_beginning_with(std::string_view prefix) {
  const std::string_view safe = collation_safe_prefix(prefix);
  if (safe.empty()) return strings();
  // U+FFFF sorts above all characters. Several are appended in case a document contains one.
  std::string upper(safe);
  for (int i = 0; i < 4; ++i) upper += "\xEF\xBF\xBF";
  return {json::value(json::string_view(safe.data(), safe.size())), true, json::value(upper), true};
}

FieldConstraint values_not_listed(const json::array& list, BoundOrder order) {
  if (list.size() > gaps_max) return any_value(false);
  std::vector<FieldConstraint> listed;
  for (const json::value& value : list) {
    // An array is tested by its elements, so an array among the arguments excludes no array.
    if (!value.is_array()) listed.push_back(values({point(value)}, true));
  }
  const FieldConstraint excluded = unite(listed, order);
  FieldConstraint result = values({}, true);
  Interval gap = everything;
  for (const Interval& value : excluded.intervals) {
    gap.upper = value.lower;
    gap.upper_inclusive = false;
    result.intervals.push_back(std::move(gap));
    gap = above(*value.lower, false);
  }
  result.intervals.push_back(std::move(gap));
  if (order != BoundOrder::raw) result.exact = false;  // an array matches or not by its elements
  return result;
}

FieldConstraint values_listed(const json::array& list, BoundOrder order) {
  std::vector<FieldConstraint> parts;
  for (const json::value& value : list) {
    if (!value.is_array()) parts.push_back(values({point(value)}, true));
  }
  // An array matches if one of its elements is listed; an empty list matches nothing.
  if (order != BoundOrder::raw && !list.empty()) parts.push_back(values({arrays()}, false));
  return unite(parts, order);
}

// All strings that begin with the prefix. The upper bound is the prefix with its last byte incremented. It is only
// compared by its bytes, so it need not be UTF-8.
Interval bytes_beginning_with(const json::value& prefix) {
  std::string next(view(prefix.get_string()));
  next.back() = static_cast<char>(next.back() + 1);  // no byte of UTF-8 is FF
  return {prefix, true, json::value(next), false};
}

/// `_id` always exists and is a string, and strings sort above all other types in its order.
FieldConstraint constraint_on_id(const SelectorNode& node) {
  const auto all_or_none = [](bool all) {
    return values(all ? std::vector{everything} : std::vector<Interval>{}, true);
  };
  if (node.negated) return any_value(false);
  const bool is_string = is_text(node.argument);
  const json::value& argument = node.argument;
  switch (node.op) {
    case Operator::less:
      return is_string ? values({below(argument, false)}, true) : all_or_none(false);
    case Operator::less_equal:
      return is_string ? values({below(argument, true)}, true) : all_or_none(false);
    case Operator::equal:
      return is_string ? values({point(argument)}, true) : all_or_none(false);
    case Operator::not_equal:
      return is_string ? values({below(argument, false), above(argument, false)}, true) : all_or_none(true);
    case Operator::greater_equal:
      return is_string ? values({above(argument, true)}, true) : all_or_none(true);
    case Operator::greater:
      return is_string ? values({above(argument, false)}, true) : all_or_none(true);
    case Operator::in:
    case Operator::not_in: {
      json::array list;
      for (const json::value& value : argument.get_array()) {
        if (is_text(value)) list.push_back(value);
      }
      return node.op == Operator::in ? values_listed(list, BoundOrder::raw) : values_not_listed(list, BoundOrder::raw);
    }
    case Operator::exists:
      return all_or_none(argument.get_bool());
    case Operator::type:
      return all_or_none(view(argument.get_string()) == "string");
    case Operator::begins_with:
      if (argument.get_string().empty()) return any_value(true);
      return values({bytes_beginning_with(argument)}, true);
    case Operator::regex:
      return any_value(false);
    case Operator::size:
    case Operator::modulo:
    case Operator::all:
    case Operator::element_match:
    case Operator::all_match:
    case Operator::key_map_match:
      return all_or_none(false);
  }
  return any_value(false);
}

FieldConstraint constraint_of_comparison(const SelectorNode& node, BoundOrder order) {
  if (node.is_raw_order) return constraint_on_id(node);
  if (node.negated) return any_value(false);
  const json::value& argument = node.argument;
  switch (node.op) {
    case Operator::less:
      return values({below(argument, false)}, true);
    case Operator::less_equal:
      return values({below(argument, true)}, true);
    case Operator::equal:
      return values({point(argument)}, true);
    case Operator::not_equal:
      return values({below(argument, false), above(argument, false)}, true);
    case Operator::greater_equal:
      return values({above(argument, true)}, true);
    case Operator::greater:
      return values({above(argument, false)}, true);
    case Operator::in:
      return values_listed(argument.get_array(), order);
    case Operator::not_in:
      return values_not_listed(argument.get_array(), order);
    case Operator::exists:
      if (argument.get_bool()) return any_value(true);
      // `{"a.b": {"$exists": false}}` does not match if `a` is not an object, but an index treats that as missing, too.
      return {{}, true, node.path.parts().size() == 1};
    case Operator::type:
      return values_of_type(view(argument.get_string()));
    case Operator::modulo:
      return values({numbers()}, false);
    case Operator::regex:
      return values({strings()}, false);
    case Operator::begins_with:
      if (order == BoundOrder::ordinal && !argument.get_string().empty()) {
        return values({bytes_beginning_with(argument)}, false);
      }
      return values({strings_beginning_with(view(argument.get_string()))}, false);
    case Operator::size:
    case Operator::element_match:
    case Operator::all_match:
      return values({arrays()}, false);
    case Operator::all:
      return argument.get_array().empty() ? values({}, true) : values({arrays()}, false);
    case Operator::key_map_match:
      return values({objects()}, false);
  }
  return any_value(false);
}

bool mentions(const SelectorNode& node, const FieldPath& path) {
  if (node.kind == SelectorNode::Kind::comparison) return node.path == path;
  return std::ranges::any_of(node.children, [&](const SelectorNode& child) { return mentions(child, path); });
}

/// Narrows `result` by one more condition. If `work` is used up, skips it and returns false: all others must be
/// skipped, too.
template <class ConstraintOf>
bool narrow(FieldConstraint& result, BoundOrder order, std::size_t& work, const ConstraintOf& condition) {
  if (work == 0) {
    result.exact = false;
    return false;
  }
  work -= std::min(work, result.intervals.size());
  result = intersect(result, condition(), order);
  return true;
}

/// What the value at `path` must be if `node` is true. Exact if `node` depends on nothing else and this expresses all
/// of it.
FieldConstraint constraint_of(const SelectorNode& node, const FieldPath& path, BoundOrder order, std::size_t& work) {
  using Kind = SelectorNode::Kind;
  FieldConstraint unconstrained{{everything}, true, true};
  switch (node.kind) {
    case Kind::everything:
      return unconstrained;
    case Kind::conjunction: {
      FieldConstraint result = unconstrained;
      for (const SelectorNode& child : node.children) {
        if (!mentions(child, path)) {
          result.exact = false;
          continue;
        }
        if (!narrow(result, order, work, [&] { return constraint_of(child, path, order, work); })) break;
      }
      return result;
    }
    case Kind::disjunction: {
      if (node.children.empty()) return unconstrained;
      std::vector<FieldConstraint> parts;
      parts.reserve(node.children.size());
      for (const SelectorNode& child : node.children) parts.push_back(constraint_of(child, path, order, work));
      return unite(parts, order);
    }
    case Kind::comparison:
      if (node.path == path) return constraint_of_comparison(node, order);
      return {{everything}, true, false};
    case Kind::negation:
    case Kind::joint_denial:
      break;  // only inside element operators
  }
  return {{everything}, true, false};
}

BoundOrder order_of(const FieldPath& path) {
  return path.is("_id") ? BoundOrder::raw : BoundOrder::collation;
}

void collect_conjuncts(const SelectorNode& node, std::vector<const SelectorNode*>& conjuncts) {
  if (node.kind == SelectorNode::Kind::conjunction) {
    for (const SelectorNode& child : node.children) collect_conjuncts(child, conjuncts);
  } else if (node.kind != SelectorNode::Kind::everything) {
    conjuncts.push_back(&node);
  }
}

bool is_same(const json::value& a, const json::value& b) {
  if (a.kind() != b.kind() || (a.is_array() && a.get_array().size() != b.get_array().size())) return false;
  // Arrays and objects are compared in order, and 1 differs from 1.0: only a wrong "same" would be an error.
  return json::serialize(a) == json::serialize(b);
}

bool is_same_condition(const SelectorNode& a, const SelectorNode& b) {
  if (a.kind != b.kind || a.children.size() != b.children.size()) return false;
  if (a.kind == SelectorNode::Kind::comparison &&
      !(a.path == b.path && a.op == b.op && a.negated == b.negated && a.is_raw_order == b.is_raw_order &&
        is_same(a.argument, b.argument))) {
    return false;
  }
  return std::ranges::equal(a.children, b.children, is_same_condition);
}

/// The path that a condition tests, if it tests only one; else null.
const FieldPath* single_path(const SelectorNode& node) {
  if (node.kind == SelectorNode::Kind::comparison) return &node.path;
  const FieldPath* path = nullptr;
  for (const SelectorNode& child : node.children) {
    const FieldPath* child_path = single_path(child);
    if (child_path == nullptr || (path != nullptr && !(*path == *child_path))) return nullptr;
    path = child_path;
  }
  return path;
}

/// Number of nodes and of the values they list.
std::size_t weight_of(const SelectorNode& node) {
  std::size_t weight = 1;
  if (const json::array* list = node.argument.if_array()) weight += list->size();
  for (const SelectorNode& child : node.children) weight += weight_of(child);
  return weight;
}

/// `$all` requires elements, except that a single array in its list may also be the field itself.
bool asks_for_elements(const SelectorNode& all) {
  const json::array& wanted = all.argument.get_array();
  return !wanted.empty() && !(wanted.size() == 1 && wanted[0].is_array());
}

/// The query that a filter's conditions are tested against. `work`: how many nodes, listed values and intervals may
/// still be examined in total; two huge selectors are not worth an exact answer.
class Premise {
 public:
  Premise(const SelectorNode& root, std::size_t& work) : root_(root), work_(work), weight_(weight_of(root)) {
    collect_conjuncts(root, conjuncts_);
  }

  bool implies(const SelectorNode& condition) {
    using Kind = SelectorNode::Kind;
    if (work_ < weight_) return false;
    work_ -= weight_;
    if (condition.kind == Kind::everything) return true;
    if (condition.kind == Kind::conjunction) {
      return std::ranges::all_of(condition.children, [&](const SelectorNode& child) { return implies(child); });
    }
    if (std::ranges::any_of(conjuncts_, [&](const SelectorNode* own) { return is_same_condition(*own, condition); })) {
      return true;
    }
    if (const FieldPath* path = single_path(condition); path != nullptr && !path->empty()) {
      const BoundOrder order = order_of(*path);
      const FieldConstraint needed = constraint_of(condition, *path, order, work_);
      if (needed.exact && is_subset(own_constraint(*path, order), needed, order)) return true;
    }
    if (condition.kind == Kind::disjunction) {
      if (condition.children.empty()) return true;
      if (std::ranges::any_of(condition.children, [&](const SelectorNode& child) { return implies(child); })) {
        return true;
      }
    }
    // A query that is an `$or` implies what each of its branches implies.
    return std::ranges::any_of(conjuncts_, [&](const SelectorNode* own) {
      return own->kind == Kind::disjunction && !own->children.empty() &&
             std::ranges::all_of(own->children,
                                 [&](const SelectorNode& branch) { return Premise(branch, work_).implies(condition); });
    });
  }

 private:
  const FieldConstraint& own_constraint(const FieldPath& path, BoundOrder order) {
    const auto known = constraints_.find(path);
    if (known != constraints_.end()) return known->second;
    return constraints_.emplace(path, constraint_of(root_, path, order, work_)).first->second;
  }

  const SelectorNode& root_;
  std::size_t& work_;
  std::size_t weight_;
  std::vector<const SelectorNode*> conjuncts_;
  std::map<FieldPath, FieldConstraint> constraints_;  ///< of the paths needed so far
};

}  // namespace

std::vector<const SelectorNode*> Selector::conjuncts() const {
  std::vector<const SelectorNode*> result;
  collect_conjuncts(*root_, result);
  return result;
}

FieldConstraint Selector::constraint_for(const FieldPath& path) const {
  return constraint_for(path, order_of(path));
}

FieldConstraint Selector::constraint_for(const FieldPath& path, BoundOrder order) const {
  FieldConstraint result{{everything}, order != BoundOrder::raw, true};
  std::size_t work = narrowing_work_max;
  for (const SelectorNode* conjunct : conjuncts()) {
    if (!mentions(*conjunct, path)) continue;
    if (!narrow(result, order, work, [&] { return constraint_of(*conjunct, path, order, work); })) break;
  }
  return result;
}

std::vector<std::pair<FieldPath, FieldPath>> Selector::element_paths() const {
  std::vector<std::pair<FieldPath, FieldPath>> paths;
  std::set<std::pair<FieldPath, FieldPath>> known;
  const auto add = [&](const FieldPath& array, const FieldPath& below) {
    if (known.emplace(array, below).second) paths.emplace_back(array, below);
  };
  for (const SelectorNode* conjunct : conjuncts()) {
    if (conjunct->kind != SelectorNode::Kind::comparison || conjunct->negated) continue;
    if (conjunct->op == Operator::all && asks_for_elements(*conjunct)) add(conjunct->path, {});
    if (conjunct->op != Operator::element_match) continue;
    std::vector<const SelectorNode*> inner;
    collect_conjuncts(conjunct->children.front(), inner);
    for (const SelectorNode* condition : inner) {
      // An element's `_id` is compared like a document's, in an order that no index has.
      const bool has_order = condition->kind == SelectorNode::Kind::comparison && !condition->path.is("_id");
      if (has_order) add(conjunct->path, condition->path);
    }
  }
  return paths;
}

FieldConstraint Selector::constraint_for_elements(const FieldPath& array, const FieldPath& below,
                                                  BoundOrder order) const {
  FieldConstraint result{{everything}, true, false};
  std::size_t work = narrowing_work_max;
  // Different elements may meet the conditions: the narrowest one counts, they must not be intersected.
  const auto consider = [&](FieldConstraint found) {
    if (found.may_be_missing) return;
    if (result.is_everything() || (found.is_points() && found.intervals.size() < result.intervals.size())) {
      result = std::move(found);
      result.exact = false;
    }
  };
  for (const SelectorNode* conjunct : conjuncts()) {
    if (conjunct->kind != SelectorNode::Kind::comparison || conjunct->negated || conjunct->path != array) continue;
    if (conjunct->op == Operator::all && below.empty() && asks_for_elements(*conjunct)) {
      consider(values({point(conjunct->argument.get_array().front())}, false));
    } else if (conjunct->op == Operator::element_match) {
      FieldConstraint found{{everything}, true, false};
      std::vector<const SelectorNode*> inner;
      collect_conjuncts(conjunct->children.front(), inner);
      for (const SelectorNode* condition : inner) {
        if (!mentions(*condition, below)) continue;
        if (!narrow(found, order, work, [&] { return constraint_of(*condition, below, order, work); })) break;
      }
      consider(std::move(found));
    }
  }
  return result;
}

bool Selector::implies(const Selector& filter) const {
  std::size_t work = implication_work_max;
  return Premise(*root_, work).implies(filter.root());
}

}  // namespace octavo::query
