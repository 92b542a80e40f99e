#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "analytics/duckdb/connection.h"

namespace octavo::analytics {

/// The files of DuckDB that the process has open, each once: two instances of one file would damage it. A file is closed
/// with its last lease. Thread-safe.
class Instances {
  struct Entry {
    std::shared_ptr<duckdb::Instance> instance;
    std::size_t users = 0;
  };

 public:
  Instances(const duckdb::Api& api, duckdb::InstanceLimits limits) : api_(api), limits_(limits) {}

  /// Keeps a file open. Connections to it must end before.
  class Lease {
   public:
    Lease(Instances& instances, std::string file, std::shared_ptr<duckdb::Instance> instance)
        : instances_(&instances), file_(std::move(file)), instance_(std::move(instance)) {}
    Lease(Lease&& other) noexcept
        : instances_(std::exchange(other.instances_, nullptr)),
          file_(std::move(other.file_)),
          instance_(std::move(other.instance_)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (instances_ != nullptr) instances_->give_back(*this);
    }
    const std::shared_ptr<duckdb::Instance>& instance() const { return instance_; }

   private:
    friend class Instances;
    Instances* instances_;
    std::string file_;
    std::shared_ptr<duckdb::Instance> instance_;
  };

  /// Opens the file; `makes`: creates it, and makes a damaged one again. Errors: those of duckdb::Instance::open;
  /// not_found.
  Expected<Lease> open(const std::string& file, bool makes);

 private:
  void give_back(Lease& lease);

  const duckdb::Api& api_;
  const duckdb::InstanceLimits limits_;
  std::mutex mutex_;  ///< held while a file is opened and closed; guards the member below
  std::map<std::string, Entry> entries_;
};

}  // namespace octavo::analytics
