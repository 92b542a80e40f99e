#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo::api::cosmos {

/// Whether a body is in the binary form of JSON, in which some clients of the Cosmos DB API send items.
bool is_binary_json(std::string_view body);

/// The same value as JSON text, of at most eight times the size, or 1,024 bytes. Errors: bad_request if the body is
/// damaged, or has values that JSON does not have; too_large for a longer text.
Expected<std::string> text_of_binary_json(std::string_view body);

}  // namespace octavo::api::cosmos
