#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "api/http/request.h"

namespace octavo::fuzz {

/// One reply the server must have made, in order: to a request of that method, or to something that never became one.
struct ExpectedReply {
  std::optional<api::Method> method;  ///< nullopt: refused by the connection itself
};

/// Reads everything a connection sent as a strict client would: framing, header syntax, JSON bodies that are JSON, no
/// status 500. Ends the process when something is wrong. The last reply may be cut off.
void check_replies(std::string_view received, const std::vector<ExpectedReply>& expected);

}  // namespace octavo::fuzz
