#include "partitioning/engine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <set>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <openssl/rand.h>
#include <spdlog/spdlog.h>

#include "base/folder.h"
#include "base/machine/resources.h"
#include "base/memory_retry.h"
#include "base/unix_time.h"
#include "partitioning/partition_limits.h"

namespace octavo::partitioning {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t database_name_bytes_max = 238;  // Apache CouchDB's limit
/// An opening waits for the disk now and then; more of them would only slow each other down.
constexpr std::size_t opener_threads = 2;

std::string random_tag() {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    std::random_device device;
    for (auto& byte : bytes) byte = static_cast<unsigned char>(device());
  }
  std::string tag;
  for (const unsigned char byte : bytes) fmt::format_to(std::back_inserter(tag), "{:02x}", byte);
  return tag;
}

std::size_t writer_count(const config::Settings& settings) {
  if (settings.writer_threads != 0) return settings.writer_threads;
  return std::size_t{2} * available_resources().processors;
}

std::size_t indexer_count(std::size_t workers) {
  return std::max<std::size_t>(2, workers);
}

constexpr std::chrono::seconds janitor_interval{1};
/// Databases whose files are looked at in one round of the janitor.
constexpr std::size_t databases_considered_max = 200;
/// How often the use of limits is looked at, of databases that have requests.
constexpr std::chrono::seconds limits_interval{10};
/// After a commit, clients are expected to write again within this time.
constexpr std::uint64_t busy_ms = 1000;
/// How exact the time of the last commit is: threads that commit do not contend for it.
constexpr std::uint64_t commit_noted_ms = 100;

std::uint64_t steady_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

/// The janitor works behind the openers; beyond this surplus they close stores themselves before they continue.
/// Also in server/connection/descriptor_budget.cpp.
std::size_t surplus_max(const config::Settings& settings) {
  return settings.open_partitions_max / 4 + 4;
}

/// Removes the folder of a database whose creation failed.
class FolderRemover {
 public:
  explicit FolderRemover(fs::path folder) : folder_(std::move(folder)) {}
  ~FolderRemover() {
    if (keep_) return;
    std::error_code ignored;
    storage::remove_folder(folder_, ignored);
  }
  FolderRemover(const FolderRemover&) = delete;
  FolderRemover& operator=(const FolderRemover&) = delete;
  void keep() { keep_ = true; }

 private:
  const fs::path folder_;
  bool keep_ = false;
};

}  // namespace

std::size_t worker_count(const config::Settings& settings) {
  return settings.worker_threads != 0 ? settings.worker_threads : available_resources().processors;
}

std::size_t function_threads(std::size_t workers) {
  return Workers::thread_count(workers) + indexer_count(workers);
}

Engine::Engine(const config::Settings& settings, ExtensionFactory extensions, storage::FaultInjector* faults)
    : settings_(settings),
      extensions_(std::move(extensions)),
      faults_(faults),
      data_folder_(settings.data_dir, faults),
      updates_(random_tag()),
      writers_(writer_count(settings), settings.queued_bytes_max),
      slow_indexing_(indexers_, indexer_count(worker_count(settings)) - 1),
      workers_(worker_count(settings)),
      indexers_(indexer_count(worker_count(settings))),
      openers_(opener_threads),
      closers_(1),
      moves_(settings.split_source_kept_s),
      compactions_(storage::CompactionQueue::Pace{
          .is_busy = [this] { return is_busy(); },
          .bytes_per_second = [this] { return this->settings().compaction_rate; },
      }) {}

Engine::~Engine() {
  shut_down();
}

Expected<std::unique_ptr<Engine>> Engine::open(const config::Settings& settings, ExtensionFactory extensions,
                                               storage::FaultInjector* faults) {
  std::unique_ptr<Engine> engine(new Engine(settings, std::move(extensions), faults));
  OCTAVO_TRY_VOID(engine->data_folder_.open());
  OCTAVO_TRY_VOID(engine->read_catalog());
  OCTAVO_TRY(auto garbage, engine->catalog_->garbage());
  engine->janitor_ = std::jthread([raw = engine.get(), garbage = std::move(garbage)](const std::stop_token& stop) {
    try {
      raw->finish_interrupted(garbage, stop);
    } catch (const std::exception& error) {
      spdlog::warn("what an earlier run left behind could not be removed: {}", error.what());
    }
    raw->keep_within_limits(stop);
  });
  return engine;
}

Expected<void> Engine::read_catalog() {
  catalog_ = std::make_unique<storage::Catalog>(data_folder_.catalog(), settings().durability, faults_);
  OCTAVO_TRY_VOID(catalog_->open());
  runtime_settings_ = std::make_unique<storage::RuntimeSettings>(*catalog_, settings_);
  OCTAVO_TRY_VOID(runtime_settings_->load());
  OCTAVO_TRY(const auto records, catalog_->all());
  std::set<std::string> names;
  for (const auto& record : records) names.insert(names.end(), record.name);  // sorted by name
  // A follower of an earlier run starts again, and must then see all databases.
  updates_.record_all(names);
  OCTAVO_TRY(const auto stored_aliases, catalog_->aliases());
  DatabaseRegistry::Aliases aliases;
  if (!stored_aliases.empty()) {
    std::unordered_map<std::string_view, std::string_view> name_of_tag;
    for (const auto& record : records) name_of_tag.emplace(record.instance_tag, record.name);
    for (const auto& [alias, tag] : stored_aliases) {
      if (const auto name = name_of_tag.find(tag); name != name_of_tag.end()) aliases.emplace(alias, name->second);
    }
  }
  OCTAVO_TRY(auto prefix_aliases, catalog_->prefix_aliases());
  registry_.set_names(std::move(names), std::move(aliases), {prefix_aliases.begin(), prefix_aliases.end()});
  return {};
}

// Runs in the background: with 100,000 databases it takes a second, which nothing has to wait for.
void Engine::finish_interrupted(const std::vector<std::string>& garbage_at_start, const std::stop_token& stop) {
  std::vector<std::string> strays;
  {
    // Databases cannot be created or deleted meanwhile, so that rows and folders agree.
    std::lock_guard<std::mutex> schema(schema_mutex_);
    const auto records = catalog_->all();
    const auto garbage = catalog_->garbage();
    if (!records || !garbage) return;
    std::unordered_set<std::string> folders;
    std::error_code error;
    for (std::string& name : data_folder_.database_folders(error)) {
      folders.insert(std::move(name));
    }
    if (error) {
      spdlog::warn("the folders of databases cannot be listed: {}", error.message());
      return;
    }
    bool missing = false;
    std::unordered_set<std::string> known;
    for (const auto& record : *records) {
      known.insert(record.instance_tag);
      if (folders.erase(record.instance_tag) > 0) continue;
      spdlog::error("the files of database '{}' are missing: {}", record.name,
                    data_folder_.database(record.instance_tag).string());
      missing = true;
    }
    // A damaged catalog names the wrong folders: then nothing may be removed.
    if (missing) return;
    // What remains are deleted databases and unfinished creations.
    // Databases deleted in this run are removed when their last request ends.
    for (const std::string& tag : *garbage) folders.erase(tag);
    strays.assign(folders.begin(), folders.end());
    for (const std::string& tag : garbage_at_start) {
      if (!known.contains(tag)) strays.push_back(tag);
    }
  }
  for (const std::string& tag : strays) {
    if (stop.stop_requested()) return;
    remove_files(tag);
  }
}

void Engine::remove_files(const std::string& instance_tag) {
  std::error_code error;
  storage::remove_folder(data_folder_.database(instance_tag), error);
  if (error) {
    spdlog::warn("could not remove the files of a deleted database, will try at the next start: {}: {}",
                 data_folder_.database(instance_tag).string(), error.message());
    return;
  }
  if (auto forgotten = catalog_->forget_garbage(instance_tag); !forgotten) {
    spdlog::warn("catalog: {}", reason_of(forgotten.error()));
  }
}

Expected<void> Engine::check_database_name(std::string_view name) {
  for (const std::string_view system : {"_users", "_replicator", "_global_changes"}) {
    if (name == system) return {};
  }
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_allowed = [&](char c) {
    return is_lower(c) || (c >= '0' && c <= '9') || std::string_view("_$()+-/").find(c) != std::string_view::npos;
  };
  if (name.size() > database_name_bytes_max) {
    return fail(
        ErrorCode::bad_request,
        fmt::format("Name: '{}'. Database names may have at most {} characters.", name, database_name_bytes_max),
        "database_name_too_long");
  }
  if (name.empty() || !is_lower(name.front()) || !std::ranges::all_of(name, is_allowed)) {
    return fail(
        ErrorCode::bad_request,
        fmt::format("Name: '{}'. Only lowercase characters (a-z), digits (0-9), and any of the characters _, $, "
                    "(, ), +, -, and / are allowed. Must begin with a letter.",
                    name),
        "illegal_database_name");
  }
  return {};
}

void Engine::add_to_registry(const std::shared_ptr<Database>& database) {
  database->registered_ = true;
  if (!registry_.add(database)) database->shut_down();
  until_memory_suffices([&] { updates_.record(database->name(), DatabaseUpdates::Kind::created); });
  make_room();
}

Expected<std::shared_ptr<Database>> Engine::create_database(std::string_view name, CreateDatabaseOptions options) {
  if (options.definition.empty()) {
    OCTAVO_TRY_VOID(check_database_name(name));
  } else if (name.empty() || name.size() > defined_name_bytes_max) {
    return fail(ErrorCode::bad_request, fmt::format("A name may have at most {} bytes.", defined_name_bytes_max));
  }
  const std::uint32_t q = options.q == 0 ? settings().default_q : options.q;
  if (q > settings().q_max) {
    return fail(ErrorCode::bad_request, fmt::format("q must be between 1 and {}.", settings().q_max));
  }
  std::lock_guard<std::mutex> schema(schema_mutex_);
  if (registry_.contains(registry_.resolve(name))) {
    return fail(ErrorCode::precondition_failed, "The database could not be created, the file already exists.",
                "file_exists");
  }
  storage::DatabaseRecord record;
  record.name = name;
  record.instance_tag = random_tag();
  record.created_s = unix_now_s();
  record.partitioned = options.partitioned;
  record.auto_index = options.auto_index;
  record.revs_limit = options.revs_limit == 0 ? settings().revs_limit : options.revs_limit;
  record.partition_map = PartitionMap::even(q, options.origin.first_partition_id);
  record.sequence_base = options.origin.sequence_base;
  if (record.sequence_base != 0) record.created_q = q;
  record.key_scheme = options.key_scheme;
  record.definition = std::move(options.definition);

  // Files first, the catalog's row last: the row makes the database exist.
  FolderRemover folder(data_folder_.database(record.instance_tag));
  std::shared_ptr<Database> database(new Database(*this, record), [this](Database* ended) { retire(ended); });
  for (const std::size_t id : database->partition_ids()) OCTAVO_TRY_VOID(database->physical_partition(id).create());
  // The partitions have synced their own folders and the database's; the database's name is stored in this one.
  if (settings().durability != config::Durability::ephemeral) {
    OCTAVO_TRY_VOID(data_folder_.sync_database_folders());
  }
  OCTAVO_TRY_VOID(database->open(extensions_));
  const auto added = catalog_->add(record);
  if (!added) {
    if (added.error().code == ErrorCode::precondition_failed) {
      // A row of an earlier attempt, whose outcome could not be read at that time.
      if (const auto stored = catalog_->find(name); stored && *stored) registry_.add_name(record.name);
    } else {
      // A failed disk may have stored the row: then the database exists. If that is unknown the files must be kept.
      const auto stored = catalog_->find(name);
      if (!stored || *stored) folder.keep();
      if (stored && *stored) add_to_registry(database);
    }
    return std::unexpected(added.error());
  }
  folder.keep();
  add_to_registry(database);
  return database;
}

Expected<void> Engine::delete_database(std::string_view name) {
  const std::string key(name);
  std::unique_lock<std::mutex> schema(schema_mutex_);
  OCTAVO_TRY(const std::shared_ptr<Database> database, open_database(name));
  if (database->name() != name) {
    return fail(ErrorCode::bad_request,
                fmt::format("{} is an alias of {}: delete the database under its name, or remove the alias.", name,
                            database->name()),
                "is_alias");
  }
  auto removed = catalog_->remove(name);
  if (!removed) {
    // A failed disk may have stored the removal, as it may store a creation; so may an earlier attempt.
    const auto stored = catalog_->find(name);
    if (!stored || *stored) return removed;
    if (removed.error().code == ErrorCode::not_found) removed = {};
  }
  registry_.remove(key);
  database->mark_deleted();
  until_memory_suffices([&] { compactions_.forget(database.get()); });
  until_memory_suffices([&] { updates_.record(name, DatabaseUpdates::Kind::deleted); });
  // Its jobs end at the end of a step; nothing else has to wait for that.
  schema.unlock();
  database->shut_down();
  return removed;
}

// The name is busy. After a failure it remains so until the opened files are closed.
Expected<std::shared_ptr<Database>> Engine::load_database(const std::string& name) {
  std::shared_ptr<Database> database;
  const auto make = [&]() -> Expected<void> {
    OCTAVO_TRY(auto record, catalog_->find(name));
    if (!record) return fail(ErrorCode::not_found, "Database does not exist.");
    auto made = std::make_unique<Database>(*this, std::move(*record));
    // If there is no memory for that, the database is retired here without having been opened.
    database.reset(made.release(), [this](Database* ended) { retire(ended); });
    // From here on, retire() ends that if the database fails to open.
    database->registered_ = true;
    return {};
  };
  try {
    if (auto made = make(); !made) {
      registry_.leave_busy(name);
      return std::unexpected(std::move(made).error());
    }
  } catch (...) {
    if (!database) registry_.leave_busy(name);
    throw;
  }
  database->remove_stray_partitions();
  OCTAVO_TRY_VOID(database->open(extensions_));
  if (!registry_.keep_open(database)) {
    // All open databases have been shut down already.
    database->shut_down();
    return fail(ErrorCode::overloaded, "The server is shutting down.");
  }
  registry_.leave_busy(name);
  make_room();
  return database;
}

// Called after a database was opened.
void Engine::make_room() {
  const std::size_t stores = registry_.open_store_count();
  if (stores > settings().open_partitions_max + surplus_max(settings())) {
    registry_.close_least_recently_used(settings().open_partitions_max);
  } else if (stores > settings().open_partitions_max) {
    janitor_wanted_ = true;
    janitor_wake_.notify_one();
  }
}

void Engine::retire(Database* database) {
  // The last reference may be dropped by any thread, which must not be blocked by closing files.
  auto end = [this, database] {
    const bool remove = database->deleted();
    const bool registered = database->registered_;
    std::string tag;
    std::string name;
    until_memory_suffices([&] {
      tag = database->instance_tag();
      name = database->name();
    });
    delete database;
    // Not for a deleted database: the name may stand for another one by now.
    if (registered && !remove) registry_.leave_busy(name);
    if (!remove) return;
    auto remove_folder = [this, tag = std::move(tag)] {
      try {
        remove_files(tag);
      } catch (const std::exception& error) {
        spdlog::warn("could not remove the files of a deleted database, will try at the next start: {}", error.what());
      }
    };
    if (ending_) {
      remove_folder();
    } else {
      // Removing large files takes a while, and threads that wait for a name to be closed must not wait for that.
      until_memory_suffices([&] { boost::asio::post(workers_.pool(), remove_folder); });
    }
  };
  std::unique_lock lock(closers_mutex_);
  if (!closers_joining_) {
    until_memory_suffices([&] { boost::asio::post(closers_, end); });
    return;
  }
  lock.unlock();
  end();
}

void Engine::keep_within_limits(const std::stop_token& stop) {
  std::unique_lock<std::mutex> lock(janitor_mutex_);
  while (!stop.stop_requested()) {
    janitor_wake_.wait_for(lock, stop, janitor_interval, [this] { return janitor_wanted_.exchange(false); });
    try {
      if (!stop.stop_requested()) registry_.close_least_recently_used(settings().open_partitions_max);
      if (!stop.stop_requested()) moves_.tend(registry_.open_databases(), settings().physical_partition_bytes_max);
      if (!stop.stop_requested()) moves_.tend_merges(registry_.open_databases(), settings());
      if (!stop.stop_requested()) tend_compactions();
      if (!stop.stop_requested()) tend_limits();
    } catch (const std::exception& error) {
      spdlog::warn("closing idle databases failed, will try again: {}", error.what());
    }
  }
}

// A part of the databases in each round, so that it is short with any number of them.
void Engine::tend_compactions() {
  if (settings().compaction != config::CompactionMode::automatic) return;
  if (unconsidered_.empty()) {
    for (const auto& database : registry_.open_databases()) unconsidered_.push_back(database);
  }
  for (std::size_t i = 0; i < databases_considered_max && !unconsidered_.empty() && !ending_; ++i) {
    const auto database = unconsidered_.back().lock();
    unconsidered_.pop_back();
    if (!database || database->deleted()) continue;
    for (auto& target : database->compaction_targets()) {
      automatic_compaction_.consider(std::move(target), settings().compaction_share);
    }
  }
}

// Databases without requests are left alone: to read their sizes would count as use, and keep their files open.
void Engine::tend_limits() {
  const auto now = std::chrono::steady_clock::now();
  if (now < limits_due_) return;
  limits_due_ = now + limits_interval;
  std::set<std::string> tags;
  for (const auto& database : registry_.open_databases()) {
    if (ending_) return;
    tags.insert(database->instance_tag());
    const auto& meter = database->meter();
    const bool is_used = std::ranges::any_of(database->partition_ids(), [&](std::size_t partition_id) {
      return meter.report(partition_id, 0).last_minute > 0;
    });
    if (!is_used) continue;
    if (const auto report = limits_of(*database)) {
      limit_watch_.note(database->instance_tag(), database->name(), *report, now);
    }
  }
  limit_watch_.keep_only(tags, now);
}

void Engine::note_commit() {
  const std::uint64_t now = steady_ms();
  if (now - last_commit_ms_.load(std::memory_order_relaxed) < commit_noted_ms) return;
  last_commit_ms_.store(now, std::memory_order_relaxed);
}

bool Engine::is_busy() const {
  const std::uint64_t last = last_commit_ms_.load(std::memory_order_relaxed);
  return last != 0 && steady_ms() < last + busy_ms;
}

void Engine::shut_down() {
  if (shut_down_) return;
  ending_ = true;
  if (janitor_.joinable()) {
    janitor_.request_stop();
    janitor_wake_.notify_all();
    janitor_.join();
  }
  moves_.stop();
  compactions_.stop();
  auto databases = registry_.close();
  for (auto& [name, database] : databases) database->shut_down();
  databases.clear();
  openers_.join();
  workers_.join();
  indexers_.join();
  {
    // Work posted to them before is done once they are joined.
    const std::lock_guard lock(closers_mutex_);
    closers_joining_ = true;
  }
  closers_.join();
  // Also the writes of requests that were cut off: the objects that they reply to are destroyed after this.
  writers_.run_out();
  shut_down_ = true;
}

}  // namespace octavo::partitioning
