#include <algorithm>
#include <limits>
#include <string>
#include <unordered_set>
#include <vector>

#include "query/sql/functions.h"

namespace octavo::query::sql {

namespace {

using Arguments = std::span<const Value>;

// The elements of an array; empty optional when its walk is over the item's limits.
std::optional<std::vector<Value>> elements_of(Evaluation& evaluation, const Value& array) {
  std::vector<Value> all;
  Elements elements(array);
  for (Value element; elements.next(element, evaluation.arena);) {
    if (!evaluation.step()) return std::nullopt;
    all.push_back(element);
  }
  return all;
}

Value array_from(Evaluation& evaluation, std::span<const Value> values) {
  Value* items = evaluation.values(values.size());
  if (!items) return {};
  std::ranges::copy(values, items);
  return Value::array_of(items, values.size());
}

Value array_concat(Evaluation& evaluation, Arguments arguments) {
  std::vector<Value> all;
  for (const Value& argument : arguments) {
    if (!argument.is_array()) return {};
    auto elements = elements_of(evaluation, argument);
    if (!elements) return {};
    all.insert(all.end(), elements->begin(), elements->end());
  }
  return array_from(evaluation, all);
}

// All members of `part` are in `whole`, with equal values; objects inside likewise.
bool contains_members(Evaluation& evaluation, const Value& whole, const Value& part) {
  if (!whole.is_object() || !part.is_object()) return equal(whole, part);
  Elements members(part);
  std::string_view name;
  for (Value value; members.next(name, value, evaluation.arena);) {
    if (!evaluation.step()) return false;
    const Value found = whole.member(name, evaluation.arena);
    if (found.is_undefined() || !contains_members(evaluation, found, value)) return false;
  }
  return true;
}

Value array_contains(Evaluation& evaluation, Arguments arguments) {
  const bool partial = arguments.size() == 3;
  if (arguments[0].is_undefined() || (partial && !arguments[2].is_boolean())) return {};
  if (!arguments[0].is_array()) return Value::of(false);
  if (arguments[1].is_undefined()) return {};
  const bool by_members = partial && arguments[2].boolean();
  Elements elements(arguments[0]);
  for (Value element; elements.next(element, evaluation.arena);) {
    if (!evaluation.step()) return {};
    if (by_members ? contains_members(evaluation, element, arguments[1]) : equal(element, arguments[1])) {
      return Value::of(true);
    }
  }
  return Value::of(false);
}

bool is_element(const std::vector<Value>& elements, const Value& value) {
  return std::ranges::any_of(elements, [&](const Value& element) { return equal(element, value); });
}

// True as soon as one is there; an undefined one makes what is not true undefined.
Value array_contains_any(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_array()) return {};
  const auto elements = elements_of(evaluation, arguments[0]);
  if (!elements) return {};
  bool unknown = false;
  for (const Value& wanted : arguments.subspan(1)) {
    if (!evaluation.step(elements->size())) return {};
    if (wanted.is_undefined()) {
      unknown = true;
    } else if (is_element(*elements, wanted)) {
      return Value::of(true);
    }
  }
  return unknown ? Value() : Value::of(false);
}

Value array_contains_all(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_array()) return {};
  const auto elements = elements_of(evaluation, arguments[0]);
  if (!elements) return {};
  bool unknown = false;
  for (const Value& wanted : arguments.subspan(1)) {
    if (!evaluation.step(elements->size())) return {};
    if (wanted.is_undefined()) {
      unknown = true;
    } else if (!is_element(*elements, wanted)) {
      return Value::of(false);
    }
  }
  return unknown ? Value() : Value::of(true);
}

Value array_length(Evaluation&, Arguments arguments) {
  if (!arguments[0].is_array()) return {};
  return Value::of(static_cast<double>(arguments[0].count()));
}

Value array_slice(Evaluation& evaluation, Arguments arguments) {
  auto start = arguments[1].integer();
  const auto count =
      arguments.size() == 3 ? arguments[2].integer() : std::optional(std::numeric_limits<std::int64_t>::max());
  if (!arguments[0].is_array() || !start || !count) return {};
  const auto elements = elements_of(evaluation, arguments[0]);
  if (!elements) return {};
  const auto size = static_cast<std::int64_t>(elements->size());
  if (*start < 0) start = std::max<std::int64_t>(0, *start + size);
  if (*start >= size || *count <= 0) return array_from(evaluation, {});
  const auto taken = std::min(*count, size - *start);
  return array_from(evaluation,
                    std::span(*elements).subspan(static_cast<std::size_t>(*start), static_cast<std::size_t>(taken)));
}

Value choose(Evaluation&, Arguments arguments) {
  const auto number = arguments[0].integer();
  if (!number || *number < 1 || static_cast<std::uint64_t>(*number) >= arguments.size()) return {};
  return arguments[static_cast<std::size_t>(*number)];
}

Value object_to_array(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_object()) return {};
  std::string_view names[2] = {"k", "v"};
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (!arguments[i].is_string()) return {};
    names[i - 1] = arguments[i].string();
  }
  std::vector<Value> pairs;
  Elements members(arguments[0]);
  std::string_view name;
  for (Value value; members.next(name, value, evaluation.arena);) {
    Member* pair = evaluation.step() ? evaluation.members(2) : nullptr;
    if (!pair) return {};
    pair[0] = {names[0], Value::of(name)};
    pair[1] = {names[1], value};
    pairs.push_back(Value::object_of(pair, 2));
  }
  return array_from(evaluation, pairs);
}

// Elements of `all`, each once, for which `keep` says yes to its key.
template <class Keep>
Value distinct_elements(Evaluation& evaluation, const std::vector<Value>& all, Keep keep) {
  std::unordered_set<std::string> seen;
  std::vector<Value> kept;
  for (const Value& element : all) {
    std::string key;
    append_order_key(key, element);
    if (keep(key) && seen.insert(std::move(key)).second) kept.push_back(element);
  }
  return array_from(evaluation, kept);
}

std::unordered_set<std::string> keys_of(const std::vector<Value>& elements) {
  std::unordered_set<std::string> keys;
  for (const Value& element : elements) {
    std::string key;
    append_order_key(key, element);
    keys.insert(std::move(key));
  }
  return keys;
}

enum class SetOperation : std::uint8_t { intersection, all, difference };

template <SetOperation operation>
Value set_operation(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_array() || !arguments[1].is_array()) return {};
  auto left = elements_of(evaluation, arguments[0]);
  const auto right = elements_of(evaluation, arguments[1]);
  if (!left || !right) return {};
  if constexpr (operation == SetOperation::all) {
    left->insert(left->end(), right->begin(), right->end());
    return distinct_elements(evaluation, *left, [](const std::string&) { return true; });
  } else {
    const auto keys = keys_of(*right);
    return distinct_elements(evaluation, *left, [&](const std::string& key) {
      return keys.contains(key) == (operation == SetOperation::intersection);
    });
  }
}

// --- aggregates of the numbers in an array ---

std::optional<std::vector<double>> numbers_of(Evaluation& evaluation, const Value& array) {
  if (!array.is_array()) return std::nullopt;
  const auto elements = elements_of(evaluation, array);
  if (!elements) return std::nullopt;
  std::vector<double> numbers;
  for (const Value& element : *elements) {
    if (!element.is_number()) return std::nullopt;
    numbers.push_back(element.number());
  }
  return numbers;
}

double sum_of(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum;
}

Value array_sum(Evaluation& evaluation, Arguments arguments) {
  const auto numbers = numbers_of(evaluation, arguments[0]);
  return numbers ? Value::of(sum_of(*numbers)) : Value();
}

Value array_average(Evaluation& evaluation, Arguments arguments) {
  const auto numbers = numbers_of(evaluation, arguments[0]);
  if (!numbers || numbers->empty()) return {};
  return Value::of(sum_of(*numbers) / static_cast<double>(numbers->size()));
}

Value array_median(Evaluation& evaluation, Arguments arguments) {
  auto numbers = numbers_of(evaluation, arguments[0]);
  if (!numbers || numbers->empty()) return {};
  std::ranges::sort(*numbers);
  const std::size_t middle = numbers->size() / 2;
  if (numbers->size() % 2 == 1) return Value::of((*numbers)[middle]);
  return Value::of(((*numbers)[middle - 1] + (*numbers)[middle]) / 2);
}

template <bool greatest>
Value array_extreme(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_array()) return {};
  const auto elements = elements_of(evaluation, arguments[0]);
  if (!elements || elements->empty()) return {};
  const Value* best = nullptr;
  std::string best_key;
  for (const Value& element : *elements) {
    if (element.is_array() || element.is_object()) return {};
    std::string key;
    append_order_key(key, element);
    if (!best || (greatest ? key > best_key : key < best_key)) {
      best = &element;
      best_key = std::move(key);
    }
  }
  return *best;
}

constexpr Function kArrayFunctions[] = {
    {"ARRAY_AVG", 1, 1, array_average},
    {"ARRAY_CONCAT", 2, any_number, array_concat},
    {"ARRAY_CONTAINS", 2, 3, array_contains, true},
    {"ARRAY_CONTAINS_ALL", 2, any_number, array_contains_all, true},
    {"ARRAY_CONTAINS_ANY", 2, any_number, array_contains_any, true},
    {"ARRAY_LENGTH", 1, 1, array_length},
    {"ARRAY_MAX", 1, 1, array_extreme<true>},
    {"ARRAY_MEDIAN", 1, 1, array_median},
    {"ARRAY_MIN", 1, 1, array_extreme<false>},
    {"ARRAY_SLICE", 2, 3, array_slice},
    {"ARRAY_SUM", 1, 1, array_sum},
    {"CHOOSE", 2, any_number, choose, true},
    {"OBJECTTOARRAY", 1, 3, object_to_array},
    {"SETDIFFERENCE", 2, 2, set_operation<SetOperation::difference>},
    {"SETINTERSECT", 2, 2, set_operation<SetOperation::intersection>},
    {"SETUNION", 2, 2, set_operation<SetOperation::all>},
};

}  // namespace

std::span<const Function> array_functions() {
  return kArrayFunctions;
}

}  // namespace octavo::query::sql
