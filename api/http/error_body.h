#pragma once

#include <string>
#include <string_view>

#include "api/http/reply.h"

namespace octavo::api {

/// Appends `text` as a JSON string. Messages may quote what the client sent, but a reply must be UTF-8: if `text` is
/// not, its non-ASCII bytes become `?`.
void append_error_text(std::string& out, std::string_view text);

/// One of the two members of an error's body. Each API has its own names for them.
struct ErrorMember {
  std::string_view name;
  std::string_view text;
};
/// A reply whose body is an object with these two members.
Reply error_body(int status, ErrorMember word, ErrorMember reason);

}  // namespace octavo::api
