#include "analytics/worker/instances.h"

#include <system_error>

namespace octavo::analytics {

namespace {

void remove_files(const std::filesystem::path& file) {
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  std::filesystem::remove(file.string() + ".wal", ignored);
  std::filesystem::remove_all(file.string() + ".tmp", ignored);
  std::filesystem::remove_all(file.string() + ".export", ignored);
}

}  // namespace

Expected<Instances::Lease> Instances::open(const std::string& file, bool makes) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[file];
  if (!entry.instance) {
    const auto opened = [&]() -> Expected<std::shared_ptr<duckdb::Instance>> {
      std::error_code ignored;
      if (!makes && !std::filesystem::exists(file, ignored)) {
        return fail(ErrorCode::not_found, "The table was not made yet.");
      }
      auto instance = duckdb::Instance::open(api_, file, limits_);
      if (instance || !makes || instance.error().code != ErrorCode::corrupted) return instance;
      remove_files(file);
      return duckdb::Instance::open(api_, file, limits_);
    }();
    if (!opened) {
      entries_.erase(file);
      return std::unexpected(opened.error());
    }
    entry.instance = *opened;
  }
  ++entry.users;
  return Lease(*this, file, entry.instance);
}

void Instances::give_back(Lease& lease) {
  const std::lock_guard lock(mutex_);
  lease.instance_.reset();
  const auto found = entries_.find(lease.file_);
  if (--found->second.users == 0) entries_.erase(found);
}

}  // namespace octavo::analytics
