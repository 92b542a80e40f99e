#pragma once

#include <boost/json/value.hpp>

#include "api/http/reply.h"

namespace octavo::api::couch {

/// 200 with the value as its body. For small replies; large ones stream.
Reply json_reply(const boost::json::value& value);

}  // namespace octavo::api::couch
