// Turns a client's selector into the normalised tree, in one pass where Mango takes three: makes operators explicit,
// moves field names down to the comparisons, and pushes negations down to them.

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "query/collation/collation.h"
#include "query/json/large_integer.h"
#include "query/selector/internal/regex.h"
#include "query/selector/internal/selector_limits.h"
#include "query/selector/selector.h"

namespace octavo::query {

namespace {

namespace json = boost::json;

/// `$in` lists up to this long are searched linearly.
constexpr std::size_t unsorted_arguments_max = 8;
constexpr std::size_t quoted_bytes_max = 256;

constexpr std::array<std::string_view, 18> operator_names = {
    "$lt",   "$lte",  "$eq",  "$ne",    "$gte",        "$gt",  "$in",        "$nin",      "$exists",
    "$type", "$size", "$mod", "$regex", "$beginsWith", "$all", "$elemMatch", "$allMatch", "$keyMapMatch",
};

std::string_view view(const json::string& text) {
  return {text.data(), text.size()};
}
std::string_view view(json::string_view text) {
  return {text.data(), text.size()};
}

/// A value for an error text, truncated if it is long.
std::string quoted(const json::value& value) {
  std::string text = serialize_json(value);
  if (text.size() > quoted_bytes_max) {
    std::size_t end = quoted_bytes_max;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text.resize(end);
    text += "…";
  }
  return text;
}

std::unexpected<Error> bad_argument(std::string_view op, const json::value& argument) {
  return fail(ErrorCode::bad_request, fmt::format("Bad argument for operator {}: {}", op, quoted(argument)));
}

bool is_integer(const json::value& value) {
  return value.is_int64() || value.is_uint64() || !large_integer(value).empty();
}

bool takes_list(Operator op) {
  return op == Operator::in || op == Operator::not_in || op == Operator::all;
}

bool is_element_operator(Operator op) {
  return op == Operator::element_match || op == Operator::all_match || op == Operator::key_map_match;
}

/// The operator that is true exactly where `op` is false, for fields that exist; nullopt if `op` has no opposite.
std::optional<Operator> opposite(Operator op) {
  switch (op) {
    case Operator::less:
      return Operator::greater_equal;
    case Operator::less_equal:
      return Operator::greater;
    case Operator::equal:
      return Operator::not_equal;
    case Operator::not_equal:
      return Operator::equal;
    case Operator::greater_equal:
      return Operator::less;
    case Operator::greater:
      return Operator::less_equal;
    case Operator::in:
      return Operator::not_in;
    case Operator::not_in:
      return Operator::in;
    default:
      return std::nullopt;
  }
}

bool is_acceptable(Operator op, const json::value& argument) {
  switch (op) {
    case Operator::in:
    case Operator::not_in:
    case Operator::all:
      return argument.is_array();
    case Operator::exists:
      return argument.is_bool();
    case Operator::type:
    case Operator::begins_with:
    case Operator::regex:
      return is_text(argument);
    case Operator::size:
      return is_integer(argument) && compare(argument, json::value(0)) >= 0;
    case Operator::modulo: {
      const auto* list = argument.if_array();
      if (list == nullptr || list->size() != 2 || !is_integer((*list)[0]) || !is_integer((*list)[1])) return false;
      const auto is_short = [](const json::value& value) { return large_integer(value).size() <= divisor_digits_max; };
      return is_short((*list)[0]) && is_short((*list)[1]) && (*list)[0] != json::value(0);
    }
    case Operator::element_match:
    case Operator::all_match:
    case Operator::key_map_match:
      return argument.is_object();
    default:
      return true;
  }
}

/// The position of a condition in the selector.
struct Context {
  std::string path;            // of the fields above it
  bool is_negated = false;     // below an odd number of `$not`s
  bool is_in_element = false;  // inside an element operator, where negations stay as they are
  bool is_raw_order = false;   // inside `_id`
  int depth = 0;
};

class SelectorParser {
 public:
  Expected<SelectorNode> value(const json::value& selector, const Context& context) {
    if (context.depth > selector_depth_max) return selector_too_deep();
    if (++nodes_ > selector_nodes_max) return selector_too_large();
    const json::object* object = selector.if_object();
    if (object == nullptr || object->empty()) return comparison(Operator::equal, selector, context);
    if (object->size() == 1) return member(*object->begin(), context);
    SelectorNode node;
    node.kind = context.is_negated ? SelectorNode::Kind::disjunction : SelectorNode::Kind::conjunction;
    const Context inner = below(context);
    for (const auto& pair : *object) {
      if (++nodes_ > selector_nodes_max) return selector_too_large();
      OCTAVO_TRY(auto child, member(pair, inner));
      node.children.push_back(std::move(child));
    }
    return node;
  }

 private:
  static Context below(const Context& context) {
    Context inner = context;
    ++inner.depth;
    return inner;
  }

  Expected<SelectorNode> member(const json::key_value_pair& pair, const Context& context) {
    using Kind = SelectorNode::Kind;
    const std::string_view name = view(pair.key());
    if (!name.starts_with('$')) return field(name, pair.value(), context);
    const auto found = std::ranges::find(operator_names, name);
    if (found != operator_names.end()) {
      return comparison(static_cast<Operator>(found - operator_names.begin()), pair.value(), context);
    }
    const bool negated = context.is_negated;
    if (name == "$and")
      return combination(name, pair.value(), negated ? Kind::disjunction : Kind::conjunction, context);
    if (name == "$or") return combination(name, pair.value(), negated ? Kind::conjunction : Kind::disjunction, context);
    if (name == "$nor") {
      if (context.is_in_element) return combination(name, pair.value(), Kind::joint_denial, context);
      Context flipped = context;
      flipped.is_negated = !negated;
      return combination(name, pair.value(), negated ? Kind::disjunction : Kind::conjunction, flipped);
    }
    if (name == "$not") return negation(pair.value(), context);
    if (name == "$text" || name == "$default") {
      return fail(ErrorCode::unsupported, "Unsupported operator: $text (there is no text index for it)");
    }
    for (const std::string_view known : {"$where", "$geoWithin", "$geoIntersects", "$near", "$nearSphere"}) {
      if (name == known) return fail(ErrorCode::bad_request, fmt::format("Unsupported operator: {}", name));
    }
    return fail(ErrorCode::bad_request, fmt::format("Invalid operator: {}", name));
  }

  Expected<SelectorNode> field(std::string_view name, const json::value& condition, const Context& context) {
    Context inner = below(context);
    if (!inner.path.empty()) inner.path += '.';
    inner.path += name;
    return value(condition, inner);
  }

  Expected<SelectorNode> combination(std::string_view name, const json::value& argument, SelectorNode::Kind kind,
                                     const Context& context) {
    const json::array* list = argument.if_array();
    if (list == nullptr) return bad_argument(name, argument);
    SelectorNode node;
    node.kind = kind;
    const Context inner = below(context);
    for (const json::value& element : *list) {
      OCTAVO_TRY(auto child, value(element, inner));
      node.children.push_back(std::move(child));
    }
    return node;
  }

  Expected<SelectorNode> negation(const json::value& argument, const Context& context) {
    if (!argument.is_object()) return bad_argument("$not", argument);
    Context inner = below(context);
    if (!context.is_in_element) {
      inner.is_negated = !inner.is_negated;
      return value(argument, inner);
    }
    SelectorNode node;
    node.kind = SelectorNode::Kind::negation;
    OCTAVO_TRY(auto child, value(argument, inner));
    node.children.push_back(std::move(child));
    return node;
  }

  Expected<SelectorNode> comparison(Operator op, const json::value& argument, const Context& context) {
    if (!is_acceptable(op, argument)) return bad_argument(operator_name(op), argument);
    if (takes_list(op)) OCTAVO_TRY_VOID(count_listed(argument.get_array().size()));
    SelectorNode node;
    node.kind = SelectorNode::Kind::comparison;
    OCTAVO_TRY(node.path, FieldPath::parse(context.path));
    node.is_raw_order = context.is_raw_order || node.path.is("_id");
    node.op = op;
    if (is_element_operator(op)) {
      Context inner;
      inner.is_in_element = true;
      inner.is_raw_order = node.is_raw_order;
      inner.depth = context.depth + 1;
      OCTAVO_TRY(auto child, value(argument, inner));
      node.children.push_back(std::move(child));
    } else {
      // Copied to the default memory resource: the selector may outlive the request and its memory.
      node.argument = json::value(argument, json::storage_ptr());
    }
    if (op == Operator::regex) {
      auto regex = CompiledRegex::compile(view(argument.get_string()), RegexDialect::bytes);
      if (!regex && regex.error().code == ErrorCode::too_large) {
        return fail(ErrorCode::bad_request, "Bad argument for operator $regex: " + regex.error().reason, "bad_arg");
      }
      if (!regex) return bad_argument("$regex", argument);
      node.compiled_regex = *std::move(regex);
    }
    if (context.is_negated) negate(node);
    if (node.op == Operator::in || node.op == Operator::not_in) sort_arguments(node);
    return node;
  }

  // Called before the values are copied and sorted.
  Expected<void> count_listed(std::size_t values) {
    listed_ += values;
    if (listed_ <= selector_listed_max) return {};
    return fail(ErrorCode::bad_request,
                fmt::format("Selector lists over {} values in $in, $nin and $all", selector_listed_max));
  }

  static void negate(SelectorNode& node) {
    if (node.op == Operator::exists) {
      node.argument = !node.argument.get_bool();
    } else if (const auto flipped = opposite(node.op)) {
      node.op = *flipped;
    } else {
      node.negated = true;
    }
  }

  static void sort_arguments(SelectorNode& node) {
    const json::array& list = node.argument.get_array();
    if (list.size() <= unsorted_arguments_max) return;
    node.sorted_arguments.assign(list.begin(), list.end());
    std::ranges::sort(node.sorted_arguments, [&](const json::value& a, const json::value& b) {
      return (node.is_raw_order ? compare_raw(a, b) : compare(a, b)) < 0;
    });
  }

  std::size_t nodes_ = 0;
  std::size_t listed_ = 0;
};

/// Collects the paths read from the root, each once.
void collect_fields(const SelectorNode& node, std::vector<FieldPath>& fields, bool& needs_whole_document) {
  if (node.kind != SelectorNode::Kind::comparison) {
    for (const SelectorNode& child : node.children) collect_fields(child, fields, needs_whole_document);
    return;
  }
  if (node.path.empty()) {
    needs_whole_document = true;
  } else {
    fields.push_back(node.path);
  }
}

void keep_first_of_each(std::vector<FieldPath>& fields) {
  std::vector<std::size_t> order(fields.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return fields[a] < fields[b]; });
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !(fields[order[i]] == fields[order[i - 1]])) kept.push_back(order[i]);
  }
  std::ranges::sort(kept);
  std::vector<FieldPath> result;
  result.reserve(kept.size());
  for (const std::size_t i : kept) result.push_back(std::move(fields[i]));
  fields = std::move(result);
}

json::value node_to_json(const SelectorNode& node) {
  const auto list = [&] {
    json::array children;
    children.reserve(node.children.size());
    for (const SelectorNode& child : node.children) children.push_back(node_to_json(child));
    return children;
  };
  switch (node.kind) {
    case SelectorNode::Kind::everything:
      return json::object();
    case SelectorNode::Kind::conjunction:
      return json::object({{"$and", list()}});
    case SelectorNode::Kind::disjunction:
      return json::object({{"$or", list()}});
    case SelectorNode::Kind::joint_denial:
      return json::object({{"$nor", list()}});
    case SelectorNode::Kind::negation:
      return json::object({{"$not", node_to_json(node.children[0])}});
    case SelectorNode::Kind::comparison:
      break;
  }
  json::object condition;
  const std::string_view name = operator_name(node.op);
  condition.emplace(json::string_view(name.data(), name.size()),
                    is_element_operator(node.op) ? node_to_json(node.children[0]) : node.argument);
  if (node.negated) {
    json::object negated;
    negated.emplace("$not", std::move(condition));
    condition = std::move(negated);
  }
  json::object field;
  field.emplace(node.path.text(), std::move(condition));
  return field;
}

}  // namespace

std::string_view operator_name(Operator op) {
  return operator_names[static_cast<std::size_t>(op)];
}

Selector::Selector() : root_(std::make_shared<const SelectorNode>()) {}

Expected<Selector> Selector::parse(const json::value& selector_json) {
  const json::object* object = selector_json.if_object();
  if (object == nullptr) {
    return fail(ErrorCode::bad_request, fmt::format("Selector must be a JSON object, not: {}", quoted(selector_json)));
  }
  if (object->empty()) return Selector();
  OCTAVO_TRY(auto root, SelectorParser().value(selector_json, {}));
  if (root.kind == SelectorNode::Kind::comparison && root.path.empty()) {
    return fail(ErrorCode::bad_request, "One or more conditions is missing a field name.");
  }
  return of(std::move(root));
}

Selector Selector::of(SelectorNode root) {
  Selector selector;
  collect_fields(root, selector.fields_, selector.needs_whole_document_);
  keep_first_of_each(selector.fields_);
  selector.root_ = std::make_shared<const SelectorNode>(std::move(root));
  return selector;
}

Selector Selector::both(const Selector& a, const Selector& b) {
  SelectorNode root;
  root.kind = SelectorNode::Kind::conjunction;
  root.children = {*a.root_, *b.root_};
  return of(std::move(root));
}

json::value Selector::to_json() const {
  return node_to_json(*root_);
}

std::string_view mango_error_name(const Error& error) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> names = {{
      {"Bad argument for operator", "bad_arg"},
      {"Invalid operator:", "invalid_operator"},
      {"Unsupported operator:", "not_supported"},
      {"Invalid field name:", "invalid_field_name"},
      {"One or more conditions is missing", "invalid_selector"},
      {"Selector must be a JSON object", "invalid_selector_json"},
  }};
  for (const auto& [prefix, name] : names) {
    if (error.reason.starts_with(prefix)) return name;
  }
  return error.reason.starts_with("Selector ") ? "invalid_selector" : "bad_request";
}

}  // namespace octavo::query
