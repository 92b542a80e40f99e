#include "api/http/charge_limit.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace octavo::api {

Expected<std::optional<partitioning::RequestUnits>> max_request_charge(const Request& request) {
  const auto header = request.header("X-Max-Request-Charge");
  if (!header || header->empty()) return std::nullopt;
  partitioning::RequestUnits most = 0;
  const char* end = header->data() + header->size();
  const auto [parsed, error] = std::from_chars(header->data(), end, most);
  if (error != std::errc{} || parsed != end || !std::isfinite(most) || most <= 0) {
    return fail(ErrorCode::bad_request, "X-Max-Request-Charge must be a number of request units above zero.");
  }
  return most;
}

std::unexpected<Error> charge_exceeded(partitioning::RequestUnits most) {
  return fail(ErrorCode::bad_request,
              fmt::format("The query costs more than X-Max-Request-Charge ({:.2f}) before its first result: it sorts, "
                          "groups or aggregates all that it reads. Create an index for its order, or allow more.",
                          most),
              "request_charge_exceeded");
}

}  // namespace octavo::api
