#pragma once

#include <boost/json.hpp>

#include "base/error.h"

namespace octavo::api::cosmos {

/// Checks the members of a container that a client sends. Errors: bad_request if one needs a feature that does not
/// exist (materializedViewDefinition, vector and full-text policies). Unknown members are stored without effect, and
/// the log names them.
Expected<void> check_members(const boost::json::object& body);

}  // namespace octavo::api::cosmos
