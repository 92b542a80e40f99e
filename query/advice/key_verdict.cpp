#include "query/advice/key_verdict.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "partitioning/throughput/throughput_budget.h"

namespace octavo::query::advice {

namespace {

constexpr std::size_t largest_shown_max = 5;
constexpr std::size_t over_partition_shown_max = 10;
constexpr std::uint32_t hot_documents_min = 10;  // of fewer documents some meet within a day by chance
/// A value that fewer documents of a sample have is not judged: its share would have an error of more than 62 %.
constexpr std::uint32_t resolved_documents_min = 10;
constexpr std::uint32_t hot_requests_min = 30;  // of a sample of fewer, shares say little
constexpr double partition_throughput = partitioning::partition_throughput_max;

double sum(const std::vector<std::uint64_t>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double total, std::uint64_t part) { return total + static_cast<double>(part); });
}

void divide(std::vector<double>& parts, double by) {
  for (double& part : parts) part = by > 0 ? part / by : 0;
}

LargeValue large_value(const ValueTable& table, const ValueTable::Value& value) {
  return {ValueUse(value), std::string(table.text_of(value)), value.is_cut, 0};
}

/// What all values of a key get now.
struct Writes {
  double total = 0;
  double hottest = 0;
  std::vector<double> by_range;
  std::vector<std::pair<double, LargeValue>> hot;  ///< those with much of it
};

class Judge {
 public:
  Judge(const KeyCounter& counter, const TimeFrame& frame, double bytes_max, const AdviceLimits& limits)
      : counter_(counter),
        table_(counter.table()),
        beyond_(counter.large_values_beyond_table()),
        documents_min_(limits.share_read < 1 ? resolved_documents_min : 1) {
    terms_.frame = frame;
    terms_.bytes_max = bytes_max * limits.share_read;
    terms_.horizon_days = limits.horizon_days;
    if (knows_typical()) terms_.closing_life_s = closing_life_s(table_.values(), frame);
  }

  /// False: a sample has too few documents of most values, to say how these grow and whether they close.
  bool knows_typical() const {
    const auto* const middle = middle_value();
    return middle == nullptr || middle->documents >= documents_min_;
  }

  const ForecastTerms& terms() const { return terms_; }

  std::vector<ValueForecast> largest() const {
    std::vector<ValueForecast> found;
    const auto order = [](const ValueForecast& a, const ValueForecast& b) {
      return a.forecast.final_bytes > b.forecast.final_bytes;
    };
    const auto consider = [&](const ValueUse& use, auto make_value) {
      if (use.documents < documents_min_) return;
      const Forecast one = forecast(use, terms_);
      if (found.size() == largest_shown_max && one.final_bytes <= found.back().forecast.final_bytes) return;
      if (found.size() == largest_shown_max) found.pop_back();
      ValueForecast added{make_value(), one};
      found.insert(std::ranges::upper_bound(found, added, order), std::move(added));
    };
    for (const auto& value : table_.values()) consider(value, [&] { return large_value(table_, value); });
    for (const auto& value : beyond_) consider(value, [&] { return value; });
    return found;
  }

  Forecast typical() const {
    const auto* const middle = middle_value();
    return middle != nullptr && knows_typical() ? forecast(*middle, terms_) : Forecast{};
  }

  /// `hot_share_min`: values with more of the writes are kept in `hot`.
  Writes writes(double hot_share_min) const {
    Writes found;
    found.by_range.resize(counter_.range_bytes().size());
    // The values beyond this are all known, so each stands for itself; one of the others stands for its part of all.
    const double total_bytes = sum(counter_.range_bytes());
    const double known_from =
        table_.sampled_bits() == 0 ? 0 : 2 * total_bytes / static_cast<double>(KeyCounter::heavy_max);
    const double scale = std::ldexp(1.0, static_cast<int>(table_.sampled_bits()));
    const auto take = [&](const ValueUse& use, double times) {
      const double rate = write_rate(use, terms_);
      found.total += rate * times;
      found.by_range[use.range] += rate * times;
      if (use.documents >= hot_documents_min) found.hottest = std::max(found.hottest, rate);
    };
    for (const auto& value : table_.values()) take(value, static_cast<double>(value.bytes) > known_from ? 1 : scale);
    for (const auto& value : beyond_) {
      if (static_cast<double>(value.bytes) > known_from) take(value, 1);
    }
    const auto keep_if_hot = [&](const ValueUse& use, auto make_value) {
      const double rate = write_rate(use, terms_);
      if (use.documents < hot_documents_min || rate <= hot_share_min * found.total) return;
      found.hot.emplace_back(rate, make_value());
    };
    for (const auto& value : table_.values()) keep_if_hot(value, [&] { return large_value(table_, value); });
    for (const auto& value : beyond_) keep_if_hot(value, [&] { return value; });
    std::ranges::sort(found.hot, std::ranges::greater{}, [](const auto& one) { return one.first; });
    return found;
  }

 private:
  const ValueTable::Value* middle_value() const {
    std::vector<const ValueTable::Value*> values;
    for (const auto& value : table_.values()) values.push_back(&value);
    if (values.empty()) return nullptr;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle, {}, [](const auto* value) { return value->bytes; });
    return *middle;
  }

  const KeyCounter& counter_;
  const ValueTable& table_;
  const std::vector<LargeValue> beyond_;
  const std::uint32_t documents_min_;
  ForecastTerms terms_;
};

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

/// A value in a sentence.
std::string shown(const LargeValue& value) {
  constexpr std::size_t shown_max = 60;
  if (!value.is_cut && value.text.size() <= shown_max) return value.text;
  std::size_t end = std::min(shown_max, value.text.size());
  while (end > 0 && end < value.text.size() && (static_cast<unsigned char>(value.text[end]) & 0xC0) == 0x80) --end;
  return value.text.substr(0, end) + "…";
}

std::string time_until_full(double days) {
  return days <= 0 ? "has reached it" : fmt::format("reaches it in {:.1f} days", days);
}

void count_values(const ValueTable& table, KeyAdvice& advice) {
  const auto sampled = static_cast<double>(table.values().size());
  const double share = std::ldexp(1.0, -static_cast<int>(table.sampled_bits()));
  // Each value is in the sample with this probability: two standard errors of a binomial distribution.
  const double error = sampled > 0 ? 2 * std::sqrt((1 - share) / sampled) : 0;
  const double estimate = sampled / share;
  advice.values = static_cast<std::uint64_t>(std::llround(estimate));
  advice.values_low = static_cast<std::uint64_t>(std::llround(estimate * (1 - error)));
  advice.values_high = static_cast<std::uint64_t>(std::llround(estimate * (1 + error)));
}

/// The value that makes a limit of storage matter within the horizon; null: none does.
const ValueForecast* first_full(const std::vector<ValueForecast>& largest, double horizon_days) {
  const ValueForecast* first = nullptr;
  for (const auto& each : largest) {
    const auto& days = each.forecast.full_in_days;
    if (!days || *days > horizon_days) continue;
    if (first == nullptr || *days < *first->forecast.full_in_days) first = &each;
  }
  return first;
}

void judge_storage(const Judge& judged, const AdviceLimits& limits, KeyAdvice& advice) {
  advice.largest = judged.largest();
  advice.typical = judged.typical();
  if (!judged.knows_typical()) {
    advice.reasons.push_back(
        "storage: most values have too few documents in the sample to say how they grow: all documents must be read");
    return;
  }
  const auto& life = judged.terms().closing_life_s;
  if (life) advice.closes_after_days = *life / seconds_per_day;
  if (const auto* full = first_full(advice.largest, limits.horizon_days)) {
    advice.verdict = Verdict::rejected;
    std::string reason =
        fmt::format("storage: a logical partition may have {:.0f} bytes, and {} {}", limits.logical_bytes_max,
                    shown(full->value), time_until_full(*full->forecast.full_in_days));
    if (life) reason += fmt::format(", although values close after {:.1f} days", *advice.closes_after_days);
    const auto& typical = advice.typical.full_after_days;
    if (typical && *typical > limits.horizon_days)
      reason += fmt::format("; a typical value is full after {:.1f} days", *typical);
    advice.reasons.push_back(std::move(reason));
    return;
  }
  if (advice.largest.empty()) return;
  const double part = advice.largest.front().forecast.final_bytes / judged.terms().bytes_max;
  if (life) {
    const std::string when =
        *life > 0 ? fmt::format("after {:.1f} days", *advice.closes_after_days) : "with their first document";
    advice.reasons.push_back(
        fmt::format("storage: values close {}, the largest at {} of the limit", when, percent(part)));
  } else if (judged.terms().frame.shows_growth()) {
    advice.reasons.push_back(fmt::format("storage: after {:.0f} days the largest value has {} of the limit",
                                         limits.horizon_days, percent(part)));
  }
}

void judge_writes(const Judge& judged, const AdviceLimits& limits, KeyAdvice& advice) {
  const double hot_share = limits.throughput ? partition_throughput / static_cast<double>(*limits.throughput) : 1;
  Writes writes = judged.writes(hot_share);
  advice.hottest_share = writes.total > 0 ? writes.hottest / writes.total : 0;
  advice.physical_write_shares = std::move(writes.by_range);
  divide(advice.physical_write_shares, writes.total);
  if (!limits.throughput) return;
  const auto throughput = static_cast<double>(*limits.throughput);
  const auto usable = [&](double of_one, double share) {
    return share > 0 ? std::min(throughput, of_one / share) : throughput;
  };
  advice.usable = usable(partition_throughput, advice.hottest_share);
  const auto& shares = advice.physical_write_shares;
  const double fullest = shares.empty() ? 0 : std::ranges::max(shares);
  advice.usable_as_spread = std::min(*advice.usable, usable(throughput / static_cast<double>(shares.size()), fullest));
  for (const auto& [rate, value] : writes.hot) {
    if (advice.over_partition.size() < over_partition_shown_max) advice.over_partition.push_back(value.text);
  }
  if (writes.hot.empty()) return;
  advice.verdict = Verdict::rejected;
  advice.reasons.push_back(
      fmt::format("throughput: {} of the writes go to {}, and a physical partition serves {:.0f} RU/s, so only {:.0f} "
                  "of {} RU/s can be used",
                  percent(advice.hottest_share), shown(writes.hot.front().second), partition_throughput, *advice.usable,
                  *limits.throughput));
}

/// What is asked for by key may be another part of the documents than what is written: most reads are of a few values.
void judge_points(const KeyCounter& counter, const AdviceLimits& limits, KeyAdvice& advice) {
  advice.points = counter.requests().advice(limits.throughput);
  if (!advice.points || !limits.throughput) return;
  const RequestedValue& hottest = advice.points->hottest.front();
  const double hot_share = partition_throughput / static_cast<double>(*limits.throughput);
  if (hottest.requests() < hot_requests_min || hottest.share - hottest.share_error <= hot_share) return;
  LargeValue value;
  value.text = hottest.text;
  value.is_cut = hottest.is_cut;
  advice.reasons.push_back(
      fmt::format("requests: {} of the request units of requests by key are for {}, so only {:.0f} of {} RU/s can be "
                  "used while that lasts",
                  percent(hottest.share), shown(value), *advice.points->usable, *limits.throughput));
}

/// The first value of a hierarchical key decides the physical partition, so its documents cannot be divided.
void judge_first_values(const Judge& judged, const AdviceLimits& limits, KeyAdvice& advice) {
  const auto largest = judged.largest();
  if (const auto* full = first_full(largest, limits.horizon_days)) {
    advice.verdict = Verdict::rejected;
    advice.reasons.push_back(fmt::format(
        "storage: documents with one first value share a physical partition, which may have {:.0f} bytes, and {} {}",
        limits.physical_bytes_max, shown(full->value), time_until_full(*full->forecast.full_in_days)));
  }
  if (!limits.throughput) return;
  const auto throughput = static_cast<double>(*limits.throughput);
  const Writes writes = judged.writes(partition_throughput / throughput);
  if (writes.hot.empty()) return;
  const double share = writes.hottest / writes.total;
  advice.verdict = Verdict::rejected;
  advice.usable = std::min(*advice.usable, partition_throughput / share);
  advice.usable_as_spread = std::min(*advice.usable_as_spread, *advice.usable);
  advice.reasons.push_back(
      fmt::format("throughput: {} of the writes have the first value {}, and share a physical partition",
                  percent(share), shown(writes.hot.front().second)));
}

/// A path that is written wrong must not look like a good key because nothing is known against it.
void judge_values(const KeyCounter& counter, KeyAdvice& advice) {
  if (advice.values != 1) return;
  const std::uint64_t documents = counter.table().values().begin()->documents;
  if (documents <= 1) return;
  advice.verdict = Verdict::rejected;
  advice.reasons.push_back(advice.missing == documents
                               ? "values: no document has the key: is its path right?"
                               : "values: all documents have the same value, so the key divides nothing");
}

/// Whether queries need all values of the key to read one physical partition: nothing but the whole text is hashed.
bool needs_all_values(const KeyCandidate& candidate) {
  return candidate.kind == KeyCandidate::Kind::composite;
}

}  // namespace

KeyAdvice judge(const KeyCounter& counter, const KeyCounter* first_values, const TimeFrame& frame,
                const AdviceLimits& limits) {
  OCTAVO_ASSERT((first_values != nullptr) == (counter.candidate().kind == KeyCandidate::Kind::hierarchical));
  KeyAdvice advice;
  advice.candidate = counter.candidate();
  advice.missing = counter.missing();
  count_values(counter.table(), advice);
  advice.physical_shares.assign(counter.range_bytes().begin(), counter.range_bytes().end());
  divide(advice.physical_shares, sum(counter.range_bytes()));
  judge_values(counter, advice);
  const Judge judged(counter, frame, limits.logical_bytes_max, limits);
  judge_storage(judged, limits, advice);
  judge_writes(judged, limits, advice);
  if (first_values != nullptr) {
    judge_first_values(Judge(*first_values, frame, limits.physical_bytes_max, limits), limits, advice);
  }
  judge_points(counter, limits, advice);
  if (advice.missing > 0) {
    advice.reasons.push_back(fmt::format(
        "{} documents lack the key, or a value of it: those without any share a logical partition", advice.missing));
  }
  return advice;
}

void rank(std::vector<KeyAdvice>& all, bool by_queries) {
  const auto order = [by_queries](const KeyAdvice& advice) {
    const double usable = advice.usable ? *advice.usable : partition_throughput / std::max(advice.hottest_share, 1e-9);
    const double largest = advice.largest.empty() ? 0 : advice.largest.front().forecast.final_bytes;
    const double fan_out = by_queries && advice.queries ? advice.queries->fan_out_charge_share : 0;
    return std::tuple(advice.verdict == Verdict::rejected, fan_out, -usable, needs_all_values(advice.candidate),
                      largest);
  };
  std::ranges::stable_sort(all, {}, order);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].rank = i + 1;
  if (!all.empty() && all.front().verdict == Verdict::good) all.front().verdict = Verdict::recommended;
}

}  // namespace octavo::query::advice
