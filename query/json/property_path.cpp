#include "query/json/property_path.h"

#include <algorithm>

namespace octavo::query {

Expected<std::vector<std::string>> split_property_path(std::string_view text) {
  const auto refuse = [&] {
    return fail(ErrorCode::bad_request,
                "The path '" + std::string(text) + "' is not valid: expected one like /address/zip.");
  };
  std::vector<std::string> parts;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] != '/' || at + 1 == text.size()) return refuse();
    ++at;
    std::string part;
    if (text[at] == '"' || text[at] == '\'') {
      const char quote = text[at++];
      while (at < text.size() && text[at] != quote) {
        if (text[at] == '\\' && at + 1 < text.size()) ++at;
        part.push_back(text[at++]);
      }
      if (at == text.size()) return refuse();
      ++at;
      if (at < text.size() && text[at] != '/') return refuse();
    } else {
      const std::size_t end = std::min(text.find('/', at), text.size());
      part = text.substr(at, end - at);
      at = end;
    }
    if (part.empty()) return refuse();
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return refuse();
  return parts;
}

FieldPath property_field_path(const std::vector<std::string>& parts) {
  std::string escaped;
  for (const auto& part : parts) {
    if (!escaped.empty()) escaped += '.';
    for (const char c : part) {
      if (c == '.' || c == '\\') escaped += '\\';
      escaped += c;
    }
  }
  return FieldPath::parse(escaped).value();
}

}  // namespace octavo::query
