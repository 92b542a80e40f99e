#pragma once

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"

namespace octavo::analytics {

/// disk_full or io_failure.
inline std::unexpected<Error> disk_failure(std::string_view action, const std::filesystem::path& path,
                                           const std::error_code& error) {
  const bool is_full = error == std::errc::no_space_on_device || error.value() == EDQUOT;
  return fail(is_full ? ErrorCode::disk_full : ErrorCode::io_failure,
              fmt::format("{} {}: {}", action, path.filename().string(), error.message()));
}

inline std::error_code last_error() {
  return {errno, std::generic_category()};
}

}  // namespace octavo::analytics
