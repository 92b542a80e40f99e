#pragma once

#include <string>

#include <boost/json/value.hpp>

#include "api/http/reply.h"

namespace octavo::api::couch {

/// A 200 with the value as its body. For small replies; large ones are streamed (sliced_reply.h).
Reply json_reply(const boost::json::value& value);

/// A 304: the client's copy with this `etag` (quotes included) is current.
Reply not_modified(std::string etag);

}  // namespace octavo::api::couch
