#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>

#include "config/settings.h"
#include "partitioning/database.h"
#include "partitioning/database_updates.h"
#include "partitioning/task.h"
#include "storage/catalog.h"
#include "storage/writer_pool.h"

namespace octavo::partitioning {

struct CreateDatabaseOptions {
  bool partitioned = false;
  std::uint32_t q = 0;  ///< 0 = the configured default
};

using ExtensionFactory = std::function<std::unique_ptr<DatabaseExtension>(Database&)>;

/// The database engine of one data folder: the catalog, the open databases, the threads that commit and the workers
/// that scan. One per process and data folder (the folder is locked). Thread-safe.
class Engine {
 public:
  /// Opens or creates the data folder, finishes interrupted creations and deletions of databases.
  /// Errors: io_failure, corrupted, precondition_failed (locked by another process; a newer format).
  static Expected<std::unique_ptr<Engine>> open(const config::Settings& settings, ExtensionFactory extensions);
  ~Engine();

  const config::Settings& settings() const { return settings_; }
  storage::Catalog& catalog() { return *catalog_; }

  /// Name rules with CouchDB's text: `^[a-z][a-z0-9_$()+/-]*$`, or one of the system names (_users, _replicator,
  /// _global_changes).
  static Expected<void> check_database_name(std::string_view name);

  /// Blocking (creates files); call through run_blocking. Errors: bad_request (name, q), precondition_failed (exists),
  /// disk_full.
  Expected<std::shared_ptr<Database>> create_database(std::string_view name, CreateDatabaseOptions options);
  /// Blocking. The files go once the last request that holds the database ends. Errors: not_found.
  Expected<void> delete_database(std::string_view name);
  /// nullptr when there is none. Takes no lock that threads share, save right after a creation or deletion.
  std::shared_ptr<Database> find_database(std::string_view name);
  /// Names in byte order.
  std::vector<std::string> database_names() const;

  DatabaseUpdates& updates() { return updates_; }

  /// Runs a blocking function on a worker thread and resumes on the calling I/O thread with its result.
  template <class Function>
  Task<std::invoke_result_t<Function&>> run_blocking(Function function);
  boost::asio::thread_pool& workers() { return workers_; }

  /// Ends background work, completes queued writes, closes all environments. Called once, after the listeners stopped.
  void shut_down();

 private:
  friend class Database;

  Engine(const config::Settings& settings, ExtensionFactory extensions);
  Expected<void> open_data_folder();
  Expected<void> finish_interrupted();
  Expected<std::shared_ptr<Database>> load_database(const std::string& name);
  void remove_files(const std::string& instance_tag);
  void retire(Database* database);
  void keep_within_limits(const std::stop_token& stop);
  void close_least_recently_used();
  void forget_if_unused(std::shared_ptr<Database>& database);
  std::filesystem::path database_folder(std::string_view instance_tag) const;

  config::Settings settings_;
  ExtensionFactory extensions_;
  int lock_descriptor_ = -1;
  std::unique_ptr<storage::Catalog> catalog_;
  DatabaseUpdates updates_;
  storage::WriterPool writers_;
  boost::asio::thread_pool workers_;

  /// Creation and deletion, one at a time.
  std::mutex schema_mutex_;
  mutable std::mutex registry_mutex_;                                     ///< guards the four below
  std::unordered_map<std::string, std::shared_ptr<Database>> databases_;  ///< the open ones
  std::set<std::string> names_;
  std::set<std::string> closing_;  ///< forgotten, their files not closed yet
  std::condition_variable closed_;
  /// Changes when a name may stand for another database than before: the threads' own caches compare it.
  std::atomic<std::uint64_t> generation_{1};

  std::mutex janitor_mutex_;
  std::condition_variable_any janitor_wake_;
  std::jthread janitor_;
  bool shut_down_ = false;
};

template <class Function>
Task<std::invoke_result_t<Function&>> Engine::run_blocking(Function function) {
  using Result = std::invoke_result_t<Function&>;
  const IoExecutor executor = co_await boost::asio::this_coro::executor;
  // Void has no value to carry; everything else travels in a shared slot, as completion handlers must be copyable.
  auto start = [this, executor, &function](auto handler) {
    using Handler = decltype(handler);
    auto shared = std::make_shared<Handler>(std::move(handler));
    auto work = boost::asio::make_work_guard(executor);
    boost::asio::post(workers_, [shared, work = std::move(work), executor, call = std::move(function)]() mutable {
      if constexpr (std::is_void_v<Result>) {
        call();
        boost::asio::post(executor, [shared, work = std::move(work)]() mutable { (*shared)(); });
      } else {
        auto result = std::make_shared<Result>(call());
        boost::asio::post(executor,
                          [shared, result, work = std::move(work)]() mutable { (*shared)(std::move(*result)); });
      }
    });
  };
  if constexpr (std::is_void_v<Result>) {
    co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<IoExecutor>, void()>(std::move(start),
                                                                                                 use_task);
  } else {
    co_return co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<IoExecutor>, void(Result)>(
        std::move(start), use_task);
  }
}

}  // namespace octavo::partitioning
