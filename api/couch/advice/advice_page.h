#pragma once

#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "api/http/reply.h"

namespace octavo::api::couch {

/// The advice on partition keys as a page for people, with charts: how each candidate would divide the documents and
/// the requests, and what follows from that. `advice`: the reply in JSON. The page needs nothing else, runs no scripts,
/// and may not load anything. All text is escaped.
Reply advice_page(std::string_view database, const boost::json::object& advice);

}  // namespace octavo::api::couch
