#pragma once

#include <expected>

#include <fmt/format.h>

#include "base/error.h"
#include "query/selector/selector.h"

namespace octavo::query {

inline std::unexpected<Error> selector_too_deep() {
  return fail(ErrorCode::bad_request, fmt::format("Selector is nested over {} levels deep", selector_depth_max));
}

inline std::unexpected<Error> selector_too_large() {
  return fail(ErrorCode::bad_request, fmt::format("Selector has over {} conditions", selector_nodes_max));
}

}  // namespace octavo::query
