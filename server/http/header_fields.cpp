#include "server/http/header_fields.h"

#include "base/ascii_case.h"

namespace octavo::server {

void HeaderFields::add(const char* head, std::string_view name, std::string_view value) {
  const auto offset = [head](std::string_view part) { return static_cast<std::uint32_t>(part.data() - head); };
  fields_.push_back(
      {offset(name), static_cast<std::uint32_t>(name.size()), offset(value), static_cast<std::uint32_t>(value.size())});
}

std::optional<std::string_view> HeaderFields::find(std::string_view name) const {
  for (const auto& field : fields_) {
    if (field.name_size == name.size() && equals_ignoring_case({base_ + field.name_offset, field.name_size}, name)) {
      return std::string_view{base_ + field.value_offset, field.value_size};
    }
  }
  return std::nullopt;
}

void HeaderFields::for_each(FunctionRef<void(std::string_view name, std::string_view value)> visit) const {
  for (const auto& field : fields_) {
    visit({base_ + field.name_offset, field.name_size}, {base_ + field.value_offset, field.value_size});
  }
}

}  // namespace octavo::server
