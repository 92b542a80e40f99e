#pragma once

#include <boost/json/value.hpp>

#include "api/http/reply.h"

namespace octavo::api::couch {

/// A 200 with the value as its body. For small replies; large ones are streamed (sliced_reply.h).
Reply json_reply(const boost::json::value& value);

}  // namespace octavo::api::couch
