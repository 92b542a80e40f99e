#include <algorithm>
#include <chrono>

#include <spdlog/spdlog.h>

#include "partitioning/engine.h"

/// The part of the engine that finds databases, opens them on first use, and closes those least recently used.
///
/// A name whose files are being opened or closed is in busy_: the same files must never be open twice. Files are used
/// without holding registry_mutex_, and closed by a thread that waits for no other: a thread that waits for a name
/// waits only for the disk.
namespace octavo::partitioning {
namespace asio = boost::asio;

namespace {

constexpr std::chrono::seconds kJanitorInterval{1};

/// The janitor works behind the openers; beyond this surplus they close stores themselves before they continue.
/// Also in server/connection/descriptor_budget.cpp.
std::size_t surplus_max(const config::Settings& settings) {
  return settings.open_partitions_max / 4 + 4;
}

/// A thread's cache of the registry, valid for one generation.
struct DatabaseCache {
  const void* engine = nullptr;
  std::uint64_t generation = 0;
  std::unordered_map<std::string, std::weak_ptr<Database>> databases;
};
constexpr std::size_t kCachedDatabasesMax = 256;

DatabaseCache& thread_cache(const void* engine, std::uint64_t generation) {
  thread_local DatabaseCache cache;
  if (cache.engine != engine || cache.generation != generation || cache.databases.size() > kCachedDatabasesMax) {
    cache = {engine, generation, {}};
  }
  return cache;
}

}  // namespace

std::optional<Expected<std::shared_ptr<Database>>> Engine::database_if_open(std::string_view name) {
  auto& cache = thread_cache(this, generation_.load(std::memory_order_acquire));
  std::string key(name);
  if (const auto known = cache.databases.find(key); known != cache.databases.end()) {
    if (auto database = known->second.lock()) return database;
  }
  std::shared_ptr<Database> database;
  {
    std::lock_guard<std::mutex> lock(registry_mutex_);
    if (busy_.contains(key)) return std::nullopt;
    if (const auto open = databases_.find(key); open != databases_.end()) {
      database = open->second;
    } else if (names_.contains(key)) {
      return std::nullopt;
    } else {
      return fail(ErrorCode::not_found, "Database does not exist.");
    }
  }
  cache.databases[std::move(key)] = database;
  return database;
}

std::shared_ptr<Database> Engine::find_database(std::string_view name) {
  auto database = open_database(name);
  return database ? std::move(*database) : nullptr;
}

Expected<std::shared_ptr<Database>> Engine::open_database(std::string_view name) {
  if (auto open = database_if_open(name)) return *std::move(open);
  const std::string key(name);
  {
    std::unique_lock<std::mutex> lock(registry_mutex_);
    not_busy_.wait(lock, [&] { return !busy_.contains(key); });
    if (const auto open = databases_.find(key); open != databases_.end()) return open->second;
    if (!names_.contains(key)) return fail(ErrorCode::not_found, "Database does not exist.");
    if (registry_closed_) return fail(ErrorCode::overloaded, "The server is shutting down.");
    busy_.insert(key);
  }
  auto loaded = load_database(key);
  if (!loaded) spdlog::error("database '{}' cannot be opened: {}", name, loaded.error().reason);
  return loaded;
}

// The name is in busy_. After a failure it stays there until the opened files are closed.
Expected<std::shared_ptr<Database>> Engine::load_database(const std::string& name) {
  std::shared_ptr<Database> database;
  const auto make = [&]() -> Expected<void> {
    OCTAVO_TRY(auto record, catalog_->find(name));
    if (!record) return fail(ErrorCode::not_found, "Database does not exist.");
    auto made = std::make_unique<Database>(*this, std::move(*record));
    // If there is no memory for that, the database is retired here without having been opened.
    database.reset(made.release(), [this](Database* ended) { retire(ended); });
    // From here on, retire() removes the name from busy_ if the database fails to open.
    database->registered_ = true;
    return {};
  };
  try {
    if (auto made = make(); !made) {
      leave_busy(name);
      return std::unexpected(std::move(made).error());
    }
  } catch (...) {
    if (!database) leave_busy(name);
    throw;
  }
  database->remove_stray_partitions();
  OCTAVO_TRY_VOID(database->open(extensions_));
  bool too_late = false;
  until_memory_suffices([&] {
    std::lock_guard<std::mutex> lock(registry_mutex_);
    too_late = registry_closed_;
    if (!too_late) databases_[name] = database;
  });
  if (too_late) {
    // All open databases have been shut down already.
    database->shut_down();
    return fail(ErrorCode::overloaded, "The server is shutting down.");
  }
  leave_busy(name);
  make_room();
  return database;
}

// Called after a database was opened.
void Engine::make_room() {
  std::size_t stores = 0;
  {
    std::lock_guard<std::mutex> lock(registry_mutex_);
    for (const auto& [name, database] : databases_) stores += database->open_store_count();
  }
  if (stores > settings_.open_partitions_max + surplus_max(settings_)) {
    close_least_recently_used();
  } else if (stores > settings_.open_partitions_max) {
    janitor_wanted_ = true;
    janitor_wake_.notify_one();
  }
}

void Engine::leave_busy(const std::string& name) {
  {
    std::lock_guard<std::mutex> lock(registry_mutex_);
    busy_.erase(name);
  }
  not_busy_.notify_all();
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
    if (registered && !remove) leave_busy(name);
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
      until_memory_suffices([&] { asio::post(workers_.pool(), remove_folder); });
    }
  };
  std::unique_lock lock(closers_mutex_);
  if (!closers_joining_) {
    until_memory_suffices([&] { asio::post(closers_, end); });
    return;
  }
  lock.unlock();
  end();
}

std::vector<std::shared_ptr<Database>> Engine::open_databases() const {
  const std::lock_guard lock(registry_mutex_);
  std::vector<std::shared_ptr<Database>> open;
  open.reserve(databases_.size());
  for (const auto& [name, database] : databases_) open.push_back(database);
  return open;
}

std::vector<std::string> Engine::database_names() const {
  std::lock_guard<std::mutex> lock(registry_mutex_);
  return {names_.begin(), names_.end()};
}

std::size_t Engine::database_count() const {
  std::lock_guard<std::mutex> lock(registry_mutex_);
  return names_.size();
}

std::vector<std::string> Engine::database_names_from(const std::optional<std::string>& name, bool inclusive,
                                                     bool descending, std::size_t count_max) const {
  std::vector<std::string> found;
  std::lock_guard<std::mutex> lock(registry_mutex_);
  auto position = descending ? names_.end() : names_.begin();
  if (name) position = inclusive == descending ? names_.upper_bound(*name) : names_.lower_bound(*name);
  while (found.size() < count_max && position != (descending ? names_.begin() : names_.end())) {
    found.push_back(descending ? *--position : *position++);
  }
  return found;
}

void Engine::keep_within_limits(const std::stop_token& stop) {
  std::unique_lock<std::mutex> lock(janitor_mutex_);
  while (!stop.stop_requested()) {
    janitor_wake_.wait_for(lock, stop, kJanitorInterval, [this] { return janitor_wanted_.exchange(false); });
    try {
      if (!stop.stop_requested()) close_least_recently_used();
      if (!stop.stop_requested()) splits_.tend(open_databases(), settings_.physical_partition_bytes_max);
    } catch (const std::exception& error) {
      spdlog::warn("closing idle databases failed, will try again: {}", error.what());
    }
  }
}

void Engine::close_least_recently_used() {
  const std::lock_guard<std::mutex> one_at_a_time(closing_mutex_);
  struct Candidate {
    std::uint64_t last_used_ms;
    std::shared_ptr<Database> database;
  };
  std::vector<Candidate> open;
  std::size_t stores = 0;
  {
    std::lock_guard<std::mutex> lock(registry_mutex_);
    open.reserve(databases_.size());
    for (const auto& [name, database] : databases_) {
      stores += database->open_store_count();
      open.push_back({database->last_used_ms(), database});
    }
  }
  if (stores <= settings_.open_partitions_max) return;
  std::ranges::sort(open, {}, &Candidate::last_used_ms);
  for (auto& candidate : open) {
    if (stores <= settings_.open_partitions_max) break;
    stores -= std::min(stores, candidate.database->close_idle(candidate.last_used_ms));
    if (candidate.database->open_store_count() == 0) forget_if_unused(candidate.database);
  }
}

void Engine::forget_if_unused(std::shared_ptr<Database>& database) {
  const std::string name = database->name();
  std::lock_guard<std::mutex> lock(registry_mutex_);
  const auto entry = databases_.find(name);
  if (entry == databases_.end() || entry->second != database) return;
  // Releases the reference, then checks whether a request still held it: the database is either destroyed or put back.
  const std::weak_ptr<Database> held_elsewhere = database;
  busy_.insert(name);
  entry->second.reset();
  database.reset();
  if (auto alive = held_elsewhere.lock()) {
    busy_.erase(name);
    entry->second = std::move(alive);
  } else {
    databases_.erase(entry);
  }
}

}  // namespace octavo::partitioning
