#include "query/advice/requested_documents.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "partitioning/throughput/throughput_budget.h"
#include "query/advice/value_table.h"

namespace octavo::query::advice {

using partitioning::PointRequests;

RequestedDocuments::RequestedDocuments(const std::vector<PointRequests::Entry>& recorded) {
  for (const auto& entry : recorded) {
    const bool is_read = entry.kind == PointRequests::Kind::read;
    const PointUse use{is_read ? 1U : 0U, is_read ? 0U : 1U, entry.request_units};
    uses_[entry.document].add(use);
    all_.add(use);
  }
  if (!recorded.empty()) since_s_ = recorded.front().second;
}

const PointUse* RequestedDocuments::find(std::string_view document_id) const {
  if (uses_.empty()) return nullptr;
  const auto found = uses_.find(PointRequests::hash_of(document_id));
  return found == uses_.end() ? nullptr : &found->second;
}

void RequestCounter::add(const PointUse& use, std::uint64_t hash, std::string_view text, std::size_t range) {
  RequestedValue& value = values_[hash];
  if (value.requests() == 0) {
    value.text = text.substr(0, ValueTable::shown_bytes_max);
    value.is_cut = text.size() > ValueTable::shown_bytes_max;
  }
  value.add(use);
  all_.add(use);
  by_range_[range] += use.request_units;
}

std::optional<PointAdvice> RequestCounter::advice(std::optional<std::uint32_t> throughput) const {
  if (all_.requests() == 0 || all_.request_units <= 0) return std::nullopt;
  PointAdvice advice;
  advice.found = all_;
  for (const auto& [hash, value] : values_) advice.hottest.push_back(value);
  const auto by_units = [](const RequestedValue& a, const RequestedValue& b) {
    return std::tie(b.request_units, a.text) < std::tie(a.request_units, b.text);
  };
  std::ranges::sort(advice.hottest, by_units);
  if (advice.hottest.size() > PointAdvice::hottest_max) advice.hottest.resize(PointAdvice::hottest_max);
  for (RequestedValue& value : advice.hottest) {
    value.share = value.request_units / all_.request_units;
    const double count_share = static_cast<double>(value.requests()) / all_.requests();
    value.share_error = 1.96 * std::sqrt(count_share * (1 - count_share) / all_.requests());
  }
  for (const double units : by_range_) advice.physical_shares.push_back(units / all_.request_units);
  if (throughput) {
    advice.usable =
        std::min<double>(*throughput, partitioning::partition_throughput_max / advice.hottest.front().share);
  }
  return advice;
}

}  // namespace octavo::query::advice
