#pragma once

#include <cstddef>
#include <string_view>

#include "query/json/field_path.h"

/// Reads stored documents as text: finds the raw bytes of a field without parsing the rest, so that numbers and escapes
/// are returned unchanged. Only for minified, valid JSON (as everything in the store); for damaged text it returns a
/// wrong piece of it or nothing, but never reads outside it. Linear in the text; allocates only for names with escapes.
namespace octavo::query {

/// Raw text of the value at `path`; empty if the path does not exist.
std::string_view find_raw_field(std::string_view json, const FieldPath& path);

/// The position after the value that starts at `at`.
std::size_t skip_raw_value(std::string_view json, std::size_t at);

}  // namespace octavo::query
