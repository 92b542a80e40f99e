#pragma once

#include <cstdlib>
#include <filesystem>

#include <catch2/catch.hpp>

namespace octavo::tests {

/// The folder `tests` of the project, which has the files that tests read. ctest sets the variable.
inline std::filesystem::path files() {
  const char* folder = std::getenv("OCTAVO_TEST_FILES");
  INFO("OCTAVO_TEST_FILES is the folder `tests` of the project: ctest sets it");
  REQUIRE(folder != nullptr);
  return folder;
}

}  // namespace octavo::tests
