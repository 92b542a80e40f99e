#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octavo::query {

/// One member of an object; its value is not parsed.
struct JsonMember {
  std::string name;      ///< decoded
  std::string_view raw;  ///< the value without surrounding white space; lives as long as the input
};

/// Cuts untrusted JSON text into the raw texts of its parts, without building a tree: for requests that carry documents
/// (`{"docs":[{…},{…}],"new_edits":false}`), where each document is passed to `normalize_document` unchanged.
///
/// Checks only what it needs: UTF-8 of the whole text, the outer object or array in full, scalars in full, and inside
/// nested containers strings and balanced brackets (at most `json_depth_max` deep). Code that reads a nested container
/// must therefore still parse it. Runs at several hundred MB/s; allocates only the result.
///
/// Errors: bad_request "invalid UTF-8 JSON at byte N: …"; `Request body must be a JSON object` / `… array` if the text
/// is another type; too_large over `parts_max`.
inline constexpr std::size_t json_parts_max = 1'000'000;

/// The members of an object in order; of several with one name only the last.
Expected<std::vector<JsonMember>> split_object(std::string_view text, std::size_t parts_max = json_parts_max);

/// The elements of an array in order.
Expected<std::vector<std::string_view>> split_array(std::string_view text, std::size_t parts_max = json_parts_max);

/// The raw value of the member called `name`, or an empty view. Linear.
std::string_view member_value(const std::vector<JsonMember>& members, std::string_view name);

/// Decodes the raw text of a JSON string, quotes included (`"a\nb"`). Errors: bad_request if it is not a valid string.
Expected<std::string> decode_json_string(std::string_view raw);

}  // namespace octavo::query
