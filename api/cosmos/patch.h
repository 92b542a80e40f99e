#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/error.h"

namespace octavo::api::cosmos {

/// One operation of a partial update.
struct PatchOperation {
  enum class Kind : std::uint8_t { add, set, replace, remove, increment, move };
  Kind kind = Kind::set;
  std::vector<std::string> path;
  std::vector<std::string> from;  ///< move only
  std::string value;              ///< minified JSON; empty for remove and move
};

/// A partial update: what happens to an item, in order, all of it or nothing.
struct Patch {
  std::vector<PatchOperation> operations;
  std::optional<std::string> condition;  ///< `from c where …`

  /// `{"operations":[…],"condition":…}`, or the bare array. Errors: bad_request, naming the operation.
  static Expected<Patch> parse(std::string_view json);
  /// The body (minified JSON object) after the update. What is not touched keeps its text. Errors: bad_request.
  Expected<std::string> apply(std::string_view body) const;
};

}  // namespace octavo::api::cosmos
