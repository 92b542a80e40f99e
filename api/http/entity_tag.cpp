#include "api/http/entity_tag.h"

namespace octavo::api {

std::string_view unquoted_tag(std::string_view tag) {
  if (tag.starts_with("W/")) tag.remove_prefix(2);
  if (tag.size() >= 2 && tag.front() == '"' && tag.back() == '"') tag = tag.substr(1, tag.size() - 2);
  return tag;
}

}  // namespace octavo::api
