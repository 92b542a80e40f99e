#pragma once

#include <string_view>

namespace octavo::query {

/// Whether minified JSON is of printable ASCII without escapes. A string in it has one spelling, and is equal to
/// another such string in the collation (collation.h) only if it is the same: no two printable ASCII characters sort
/// alike, and none is ignored. Linear, 16 bytes at a time.
bool has_plain_strings(std::string_view json);

}  // namespace octavo::query
