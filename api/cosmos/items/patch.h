#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "query/sql/compile/sql_query.h"

namespace octavo::api::cosmos {

/// One operation of a partial update.
struct PatchOperation {
  enum class Kind : std::uint8_t { add, set, replace, remove, increment, move };
  Kind kind = Kind::set;
  std::vector<std::string> path;
  std::vector<std::string> from;  ///< move only
  std::string value;              ///< minified JSON; empty for remove and move
};

/// A partial update of an item: operations applied in order, all or nothing.
struct Patch {
  std::vector<PatchOperation> operations;
  query::sql::SqlQuery::Ptr condition;  ///< `from c where …`; null: none

  /// Parses `{"operations":[…],"condition":…}`, or the bare array. Errors: bad_request, which names the operation or
  /// the error in the condition.
  static Expected<Patch> parse(std::string_view json, query::sql::ComputedProperties::Ptr computed = nullptr);
  /// The body (minified JSON object) after the update. Unchanged values keep their text. Errors: bad_request.
  Expected<std::string> apply(std::string_view body) const;
};

}  // namespace octavo::api::cosmos
