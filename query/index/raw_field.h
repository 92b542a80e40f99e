#pragma once

#include <cstddef>
#include <string_view>

#include "query/json/field_path.h"

/// Reads stored documents as text: finds the raw bytes of a field without parsing the rest, so numbers and escapes come
/// out as they went in. Only for minified, checked JSON (everything in the store is); damaged text gives some wrong
/// piece of it or nothing, never a read outside of it. Linear in the text, no allocation but for names with escapes.
namespace octavo::query {

/// Raw text of the value at `path`; empty when there is none.
std::string_view find_raw_field(std::string_view json, const FieldPath& path);

/// Where the value that starts at `at` ends: the position after it.
std::size_t skip_raw_value(std::string_view json, std::size_t at);

}  // namespace octavo::query
