// Folders are listed and removed as std::filesystem does it.
#include "base/folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "support/temporary_folder.h"

using namespace octavo::storage;
using octavo::tests::TemporaryFolder;

namespace {

void write(const std::filesystem::path& file) {
  std::ofstream(file) << "rows";
}

}  // namespace

TEST_CASE("a folder's entries are its files, folders and links") {
  const TemporaryFolder temporary;
  write(temporary.path() / "file");
  std::filesystem::create_directory(temporary.path() / ".folder");
  std::filesystem::create_symlink("nowhere", temporary.path() / "link");
  std::error_code error;
  auto names = folder_entries(temporary.path(), error);
  std::ranges::sort(names);
  CHECK(!error);
  CHECK(names == std::vector<std::string>{".folder", "file", "link"});
}

TEST_CASE("entries of a folder that is not there, or no folder, are an error") {
  const TemporaryFolder temporary;
  std::error_code error;
  CHECK(folder_entries(temporary.path() / "missing", error).empty());
  CHECK(error == std::errc::no_such_file_or_directory);
  write(temporary.path() / "file");
  CHECK(folder_entries(temporary.path() / "file", error).empty());
  CHECK(error == std::errc::not_a_directory);
  CHECK(folder_entries(temporary.path(), error).size() == 1);
  CHECK(!error);
}

TEST_CASE("a folder is synced, and a missing one is an error") {
  const TemporaryFolder temporary;
  std::error_code error;
  sync_folder(temporary.path(), error);
  CHECK(!error);
  sync_folder(temporary.path() / "missing", error);
  CHECK(error == std::errc::no_such_file_or_directory);
}

TEST_CASE("a folder is removed with all that is in it") {
  const TemporaryFolder temporary;
  const auto folder = temporary.path() / "database";
  std::filesystem::create_directories(folder / "partition" / "lucene");
  for (int i = 0; i < 300; ++i) write(folder / "partition" / "lucene" / ("segment" + std::to_string(i)));
  write(folder / "data.mdb");
  std::error_code error;
  remove_folder(folder, error);
  CHECK(!error);
  CHECK(!std::filesystem::exists(folder));
}

TEST_CASE("what is not there is removed already") {
  const TemporaryFolder temporary;
  std::error_code error = std::make_error_code(std::errc::io_error);
  remove_folder(temporary.path() / "missing" / "too", error);
  CHECK(!error);
}

TEST_CASE("a file is removed as a folder is") {
  const TemporaryFolder temporary;
  write(temporary.path() / "file");
  std::error_code error;
  remove_folder(temporary.path() / "file", error);
  CHECK(!error);
  CHECK(!std::filesystem::exists(temporary.path() / "file"));
}

TEST_CASE("removing a folder leaves what its links point to") {
  const TemporaryFolder temporary;
  std::filesystem::create_directory(temporary.path() / "kept");
  write(temporary.path() / "kept" / "file");
  const auto folder = temporary.path() / "removed";
  std::filesystem::create_directory(folder);
  std::filesystem::create_directory_symlink(temporary.path() / "kept", folder / "link");
  std::error_code error;
  remove_folder(folder, error);
  CHECK(!error);
  CHECK(!std::filesystem::exists(folder));
  CHECK(std::filesystem::exists(temporary.path() / "kept" / "file"));
}

TEST_CASE("what cannot be removed is an error") {
  std::error_code error;
  remove_folder("/proc/self/status", error);
  CHECK(error);
}

TEST_CASE("a file is replaced as a whole, and only its owner may read it") {
  const TemporaryFolder temporary;
  const auto file = temporary.path() / "file";
  std::ofstream(file) << "the former content, which is longer";
  std::error_code error;
  replace_file(file, "new", error);
  CHECK(!error);
  CHECK(std::filesystem::file_size(file) == 3);
  const auto owner_only = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  CHECK((std::filesystem::status(file).permissions() == owner_only));
  CHECK(folder_entries(temporary.path(), error) == std::vector<std::string>{"file"});
}

TEST_CASE("a file that cannot be replaced is an error") {
  const TemporaryFolder temporary;
  std::error_code error;
  replace_file(temporary.path() / "missing" / "file", "new", error);
  CHECK(error == std::errc::no_such_file_or_directory);
}
