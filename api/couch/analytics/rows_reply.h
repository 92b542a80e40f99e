#pragma once

#include <string_view>

#include "analytics/analytics.h"
#include "api/couch/call/call.h"

namespace octavo::api::couch {

/// The rows of a query as a reply, which is streamed when they are many. Errors: those of the query, as long as no byte
/// of the reply was sent; later ones break the reply off.
Task<Expected<Reply>> rows_reply(Call& call, analytics::Analytics::Query query, std::string_view content_type);

}  // namespace octavo::api::couch
