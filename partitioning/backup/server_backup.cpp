#include "partitioning/backup/server_backup.h"

#include <exception>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/jobs/run_guarded.h"
#include "base/memory_retry.h"
#include "partitioning/backup/backup_folder.h"

namespace octavo::partitioning {

ServerBackup::ServerBackup(Engine& engine, PrepareCatalog prepare) : engine_(engine), prepare_(std::move(prepare)) {
  const auto& parent = engine_.settings().backup_folder;
  if (!parent.empty()) BackupFolder::remove_left_drafts(parent);
}

ServerBackup::~ServerBackup() {
  stop();
}

Expected<void> ServerBackup::check_start(const std::string& folder) const {
  if (engine_.settings().backup_folder.empty()) {
    return fail(ErrorCode::unsupported,
                "There is no folder for backups: set backup.folder (OCTAVO_BACKUP_FOLDER) and start the server again.",
                "backups_disabled");
  }
  if (!BackupFolder::is_name(folder)) {
    return fail(ErrorCode::bad_request, fmt::format("`folder` must be {}.", BackupFolder::name_rule), "backup_syntax");
  }
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return fail(ErrorCode::overloaded, "The server is shutting down.");
  if (!status_ || status_->state != State::running) return {};
  return fail(
      ErrorCode::conflict,
      fmt::format("The backup {} is running: wait for its end, or cancel it with DELETE /_backup.", status_->folder),
      "backup_running");
}

Expected<void> ServerBackup::start(const std::string& folder) {
  const std::lock_guard control(control_mutex_);
  OCTAVO_TRY_VOID(check_start(folder));
  if (thread_.joinable()) thread_.join();  // of the last one, which has ended
  const std::filesystem::path parent = engine_.settings().backup_folder;
  const BackupFolder place(parent, folder);
  OCTAVO_TRY_VOID(place.create_draft());
  is_cancelled_ = false;
  {
    const std::lock_guard lock(mutex_);
    progress_ = std::make_unique<BackupProgress>();
    status_.emplace();
    status_->folder = folder;
    status_->started = std::chrono::system_clock::now();
  }
  try {
    thread_ = std::jthread([this, parent, folder] { run(parent, folder); });
  } catch (const std::exception&) {
    place.remove_draft();
    const std::lock_guard lock(mutex_);
    status_.reset();
    return fail(ErrorCode::overloaded, "The backup could not be started: the system allows no more threads.");
  }
  return {};
}

void ServerBackup::run(const std::filesystem::path& parent, const std::string& folder) {
  spdlog::info("backup {}: begins", folder);
  const BackupFolder place(parent, folder);
  const auto work = [&]() -> Expected<void> {
    {
      BackupRun backup(engine_,
                       {.folder = place.draft(),
                        .prepare = prepare_,
                        .stopped = [this] { return is_cancelled_.load(std::memory_order_relaxed); }},
                       *progress_);
      OCTAVO_TRY_VOID(backup.run());
    }
    return place.publish();
  };
  const auto result = run_guarded("backup", work);
  if (!result) place.remove_draft();
  until_memory_suffices([&] {
    const std::lock_guard lock(mutex_);
    status_->ended = std::chrono::system_clock::now();
    if (result) {
      status_->state = State::complete;
    } else if (is_cancelled_) {
      status_->state = State::cancelled;
    } else {
      status_->failure = reason_of(result.error());
      status_->state = State::failed;
    }
  });
  until_memory_suffices([&] {
    if (result) {
      spdlog::info("backup {}: is complete, {} bytes", folder, progress_->bytes_done.load());
    } else {
      spdlog::error("backup {}: {}", folder, is_cancelled_ ? "was cancelled" : status()->failure);
    }
  });
}

std::optional<ServerBackup::Status> ServerBackup::status() const {
  const std::lock_guard lock(mutex_);
  auto shown = status_;
  if (!shown) return shown;
  shown->databases_done = progress_->databases_done;
  shown->databases_expected = progress_->databases_expected;
  shown->bytes_done = progress_->bytes_done;
  shown->bytes_expected = progress_->bytes_expected;
  if (shown->state == State::running) shown->ended = std::chrono::system_clock::now();
  return shown;
}

Expected<void> ServerBackup::cancel() {
  const std::lock_guard control(control_mutex_);
  const auto present = status();
  if (!present || present->state != State::running) return fail(ErrorCode::not_found, "No backup is running.");
  is_cancelled_ = true;
  thread_.join();
  if (status()->state != State::complete) return {};
  return fail(ErrorCode::conflict, "The backup was complete before it could be cancelled: remove its folder.",
              "backup_complete");
}

void ServerBackup::stop() {
  const std::lock_guard control(control_mutex_);
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  is_cancelled_ = true;
  if (thread_.joinable()) thread_.join();
}

}  // namespace octavo::partitioning
