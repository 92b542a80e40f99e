#include "server/process/couchdb_volume.h"

#include <filesystem>
#include <fstream>
#include <stdlib.h>

#include <catch2/catch.hpp>

using namespace octavo::server;

namespace {

struct VolumeFixture {
  VolumeFixture() {
    std::string path = (std::filesystem::temp_directory_path() / "octavo-volume-XXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    root = path;
    std::filesystem::create_directory(root / "data");
  }
  ~VolumeFixture() { std::filesystem::remove_all(root); }
  VolumeFixture(const VolumeFixture&) = delete;
  VolumeFixture& operator=(const VolumeFixture&) = delete;

  std::filesystem::path root;
};

}  // namespace

TEST_CASE("a volume of CouchDB's image with files is said to be unused") {
  const VolumeFixture fixture;
  const auto volume = fixture.root / "couchdb";
  std::filesystem::create_directory(volume);
  std::ofstream(volume / "_dbs.couch") << "x";
  const auto warning = unused_couchdb_volume(volume, fixture.root / "data");
  REQUIRE(warning);
  CHECK(warning->find(volume.string()) == 0);
  CHECK(warning->find("data is stored in " + (fixture.root / "data").string()) != std::string::npos);
}

TEST_CASE("a mounted volume of CouchDB's image is said to be unused while it is empty, too") {
  const VolumeFixture fixture;
  CHECK(unused_couchdb_volume("/dev/shm", fixture.root / "data"));
}

TEST_CASE("nothing is said of a volume that is missing, empty or the data folder") {
  const VolumeFixture fixture;
  const auto volume = fixture.root / "couchdb";
  CHECK_FALSE(unused_couchdb_volume(volume, fixture.root / "data"));
  std::filesystem::create_directory(volume);
  CHECK_FALSE(unused_couchdb_volume(volume, fixture.root / "data"));
  std::ofstream(volume / "_dbs.couch") << "x";
  CHECK_FALSE(unused_couchdb_volume(volume, volume));
}
