#include "api/models/throughput.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "query/json/parsed_document.h"

namespace octavo::api::cosmos {

namespace {

constexpr std::int64_t throughput_min = 400;  // this and the limits below: Azure Cosmos DB service limits
constexpr std::int64_t throughput_max = 1'000'000;
constexpr std::int64_t autoscale_min = 1'000;
constexpr std::int64_t manual_step = 100;
constexpr std::int64_t autoscale_step = 1'000;
constexpr std::int64_t increment_percent_max = 1'000;
constexpr std::uint64_t bytes_per_unit = 1ULL << 30;  ///< stored, for each RU/s

std::string valid_values(std::int64_t min, std::int64_t step) {
  return "The offer should have valid throughput values between " + std::to_string(min) + " and " +
         std::to_string(throughput_max) + " inclusive in increments of " + std::to_string(step) + ".";
}

std::uint32_t rounded_up(std::uint64_t value, std::uint64_t step, std::uint64_t min, std::uint64_t max) {
  return static_cast<std::uint32_t>(std::clamp((value + step - 1) / step * step, min, max));
}

/// `autoUpgradePolicy.throughputPolicy.incrementPercent` of autoscale settings.
Expected<std::optional<std::uint32_t>> increment_percent_of(const boost::json::object& settings) {
  const boost::json::value* found = settings.if_contains("autoUpgradePolicy");
  for (const std::string_view name : {"throughputPolicy", "incrementPercent"}) {
    found = found != nullptr && found->is_object() ? found->get_object().if_contains(name) : nullptr;
  }
  if (found == nullptr) return std::nullopt;
  if (!found->is_int64() || found->get_int64() < 0 || found->get_int64() > increment_percent_max) {
    return fail(ErrorCode::bad_request,
                "incrementPercent must be a whole number between 0 and " + std::to_string(increment_percent_max) + ".");
  }
  return static_cast<std::uint32_t>(found->get_int64());
}

}  // namespace

Throughput lowest_throughput(std::uint64_t stored_bytes, bool is_autoscale) {
  const std::uint64_t units = (stored_bytes + bytes_per_unit - 1) / bytes_per_unit;
  if (is_autoscale) return {.autoscale_max = rounded_up(units * 10, autoscale_step, autoscale_min, throughput_max)};
  return {.manual = rounded_up(units, manual_step, throughput_min, throughput_max)};
}

Expected<void> check_lowest(const Throughput& throughput, std::uint64_t stored_bytes) {
  const bool is_autoscale = throughput.autoscale_max != 0;
  const std::uint32_t lowest = lowest_throughput(stored_bytes, is_autoscale).highest();
  if (throughput.highest() >= lowest) return {};
  return fail(ErrorCode::bad_request, valid_values(lowest, is_autoscale ? autoscale_step : manual_step) +
                                          " The stored data needs at least 1 RU/s for each GB.");
}

Expected<std::optional<Throughput>> throughput_of(std::optional<std::string_view> manual,
                                                  std::optional<std::string_view> autoscale) {
  const auto check = [](std::int64_t value, std::int64_t min, std::int64_t step) -> Expected<std::uint32_t> {
    if (value < min) {
      return fail(ErrorCode::bad_request, "Requested throughput " + std::to_string(value) +
                                              " is less than required minimum throughput " + std::to_string(min) +
                                              ". " + valid_values(min, step));
    }
    if (value > throughput_max || value % step != 0) return fail(ErrorCode::bad_request, valid_values(min, step));
    return static_cast<std::uint32_t>(value);
  };
  if (manual && autoscale) {
    return fail(ErrorCode::bad_request, "Manual and autoscale throughput cannot both be asked for.");
  }
  if (manual) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(manual->data(), manual->data() + manual->size(), value);
    if (error != std::errc{} || end != manual->data() + manual->size()) {
      return fail(ErrorCode::bad_request, "x-ms-offer-throughput must be a whole number.");
    }
    OCTAVO_TRY(const auto checked, check(value, throughput_min, manual_step));
    return Throughput{.manual = checked};
  }
  if (autoscale) {
    OCTAVO_TRY(const auto settings, query::parse_json(*autoscale));
    const auto* max = settings.is_object() ? settings.get_object().if_contains("maxThroughput") : nullptr;
    if (max == nullptr || !max->is_int64()) {
      return fail(ErrorCode::bad_request,
                  "x-ms-cosmos-offer-autopilot-settings must be {\"maxThroughput\": a whole number}.");
    }
    OCTAVO_TRY(const auto checked, check(max->get_int64(), autoscale_min, autoscale_step));
    OCTAVO_TRY(const auto increment, increment_percent_of(settings.get_object()));
    return Throughput{.autoscale_max = checked, .increment_percent = increment};
  }
  return std::nullopt;
}

boost::json::value to_json(const Throughput& throughput) {
  boost::json::object stored{
      {"manual", throughput.manual}, {"autoscale_max", throughput.autoscale_max}, {"enforced", throughput.enforced}};
  if (throughput.increment_percent) stored["increment_percent"] = *throughput.increment_percent;
  return stored;
}

Throughput throughput_from_json(const boost::json::value& value) {
  Throughput throughput;
  if (!value.is_object()) return throughput;
  const auto number = [&](std::string_view name) {
    const auto* member = value.get_object().if_contains(name);
    return member != nullptr && member->is_int64() ? static_cast<std::uint32_t>(member->get_int64()) : 0U;
  };
  throughput.manual = number("manual");
  throughput.autoscale_max = number("autoscale_max");
  const auto* enforced = value.get_object().if_contains("enforced");
  if (value.get_object().contains("increment_percent")) throughput.increment_percent = number("increment_percent");
  throughput.enforced = enforced != nullptr && *enforced == true;
  return throughput;
}

}  // namespace octavo::api::cosmos
