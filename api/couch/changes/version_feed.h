#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/couch/call/call.h"
#include "api/couch/changes/changes_query.h"
#include "api/couch/changes/feed_stream.h"

namespace octavo::api::couch {

/// `_changes?mode=all_versions`: all versions of all documents, and deletions, of a database that keeps them
/// (`all_versions`). Errors: bad_request.
Expected<std::unique_ptr<FollowedFeed>> version_feed(const Call& call, ChangesQuery query,
                                                     std::optional<std::string> partition_key);

}  // namespace octavo::api::couch
