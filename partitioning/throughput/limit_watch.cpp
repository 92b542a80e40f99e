#include "partitioning/throughput/limit_watch.h"

#include <algorithm>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/json_writer.h"

namespace octavo::partitioning {

namespace {

void count(LimitWatch::Count& counted, double share) {
  for (std::size_t i = 0; i < LimitWatch::counted_from.size(); ++i) {
    if (share >= LimitWatch::counted_from[i]) ++counted.at_least[i];
  }
  counted.largest_share = std::max(counted.largest_share, share);
}

void add(LimitWatch::Count& sum, const LimitWatch::Count& one) {
  for (std::size_t i = 0; i < sum.at_least.size(); ++i) sum.at_least[i] += one.at_least[i];
  sum.largest_share = std::max(sum.largest_share, one.largest_share);
}

// In JSON's quotes and escapes: a key may contain the end of a line.
std::string json_text(std::string_view key) {
  std::string text;
  append_json_string(text, key);
  return text;
}

double percent(double share) {
  return share * 100;
}

}  // namespace

void LimitWatch::note(const std::string& instance_tag, std::string_view database, const LimitReport& report,
                      Clock::time_point now) {
  Totals totals;
  for (const auto& logical : report.logical) {
    count(totals.logical_bytes, logical.use.bytes_share());
    count(totals.logical_request_units, logical.use.request_units_share());
  }
  for (const auto& physical : report.physical) {
    count(totals.physical_bytes, physical.use.bytes_share());
    count(totals.physical_request_units, physical.use.request_units_share());
  }
  const std::lock_guard lock(mutex_);
  totals_[instance_tag] = totals;
  warn_of(instance_tag, database, report, now);
}

void LimitWatch::warn_of(const std::string& instance_tag, std::string_view database, const LimitReport& report,
                         Clock::time_point now) {
  for (const auto& [key, partition_id, use] : report.logical) {
    if (is_news(fmt::format("{} bytes {}", instance_tag, key), use.bytes_share(), now)) {
      spdlog::warn(
          "database {}: logical partition {} has {} of at most {} bytes ({:.0f} %); writes beyond that are "
          "refused. Delete documents or use another partition key.",
          database, json_text(key), use.bytes, use.bytes_max, percent(use.bytes_share()));
    }
    if (!use.is_throttled) continue;
    if (is_news(fmt::format("{} units {}", instance_tag, key), use.request_units_share(), now)) {
      spdlog::warn(
          "database {}: logical partition {} spends {:.0f} of at most {:.0f} request units per second ({:.0f} "
          "%); requests beyond that are refused. More throughput, or a partition key that spreads them more "
          "evenly, helps.",
          database, json_text(key), use.per_second, use.per_second_max, percent(use.request_units_share()));
    }
  }
  for (const auto& [partition_id, use] : report.physical) {
    if (!use.is_throttled) continue;
    if (is_news(fmt::format("{} physical {}", instance_tag, partition_id), use.request_units_share(), now)) {
      spdlog::warn(
          "database {}: physical partition {} spends {:.0f} of at most {:.0f} request units per second ({:.0f} "
          "%); requests beyond that are refused.",
          database, partition_id, use.per_second, use.per_second_max, percent(use.request_units_share()));
    }
  }
}

bool LimitWatch::is_news(const std::string& subject, double share, Clock::time_point now) {
  const auto known = warnings_.find(subject);
  if (known == warnings_.end()) {
    if (share < warned_from) return false;
    warnings_.emplace(subject, Warning{.warned_at = now, .noted_at = now});
    return true;
  }
  Warning& warning = known->second;
  warning.noted_at = now;
  if (share < armed_below) warning.is_armed = true;
  if (share < warned_from || !warning.is_armed || now - warning.warned_at < warning_interval) return false;
  warning = {.warned_at = now, .noted_at = now};
  return true;
}

void LimitWatch::keep_only(const std::set<std::string>& instance_tags, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(totals_, [&](const auto& one) { return !instance_tags.contains(one.first); });
  // What is not among the reported partitions is small: it is armed again when the next warning may come.
  std::erase_if(warnings_, [&](const auto& one) { return now - one.second.noted_at >= warning_interval; });
}

LimitWatch::Totals LimitWatch::totals() const {
  const std::lock_guard lock(mutex_);
  Totals sum;
  for (const auto& [tag, totals] : totals_) {
    add(sum.logical_bytes, totals.logical_bytes);
    add(sum.logical_request_units, totals.logical_request_units);
    add(sum.physical_bytes, totals.physical_bytes);
    add(sum.physical_request_units, totals.physical_request_units);
  }
  return sum;
}

}  // namespace octavo::partitioning
