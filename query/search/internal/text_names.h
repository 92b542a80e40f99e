#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace octavo::query::search {

/// Names of fields in a text index: parts joined by dots, a dot inside of a part escaped, then `:` and the type.
inline constexpr std::string_view text_default_field = "$default";
inline constexpr std::string_view text_names_field = "$fieldnames";
void append_text_part(std::string& name, std::string_view part);

/// Strings are terms as a whole, but not beyond this: what is found is tested with the selector anyway.
inline constexpr std::size_t text_term_bytes_max = 2048;
std::string_view text_term(std::string_view text);

}  // namespace octavo::query::search
