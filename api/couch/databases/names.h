#pragma once

#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "base/error.h"
#include "partitioning/database.h"

namespace octavo::api::couch {

/// The body of a request for another name.
struct RenameRequest {
  std::string name;
  bool keeps_alias = true;

  /// Errors: bad_request.
  static Expected<RenameRequest> parse(const boost::json::object& body);
};

/// Whether the database may have this name, by the rules of the API that created it. Errors: bad_request.
Expected<void> check_further_name(const partitioning::Database& database, std::string_view name);

}  // namespace octavo::api::couch
