#include "server/process/couchdb_volume.h"

#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace octavo::server {
namespace {

bool is_mount(const std::filesystem::path& folder) {
  struct stat own{};
  struct stat parent{};
  return ::stat(folder.c_str(), &own) == 0 && ::stat((folder / "..").c_str(), &parent) == 0 &&
         own.st_dev != parent.st_dev;
}

}  // namespace

std::optional<std::string> unused_couchdb_volume(const std::filesystem::path& volume,
                                                 const std::filesystem::path& data_dir) {
  std::error_code error;
  if (!std::filesystem::is_directory(volume, error)) return std::nullopt;
  if (std::filesystem::equivalent(volume, data_dir, error)) return std::nullopt;
  const bool is_empty = std::filesystem::is_empty(volume, error);
  if (!error && is_empty && !is_mount(volume)) return std::nullopt;
  return fmt::format(
      "{} is the volume of CouchDB's image and is not used: data is stored in {}. Mount the volume there; files of "
      "CouchDB are not read.",
      volume.string(), data_dir.string());
}

bool runs_in_container() {
  std::error_code error;
  return ::getpid() == 1 || std::filesystem::exists("/.dockerenv", error) ||
         std::filesystem::exists("/run/.containerenv", error);
}

}  // namespace octavo::server
