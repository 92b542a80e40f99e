#pragma once

#include <string_view>

#include "base/error.h"
#include "partitioning/database.h"
#include "storage/document/document.h"

namespace octavo::api::couch {

/// Checks an id by CouchDB's rules for this database. Errors have CouchDB's words.
Expected<void> check_id(std::string_view id, const partitioning::Database& database);

using storage::design_prefix;
using storage::is_design_id;
inline constexpr std::string_view local_prefix = "_local/";
inline bool is_local_id(std::string_view id) {
  return id.starts_with(local_prefix);
}

}  // namespace octavo::api::couch
