#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "api/http/request.h"

namespace octavo::server {

/// The header fields of one request as offsets into its head, so that the buffer may move while the body arrives.
/// Keeps its memory between requests. Call `set_base` before any look-up.
class HeaderFields final : public api::HeaderSource {
 public:
  void clear() { fields_.clear(); }
  void set_base(const char* head) { base_ = head; }
  void add(const char* head, std::string_view name, std::string_view value);
  std::size_t size() const { return fields_.size(); }
  /// Frees the memory.
  void release() { fields_ = {}; }

  /// The first field with this name, in any case.
  std::optional<std::string_view> find(std::string_view name) const override;
  void for_each(FunctionRef<void(std::string_view name, std::string_view value)> visit) const override;

 private:
  struct Field {
    std::uint32_t name_offset;
    std::uint32_t name_size;
    std::uint32_t value_offset;
    std::uint32_t value_size;
  };
  std::vector<Field> fields_;
  const char* base_ = nullptr;
};

}  // namespace octavo::server
