#pragma once

#include <string_view>

#include <boost/json.hpp>

namespace octavo::api::cosmos {

/// The values of a partition key as clients know them, `["ann"]`, of its text in document ids. A key that is of no item
/// (its documents came in by the other door) is the text itself.
boost::json::value partition_key_json(std::string_view text, bool hierarchical);

}  // namespace octavo::api::cosmos
