#include <algorithm>
#include <limits>
#include <string>
#include <unordered_set>
#include <vector>

#include "query/sql/functions/function_table.h"

namespace octavo::query::sql {

namespace {

using Arguments = std::span<const Value>;

// Appends the elements of an array; false if this exceeds the item's limits.
bool append_elements(Evaluation& evaluation, const Value& array, ValueList& all) {
  Elements elements(array);
  for (Value element; elements.next(element, evaluation.arena);) {
    if (!evaluation.step() || !all.push(element)) return false;
  }
  return true;
}

std::optional<ValueList> elements_of(Evaluation& evaluation, const Value& array) {
  ValueList all(evaluation);
  if (!append_elements(evaluation, array, all)) return std::nullopt;
  return all;
}

// A set of values, compared by their keys.
class KeySet {
 public:
  explicit KeySet(Evaluation& evaluation) : evaluation_(evaluation), held_(evaluation) {}
  /// False: the value was in the set, or the evaluation failed.
  bool insert(const Value& value) {
    key_.clear();
    if (!evaluation_.append_order_key(key_, value)) return false;
    return keys_.insert(key_).second && held_.add(key_.size() + entry_bytes);
  }
  bool contains(const Value& value) {
    key_.clear();
    return evaluation_.append_order_key(key_, value) && keys_.contains(key_);
  }

 private:
  static constexpr std::size_t entry_bytes = 64;

  Evaluation& evaluation_;
  HeldBytes held_;
  std::unordered_set<std::string> keys_;
  std::string key_;
};

Value array_concat(Evaluation& evaluation, Arguments arguments) {
  ValueList all(evaluation);
  for (const Value& argument : arguments) {
    if (!argument.is_array() || !append_elements(evaluation, argument, all)) return {};
  }
  return all.to_array();
}

// Whether all members of `part` are in `whole`, with equal values; nested objects are compared in the same way.
bool contains_members(Evaluation& evaluation, const Value& whole, const Value& part) {
  if (!whole.is_object() || !part.is_object()) return evaluation.equal(whole, part);
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
    if (by_members ? contains_members(evaluation, element, arguments[1]) : evaluation.equal(element, arguments[1])) {
      return Value::of(true);
    }
  }
  return Value::of(false);
}

bool is_element(Evaluation& evaluation, const ValueList& elements, const Value& value) {
  return std::ranges::any_of(elements, [&](const Value& element) { return evaluation.equal(element, value); });
}

// True if one of the values is an element; otherwise undefined if one of them is undefined.
Value array_contains_any(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_array()) return {};
  const auto elements = elements_of(evaluation, arguments[0]);
  if (!elements) return {};
  bool unknown = false;
  for (const Value& wanted : arguments.subspan(1)) {
    if (!evaluation.step(elements->size())) return {};
    if (wanted.is_undefined()) {
      unknown = true;
    } else if (is_element(evaluation, *elements, wanted)) {
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
    } else if (!is_element(evaluation, *elements, wanted)) {
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
  ValueList slice(evaluation);
  const auto taken = *start >= size ? 0 : std::clamp<std::int64_t>(*count, 0, size - *start);
  for (std::int64_t i = 0; i < taken; ++i) {
    if (!slice.push(elements->all()[static_cast<std::size_t>(*start + i)])) return {};
  }
  return slice.to_array();
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
  ValueList pairs(evaluation);
  Elements members(arguments[0]);
  std::string_view name;
  for (Value value; members.next(name, value, evaluation.arena);) {
    Member* pair = evaluation.step() ? evaluation.members(2) : nullptr;
    if (!pair) return {};
    pair[0] = {names[0], Value::of(name)};
    pair[1] = {names[1], value};
    if (!pairs.push(Value::object_of(pair, 2))) return {};
  }
  return pairs.to_array();
}

enum class SetOperation : std::uint8_t { intersection, all, difference };

// The result has each element once. An intersection has the order of the second array, as in Microsoft's examples.
template <SetOperation operation>
Value set_operation(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_array() || !arguments[1].is_array()) return {};
  constexpr std::size_t first = operation == SetOperation::intersection ? 1 : 0;
  auto left = elements_of(evaluation, arguments[first]);
  if (!left) return {};
  KeySet right(evaluation);
  if constexpr (operation == SetOperation::all) {
    if (!append_elements(evaluation, arguments[1 - first], *left)) return {};
  } else {
    const auto elements = elements_of(evaluation, arguments[1 - first]);
    if (!elements) return {};
    for (const Value& element : *elements) right.insert(element);
  }
  KeySet seen(evaluation);
  ValueList kept(evaluation);
  for (const Value& element : *left) {
    if constexpr (operation != SetOperation::all) {
      if (right.contains(element) != (operation == SetOperation::intersection)) continue;
    }
    if (seen.insert(element) && !kept.push(element)) return {};
    if (evaluation.failed()) return {};
  }
  return kept.to_array();
}

// Whether two arrays have the same elements, regardless of their order and of how often they occur.
Value set_equal(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_array() || !arguments[1].is_array()) return {};
  const auto left = elements_of(evaluation, arguments[0]);
  if (!left) return {};
  const auto right = elements_of(evaluation, arguments[1]);
  if (!right) return {};
  KeySet in_left(evaluation);
  KeySet in_right(evaluation);
  for (const Value& element : *left) in_left.insert(element);
  bool equal = true;
  for (const Value& element : *right) {
    equal = equal && in_left.contains(element);
    in_right.insert(element);
  }
  for (const Value& element : *left) equal = equal && in_right.contains(element);
  return evaluation.failed() ? Value() : Value::of(equal);
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
    if (!evaluation.append_order_key(key, element)) return {};
    if (!best || (greatest ? key > best_key : key < best_key)) {
      best = &element;
      best_key = std::move(key);
    }
  }
  return *best;
}

constexpr Function array_function_table[] = {
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
    {"SETEQUAL", 2, 2, set_equal},
    {"SETINTERSECT", 2, 2, set_operation<SetOperation::intersection>},
    {"SETUNION", 2, 2, set_operation<SetOperation::all>},
};

}  // namespace

std::span<const Function> array_functions() {
  return array_function_table;
}

}  // namespace octavo::query::sql
