// Exported folders on the disk: their names, their list of files, and how one takes the place of another.
#include "analytics/export/published_folder.h"

#include <fstream>
#include <iterator>
#include <string>

#include <catch2/catch.hpp>

#include "analytics/export/manifest.h"
#include "analytics/export/partitions.h"
#include "support/temporary_folder.h"

using namespace octavo;
using analytics::hive_folder_name;
using analytics::Manifest;
using analytics::PublishedFolder;
using Catch::Contains;

namespace fs = std::filesystem;

namespace {

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t entries_of(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

void publish(const fs::path& parent, const std::string& text) {
  auto folder = PublishedFolder::open(parent, "orders");
  REQUIRE(folder);
  write_file(folder->successor() / "file", text);
  REQUIRE(folder->publish());
}

}  // namespace

TEST_CASE("names of folders have Hive's escapes, and letters of all languages as they are") {
  CHECK(hive_folder_name("city", "Bern") == "city=Bern");
  CHECK(hive_folder_name("city", "") == "city=__HIVE_DEFAULT_PARTITION__");
  CHECK(hive_folder_name("a=b", "c/d %\x01\x7f") == "a%3Db=c%2Fd %25%01%7F");
  CHECK(hive_folder_name("city", "Zürich") == "city=Zürich");
  CHECK(hive_folder_name("path", "..") == "path=..");
  CHECK(hive_folder_name("all", "\"#%'*/:=?\\{[]^") == "all=%22%23%25%27%2A%2F%3A%3D%3F%5C%7B%5B%5D%5E");
}

TEST_CASE("a published folder replaces the one before, and leaves nothing beside it") {
  const tests::TemporaryFolder root;
  const fs::path parent = root.path() / "exports";
  publish(parent, "one");
  CHECK(read_file(parent / "orders" / "file") == "one");
  publish(parent, "two");
  CHECK(read_file(parent / "orders" / "file") == "two");
  CHECK(entries_of(parent) == 2);  // the lock, too
}

TEST_CASE("a folder that is not published changes nothing") {
  const tests::TemporaryFolder root;
  publish(root.path(), "one");
  {
    auto folder = PublishedFolder::open(root.path(), "orders");
    REQUIRE(folder);
    write_file(folder->successor() / "file", "two");
  }
  CHECK(read_file(root.path() / "orders" / "file") == "one");
  auto again = PublishedFolder::open(root.path(), "orders");
  REQUIRE(again);
  CHECK(entries_of(again->successor()) == 0);
}

TEST_CASE("a folder that a crash has left under its former name comes back") {
  const tests::TemporaryFolder root;
  publish(root.path(), "one");
  fs::rename(root.path() / "orders", root.path() / ".orders.former");
  REQUIRE(PublishedFolder::open(root.path(), "orders"));
  CHECK(read_file(root.path() / "orders" / "file") == "one");
}

TEST_CASE("a name is published by one at a time") {
  const tests::TemporaryFolder root;
  {
    const auto first = PublishedFolder::open(root.path(), "orders");
    REQUIRE(first);
    const auto second = PublishedFolder::open(root.path(), "orders");
    REQUIRE(!second);
    CHECK(second.error().code == ErrorCode::conflict);
    CHECK(second.error().word == "export_running");
    CHECK(PublishedFolder::open(root.path(), "others"));
  }
  CHECK(PublishedFolder::open(root.path(), "orders"));
}

TEST_CASE("a file is linked, and one that is missing is named") {
  const tests::TemporaryFolder root;
  write_file(root.path() / "one", "text");
  REQUIRE(analytics::link_or_copy(root.path() / "one", root.path() / "two"));
  CHECK(fs::hard_link_count(root.path() / "two") == 2);
  const auto missing = analytics::link_or_copy(root.path() / "none", root.path() / "three");
  REQUIRE(!missing);
  CHECK_THAT(missing.error().reason, Contains("none"));
}

TEST_CASE("the list of files is read as it was written") {
  const tests::TemporaryFolder root;
  const Manifest written{
      .owner = "tag",
      .layout = "columns",
      .partitions = {
          {"city=Bern", {.rows = 3, .fingerprint = "00ff", .files = {{"a.parquet", 120}, {"b.parquet", 7}}}}}};
  REQUIRE(written.write(root.path()));
  const auto read = Manifest::read(root.path());
  REQUIRE(read);
  CHECK(read->owner == "tag");
  CHECK(read->layout == "columns");
  REQUIRE(read->partitions.contains("city=Bern"));
  const auto& entry = read->partitions.at("city=Bern");
  CHECK(entry.rows == 3);
  CHECK(entry.fingerprint == "00ff");
  CHECK(entry.files == written.partitions.at("city=Bern").files);
}

TEST_CASE("a list of files that is damaged, newer, or leads out of the folder is not used") {
  const tests::TemporaryFolder root;
  CHECK(!Manifest::read(root.path()));
  const auto list_with = [&](const std::string& format, const std::string& file) {
    write_file(root.path() / "_octavo.json",
               R"({"format":)" + format +
                   R"(,"owner":"o","layout":"l","partitions":{"p":{"rows":1,"fingerprint":"f","files":{")" + file +
                   R"(":1}}}})");
    return Manifest::read(root.path()).has_value();
  };
  CHECK(list_with("1", "a.parquet"));
  CHECK(!list_with("2", "a.parquet"));
  CHECK(!list_with("1", "../../secret"));
  CHECK(!list_with("\"1\"", "a.parquet"));
  write_file(root.path() / "_octavo.json", "{\"format\":1");
  CHECK(!Manifest::read(root.path()));
}
