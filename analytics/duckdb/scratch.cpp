#include "analytics/duckdb/scratch.h"

#include <system_error>

#include "base/digest.h"
#include "base/folder.h"

namespace octavo::analytics::duckdb {

namespace {

constexpr std::size_t name_bytes = 16;

std::uint64_t bytes_below(const std::filesystem::path& path) {
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed)) {
    const auto size = std::filesystem::file_size(path, failed);
    return failed ? 0 : size;
  }
  std::uint64_t sum = 0;
  for (const std::string& name : storage::folder_entries(path, failed)) sum += bytes_below(path / name);
  return sum;
}

}  // namespace

Scratch::Scratch(const Instance& instance)
    : path_(instance.export_folder() / crypto::hex_identity(crypto::random_bytes(name_bytes))) {}

void Scratch::remove() const {
  std::error_code ignored;
  storage::remove_folder(path_, ignored);
}

std::uint64_t Scratch::bytes() const {
  return bytes_below(path_);
}

}  // namespace octavo::analytics::duckdb
