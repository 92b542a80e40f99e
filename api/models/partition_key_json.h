#pragma once

#include <string_view>

#include <boost/json.hpp>

namespace octavo::api::cosmos {

/// Converts a partition key from its text in document ids to the values that clients know, `["ann"]`. A text that is
/// not an encoded key (its documents were written through the CouchDB API) is returned as a string.
boost::json::value partition_key_json(std::string_view text, bool hierarchical);

}  // namespace octavo::api::cosmos
