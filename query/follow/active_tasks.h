#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace octavo::query {

/// One line of `/_active_tasks`: what a background task is and how far it has got.
struct ActiveTask {
  std::string id;    ///< unique in this run of the server (CouchDB shows a process id there: `pid`)
  std::string type;  ///< "indexer"
  std::string database;
  std::string design_document;  ///< `_design/…`; empty if the index has no design document
  std::string index;            ///< name of the index; may be empty
  std::string phase;            ///< present step: "scan", "sort", "catch up", "drop"
  std::uint64_t changes_done = 0;
  std::uint64_t total_changes = 0;  ///< an estimate while documents are being written
  std::int64_t started_on = 0;      ///< Unix time in seconds
  std::int64_t updated_on = 0;

  /// 0…100.
  int progress_percent() const;
  /// Changes per second since the start.
  double changes_per_second() const;
  /// Seconds until the end at the present rate; -1 if unknown.
  std::int64_t remaining_s() const;
};

/// The background tasks that run now. One per server, created before the engine and destroyed after it. Thread-safe; a
/// report of progress takes one short lock, so report per batch, not per document.
class ActiveTasks {
 public:
  /// A running task: listed from start() until this handle is destroyed. Movable. Must not outlive the registry.
  class Handle {
   public:
    Handle() = default;
    Handle(Handle&& other) noexcept;
    Handle& operator=(Handle&& other) noexcept;
    ~Handle();

    /// Sets the numbers and the time of the update.
    void report(std::uint64_t changes_done, std::uint64_t total_changes);
    void enter_phase(std::string phase);
    explicit operator bool() const { return registry_ != nullptr; }

   private:
    friend class ActiveTasks;
    Handle(ActiveTasks& registry, std::uint64_t number) : registry_(&registry), number_(number) {}
    ActiveTasks* registry_ = nullptr;
    std::uint64_t number_ = 0;
  };

  /// Fills in `id`, `started_on` and `updated_on` of `task`.
  [[nodiscard]] Handle start(ActiveTask task);
  /// A copy of all tasks, in the order of their start.
  std::vector<ActiveTask> list() const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, ActiveTask> tasks_;
};

}  // namespace octavo::query
