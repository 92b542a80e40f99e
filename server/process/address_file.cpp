#include "server/process/address_file.h"

#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace octavo::server {
namespace {

namespace fs = std::filesystem;

constexpr const char* address_file_name = "octavo.address";

// A reader finds all of the text or nothing.
bool replace_file(const fs::path& path, const std::string& text) {
  const fs::path draft = path.string() + ".new";
  std::ofstream file(draft, std::ios::trunc);
  file << text << '\n';
  file.close();
  if (!file) return false;
  std::error_code error;
  fs::rename(draft, path, error);
  return !error;
}

}  // namespace

std::string local_url(const config::Settings& settings, std::uint16_t port) {
  std::string address = settings.bind;
  if (address == "0.0.0.0") address = "127.0.0.1";
  if (address == "::") address = "::1";
  if (address.find(':') != std::string::npos) address = "[" + address + "]";
  return fmt::format("{}://{}:{}/_up", settings.tls_certificate.empty() ? "http" : "https", address, port);
}

AddressFile::AddressFile(const fs::path& data_folder, const std::string& url) : path_(data_folder / address_file_name) {
  if (!replace_file(path_, url)) {
    spdlog::warn("{} cannot be written: `octavo health` asks the configured port instead", path_.string());
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
