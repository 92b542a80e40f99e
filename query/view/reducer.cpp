#include "query/view/reducer.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "base/json_writer.h"
#include "query/collation/collation.h"
#include "query/javascript/functions.h"
#include "query/json/parsed_document.h"
#include "query/view/distinct_estimate.h"
#include "query/view/sum_reducer.h"

namespace octavo::query::views {

namespace {

constexpr std::string_view overflow_member = "reduce_overflow_error";
// CouchDB's reduce_limit_threshold and reduce_limit_ratio.
constexpr std::size_t overflow_bytes_min = 4906;
constexpr std::size_t overflow_ratio = 2;
constexpr int rank_max = 100;

/// `_count`. The state is a varint.
class CountReducer final : public Reducer {
 public:
  Expected<std::string> reduce(std::span<const ViewRow> rows) const override { return encode(rows.size()); }
  Expected<std::string> merge(std::span<const std::string_view> states) const override {
    std::uint64_t sum = 0;
    for (const auto state : states) sum += ByteReader(state).varint();
    return encode(sum);
  }
  Expected<std::string> finish(std::string_view state) const override {
    return std::to_string(ByteReader(state).varint());
  }

 private:
  static std::string encode(std::uint64_t count) {
    std::string state;
    ByteWriter(state).varint(count);
    return state;
  }
};

/// `_approx_count_distinct`: counts different keys.
class DistinctReducer final : public Reducer {
 public:
  Expected<std::string> reduce(std::span<const ViewRow> rows) const override {
    DistinctEstimate estimate;
    for (const auto& row : rows) estimate.add(row.key);
    return encode(estimate);
  }
  Expected<std::string> merge(std::span<const std::string_view> states) const override {
    DistinctEstimate estimate;
    for (const auto state : states) estimate.merge(DistinctEstimate::from(state));
    return encode(estimate);
  }
  Expected<std::string> finish(std::string_view state) const override {
    return std::to_string(DistinctEstimate::from(state).count());
  }

 private:
  static std::string encode(const DistinctEstimate& estimate) {
    std::string state;
    estimate.append_to(state);
    return state;
  }
};

/// `_first` and `_last`: the value of the first row, or of the last.
class EndReducer final : public Reducer {
 public:
  explicit EndReducer(bool first) : first_(first) {}
  Expected<std::string> reduce(std::span<const ViewRow> rows) const override {
    OCTAVO_ASSERT(!rows.empty());
    return std::string(first_ ? rows.front().value : rows.back().value);
  }
  Expected<std::string> merge(std::span<const std::string_view> states) const override {
    OCTAVO_ASSERT(!states.empty());
    return std::string(first_ ? states.front() : states.back());
  }
  Expected<std::string> finish(std::string_view state) const override { return std::string(state); }

 private:
  bool first_;
};

/// `_top_N` and `_bottom_N`: the N greatest or least different values, best first. The state is the JSON array.
class RankReducer final : public Reducer {
 public:
  RankReducer(bool top, std::size_t count) : top_(top), count_(count) {}

  Expected<std::string> reduce(std::span<const ViewRow> rows) const override {
    std::string all = "[";
    for (const auto& row : rows) {
      if (all.size() > 1) all += ',';
      all += row.value;
    }
    all += ']';
    return best_of(all);
  }
  Expected<std::string> merge(std::span<const std::string_view> states) const override {
    std::string all = "[";
    for (const auto state : states) {
      if (state.size() <= 2) continue;
      if (all.size() > 1) all += ',';
      all += state.substr(1, state.size() - 2);
    }
    all += ']';
    return best_of(all);
  }
  Expected<std::string> finish(std::string_view state) const override { return std::string(state); }

 private:
  Expected<std::string> best_of(std::string_view values) const {
    // NOLINTNEXTLINE(misc-use-internal-linkage): local to the function
    thread_local DocumentParser parser(LargeIntegers::rounded);
    OCTAVO_TRY(const auto root, parser.parse(values));
    std::vector<simdjson::dom::element> elements;
    for (const auto element : array_of(root)) elements.push_back(element);
    std::ranges::stable_sort(elements, [this](const auto& a, const auto& b) {
      const int order = compare(a, b);
      return top_ ? order > 0 : order < 0;
    });
    const auto equal = [](const auto& a, const auto& b) { return compare(a, b) == 0; };
    elements.erase(std::ranges::unique(elements, equal).begin(), elements.end());
    if (elements.size() > count_) elements.resize(count_);
    std::string best = "[";
    for (const auto& element : elements) {
      if (best.size() > 1) best += ',';
      best += simdjson::minify(element);
    }
    best += ']';
    return best;
  }

  bool top_;
  std::size_t count_;
};

/// A JavaScript function. The state is the JSON text that it returned.
class FunctionReducer final : public Reducer {
 public:
  FunctionReducer(javascript::ProgramPtr program, std::size_t function)
      : program_(std::move(program)), function_(function) {}

  bool runs_functions() const override { return true; }

  Expected<std::string> reduce(std::span<const ViewRow> rows) const override {
    std::string keys = "[";
    std::string values = "[";
    for (const auto& row : rows) {
      if (keys.size() > 1) keys += ',', values += ',';
      keys += '[';
      keys += row.key;
      keys += ',';
      append_json_string(keys, row.id());
      keys += ']';
      values += row.value;
    }
    keys += ']';
    values += ']';
    return call(keys, values, false);
  }

  Expected<std::string> merge(std::span<const std::string_view> states) const override {
    if (states.size() == 1) return std::string(states.front());
    std::string values = "[";
    for (const auto state : states) {
      if (overflow_reason(state)) return std::string(state);
      if (values.size() > 1) values += ',';
      values += state;
    }
    values += ']';
    return call("null", values, true);
  }

  Expected<std::string> finish(std::string_view state) const override { return std::string(state); }

 private:
  Expected<std::string> call(std::string_view keys, std::string_view values, bool rereduce) const {
    auto result = javascript::reduce(program_, function_, keys, values, rereduce);
    if (!result) {
      // As in CouchDB, a function that throws reduces to null. An exceeded limit stops the index until it is fixed.
      if (result.error().code != ErrorCode::function_failed) return result;
      return std::string("null");
    }
    const std::size_t input = keys.size() + values.size();
    if (result->size() > overflow_bytes_min && result->size() * overflow_ratio > input) {
      std::string overflow = "{";
      append_json_key(overflow, overflow_member);
      append_json_string(overflow, fmt::format("Reduce output must shrink more rapidly: input size: {} output size: {}",
                                               input, result->size()));
      overflow += '}';
      return overflow;
    }
    return result;
  }

  javascript::ProgramPtr program_;
  std::size_t function_;
};

/// The N of `_top_N`; nullopt if CouchDB would reject it.
std::optional<std::size_t> rank_of(std::string_view text) {
  int count = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), count);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size() || count < 1 || count > rank_max) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(count);
}

}  // namespace

std::optional<std::string> overflow_reason(std::string_view value) {
  constexpr std::string_view overflow_start = R"({"reduce_overflow_error":)";
  if (!value.starts_with(overflow_start)) return std::nullopt;
  const auto parsed = parse_json(value);
  if (!parsed || !parsed->is_object() || parsed->get_object().size() != 1) return std::nullopt;
  const auto& reason = parsed->get_object().begin()->value();
  return reason.is_string() ? std::string(reason.get_string()) : std::string();
}

Expected<std::unique_ptr<Reducer>> make_reducer(std::string_view source, javascript::ProgramPtr program,
                                                std::size_t function) {
  using Result = std::unique_ptr<Reducer>;
  if (!is_built_in(source)) return Result(std::make_unique<FunctionReducer>(std::move(program), function));
  // CouchDB, too, only compares how the name begins.
  if (source.starts_with("_sum")) return make_sum_reducer();
  if (source.starts_with("_count")) return Result(std::make_unique<CountReducer>());
  if (source.starts_with("_stats")) return make_stats_reducer();
  if (source.starts_with("_approx_count_distinct")) return Result(std::make_unique<DistinctReducer>());
  if (source.starts_with("_first")) return Result(std::make_unique<EndReducer>(true));
  if (source.starts_with("_last")) return Result(std::make_unique<EndReducer>(false));
  for (const bool top : {true, false}) {
    const std::string_view name = top ? "_top_" : "_bottom_";
    if (!source.starts_with(name)) continue;
    if (const auto count = rank_of(source.substr(name.size()))) {
      return Result(std::make_unique<RankReducer>(top, *count));
    }
  }
  return fail(ErrorCode::bad_request, fmt::format("`{}` is not a supported reduce function.", source),
              "invalid_design_doc");
}

Expected<void> check_reduce(std::string_view source) {
  if (!is_built_in(source)) return {};
  OCTAVO_TRY_VOID(make_reducer(source, nullptr, 0));
  return {};
}

}  // namespace octavo::query::views
