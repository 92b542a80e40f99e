#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "partitioning/engine.h"
#include "storage/lmdb/store_copy.h"

namespace octavo::partitioning {

/// Changes the catalog of a backup so that nothing in it refers to what the backup leaves out. Called several times in
/// one backup, each time for a new copy of the catalog.
using PrepareCatalog = std::function<Expected<void>(storage::Catalog& catalog)>;

/// How far a backup is. Written by its thread, read by others.
struct BackupProgress {
  std::atomic<std::uint64_t> databases_done{0};
  std::atomic<std::uint64_t> databases_expected{0};
  std::atomic<std::uint64_t> bytes_done{0};      ///< of keys and values
  std::atomic<std::uint64_t> bytes_expected{0};  ///< of the files at the beginning, which may be sparse
};

/// Fills the folder of a backup: the catalog and the physical partitions of all databases, each with its rows of one
/// moment after the beginning. The result is a data folder.
///
/// Each round copies the catalog, and then those physical partitions that it names and that are not copied yet. The
/// backup is complete when a catalog names only what was copied before it. So a split or a merge during the backup
/// costs a copy of the new partitions, which have all that the former ones had, and nothing has to wait. What was
/// created after the beginning is left out, unless it has taken over the name of a database.
class BackupRun {
 public:
  struct Options {
    std::filesystem::path folder;  ///< exists, is empty
    PrepareCatalog prepare;
    std::function<bool()> stopped;  ///< asked now and then
  };
  BackupRun(Engine& engine, Options options, BackupProgress& progress);

  /// Blocks until it is on the disk. Errors: timeout: stopped. disk_full, io_failure. corrupted: a partition cannot be
  /// read. overloaded: databases change faster than they are copied, or a partition gets more writes than can be
  /// copied.
  Expected<void> run();

 private:
  using Records = std::vector<storage::DatabaseRecord>;
  Expected<Records> copy_catalog();
  bool is_wanted(const storage::DatabaseRecord& record) const;
  void note_first(const Records& records);
  Expected<bool> copy_missing(const Records& records);
  Expected<void> copy_database(const storage::DatabaseRecord& record, const std::vector<std::string>& missing);
  Expected<void> copy_partition(Database& database, const std::string& folder);
  Expected<void> remove_rest(const Records& records) const;
  storage::StoreCopy::Options copy_options() const;

  Engine& engine_;
  const Options options_;
  BackupProgress& progress_;
  storage::DataFolder folder_;
  std::set<std::string> first_tags_;                     ///< instance tags of the databases at the beginning
  std::set<std::string> first_names_;                    ///< their names
  std::map<std::string, std::set<std::string>> copied_;  ///< folders of physical partitions, by instance tag
};

}  // namespace octavo::partitioning
