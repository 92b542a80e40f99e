#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "config/settings.h"

namespace octavo::server {

/// The URL of `/_up` for a client on this machine, of a server with these settings that listens on `port`.
std::string local_url(const config::Settings& settings, std::uint16_t port);

/// A file in the data folder that has the URL of the server. From it `octavo health` knows where to ask, whatever has
/// set the port. The file exists while the server serves; after a crash, the next start replaces it.
class AddressFile {
 public:
  /// Writes the file. If that fails, it is only logged: the server can serve without the file.
  AddressFile(const std::filesystem::path& data_folder, const std::string& url);
  /// Removes the file.
  ~AddressFile();
  AddressFile(const AddressFile&) = delete;
  AddressFile& operator=(const AddressFile&) = delete;

  /// The URL in the file. Nullopt if no server serves from the folder, or if the file cannot be read.
  static std::optional<std::string> read(const std::filesystem::path& data_folder);

 private:
  const std::filesystem::path path_;
};

}  // namespace octavo::server
