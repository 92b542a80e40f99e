#include "server/process/address_file.h"

#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/folder.h"

namespace octavo::server {
namespace {

namespace fs = std::filesystem;

constexpr const char* address_file_name = "octavo.address";

}  // namespace

std::string local_url(const config::Settings& settings, std::uint16_t port) {
  std::string address = settings.bind;
  if (address == "0.0.0.0") address = "127.0.0.1";
  if (address == "::") address = "::1";
  if (address.find(':') != std::string::npos) address = "[" + address + "]";
  return fmt::format("{}://{}:{}/_up", settings.tls_certificate.empty() ? "http" : "https", address, port);
}

AddressFile::AddressFile(const fs::path& data_folder, const std::string& url) : path_(data_folder / address_file_name) {
  std::error_code error;
  storage::replace_file(path_, url + '\n', error);
  if (error) {
    spdlog::warn("{} cannot be written ({}): `octavo health` asks the configured port instead", path_.string(),
                 error.message());
  }
}

AddressFile::~AddressFile() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

std::optional<std::string> AddressFile::read(const fs::path& data_folder) {
  std::ifstream file(data_folder / address_file_name);
  std::string url;
  if (!std::getline(file, url) || !url.starts_with("http")) return std::nullopt;
  return url;
}

}  // namespace octavo::server
