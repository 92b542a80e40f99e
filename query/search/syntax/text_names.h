#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace octavo::query::search {

/// Names of fields in a text index: parts joined by dots, with dots inside a part escaped, then `:` and the type.
inline constexpr std::string_view text_default_field = "$default";
inline constexpr std::string_view text_names_field = "$fieldnames";
void append_text_part(std::string& name, std::string_view part);

/// A string is indexed as one term, cut off at this length: hits are tested with the selector anyway.
inline constexpr std::size_t text_term_bytes_max = 2048;
std::string_view text_term(std::string_view text);

}  // namespace octavo::query::search
