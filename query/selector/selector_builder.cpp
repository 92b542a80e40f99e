#include "query/selector/selector_builder.h"

#include <cstddef>
#include <utility>

#include "query/selector/internal/selector_limits.h"

namespace octavo::query {

namespace {

Expected<void> check_size(const SelectorNode& node, int depth, std::size_t& conditions) {
  if (depth > selector_depth_max) return selector_too_deep();
  if (node.kind == SelectorNode::Kind::comparison) conditions += node.path.empty() ? 1 : 2;
  if (conditions > selector_nodes_max) return selector_too_large();
  for (const SelectorNode& child : node.children) OCTAVO_TRY_VOID(check_size(child, depth + 1, conditions));
  return {};
}

SelectorNode combination(SelectorNode::Kind kind, std::vector<SelectorNode> conditions) {
  SelectorNode node;
  node.kind = kind;
  node.children = std::move(conditions);
  return node;
}

}  // namespace

SelectorNode SelectorBuilder::compare(FieldPath path, Operator op, boost::json::value argument) {
  SelectorNode node;
  node.kind = SelectorNode::Kind::comparison;
  node.is_raw_order = path.is("_id");
  node.path = std::move(path);
  node.op = op;
  // An assignment copies the value if it has another memory resource, which the selector may outlive.
  node.argument = std::move(argument);
  return node;
}

SelectorNode SelectorBuilder::some_element(FieldPath array, SelectorNode condition) {
  SelectorNode node = compare(std::move(array), Operator::element_match, nullptr);
  node.children.push_back(std::move(condition));
  return node;
}

SelectorNode SelectorBuilder::all_of(std::vector<SelectorNode> conditions) {
  return combination(SelectorNode::Kind::conjunction, std::move(conditions));
}

SelectorNode SelectorBuilder::any_of(std::vector<SelectorNode> conditions) {
  return combination(SelectorNode::Kind::disjunction, std::move(conditions));
}

Expected<Selector> SelectorBuilder::build(SelectorNode root) {
  std::size_t conditions = 0;
  OCTAVO_TRY_VOID(check_size(root, 0, conditions));
  return Selector::of(std::move(root));
}

}  // namespace octavo::query
