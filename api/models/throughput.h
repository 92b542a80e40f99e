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

  std::uint32_t highest() const { return autoscale_max != 0 ? autoscale_max : manual; }
};

/// Throughput that the headers of a creation request. Errors: bad_request.
Expected<std::optional<Throughput>> throughput_of(std::optional<std::string_view> manual,
                                                  std::optional<std::string_view> autoscale);
boost::json::value to_json(const Throughput& throughput);
Throughput throughput_from_json(const boost::json::value& value);

}  // namespace octavo::api::cosmos
