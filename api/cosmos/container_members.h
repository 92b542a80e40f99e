#pragma once

#include <boost/json.hpp>

#include "base/error.h"

namespace octavo::api::cosmos {

/// Checks which members a client gives a container. Errors: bad_request for one that asks for what there is not
/// (analyticalStorageTtl). Members that nothing here knows are stored and do nothing: the log names them.
Expected<void> check_members(const boost::json::object& body);

}  // namespace octavo::api::cosmos
