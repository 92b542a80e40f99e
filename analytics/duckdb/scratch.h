#pragma once

#include <cstdint>
#include <filesystem>

#include "analytics/duckdb/connection.h"

namespace octavo::analytics::duckdb {

/// A name in the export folder of an instance, for a file or a folder that DuckDB writes. What is there is removed with
/// this, and when the instance is opened again.
class Scratch {
 public:
  explicit Scratch(const Instance& instance);
  ~Scratch() { remove(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void remove() const;
  /// The size of the file, or of all files in the folder; 0 while nothing is written.
  std::uint64_t bytes() const;

 private:
  const std::filesystem::path path_;
};

}  // namespace octavo::analytics::duckdb
