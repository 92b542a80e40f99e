#include "query/mango/aggregator.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/byte_codec.h"
#include "base/json_writer.h"
#include "query/collation/sort_key.h"

namespace octavo::query {

namespace {

// Texts of group fields whose group is remembered.
constexpr std::size_t known_texts_max = 4096;
constexpr std::size_t known_text_bytes_max = 256;
// Overhead of a group beside its own bytes: a node of the table and a few strings.
constexpr std::size_t group_bytes = 160;

__extension__ using SignedWide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

void append_integer(std::string& out, SignedWide value) {
  if (value >= std::numeric_limits<std::int64_t>::min() && value <= std::numeric_limits<std::int64_t>::max()) {
    return append_json_number(out, static_cast<std::int64_t>(value));
  }
  // 2^127 has 39 digits.
  char digits[40];
  std::size_t at = sizeof digits;
  const bool negative = value < 0;
  auto rest = negative ? -static_cast<UnsignedWide>(value) : static_cast<UnsignedWide>(value);
  for (; rest > 0; rest /= 10) digits[--at] = static_cast<char>('0' + static_cast<int>(rest % 10));
  if (negative) out += '-';
  out.append(digits + at, sizeof digits - at);
}

void append_real(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  fmt::format_to(std::back_inserter(out), "{}", value);
}

}  // namespace

Aggregator::Aggregator(const FindRequest& request, std::size_t bytes_max)
    : request_(request),
      aggregation_(*request.aggregation),
      bytes_max_(bytes_max),
      group_projection_(
          {request.fields.begin(), request.fields.begin() + static_cast<std::ptrdiff_t>(aggregation_.group_fields)}) {
  // Without group fields there is one row, even if nothing matches.
  if (aggregation_.group_fields == 0) groups_[""].states.resize(aggregation_.aggregates.size());
}

Expected<void> Aggregator::take_memory(std::size_t bytes) {
  bytes_ += bytes;
  if (bytes_ <= bytes_max_) return {};
  return fail(ErrorCode::bad_request,
              fmt::format("The groups need more than the {} bytes that a query may use (sort_bytes_max): narrow the "
                          "selector, or group by fewer fields.",
                          bytes_max_),
              "too_many_groups");
}

Expected<void> Aggregator::append_key(std::string& key, std::string_view text) {
  if (text.empty()) {
    append_sort_key(key, SortSentinel::missing);
    return {};
  }
  OCTAVO_TRY(const auto value, parser_.parse(text));
  append_sort_key(key, value);
  return {};
}

// Values are equal by collation, so finding a group takes a sort key of each. The same texts are always the same group.
Expected<Aggregator::Group*> Aggregator::find_group(Projection::FieldText field_text) {
  texts_.clear();
  ByteWriter writer(texts_);
  for (std::size_t i = 0; i < aggregation_.group_fields; ++i) writer.sized_bytes(field_text(i, request_.fields[i]));
  if (const auto known = known_texts_.find(texts_); known != known_texts_.end()) return known->second;
  OCTAVO_TRY(Group * group, find_group_by_key(field_text));
  if (known_texts_.size() < known_texts_max && texts_.size() <= known_text_bytes_max)
    known_texts_.emplace(texts_, group);
  return group;
}

Expected<Aggregator::Group*> Aggregator::find_group_by_key(Projection::FieldText field_text) {
  key_.clear();
  for (std::size_t i = 0; i < aggregation_.group_fields; ++i) {
    OCTAVO_TRY_VOID(append_key(key_, field_text(i, request_.fields[i])));
  }
  if (const auto found = groups_.find(key_); found != groups_.end()) return &found->second;
  Group group;
  std::size_t bytes = group_bytes + key_.size() + aggregation_.aggregates.size() * sizeof(State);
  for (std::size_t i = 0; i < aggregation_.group_fields; ++i) {
    group.texts.emplace_back(field_text(i, request_.fields[i]));
    bytes += sizeof(std::string) + group.texts.back().size();
  }
  group.states.resize(aggregation_.aggregates.size());
  OCTAVO_TRY_VOID(take_memory(bytes));
  return &groups_.emplace(key_, std::move(group)).first->second;
}

Expected<void> Aggregator::add(Projection::FieldText field_text) {
  ++documents_;
  if (!aggregation_.rows) return {};
  OCTAVO_TRY(Group * group, find_group(field_text));
  for (std::size_t i = 0; i < aggregation_.aggregates.size(); ++i) {
    const Aggregate& aggregate = aggregation_.aggregates[i];
    State& state = group->states[i];
    if (!aggregate.field) {
      ++state.values;
      continue;
    }
    const std::string_view text = field_text(*aggregate.field, request_.fields[*aggregate.field]);
    if (!text.empty()) OCTAVO_TRY_VOID(update(state, aggregate, text));
  }
  return {};
}

Expected<void> Aggregator::update(State& state, const Aggregate& aggregate, std::string_view text) {
  using Function = Aggregate::Function;
  if (aggregate.function == Function::count) {
    ++state.values;
    return {};
  }
  if (aggregate.function == Function::min || aggregate.function == Function::max) {
    std::string key;
    OCTAVO_TRY_VOID(append_key(key, text));
    const bool better =
        state.values == 0 || (aggregate.function == Function::min ? key < state.extreme_key : key > state.extreme_key);
    ++state.values;
    if (!better) return {};
    const std::size_t before = state.extreme_key.size() + state.extreme_text.size();
    const std::size_t after = key.size() + text.size();
    if (after > before) OCTAVO_TRY_VOID(take_memory(after - before));
    state.extreme_key = std::move(key);
    state.extreme_text = text;
    return {};
  }
  if (text[0] != '-' && (text[0] < '0' || text[0] > '9')) return {};  // not a number
  ++state.values;
  // Integers of up to 64 bits: no number of documents makes their sum exceed 128 bits. Larger ones are added as
  // doubles.
  const auto add_integer = [&](auto integer) {
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, integer);
    if (read.ec != std::errc{} || read.ptr != end) return false;
    state.integer_sum += integer;
    return true;
  };
  if (add_integer(std::int64_t{}) || add_integer(std::uint64_t{})) return {};
  double real = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), real).ec != std::errc{}) {
    // Out of range: takes the nearest double, as everywhere.
    OCTAVO_TRY(const auto nearest, parser_.parse(text));
    real = nearest.get_double().value_unsafe();
  }
  const double sum = state.real_sum + real;
  state.real_compensation +=
      std::abs(state.real_sum) >= std::abs(real) ? (state.real_sum - sum) + real : (real - sum) + state.real_sum;
  state.real_sum = sum;
  state.has_reals = true;
  return {};
}

void Aggregator::append_value(std::string& out, const State& state, const Aggregate& aggregate) {
  using Function = Aggregate::Function;
  const auto real_sum = [&] {
    const double sum = state.real_sum + static_cast<double>(state.integer_sum);
    return std::isfinite(state.real_compensation) ? sum + state.real_compensation : sum;
  };
  switch (aggregate.function) {
    case Function::count:
      return append_json_number(out, state.values);
    case Function::sum:
      return state.has_reals ? append_real(out, real_sum()) : append_integer(out, state.integer_sum);
    case Function::avg:
      if (state.values == 0) break;
      return append_real(out, real_sum() / static_cast<double>(state.values));
    case Function::min:
    case Function::max:
      if (state.values == 0) break;
      out += state.extreme_text;
      return;
  }
  out += "null";
}

Expected<std::string> Aggregator::order_key(const std::string& group_key, const Group& group) {
  std::string key;
  for (const Aggregation::Order& by : aggregation_.order) {
    std::string part;
    if (by.by_group) {
      OCTAVO_TRY_VOID(append_key(part, group.texts[by.number]));
    } else {
      std::string text;
      append_value(text, group.states[by.number], aggregation_.aggregates[by.number]);
      OCTAVO_TRY_VOID(append_key(part, text));
    }
    if (by.descending) {
      for (char& byte : part) byte = static_cast<char>(~byte);
    }
    key += part;
  }
  return key + group_key;
}

Expected<std::vector<std::string>> Aggregator::take_rows() {
  std::vector<std::string> rows;
  if (!aggregation_.rows) return rows;
  std::vector<std::pair<std::string, const Group*>> ordered;
  ordered.reserve(groups_.size());
  for (const auto& [key, group] : groups_) {
    OCTAVO_TRY(auto by, order_key(key, group));
    ordered.emplace_back(std::move(by), &group);
  }
  std::ranges::sort(ordered, {}, &std::pair<std::string, const Group*>::first);
  const std::size_t begin = std::min<std::uint64_t>(request_.skip, ordered.size());
  const std::size_t size = std::min<std::uint64_t>(request_.limit, ordered.size() - begin);
  for (const auto& [by, group] : std::span(ordered).subspan(begin, size)) {
    std::string row;
    group_projection_.append(
        row, [&](std::size_t field, const FieldPath&) -> std::string_view { return group->texts[field]; });
    row.pop_back();
    for (std::size_t i = 0; i < aggregation_.aggregates.size(); ++i) {
      append_json_key(row, aggregation_.aggregates[i].name);
      append_value(row, group->states[i], aggregation_.aggregates[i]);
    }
    row += '}';
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace octavo::query
