#pragma once

#include <cstddef>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analytics/channel/table_place.h"
#include "analytics/duckdb/connection.h"

namespace octavo::analytics {

/// The instances of DuckDB that the process has open, and their files, each once: two instances of one file would
/// damage it. A database has an instance of its own, or is attached to that of its group, which has no file itself. A
/// file is closed with its last lease. Thread-safe.
class Instances {
 public:
  Instances(const duckdb::Api& api, duckdb::InstanceLimits limits) : api_(api), limits_(limits) {}

  /// Keeps tables open. Connections must end before.
  class Lease {
   public:
    Lease(Lease&& other) noexcept
        : instances_(std::exchange(other.instances_, nullptr)),
          key_(std::move(other.key_)),
          files_(std::move(other.files_)),
          as_(std::move(other.as_)),
          query_(other.query_),
          instance_(std::move(other.instance_)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (instances_ != nullptr) instances_->give_back(*this);
    }
    /// A connection at which the table's name needs no qualification. Errors: overloaded: the table is not open.
    Expected<duckdb::Connection> connect() const;

   private:
    friend class Instances;
    using Places = std::list<std::vector<TablePlace>>;
    Lease(Instances& instances, std::string key, std::shared_ptr<duckdb::Instance> instance)
        : instances_(&instances), key_(std::move(key)), instance_(std::move(instance)) {}

    Instances* instances_;
    std::string key_;                 ///< of the entry
    std::vector<std::string> files_;  ///< attached for it
    std::string as_;                  ///< of the table in its group; empty: none, or all
    std::optional<Places::iterator> query_;
    std::shared_ptr<duckdb::Instance> instance_;
  };

  /// Opens a table; `makes`: creates its file, and makes a damaged one again. Errors: those of duckdb::Instance::open;
  /// not_found; overloaded: queries run in its group that may not see it.
  Expected<Lease> open(const TablePlace& place, bool makes);
  /// Opens all tables of a group that can be opened. While the lease lasts no other table joins the group. `as`: the
  /// one whose name needs no qualification; empty: none. Error overloaded: the instance has a table that is not in the
  /// list.
  Expected<Lease> open_group(const std::vector<TablePlace>& places, std::string_view as);

  /// Whether the table has a file.
  static bool has_file(const TablePlace& place);
  /// Removes the files of a table that is not open.
  void remove_files(const TablePlace& place);

 private:
  struct Attached {
    std::string as;
    std::size_t users = 0;
  };
  struct Entry {
    std::shared_ptr<duckdb::Instance> instance;
    std::size_t users = 0;
    std::map<std::string, Attached> attached;  ///< by file; of a group
    Lease::Places queries;                     ///< what the queries to the group may see
  };

  Expected<Entry*> group(const std::string& folder);
  Expected<void> attach(Entry& entry, const TablePlace& place, bool makes) const;
  Lease lease(const std::string& key, Entry& entry);
  void give_back(Lease& lease);

  const duckdb::Api& api_;
  const duckdb::InstanceLimits limits_;
  /// Held while a file is opened and closed; guards the member below. A lease may end while another is made.
  std::recursive_mutex mutex_;
  std::map<std::string, Entry> entries_;  ///< by the file, or the folder of the group
};

}  // namespace octavo::analytics
