#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace octavo::analytics {

/// What an exported folder has, in the file `_octavo.json` in it: readers of such folders pass over names with `_`.
///
/// Format (exported folder): JSON
///   {"format":1,"owner":text,"layout":text,"partitions":{folder:{"rows":n,"fingerprint":text,"files":{name:bytes}}}}
struct Manifest {
  struct Entry {
    std::uint64_t rows = 0;
    std::string fingerprint;
    std::map<std::string, std::uint64_t> files;  ///< names in the partition's folder, and their bytes
  };

  std::string owner;                        ///< the database's instance tag
  std::string layout;                       ///< Partitioning::layout
  std::map<std::string, Entry> partitions;  ///< by Partition::folder

  /// nullopt: the folder has none, or one that cannot be read.
  static std::optional<Manifest> read(const std::filesystem::path& folder);
  /// Not durable before the folder is synced.
  Expected<void> write(const std::filesystem::path& folder) const;
};

}  // namespace octavo::analytics
