#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "partitioning/backup/backup_run.h"

namespace octavo::partitioning {

enum class BackupState : std::uint8_t { running, complete, failed, cancelled };

/// A backup as clients see it.
struct BackupStatus {
  BackupState state = BackupState::running;
  std::string folder;  ///< its name
  std::uint64_t databases_done = 0;
  std::uint64_t databases_expected = 0;
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_expected = 0;
  std::chrono::system_clock::time_point started;
  std::chrono::system_clock::time_point ended;  ///< or now
  std::string failure;                          ///< of a failed one
};

/// The backup of a running server: one at a time, on a thread of its own, into a folder with the name that the client
/// chooses, in that of the setting backup.folder. Thread-safe.
///
/// The thread has the priority of all others: at the end of each partition writes wait for it.
class ServerBackup {
 public:
  using State = BackupState;
  using Status = BackupStatus;

  /// `prepare` may be empty. `engine` must outlive this.
  ServerBackup(Engine& engine, PrepareCatalog prepare);
  ~ServerBackup();
  ServerBackup(const ServerBackup&) = delete;
  ServerBackup& operator=(const ServerBackup&) = delete;

  /// Begins a backup. Blocks for the disk. Errors: unsupported (backups_disabled): the setting is empty; bad_request:
  /// the name; conflict (backup_running); those of BackupFolder::create_draft.
  Expected<void> start(const std::string& folder);
  /// The running backup, or the last one of this run of the server; nullopt: there was none.
  std::optional<Status> status() const;
  /// Ends the running backup and removes what it has made. Blocks until that is done. Errors: not_found: none runs;
  /// conflict: it was just completed.
  Expected<void> cancel();
  /// Does the same if one runs, when the server ends. None can be started afterwards.
  void stop();

 private:
  void run(const std::filesystem::path& parent, const std::string& folder);
  Expected<void> check_start(const std::string& folder) const;

  Engine& engine_;
  const PrepareCatalog prepare_;
  std::mutex control_mutex_;  ///< held by start(), cancel() and stop(); guards thread_
  std::jthread thread_;
  std::atomic<bool> is_cancelled_{false};
  std::unique_ptr<BackupProgress> progress_;  ///< replaced with mutex_ held
  mutable std::mutex mutex_;                  ///< guards the members below
  std::optional<Status> status_;              ///< without the numbers of a running one
  bool is_stopping_ = false;
};

}  // namespace octavo::partitioning
