#include "query/search/syntax/text_names.h"

namespace octavo::query::search {

void append_text_part(std::string& name, std::string_view part) {
  if (!name.empty()) name += '.';
  for (const char c : part) {
    if (c == '.' || c == '\\') name += '\\';
    name += c;
  }
}

std::string_view text_term(std::string_view text) {
  if (text.size() <= text_term_bytes_max) return text;
  text = text.substr(0, text_term_bytes_max);
  while (!text.empty() && (text.back() & 0xC0) == 0x80) text.remove_suffix(1);
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0) text.remove_suffix(1);
  return text;
}

}  // namespace octavo::query::search
