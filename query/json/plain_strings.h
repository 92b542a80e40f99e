#pragma once

#include <string_view>

namespace octavo::query {

/// Whether minified JSON consists of printable ASCII without escapes. A string in it has one spelling, and is equal to
/// another such string in the collation (collation.h) only if it is the same: no two printable ASCII characters sort
/// alike, and none is ignored. Linear, 16 bytes at a time.
bool has_plain_strings(std::string_view json);

/// Whether a string's text consists of printable ASCII: two such strings are equal in the collation only if they are
/// the same. Other strings may still be equal to one of them, for example if they differ by characters that are
/// ignored.
bool is_plain_text(std::string_view text);

}  // namespace octavo::query
