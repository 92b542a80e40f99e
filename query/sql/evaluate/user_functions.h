#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo::query::sql {

/// Calls user-defined functions (`udf.name(…)`). Provided by an API.
class UserFunctions {
 public:
  virtual ~UserFunctions() = default;
  /// Arguments and result are JSON text, empty for undefined. Called on the thread that runs the query, which is a
  /// worker. Errors end the query.
  virtual Expected<std::string> call(std::string_view name, std::span<const std::string> arguments) = 0;
};

}  // namespace octavo::query::sql
