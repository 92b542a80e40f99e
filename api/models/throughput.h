#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <boost/json.hpp>

#include "base/error.h"

namespace octavo::api::cosmos {

/// Provisioned throughput of a database or container, in request units per second.
struct Throughput {
  std::uint32_t manual = 0;         ///< 0: autoscale
  std::uint32_t autoscale_max = 0;  ///< 0: manual
  bool enforced = true;             ///< false: a default that is only shown
  /// By how many percent Azure raises the maximum by itself; kept for clients, which send it back.
  std::optional<std::uint32_t> increment_percent = std::nullopt;

  std::uint32_t highest() const { return autoscale_max != 0 ? autoscale_max : manual; }
};

/// Throughput that the headers of a creation request. Errors: bad_request.
Expected<std::optional<Throughput>> throughput_of(std::optional<std::string_view> manual,
                                                  std::optional<std::string_view> autoscale);
/// The lowest throughput for data of this size: as in Azure Cosmos DB 1 RU/s for each GB, and at least 400; for
/// autoscale, the lowest maximum: ten times that, and at least 1,000.
Throughput lowest_throughput(std::uint64_t stored_bytes, bool is_autoscale);
/// Error bad_request: it is below lowest_throughput().
Expected<void> check_lowest(const Throughput& throughput, std::uint64_t stored_bytes);
boost::json::value to_json(const Throughput& throughput);
Throughput throughput_from_json(const boost::json::value& value);

}  // namespace octavo::api::cosmos
