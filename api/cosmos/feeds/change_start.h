#pragma once

#include <cstdint>
#include <string_view>

#include "api/http/reply.h"
#include "partitioning/database.h"

/// Functions for both modes of the change feed.
namespace octavo::api::cosmos {

/// The sequence that a reader of changes has reached. Errors: bad_request.
///
/// Format (ETag of a page of changes):
///   tag := '"' sequence '"'      decimal digits
Expected<storage::Sequence> parse_change_tag(std::string_view text);
/// The date of `If-Modified-Since`, as Unix time. Errors: bad_request.
Expected<std::int64_t> parse_modified_since(std::string_view text);

/// Waits until every acknowledged change can be read, even while another partition still commits.
Task<void> settle_acknowledged(partitioning::Database& database);

/// A page of changes with its position as ETag; 304 if it has no changes. `body`: the rows.
Reply changes_reply(std::string_view container_rid, std::string_view body, std::size_t count,
                    storage::Sequence position);

}  // namespace octavo::api::cosmos
