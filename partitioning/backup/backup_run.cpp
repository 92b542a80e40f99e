#include "partitioning/backup/backup_run.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/folder.h"
#include "storage/lmdb/store_backup.h"

namespace octavo::partitioning {
namespace fs = std::filesystem;

namespace {

constexpr int rounds_max = 10;
/// If a partition gets more writes than can be copied, it is copied again later.
constexpr int copies_of_partition_max = 3;
constexpr std::chrono::seconds attempt_pause{2};

}  // namespace

BackupRun::BackupRun(Engine& engine, Options options, BackupProgress& progress)
    : engine_(engine), options_(std::move(options)), progress_(progress), folder_(options_.folder) {}

Expected<void> BackupRun::run() {
  OCTAVO_TRY_VOID(folder_.open());
  for (int round = 0; round < rounds_max; ++round) {
    OCTAVO_TRY(const Records records, copy_catalog());
    OCTAVO_TRY(const bool was_complete, copy_missing(records));
    if (!was_complete) continue;
    OCTAVO_TRY_VOID(remove_rest(records));
    OCTAVO_TRY_VOID(folder_.sync_database_folders());
    return folder_.mark_as_backup();
  }
  return fail(ErrorCode::overloaded,
              "The backup was given up: partitions are split or merged faster than they are copied.");
}

storage::StoreCopy::Options BackupRun::copy_options() const {
  return {.stopped = options_.stopped,
          .is_busy = [this] { return engine_.is_busy(); },
          .bytes_per_second = engine_.settings().compaction_rate};
}

// What is returned is what the copy has.
Expected<BackupRun::Records> BackupRun::copy_catalog() {
  OCTAVO_TRY_VOID(engine_.catalog().back_up(folder_.catalog(), copy_options()));
  storage::Catalog catalog(folder_.catalog(), config::Durability::commit, engine_.faults());
  OCTAVO_TRY_VOID(catalog.open());
  if (first_tags_.empty()) {
    OCTAVO_TRY(const Records all, catalog.all());
    note_first(all);
  }
  if (options_.prepare) OCTAVO_TRY_VOID(options_.prepare(catalog));
  OCTAVO_TRY(Records records, catalog.all());
  for (const auto& record : records) {
    if (!is_wanted(record)) OCTAVO_TRY_VOID(catalog.remove(record.name));
  }
  std::erase_if(records, [&](const auto& record) { return !is_wanted(record); });
  return records;
}

bool BackupRun::is_wanted(const storage::DatabaseRecord& record) const {
  return first_tags_.contains(record.instance_tag) || first_names_.contains(record.name);
}

void BackupRun::note_first(const Records& records) {
  std::uint64_t bytes = 0;
  for (const auto& record : records) {
    first_tags_.insert(record.instance_tag);
    first_names_.insert(record.name);
    const fs::path folder = engine_.settings().data_dir / "databases" / record.instance_tag;
    for (const auto& range : record.partition_map) {
      bytes += storage::Store::file_bytes_in(folder / range.folder).value_or(0);
    }
  }
  progress_.bytes_expected = bytes;
  progress_.databases_expected = records.size();
}

// True: everything that the records name had been copied before.
Expected<bool> BackupRun::copy_missing(const Records& records) {
  progress_.databases_expected = records.size();
  std::uint64_t done = 0;
  bool was_complete = true;
  for (const auto& record : records) {
    const auto& copied = copied_[record.instance_tag];
    std::vector<std::string> missing;
    for (const auto& range : record.partition_map) {
      if (!copied.contains(range.folder)) missing.push_back(range.folder);
    }
    if (!missing.empty()) {
      was_complete = false;
      OCTAVO_TRY_VOID(copy_database(record, missing));
    }
    progress_.databases_done = ++done;
  }
  return was_complete;
}

// What is gone meanwhile is not in the catalog of the next round.
Expected<void> BackupRun::copy_database(const storage::DatabaseRecord& record,
                                        const std::vector<std::string>& missing) {
  const auto database = engine_.open_incarnation(record.name, record.instance_tag);
  if (!database && database.error().code == ErrorCode::not_found) return {};
  OCTAVO_TRY_VOID(database);
  const fs::path folder = folder_.database(record.instance_tag);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return fail(error == std::errc::no_space_on_device ? ErrorCode::disk_full : ErrorCode::io_failure,
                fmt::format("cannot create {}: {}", folder.string(), error.message()));
  }
  for (const std::string& name : missing) {
    const auto copied = copy_partition(**database, name);
    if (copied) continue;
    if ((*database)->deleted()) return {};
    if (options_.stopped()) return copied;
    return fail(copied.error().code, fmt::format("{}, {}: {}", record.name, name, copied.error().reason));
  }
  return {};
}

Expected<void> BackupRun::copy_partition(Database& database, const std::string& folder) {
  const auto number = storage::partition_number(folder);
  Expected<void> result;
  for (int i = 0; i < copies_of_partition_max; ++i) {
    const PartitionMap& map = database.partition_map();
    if (!number || map.range_of(*number) == nullptr) return {};  // it was split or merged
    const auto partition = map.partition(*number);
    const std::uint64_t before = progress_.bytes_done;
    storage::StoreCopy::Options options = copy_options();
    storage::StoreBackup* running = nullptr;
    options.stopped = [&] {
      if (running != nullptr) progress_.bytes_done = before + running->bytes_copied();
      return options_.stopped() || database.deleted() || !database.is_current(*number);
    };
    storage::StoreBackup copy(partition->store(), folder_.database(database.instance_tag()) / folder,
                              std::move(options));
    running = &copy;
    result = copy.run();
    progress_.bytes_done = result ? before + copy.bytes_copied() : before;
    if (result) {
      copied_[database.instance_tag()].insert(folder);
      return {};
    }
    if (!database.is_current(*number)) return {};
    if (result.error().code != ErrorCode::overloaded) break;
    std::this_thread::sleep_for(attempt_pause);
  }
  return result;
}

// Folders of databases that are gone, and of partitions that were split or merged after they were copied.
Expected<void> BackupRun::remove_rest(const Records& records) const {
  std::map<std::string, const storage::DatabaseRecord*> by_tag;
  for (const auto& record : records) by_tag.emplace(record.instance_tag, &record);
  std::error_code error;
  for (const auto& [tag, folders] : copied_) {
    const auto known = by_tag.find(tag);
    if (known == by_tag.end()) {
      storage::remove_folder(folder_.database(tag), error);
      continue;
    }
    for (const std::string& folder : folders) {
      const bool is_named =
          std::ranges::any_of(known->second->partition_map, [&](const auto& range) { return range.folder == folder; });
      if (!is_named) storage::remove_folder(folder_.database(tag) / folder, error);
    }
  }
  if (!error) return {};
  return fail(ErrorCode::io_failure, fmt::format("The backup: a copy cannot be removed: {}.", error.message()));
}

}  // namespace octavo::partitioning
