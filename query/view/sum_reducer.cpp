#include "query/view/sum_reducer.h"

#include <array>
#include <charconv>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "query/json/parsed_document.h"
#include "query/view/sum_value.h"

namespace octavo::query::views {

namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr std::string_view sum_error_reason =
    "The _sum function requires that map values be numbers, arrays of numbers, or objects. Objects cannot be mixed "
    "with "
    "other data structures. Objects can be arbitrarily nested, provided that the values for all fields are themselves "
    "numbers, arrays of numbers, or objects.";
constexpr std::string_view built_in_error = "builtin_reduce_error";
// CouchDB's reduce_limit_threshold and reduce_limit_ratio.
constexpr std::size_t sum_overflow_bytes_min = 4906;
constexpr std::size_t sum_overflow_ratio = 2;

bool is_number(const element& value) {
  const auto type = value.type();
  return type == element_type::INT64 || type == element_type::UINT64 || type == element_type::DOUBLE;
}

/// Parses an integer of so few digits that the sum of a block cannot overflow, which most values are.
bool parse_small_whole(std::string_view text, std::int64_t& value) {
  constexpr std::size_t digits_max = 15;
  if (text.empty() || text.size() > digits_max) return false;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc{} && result.ptr == text.data() + text.size();
}

/// Parses JSON values; each is valid until the next is read.
class ValueReader {
 public:
  Expected<element> read(std::string_view json) { return parser_.parse(json); }

 private:
  DocumentParser parser_;
};

ValueReader& value_reader() {
  thread_local ValueReader reader;  // NOLINT(misc-use-internal-linkage): local to the function
  return reader;
}

// --- _sum ---

struct Sum;
using SumArray = std::vector<Sum>;
using SumObject = std::vector<std::pair<std::string, Sum>>;  // by name
/// A sum. The string is the unchanged JSON text of an array element to which nothing has been added yet.
struct Sum {
  std::variant<ReducedNumber, SumArray, SumObject, std::string> value;
};

/// The error at the first value that cannot be added; the sum so far is discarded.
struct SumFailure {
  std::string caused_by;
};
using SumResult = std::expected<Sum, SumFailure>;

std::unexpected<SumFailure> not_addable(const element& value) {
  return std::unexpected(SumFailure{std::string(simdjson::minify(value))});
}

Sum take(const element& value) {
  if (is_number(value)) return {ReducedNumber::of(value)};
  if (value.type() == element_type::ARRAY) {
    SumArray array;
    for (const auto part : array_of(value)) array.push_back(take(part));
    return {std::move(array)};
  }
  if (value.type() == element_type::OBJECT) {
    std::map<std::string, Sum> members;
    for (const auto member : object_of(value)) {
      members.insert_or_assign(std::string(member.key), take(member.value));
    }
    SumObject object;
    for (auto& [name, sum] : members) object.emplace_back(name, std::move(sum));
    return {std::move(object)};
  }
  return {std::string(simdjson::minify(value))};
}

bool is_zero(const Sum& sum) {
  const auto* number = std::get_if<ReducedNumber>(&sum.value);
  if (!number) return false;
  std::string text;
  number->append_to(text);
  return text == "0";
}

SumResult add(Sum sum, const element& value);

SumResult add_array(SumArray sum, const element& value) {
  std::size_t i = 0;
  for (const auto part : array_of(value)) {
    if (i == sum.size()) {
      sum.push_back(take(part));
    } else {
      auto* number = std::get_if<ReducedNumber>(&sum[i].value);
      if (!number || !is_number(part)) return not_addable(is_number(part) ? value : part);
      *number = *number + ReducedNumber::of(part);
    }
    ++i;
  }
  return Sum{std::move(sum)};
}

SumResult add_object(SumObject sum, const element& value) {
  for (const auto member : object_of(value)) {
    const auto found =
        std::ranges::lower_bound(sum, member.key, {}, [](const auto& one) -> std::string_view { return one.first; });
    if (found == sum.end() || found->first != member.key) {
      sum.insert(found, {std::string(member.key), take(member.value)});
    } else {
      auto added = add(std::move(found->second), member.value);
      if (!added) return added;
      found->second = *std::move(added);
    }
  }
  return Sum{std::move(sum)};
}

SumResult add(Sum sum, const element& value) {
  auto* number = std::get_if<ReducedNumber>(&sum.value);
  auto* array = std::get_if<SumArray>(&sum.value);
  if (is_number(value)) {
    const auto addend = ReducedNumber::of(value);
    if (number) return Sum{*number + addend};
    if (!array) return not_addable(value);
    if (array->empty())
      array->push_back({addend});
    else if (auto* first = std::get_if<ReducedNumber>(&array->front().value))
      *first = *first + addend;
    else
      return not_addable(value);
    return sum;
  }
  if (value.type() == element_type::ARRAY) {
    if (array) return add_array(std::move(*array), value);
    if (!number) return not_addable(value);
    SumArray alone;
    alone.push_back(std::move(sum));
    return add_array(std::move(alone), value);
  }
  if (value.type() == element_type::OBJECT) {
    if (auto* object = std::get_if<SumObject>(&sum.value)) return add_object(std::move(*object), value);
    if (is_zero(sum)) return take(value);
  }
  return not_addable(value);
}

void append_sum(std::string& json, const Sum& sum) {
  if (const auto* number = std::get_if<ReducedNumber>(&sum.value)) return number->append_to(json);
  if (const auto* text = std::get_if<std::string>(&sum.value)) {
    json += *text;
    return;
  }
  if (const auto* array = std::get_if<SumArray>(&sum.value)) {
    json += '[';
    for (const auto& part : *array) {
      if (&part != array->data()) json += ',';
      append_sum(json, part);
    }
    json += ']';
    return;
  }
  json += '{';
  const auto& object = std::get<SumObject>(sum.value);
  for (const auto& [name, part] : object) {
    append_json_key(json, name);
    append_sum(json, part);
  }
  json += '}';
}

std::string sum_error(std::string_view reason, std::string_view caused_by) {
  std::string json = "{\"error\":\"builtin_reduce_error\",\"reason\":";
  append_json_string(json, reason);
  if (!caused_by.empty()) {
    json += ",\"caused_by\":";
    json += caused_by;
  }
  json += '}';
  return json;
}

class SumReducer final : public Reducer {
 public:
  Expected<std::string> reduce(std::span<const ViewRow> rows) const override {
    return sum(rows.size(), [&](std::size_t i) { return rows[i].value; });
  }
  Expected<std::string> merge(std::span<const std::string_view> states) const override {
    return sum(states.size(), [&](std::size_t i) { return states[i]; });
  }
  Expected<std::string> finish(std::string_view state) const override { return std::string(state); }

 private:
  template <class ValueAt>
  static Expected<std::string> sum(std::size_t count, ValueAt value_at) {
    std::size_t next = 0;
    std::int64_t small = 0;
    std::size_t input = 0;
    for (; next < count; ++next) {
      std::int64_t value = 0;
      const std::string_view text = value_at(next);
      if (!parse_small_whole(text, value)) break;
      small += value;
      input += text.size();
    }
    if (next == count) return std::to_string(small);
    Sum total{ReducedNumber::whole(small)};
    for (; next < count; ++next) {
      const std::string_view text = value_at(next);
      input += text.size();
      OCTAVO_TRY(const element value, value_reader().read(text));
      if (value.type() == element_type::OBJECT) {
        // An error from a lower level is passed up unchanged.
        const auto error = value["error"].get_string();
        if (error.error() == simdjson::SUCCESS && error.value_unsafe() == built_in_error) return std::string(text);
      }
      auto added = add(std::move(total), value);
      if (!added) return sum_error(sum_error_reason, added.error().caused_by);
      total = *std::move(added);
    }
    std::string json;
    append_sum(json, total);
    if (json.size() > sum_overflow_bytes_min && json.size() * sum_overflow_ratio > input) {
      return sum_error(
          fmt::format("Reduce output must shrink more rapidly: input size: {} output size: {}", input, json.size()),
          {});
    }
    return json;
  }
};

// --- _stats ---

struct Statistics {
  ReducedNumber sum, count, min, max, squares;

  void merge(const Statistics& other) {
    sum = sum + other.sum;
    count = count + other.count;
    if (other.min < min) min = other.min;
    if (max < other.max) max = other.max;
    squares = squares + other.squares;
  }
};

/// Statistics of numbers, or of arrays: one part per element.
struct StatisticsState {
  bool is_array = false;
  std::vector<StatisticsState> parts;
  Statistics numbers;
};

using StatisticsResult = std::expected<StatisticsState, std::string>;

StatisticsResult statistics_of(const element& value) {
  StatisticsState state;
  if (is_number(value)) {
    const auto number = ReducedNumber::of(value);
    state.numbers = {number, ReducedNumber::whole(1), number, number, number * number};
    return state;
  }
  if (value.type() == element_type::ARRAY) {
    state.is_array = true;
    for (const auto part : array_of(value)) {
      auto read = statistics_of(part);
      if (!read) return read;
      state.parts.push_back(*std::move(read));
    }
    return state;
  }
  const std::string shown(simdjson::minify(value));
  if (value.type() != element_type::OBJECT) return std::unexpected(fmt::format("non-numeric _stats input: {}", shown));
  const std::array<std::pair<std::string_view, ReducedNumber*>, 5> members{{{"sum", &state.numbers.sum},
                                                                            {"count", &state.numbers.count},
                                                                            {"min", &state.numbers.min},
                                                                            {"max", &state.numbers.max},
                                                                            {"sumsqr", &state.numbers.squares}}};
  for (const auto& [name, number] : members) {
    const auto member = value[name];
    if (member.error() != simdjson::SUCCESS) {
      return std::unexpected(fmt::format("user _stats input missing required field {} ({})", name, shown));
    }
    if (!is_number(member.value_unsafe())) {
      return std::unexpected(fmt::format("non-numeric _stats input received for {}: {}", name,
                                         std::string(simdjson::minify(member.value_unsafe()))));
    }
    *number = ReducedNumber::of(member.value_unsafe());
  }
  return state;
}

bool merge_statistics(StatisticsState& into, const StatisticsState& other) {
  if (into.is_array != other.is_array || into.parts.size() != other.parts.size()) return false;
  if (!into.is_array) into.numbers.merge(other.numbers);
  for (std::size_t i = 0; i < into.parts.size(); ++i) {
    if (!merge_statistics(into.parts[i], other.parts[i])) return false;
  }
  return true;
}

void append_statistics(std::string& json, const StatisticsState& state) {
  if (state.is_array) {
    json += '[';
    for (const auto& part : state.parts) {
      if (&part != state.parts.data()) json += ',';
      append_statistics(json, part);
    }
    json += ']';
    return;
  }
  json += "{\"sum\":";
  state.numbers.sum.append_to(json);
  json += ",\"count\":";
  state.numbers.count.append_to(json);
  json += ",\"min\":";
  state.numbers.min.append_to(json);
  json += ",\"max\":";
  state.numbers.max.append_to(json);
  json += ",\"sumsqr\":";
  state.numbers.squares.append_to(json);
  json += '}';
}

class StatsReducer final : public Reducer {
 public:
  Expected<std::string> reduce(std::span<const ViewRow> rows) const override {
    return statistics(rows.size(), [&](std::size_t i) { return rows[i].value; });
  }
  Expected<std::string> merge(std::span<const std::string_view> states) const override {
    return statistics(states.size(), [&](std::size_t i) { return states[i]; });
  }
  Expected<std::string> finish(std::string_view state) const override {
    if (state.starts_with(failed_mark)) {
      return fail(ErrorCode::function_failed, std::string(state.substr(1)), "invalid_value");
    }
    return std::string(state);
  }

 private:
  static constexpr char failed_mark = '!';  // first byte of a failed state; the reason follows

  template <class ValueAt>
  static Expected<std::string> statistics(std::size_t count, ValueAt value_at) {
    std::optional<StatisticsState> all;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view text = value_at(i);
      if (text.starts_with(failed_mark)) return std::string(text);
      OCTAVO_TRY(const element value, value_reader().read(text));
      auto one = statistics_of(value);
      if (!one) return failed_mark + one.error();
      if (!all) {
        all = *std::move(one);
      } else if (!merge_statistics(*all, *one)) {
        return failed_mark +
               fmt::format("The _stats function requires that map values be numbers or arrays of numbers, not '{}'",
                           text);
      }
    }
    std::string json;
    append_statistics(json, *all);
    return json;
  }
};

}  // namespace

std::unique_ptr<Reducer> make_sum_reducer() {
  return std::make_unique<SumReducer>();
}

std::unique_ptr<Reducer> make_stats_reducer() {
  return std::make_unique<StatsReducer>();
}

}  // namespace octavo::query::views
