#include "query/mango/find_shape.h"

#include <string_view>

namespace octavo::query {

namespace {

constexpr std::size_t shape_bytes_max = 4'096;

void append_node(std::string& out, const SelectorNode& node);

void append_nodes(std::string& out, const SelectorNode& node, std::string_view word) {
  out += '(';
  for (const SelectorNode& child : node.children) {
    if (&child != &node.children.front()) out.append(" ").append(word).append(" ");
    append_node(out, child);
    if (out.size() > shape_bytes_max) break;
  }
  out += ')';
}

void append_node(std::string& out, const SelectorNode& node) {
  if (out.size() > shape_bytes_max) return;
  switch (node.kind) {
    case SelectorNode::Kind::everything:
      out += "{}";
      return;
    case SelectorNode::Kind::conjunction:
      return append_nodes(out, node, "and");
    case SelectorNode::Kind::disjunction:
      return append_nodes(out, node, "or");
    case SelectorNode::Kind::negation:
    case SelectorNode::Kind::joint_denial:
      out += "not ";
      return append_nodes(out, node, "or");
    case SelectorNode::Kind::comparison:
      if (node.negated) out += "not ";
      out.append(node.path.text()).append(" ").append(operator_name(node.op)).append(" ");
      if (node.children.empty()) {
        out += '?';
      } else {
        append_node(out, node.children.front());
      }
      return;
  }
}

bool is_equality(const SelectorNode& node) {
  return node.kind == SelectorNode::Kind::comparison && node.op == Operator::equal && !node.negated;
}

}  // namespace

void append_shape(std::string& out, const FindRequest& request) {
  const SelectorNode& root = request.selector.root();
  append_node(out, root);
  if (!request.sort.empty()) out += " sort";
  for (const OrderedField& field : request.sort) {
    out.append(" ").append(field.path.text());
    if (field.descending) out += " desc";
  }
  if (request.aggregation) out += " aggregated";
}

advice::QueryOutline outline_of(const FindRequest& request) {
  advice::QueryOutline outline;
  for (const SelectorNode* node : request.selector.conjuncts()) {
    if (is_equality(*node)) outline.equalities.push_back(node->path);
  }
  outline.plan = advice::without_values(request.plan_request(), outline.bytes);
  outline.is_left_out = !outline.plan;
  outline.in_logical_partition = !request.partition.empty();
  outline.reads_all = request.aggregation.has_value();
  outline.sort_properties = request.sort.size();
  outline.matches_needed = request.matches_needed();
  return outline;
}

}  // namespace octavo::query
