// Runs a normalised selector over one document.

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/machine/processor_time.h"
#include "query/collation/collation.h"
#include "query/collation/internal/json_access.h"
#include "query/json/large_integer.h"
#include "query/json/parsed_document.h"
#include "query/selector/internal/regex.h"
#include "query/selector/internal/text.h"
#include "query/selector/match_budget.h"
#include "query/selector/selector.h"

namespace octavo::query {

namespace {

namespace json = boost::json;
using simdjson::dom::element;

/// What a condition tests: a value of the document, or one that is not in its body (`_id`, `_rev`, `_deleted`, the
/// names of an object's members).
struct Operand {
  bool is_element = true;
  element value;                     // when is_element
  TypeRank rank = TypeRank::string;  // otherwise: string or boolean_true
  std::string_view text;

  static Operand of(element value) { return {true, value, TypeRank::null, {}}; }
  static Operand of(std::string_view text) { return {false, {}, TypeRank::string, text}; }
  static Operand of_true() { return {false, {}, TypeRank::boolean_true, {}}; }

  TypeRank type() const { return is_element ? type_rank(value) : rank; }
  std::string_view string() const { return is_element ? value.get_string().value_unsafe() : text; }
};

int compare_text(std::string_view text, const json::value& argument, bool is_raw) {
  if (!is_text(argument)) return is_raw ? 1 : type_rank(argument) < TypeRank::string ? 1 : -1;
  const std::string_view other = view(argument.get_string());
  return is_raw ? text.compare(other) : compare_strings(text, other);
}

/// Bytes of strings that are compared in about the time of a comparison of short values.
constexpr std::size_t compared_bytes_per_step = 32;

/// The steps of a comparison with an argument that equals the value. 0 for a short one, which is part of its condition.
std::size_t steps_to_compare(const json::value& argument) {
  std::size_t steps = 0;
  if (argument.is_string()) return argument.get_string().size() / compared_bytes_per_step;
  if (argument.is_array()) {
    for (const json::value& item : argument.get_array()) steps += 1 + steps_to_compare(item);
  } else if (argument.is_object()) {
    for (const auto& member : argument.get_object()) {
      steps += 1 + member.key().size() / compared_bytes_per_step + steps_to_compare(member.value());
    }
  }
  return steps;
}

/// Charges what a comparison takes beyond its condition's step: the bytes of strings, the values of arrays and objects.
/// No more than the argument's size, which is where the comparison ends.
bool take_comparison(const Operand& operand, const json::value& argument, MatchBudget& budget) {
  if (is_text(argument)) {
    if (operand.type() != TypeRank::string) return true;
    const std::size_t bytes = std::min(operand.string().size(), argument.get_string().size());
    return bytes < compared_bytes_per_step || budget.take(bytes / compared_bytes_per_step);
  }
  if (!argument.is_structured() || operand.type() != type_rank(argument)) return true;
  return !budget.is_exhausted() && budget.take(steps_to_compare(argument));
}

/// Meaningless once the budget is used up.
int compare_operand(const Operand& operand, const json::value& argument, bool is_raw, MatchBudget& budget) {
  if (!take_comparison(operand, argument, budget)) return 1;
  if (operand.is_element) return is_raw ? compare_raw(operand.value, argument) : compare(operand.value, argument);
  if (operand.rank == TypeRank::string) return compare_text(operand.text, argument, is_raw);
  const json::value true_value(true);
  return is_raw ? compare_raw(true_value, argument) : compare(true_value, argument);
}

/// True if the operand equals one of the arguments of `$in` or `$nin`.
bool is_listed(const SelectorNode& node, const Operand& operand, MatchBudget& budget) {
  const bool is_raw = node.is_raw_order;
  if (node.sorted_arguments.empty()) {
    return std::ranges::any_of(node.argument.get_array(), [&](const json::value& argument) {
      return compare_operand(operand, argument, is_raw, budget) == 0;
    });
  }
  const auto at = std::ranges::partition_point(node.sorted_arguments, [&](const json::value& argument) {
    return compare_operand(operand, argument, is_raw, budget) > 0;
  });
  return at != node.sorted_arguments.end() && compare_operand(operand, *at, is_raw, budget) == 0;
}

/// `$in`: for an array, its elements are looked up.
bool is_in(const SelectorNode& node, const Operand& operand, MatchBudget& budget) {
  if (operand.type() != TypeRank::array) return is_listed(node, operand, budget);
  for (const element item : json_access::array(operand.value)) {
    if (!budget.take()) return false;
    if (is_listed(node, Operand::of(item), budget)) return true;
  }
  return false;
}

bool is_integer(element number) {
  return number.type() != simdjson::dom::element_type::DOUBLE || !large_integer(number).empty();
}

/// Erlang's term equality, which `$all` uses: strings by bytes; if `is_strict`, 1 is not 1.0.
bool is_same_value(element value, const json::value& argument, bool is_strict, MatchBudget& budget) {
  if (!budget.take()) return false;
  const TypeRank rank = type_rank(value);
  if (rank != type_rank(argument)) return false;
  switch (rank) {
    case TypeRank::number:
      return (!is_strict || is_integer(value) != argument.is_double()) && compare(value, argument) == 0;
    case TypeRank::string:
      return value.get_string().value_unsafe().size() == argument.get_string().size() &&
             take_comparison(Operand::of(value), argument, budget) &&
             value.get_string().value_unsafe() == view(argument.get_string());
    case TypeRank::array: {
      const auto items = json_access::array(value);
      const auto& others = argument.get_array();
      auto other = others.begin();
      for (const element item : items) {
        if (other == others.end() || !is_same_value(item, *other++, is_strict, budget)) return false;
      }
      return other == others.end();
    }
    case TypeRank::object: {
      const auto& others = argument.get_object();
      auto other = others.begin();
      for (const auto& member : json_access::object(value)) {
        if (other == others.end() || member.key != std::string_view(other->key().data(), other->key().size()) ||
            !is_same_value(member.value, other->value(), is_strict, budget)) {
          return false;
        }
        ++other;
      }
      return other == others.end();
    }
    default:
      return true;
  }
}

bool has_all(const SelectorNode& node, const Operand& operand, MatchBudget& budget) {
  const json::array& wanted = node.argument.get_array();
  if (wanted.empty() || operand.type() != TypeRank::array) return false;
  if (wanted.size() == 1 && wanted[0].is_array() && is_same_value(operand.value, wanted[0], false, budget)) return true;
  const auto items = json_access::array(operand.value);
  return std::ranges::all_of(wanted, [&](const json::value& argument) {
    for (const element item : items) {
      if (is_same_value(item, argument, true, budget)) return true;
      if (budget.is_exhausted()) return false;
    }
    return false;
  });
}

__extension__ using Wide = __int128;

/// An integer of up to 64 bits; nullopt for a larger one.
std::optional<Wide> wide(const json::value& integer) {
  if (integer.is_int64()) return integer.get_int64();
  if (integer.is_uint64()) return integer.get_uint64();
  return std::nullopt;
}
std::optional<Wide> wide(element integer) {
  if (integer.is_int64()) return integer.get_int64().value_unsafe();
  if (integer.is_uint64()) return integer.get_uint64().value_unsafe();
  return std::nullopt;
}

std::string digits_of(const json::value& integer) {
  const std::string_view digits = large_integer(integer);
  return digits.empty() ? json::serialize(integer) : std::string(digits);
}
std::string digits_of(element integer) {
  const std::string_view digits = large_integer(integer);
  return digits.empty() ? simdjson::to_string(integer) : std::string(digits);
}

bool is_congruent(const SelectorNode& node, const Operand& operand, MatchBudget& budget) {
  if (!operand.is_element || operand.type() != TypeRank::number || !is_integer(operand.value)) return false;
  const json::array& arguments = node.argument.get_array();
  const auto dividend = wide(operand.value);
  const auto divisor = wide(arguments[0]);
  const auto remainder = wide(arguments[1]);
  if (dividend && divisor && remainder) return *dividend % *divisor == *remainder;
  const std::string digits = digits_of(operand.value);
  return budget.take(digits.size()) && has_remainder(digits, digits_of(arguments[0]), digits_of(arguments[1]));
}

std::string_view type_name(TypeRank rank) {
  switch (rank) {
    case TypeRank::null:
      return "null";
    case TypeRank::boolean_false:
    case TypeRank::boolean_true:
      return "boolean";
    case TypeRank::number:
      return "number";
    case TypeRank::string:
      return "string";
    case TypeRank::array:
      return "array";
    case TypeRank::object:
      return "object";
  }
  return {};
}

/// What passing members or elements costs, of which each takes a fraction of a comparison's time.
bool take_passed(MatchBudget& budget, std::size_t passed) {
  constexpr std::size_t passed_per_step = 8;
  return passed < passed_per_step || budget.take(passed / passed_per_step);
}

FieldLookup find_within(element root, const FieldPath& path, MatchBudget& budget, std::size_t first_part = 0) {
  // The other sides of an `$or` are still tried when the budget is used up: each would pass all members.
  if (budget.is_exhausted()) return {FieldLookup::Outcome::bad_path, {}, 0};
  const FieldLookup lookup = find_field(root, path, first_part);
  take_passed(budget, lookup.passed);
  return lookup;
}

bool has_size(const SelectorNode& node, const Operand& operand, MatchBudget& budget) {
  if (operand.type() != TypeRank::array) return false;
  std::size_t size = 0;  // counted: simdjson's own count stops at 2^24
  for ([[maybe_unused]] const element item : json_access::array(operand.value)) ++size;
  if (!take_passed(budget, size)) return false;
  return wide(node.argument) == static_cast<Wide>(size);  // no array has as many elements as a large integer
}

bool matches_regex(const SelectorNode& node, const Operand& operand, MatchBudget& budget) {
  if (operand.type() != TypeRank::string || budget.is_exhausted()) return false;
  if (!budget.is_regex_timed()) return node.compiled_regex->matches(operand.string());
  const auto begun = processor_time();
  const bool is_found = node.compiled_regex->matches(operand.string());
  return budget.take_time(processor_time() - begun) && is_found;
}

bool matches_value(const SelectorNode& node, const Operand& operand, MatchBudget& budget);

/// Whether the operator holds for a value that exists.
bool holds(const SelectorNode& node, const Operand& operand, MatchBudget& budget) {
  const auto order = [&] { return compare_operand(operand, node.argument, node.is_raw_order, budget); };
  switch (node.op) {
    case Operator::less:
      return order() < 0;
    case Operator::less_equal:
      return order() <= 0;
    case Operator::equal:
      return order() == 0;
    case Operator::not_equal:
      return order() != 0;
    case Operator::greater_equal:
      return order() >= 0;
    case Operator::greater:
      return order() > 0;
    case Operator::in:
      return is_in(node, operand, budget);
    case Operator::not_in:
      return !is_in(node, operand, budget);
    case Operator::exists:
      return node.argument.get_bool();
    case Operator::type:
      return view(node.argument.get_string()) == type_name(operand.type());
    case Operator::size:
      return has_size(node, operand, budget);
    case Operator::modulo:
      return is_congruent(node, operand, budget);
    case Operator::regex:
      return matches_regex(node, operand, budget);
    case Operator::begins_with:
      return operand.type() == TypeRank::string && take_comparison(operand, node.argument, budget) &&
             operand.string().starts_with(view(node.argument.get_string()));
    case Operator::all:
      return has_all(node, operand, budget);
    case Operator::element_match: {
      if (operand.type() != TypeRank::array) return false;
      for (const element item : json_access::array(operand.value)) {
        if (!budget.take()) return false;
        if (matches_value(node.children[0], Operand::of(item), budget)) return true;
      }
      return false;
    }
    case Operator::all_match: {
      if (operand.type() != TypeRank::array) return false;
      bool has_items = false;
      for (const element item : json_access::array(operand.value)) {
        if (!budget.take()) return false;
        if (!matches_value(node.children[0], Operand::of(item), budget)) return false;
        has_items = true;
      }
      return has_items;
    }
    case Operator::key_map_match: {
      if (operand.type() != TypeRank::object) return false;
      for (const auto& member : json_access::object(operand.value)) {
        if (!budget.take()) return false;
        if (matches_value(node.children[0], Operand::of(member.key), budget)) return true;
      }
      return false;
    }
  }
  return false;
}

/// The operand of a comparison, or why it is missing.
struct Found {
  FieldLookup::Outcome outcome = FieldLookup::Outcome::bad_path;
  Operand operand;

  static Found of(const FieldLookup& lookup) { return {lookup.outcome, Operand::of(lookup.value)}; }
  static Found of(const Operand& operand) { return {FieldLookup::Outcome::found, operand}; }
};

bool matches_comparison(const SelectorNode& node, const Found& found, MatchBudget& budget) {
  if (!budget.take()) return false;
  if (found.outcome == FieldLookup::Outcome::found) return holds(node, found.operand, budget) != node.negated;
  return found.outcome == FieldLookup::Outcome::missing && node.op == Operator::exists && !node.argument.get_bool();
}

/// Combines the outcomes of the comparisons below `node`, each found by `test`.
template <class Test>
bool matches_tree(const SelectorNode& node, const Test& test) {
  using Kind = SelectorNode::Kind;
  const auto matches_child = [&](const SelectorNode& child) { return matches_tree(child, test); };
  switch (node.kind) {
    case Kind::everything:
      return true;
    case Kind::conjunction:
      return std::ranges::all_of(node.children, matches_child);
    case Kind::disjunction:
      return node.children.empty() || std::ranges::any_of(node.children, matches_child);
    case Kind::negation:
      return !matches_tree(node.children[0], test);
    case Kind::joint_denial:
      return std::ranges::none_of(node.children, matches_child);
    case Kind::comparison:
      return test(node);
  }
  return false;
}

/// Tests a sub-selector on an element of an array or the name of a member.
bool matches_value(const SelectorNode& node, const Operand& operand, MatchBudget& budget) {
  return matches_tree(node, [&](const SelectorNode& comparison) {
    if (comparison.path.empty()) return matches_comparison(comparison, Found::of(operand), budget);
    if (!operand.is_element) return false;
    return matches_comparison(comparison, Found::of(find_within(operand.value, comparison.path, budget)), budget);
  });
}

/// The document with the fields that are kept beside its body, for conditions on the document as a whole.
std::string whole_document(const SelectorSubject& subject) {
  std::string text = "{";
  append_json_key(text, "_id");
  append_json_string(text, subject.id);
  append_json_key(text, "_rev");
  append_json_string(text, subject.rev);
  if (subject.deleted) text += R"(,"_deleted":true)";
  if (subject.attachments) text += R"(,"_attachments":)" + simdjson::to_string(*subject.attachments);
  std::string body;
  append_json(body, subject.body);
  if (body.size() > 2) text += ',';
  text.append(body, 1);
  return text;
}

Found find_in_subject(const SelectorSubject& subject, const FieldPath& path, MatchBudget& budget) {
  using Outcome = FieldLookup::Outcome;
  const auto& first = path.parts()[0].name;
  if (first[0] == '_') {
    const auto beside = [&](const Operand& operand) -> Found {
      if (path.parts().size() > 1) return {Outcome::bad_path, {}};
      return Found::of(operand);
    };
    if (first == "_id") return beside(Operand::of(subject.id));
    if (first == "_rev") return beside(Operand::of(subject.rev));
    if (first == "_deleted" && subject.deleted) return beside(Operand::of_true());
    if (first == "_attachments" && subject.attachments) {
      return Found::of(find_within(*subject.attachments, path, budget, 1));
    }
  }
  return Found::of(find_within(subject.body, path, budget));
}

}  // namespace

namespace {

bool is_match(const Selector& selector, const SelectorSubject& subject, MatchBudget& budget) {
  return matches_tree(selector.root(), [&](const SelectorNode& comparison) {
    if (!comparison.path.empty()) {
      return matches_comparison(comparison, find_in_subject(subject, comparison.path, budget), budget);
    }
    // Each such condition renders and parses the document.
    constexpr std::size_t rendered_bytes_per_step = 8;
    if (budget.is_exhausted()) return false;
    const std::string text = whole_document(subject);
    if (!budget.take(text.size() / rendered_bytes_per_step)) return false;
    DocumentParser parser;
    const auto document = parser.parse(text);
    return document && matches_comparison(comparison, Found::of(Operand::of(*document)), budget);
  });
}

}  // namespace

Expected<bool> matches_within(const Selector& selector, const SelectorSubject& subject, MatchBudget& budget) {
  const bool matches = is_match(selector, subject, budget);
  if (!budget.is_exhausted()) return matches;
  return fail(ErrorCode::too_large,
              fmt::format("The condition takes too much time for the document {}; use fewer conditions on the elements "
                          "of arrays, or simpler regular expressions.",
                          subject.id));
}

bool cost_grows_with_document(const Selector& selector) {
  constexpr std::size_t short_list_max = 16;
  std::size_t lookups = 0;
  const auto grows = [&lookups](const auto& self, const SelectorNode& node) -> bool {
    if (node.kind == SelectorNode::Kind::comparison) {
      if (++lookups > short_list_max) return true;
      switch (node.op) {
        case Operator::size:
        case Operator::regex:
        case Operator::all:
        case Operator::element_match:
        case Operator::all_match:
        case Operator::key_map_match:
          return true;
        case Operator::in:
        case Operator::not_in:
          return node.argument.get_array().size() > short_list_max;
        default:
          return node.path.empty();
      }
    }
    return std::ranges::any_of(node.children, [&](const SelectorNode& child) { return self(self, child); });
  };
  return grows(grows, selector.root());
}

bool Selector::matches(const SelectorSubject& subject) const {
  MatchBudget unlimited;
  return is_match(*this, subject, unlimited);
}

bool Selector::matches(simdjson::dom::element body, std::string_view id, std::string_view rev) const {
  return matches(SelectorSubject{.body = body, .id = id, .rev = rev, .deleted = false, .attachments = {}});
}

}  // namespace octavo::query
