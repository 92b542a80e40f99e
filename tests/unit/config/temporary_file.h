#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>

/// A file with known content in a folder of its own, gone at the end of the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content, const std::string& name = "octavo.toml") {
    std::string pattern = (std::filesystem::temp_directory_path() / "octavo-config-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ / name;
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string string() const { return path_.string(); }

 private:
  std::filesystem::path folder_;
  std::filesystem::path path_;
};
