#include "server/process/address_file.h"

#include <filesystem>

#include <catch2/catch.hpp>

#include "support/temporary_folder.h"

using namespace octavo;
using namespace octavo::server;
using octavo::tests::TemporaryFolder;

TEST_CASE("a local client asks an address of this machine, whatever the server listens on") {
  config::Settings settings;
  CHECK(local_url(settings, 6984) == "http://127.0.0.1:6984/_up");
  settings.bind = "0.0.0.0";
  CHECK(local_url(settings, 6984) == "http://127.0.0.1:6984/_up");
  settings.bind = "::";
  settings.tls_certificate = "chain.pem";
  CHECK(local_url(settings, 6984) == "https://[::1]:6984/_up");
}

TEST_CASE("the address is in the folder while the server serves") {
  const TemporaryFolder temporary;
  CHECK_FALSE(AddressFile::read(temporary.path()));
  {
    const AddressFile first(temporary.path(), "http://127.0.0.1:1/_up");
    CHECK(AddressFile::read(temporary.path()) == "http://127.0.0.1:1/_up");
  }
  CHECK_FALSE(AddressFile::read(temporary.path()));
  CHECK(std::filesystem::is_empty(temporary.path()));
}

TEST_CASE("a folder that cannot be written does not keep the server from serving") {
  const TemporaryFolder temporary;
  const AddressFile file(temporary.path() / "missing", "http://127.0.0.1:1/_up");
  CHECK_FALSE(AddressFile::read(temporary.path() / "missing"));
}
