#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include "base/function_ref.h"
#include "base/jobs/work_lane.h"
#include "base/jobs/workers.h"
#include "base/task.h"
#include "config/live_settings.h"
#include "partitioning/database.h"
#include "partitioning/database_registry.h"
#include "partitioning/database_updates.h"
#include "partitioning/move_queue.h"
#include "partitioning/throughput/limit_watch.h"
#include "partitioning/throughput/shared_budgets.h"
#include "storage/automatic_compaction.h"
#include "storage/catalog.h"
#include "storage/compaction_queue.h"
#include "storage/data_folder.h"
#include "storage/partition/writer_pool.h"
#include "storage/runtime_settings.h"

namespace octavo::partitioning {

/// Where the partition ids and sequences of a database begin. One that takes over the name of another begins above all
/// that clients know of that.
struct DatabaseOrigin {
  std::uint32_t first_partition_id = 0;
  storage::Sequence sequence_base = 0;

  /// Of a database that may take over the name of this one, as long as that is not split very often meanwhile.
  static DatabaseOrigin after(const Database& database);
};

struct CreateDatabaseOptions {
  bool partitioned = false;
  std::uint32_t q = 0;           ///< 0 = the configured default
  std::uint32_t revs_limit = 0;  ///< 0 = the configured default
  bool auto_index = false;       ///< see storage::DatabaseRecord
  storage::KeyScheme key_scheme = storage::KeyScheme::text;
  /// See storage::DatabaseRecord. If set, the name follows the rules of the API that defined it: any UTF-8 text of at
  /// most defined_name_bytes_max.
  std::string definition = {};
  DatabaseOrigin origin = {};
};
inline constexpr std::size_t defined_name_bytes_max = 500;  // limit of the catalog's keys

/// Workers of an engine with these settings: as configured, or one per processor that may be used.
std::size_t worker_count(const config::Settings& settings);
/// The number of threads that may run users' functions. Each has a JavaScript heap of its own.
std::size_t function_threads(std::size_t workers);

using ExtensionFactory = std::function<std::unique_ptr<DatabaseExtension>(Database&)>;

/// The database engine of one data folder: the catalog, the open databases, the threads that commit and the workers
/// that scan. One per process and data folder (the folder is locked). Thread-safe.
///
/// Format (data folder):
///   octavo.format                 the number of the folder's format as text, "2"; a higher one is refused
///   octavo.backup                 text, in a backup that no server has been started with
///   octavo.lock                   is locked (flock) while a process uses the folder
///   octavo.address                the URL of `/_up` as text, while a server serves from the folder
///   development-certificate.pem   the server's own certificate and its key, if it needed one
///   catalog/                      LMDB: the catalog
///   databases/<instance tag>/     one database; 32 hexadecimal digits, made when the database is created
///     partition-<partition id>/   LMDB: one physical partition
///     index-<identity>/           LMDB: one global index
///     view-<identity>/            LMDB: the views of a design document; definition.json
///     search-<identity>/          one full-text index; definition.json
///     projection-<identity>/      LMDB: the state of a projection of this database
///     copy-<id>/                  LMDB: the state of a copy of this database
///     analytics/<id>.duckdb       DuckDB: the analytical store; with .wal, .tmp/ and .export/
///   analytics/<identity>/         the analytical stores of a group of databases, by the hash of its name
///     <id>.duckdb                 DuckDB: one of them; with .wal
///     group.tmp/, group.export/   DuckDB's temporary files, and results on their way
///   …/new/                        LMDB: the draft of a compaction, in the folder that it compacts
class Engine {
 public:
  /// Opens or creates the data folder, and finishes interrupted creations and deletions of databases.
  /// Errors: io_failure, corrupted, precondition_failed (locked by another process; a newer format).
  /// `faults` is for tests and must outlive the engine.
  static Expected<std::unique_ptr<Engine>> open(const config::Settings& settings, ExtensionFactory extensions,
                                                storage::FaultInjector* faults = nullptr);
  ~Engine();

  /// In a backup that no server was started with: gives the change feeds of all databases new positions, as clients may
  /// have seen changes that it does not have. Call it before databases are opened. Errors: those of the disk.
  Expected<void> take_up_backup();

  /// The settings in effect. A reference stays valid, but does not show later changes.
  const config::Settings& settings() const { return settings_.now(); }
  const config::LiveSettings& live_settings() const { return settings_; }
  /// Changes settings while the engine runs.
  storage::RuntimeSettings& runtime_settings() { return *runtime_settings_; }
  storage::FaultInjector* faults() const { return faults_; }
  /// Whether the data folder was created by this open().
  bool folder_is_new() const { return data_folder_.is_new(); }

  // Databases

  /// Name rules with CouchDB's text: `^[a-z][a-z0-9_$()+/-]*$`, or one of the system names (_users, _replicator,
  /// _global_changes).
  static Expected<void> check_database_name(std::string_view name);

  /// Blocking (creates files); call it through Workers::run_blocking. Errors: bad_request (name, q),
  /// precondition_failed (exists), disk_full. After io_failure the database exists completely or not at all.
  Expected<std::shared_ptr<Database>> create_database(std::string_view name, CreateDatabaseOptions options);
  /// Blocking. The files are removed once the last request that holds the database ends. Errors: not_found; bad_request
  /// for an alias.
  Expected<void> delete_database(std::string_view name);
  /// Returns the database, and opens it if necessary: may wait for the disk. Errors: not_found; errors of opening its
  /// files (overloaded, io_failure, corrupted, …).
  Expected<std::shared_ptr<Database>> open_database(std::string_view name);
  /// open_database for I/O threads: waits on another thread.
  Task<Expected<std::shared_ptr<Database>>> open_in_background(std::string_view name) {
    auto open = [this, key = std::string(name)] { return open_database(key); };
    co_return co_await run_on([this](auto task) { boost::asio::post(openers_, std::move(task)); }, std::move(open));
  }
  /// The database with this instance tag; `name` is the one it had when the caller noted the tag. Errors: those of
  /// open_database. Reads the whole catalog if the name does not lead to the database any more.
  Expected<std::shared_ptr<Database>> open_incarnation(std::string_view name, std::string_view instance_tag);
  /// open_in_background for requests that write. While another database takes over the name it waits for the end of
  /// that, as the name may lead to the other one then. Error overloaded: that takes too long.
  struct OpenForWriting {
    std::shared_ptr<Database> database;
    Gate::Pass pass;  ///< kept until the request has written
  };
  Task<Expected<OpenForWriting>> open_for_writing(std::string_view name);
  /// Does the same as open_database, for callers that treat all errors alike: returns nullptr.
  std::shared_ptr<Database> find_database(std::string_view name);

  // Names. These block, as they write to the catalog.

  /// Gives the database another name, which the caller has checked; requests that run continue. With `keep_alias` the
  /// name of before leads to it. Errors: not_found, precondition_failed (the name is taken), those of the disk. After
  /// io_failure one of the two names counts.
  Expected<void> rename_database(Database& database, const std::string& name, bool keep_alias);
  /// Gives the databases whose names begin with `renaming.before`, as long as `is_member` says so of their definitions,
  /// the same names with `renaming.name` at the beginning, in one step; aliases with that prefix change, too. Both are
  /// prefixes of names (storage::name_prefix). `facts`, of which the first one has a value, change in the same
  /// transaction; so do those of `decide`, which is called when nothing else changes the catalog. Errors: bad_request
  /// (too many, or a name would be too long), and those of `decide` and of rename_database.
  using DecideFacts = FunctionRef<Expected<std::vector<storage::FactChange>>()>;
  Expected<void> rename_group(const DatabaseRegistry::RenamedPrefix& renaming,
                              FunctionRef<bool(std::string_view definition)> is_member,
                              std::vector<storage::FactChange> facts, DecideFacts decide);
  static constexpr std::size_t group_databases_max = 1'000;
  /// From now on names that begin with `alias` lead to those that begin with `prefix`, unless a database has such a
  /// name. Errors: precondition_failed if `alias` leads elsewhere.
  Expected<void> add_prefix_alias(const std::string& alias, const std::string& prefix);
  /// Errors: not_found if it is no alias of this prefix.
  Expected<void> remove_prefix_alias(const std::string& alias, const std::string& prefix);
  /// `successor` gets the name of `database`, whose gate is closed and which no request writes to, and its security
  /// object and its aliases; `database` gets `former_name`. The name that the successor had leads to it as an alias,
  /// unless the two swap their names. The facts that `decide_facts` returns change in the same transaction; no other
  /// change of the catalog comes between, and it must not make any. Errors: those of rename_database, and of
  /// `decide_facts`; conflict: positions of `successor` could be taken for those of `database`.
  Expected<void> hand_over_name(Database& database, const std::string& former_name, Database& successor,
                                FunctionRef<Expected<std::vector<storage::FactChange>>()> decide_facts);
  /// From now on `alias` leads to the database, too. Errors: those of rename_database.
  Expected<void> add_alias(const std::string& alias, Database& database);
  /// Errors: not_found if it is no alias of this database.
  Expected<void> remove_alias(const std::string& alias, Database& database);

  /// The names of all databases, and those that are open.
  const DatabaseRegistry& databases() const { return registry_; }

  // What all databases share

  storage::Catalog& catalog() { return *catalog_; }
  DatabaseUpdates& updates() { return updates_; }
  /// Splits and merges of physical partitions: running, waiting, and completed or failed.
  MoveQueue& moves() { return moves_; }
  /// Compactions of stores: running and waiting.
  storage::CompactionQueue& compactions() { return compactions_; }
  const storage::AutomaticCompaction& automatic_compaction() const { return automatic_compaction_; }
  SharedBudgets& shared_budgets() { return shared_budgets_; }
  /// How near the partitions of the open databases are to their limits, each as of its last requests.
  const LimitWatch& limit_watch() const { return limit_watch_; }
  /// Whether clients write at the moment. About.
  bool is_busy() const;
  /// Why the newest write of documents failed on the disk (disk_full, io_failure); nullopt: it did not fail.
  std::optional<ErrorCode> disk_failure() const { return writers_.disk_failure(); }
  /// The threads that commit, for statistics.
  const storage::WriterPool& writers() const { return writers_; }

  // Threads

  Workers& workers() { return workers_; }
  /// Threads that run the functions of indexes over documents. They are separate from the workers, as a slow function
  /// may occupy its thread for seconds while queries wait.
  boost::asio::thread_pool& indexers() { return indexers_; }
  /// The indexers' queue for indexes whose functions are known to be slow: one indexer is always kept free of these.
  WorkLane& slow_indexing() { return slow_indexing_; }

  // Shutdown

  /// Ends background work, completes queued writes, closes all stores. Called once, after the listeners stopped.
  void shut_down();

 private:
  friend class Database;

  Engine(const config::Settings& settings, ExtensionFactory extensions, storage::FaultInjector* faults);
  Expected<void> read_catalog();
  void finish_interrupted(const std::vector<std::string>& garbage_at_start, const std::stop_token& stop);
  Expected<std::shared_ptr<Database>> load_database(const std::string& name);
  Expected<std::vector<std::shared_ptr<Database>>> open_group(std::string_view prefix,
                                                              FunctionRef<bool(std::string_view definition)> is_member);
  Expected<void> change_aliases_of_group(const DatabaseRegistry::RenamedPrefix& renaming,
                                         std::span<const std::shared_ptr<Database>> group,
                                         std::vector<storage::FactChange>& facts) const;
  void add_to_registry(const std::shared_ptr<Database>& database);
  void remove_files(const std::string& instance_tag);
  void retire(Database* database);
  void keep_within_limits(const std::stop_token& stop);
  void make_room();
  void tend_compactions();
  void tend_limits();
  void note_commit();

  config::LiveSettings settings_;
  ExtensionFactory extensions_;
  storage::FaultInjector* const faults_;
  storage::DataFolder data_folder_;
  std::unique_ptr<storage::Catalog> catalog_;
  std::unique_ptr<storage::RuntimeSettings> runtime_settings_;
  DatabaseUpdates updates_;
  storage::WriterPool writers_;
  WorkLane slow_indexing_;  ///< uses indexers_, which are joined before it is destroyed

  /// Serializes creation and deletion.
  std::mutex schema_mutex_;
  DatabaseRegistry registry_;
  SharedBudgets shared_budgets_;

  std::mutex closers_mutex_;      ///< guards closers_joining_
  bool closers_joining_ = false;  ///< closers_ accept no more work: the thread that releases a database last closes it
  /// Destroyed before the members above, as their remaining tasks may hold databases.
  Workers workers_;
  boost::asio::thread_pool indexers_;
  boost::asio::thread_pool openers_;  ///< open databases; never wait for a worker
  boost::asio::thread_pool closers_;  ///< close databases; never wait for a thread that waits for a name

  MoveQueue moves_;
  storage::CompactionQueue compactions_;
  storage::AutomaticCompaction automatic_compaction_{compactions_};
  std::vector<std::weak_ptr<Database>> unconsidered_;  ///< of this round of automatic_compaction_; used by janitor_
  LimitWatch limit_watch_;
  std::chrono::steady_clock::time_point limits_due_{};  ///< used by janitor_
  std::atomic<std::uint64_t> last_commit_ms_{0};        ///< steady clock; about
  std::mutex janitor_mutex_;
  std::condition_variable_any janitor_wake_;
  std::atomic<bool> janitor_wanted_{false};
  std::jthread janitor_;
  std::atomic<bool> ending_{false};
  bool shut_down_ = false;
};

}  // namespace octavo::partitioning
