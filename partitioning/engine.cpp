#include "partitioning/engine.h"

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <openssl/rand.h>
#include <spdlog/spdlog.h>

namespace octavo::partitioning {
namespace asio = boost::asio;
namespace fs = std::filesystem;

namespace {

constexpr int kDataFormat = 1;
constexpr std::string_view kFormatFile = "octavo.format";
constexpr std::string_view kLockFile = "octavo.lock";
constexpr std::size_t kDatabaseNameBytesMax = 238;  // Apache CouchDB's limit
constexpr std::chrono::seconds kJanitorInterval{1};

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

std::size_t thread_count(std::uint16_t configured, unsigned factor, unsigned least) {
  if (configured != 0) return configured;
  return std::max(least, std::max(1U, std::thread::hardware_concurrency()) * factor);
}

std::unexpected<Error> io_error(std::string_view action, const fs::path& path, const std::error_code& error) {
  const ErrorCode code = error == std::errc::no_space_on_device ? ErrorCode::disk_full : ErrorCode::io_failure;
  return fail(code, fmt::format("{} {}: {}", action, path.string(), error.message()));
}

std::error_code last_error() {
  return {errno, std::generic_category()};
}

/// Writes a small file so that it is there whole, or not at all, after a crash.
Expected<void> write_file_durably(const fs::path& path, std::string_view text) {
  const fs::path draft = path.string() + ".new";
  const int descriptor = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return io_error("cannot create", draft, last_error());
  const bool written =
      ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(descriptor) == 0;
  const std::error_code error = last_error();
  ::close(descriptor);
  if (!written) return io_error("cannot write", draft, error);
  std::error_code renamed;
  fs::rename(draft, path, renamed);
  if (renamed) return io_error("cannot rename", draft, renamed);
  return {};
}

/// What a thread remembers of the registry, valid for one generation.
struct DatabaseCache {
  const void* engine = nullptr;
  std::uint64_t generation = 0;
  std::unordered_map<std::string, std::weak_ptr<Database>> databases;
};
constexpr std::size_t kCachedDatabasesMax = 256;

}  // namespace

Engine::Engine(const config::Settings& settings, ExtensionFactory extensions)
    : settings_(settings),
      extensions_(std::move(extensions)),
      updates_(random_tag()),
      writers_(thread_count(settings.writer_threads, 2, 2)),
      workers_(thread_count(settings.worker_threads, 1, 1)) {}

Engine::~Engine() {
  shut_down();
  if (lock_descriptor_ >= 0) ::close(lock_descriptor_);
}

Expected<std::unique_ptr<Engine>> Engine::open(const config::Settings& settings, ExtensionFactory extensions) {
  std::unique_ptr<Engine> engine(new Engine(settings, std::move(extensions)));
  OCTAVO_TRY_VOID(engine->open_data_folder());
  OCTAVO_TRY_VOID(engine->finish_interrupted());
  engine->janitor_ = std::jthread([raw = engine.get()](const std::stop_token& stop) { raw->keep_within_limits(stop); });
  return engine;
}

fs::path Engine::database_folder(std::string_view instance_tag) const {
  return settings_.data_dir / "databases" / instance_tag;
}

Expected<void> Engine::open_data_folder() {
  const fs::path& folder = settings_.data_dir;
  std::error_code error;
  fs::create_directories(folder / "databases", error);
  if (error) return io_error("cannot create the data folder", folder, error);

  const fs::path lock_path = folder / kLockFile;
  lock_descriptor_ = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_descriptor_ < 0) return io_error("cannot open", lock_path, last_error());
  if (::flock(lock_descriptor_, LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::precondition_failed,
                fmt::format("the data folder {} is in use by another octavo process; stop it, or give this one another "
                            "folder with --data-dir",
                            folder.string()));
  }

  const fs::path format_path = folder / kFormatFile;
  if (std::ifstream file(format_path); file) {
    int format = 0;
    file >> format;
    if (format < 1 || format > kDataFormat) {
      return fail(ErrorCode::precondition_failed,
                  fmt::format("the data folder {} has format {}, and this octavo knows formats up to {}: use the newer "
                              "version that wrote it",
                              folder.string(), format, kDataFormat));
    }
  } else {
    OCTAVO_TRY_VOID(write_file_durably(format_path, fmt::format("{}\n", kDataFormat)));
  }
  catalog_ = std::make_unique<storage::Catalog>(folder / "catalog", settings_.durability);
  return catalog_->open();
}

Expected<void> Engine::finish_interrupted() {
  OCTAVO_TRY(const auto garbage, catalog_->garbage());
  for (const std::string& tag : garbage) remove_files(tag);
  OCTAVO_TRY(const auto records, catalog_->all());
  std::set<std::string> known;
  for (const auto& record : records) {
    names_.insert(record.name);
    known.insert(record.instance_tag);
    // A follower of an earlier run starts again, and must then see every database.
    updates_.record(record.name, DatabaseUpdates::Kind::created);
  }
  // Folders that no record names: a creation that did not reach its end.
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(settings_.data_dir / "databases", error)) {
    const std::string tag = entry.path().filename().string();
    if (!known.contains(tag)) fs::remove_all(entry.path(), error);
  }
  for (const auto& record : records) {
    if (!fs::exists(database_folder(record.instance_tag))) {
      return fail(ErrorCode::corrupted, fmt::format("the files of database '{}' are missing: {}", record.name,
                                                    database_folder(record.instance_tag).string()));
    }
  }
  return {};
}

void Engine::remove_files(const std::string& instance_tag) {
  std::error_code error;
  fs::remove_all(database_folder(instance_tag), error);
  if (error) {
    spdlog::warn("could not remove the files of a deleted database, will try at the next start: {}: {}",
                 database_folder(instance_tag).string(), error.message());
    return;
  }
  if (auto forgotten = catalog_->forget_garbage(instance_tag); !forgotten) {
    spdlog::warn("catalog: {}", forgotten.error().reason);
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
  if (name.size() > kDatabaseNameBytesMax) {
    return fail(ErrorCode::bad_request,
                fmt::format("Name: '{}'. Database names may have at most {} characters.", name, kDatabaseNameBytesMax),
                "database_name_too_long");
  }
  if (name.empty() || !is_lower(name.front()) || !std::all_of(name.begin(), name.end(), is_allowed)) {
    return fail(
        ErrorCode::bad_request,
        fmt::format("Name: '{}'. Only lowercase characters (a-z), digits (0-9), and any of the characters _, $, "
                    "(, ), +, -, and / are allowed. Must begin with a letter.",
                    name),
        "illegal_database_name");
  }
  return {};
}

void Engine::retire(Database* database) {
  // The last reference may be dropped by an I/O thread or a writer: closing and removing files is a worker's job.
  auto end = [this, database] {
    const bool remove = database->deleted();
    const std::string tag = database->instance_tag();
    const std::string name = database->name();
    delete database;
    if (remove) {
      remove_files(tag);
    } else {
      std::lock_guard<std::mutex> lock(registry_mutex_);
      closing_.erase(name);
      closed_.notify_all();
    }
  };
  if (shut_down_) {
    end();
  } else {
    asio::post(workers_, std::move(end));
  }
}

Expected<std::shared_ptr<Database>> Engine::load_database(const std::string& name) {
  OCTAVO_TRY(auto record, catalog_->find(name));
  if (!record) return fail(ErrorCode::not_found, "Database does not exist.");
  std::shared_ptr<Database> database(new Database(*this, std::move(*record)),
                                     [this](Database* ended) { retire(ended); });
  OCTAVO_TRY_VOID(database->open(extensions_));
  return database;
}

Expected<std::shared_ptr<Database>> Engine::create_database(std::string_view name, CreateDatabaseOptions options) {
  OCTAVO_TRY_VOID(check_database_name(name));
  const std::uint32_t q = options.q == 0 ? settings_.default_q : options.q;
  if (q > settings_.q_max) {
    return fail(ErrorCode::bad_request, fmt::format("q must be between 1 and {}.", settings_.q_max));
  }
  std::lock_guard<std::mutex> schema(schema_mutex_);
  {
    std::lock_guard<std::mutex> lock(registry_mutex_);
    if (names_.contains(std::string(name))) {
      return fail(ErrorCode::precondition_failed, "The database could not be created, the file already exists.",
                  "file_exists");
    }
  }
  storage::DatabaseRecord record;
  record.name = name;
  record.instance_tag = random_tag();
  record.created_s =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  record.partitioned = options.partitioned;
  record.revs_limit = settings_.revs_limit;
  record.partition_map = PartitionMap::even(q);

  // Files first, the catalog's row last: it is the row that makes the database exist.
  const fs::path folder = database_folder(record.instance_tag);
  const auto give_up = [&](Error error) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    return std::unexpected(std::move(error));
  };
  std::shared_ptr<Database> database(new Database(*this, record), [this](Database* ended) { retire(ended); });
  for (const auto& partition : database->partitions_) {
    if (auto created = partition->create(); !created) return give_up(created.error());
  }
  if (auto opened = database->open(extensions_); !opened) return give_up(opened.error());
  if (auto added = catalog_->add(record); !added) return give_up(added.error());
  {
    std::lock_guard<std::mutex> lock(registry_mutex_);
    names_.insert(record.name);
    databases_[record.name] = database;
  }
  generation_.fetch_add(1, std::memory_order_release);
  updates_.record(name, DatabaseUpdates::Kind::created);
  janitor_wake_.notify_one();
  return database;
}

Expected<void> Engine::delete_database(std::string_view name) {
  std::lock_guard<std::mutex> schema(schema_mutex_);
  std::shared_ptr<Database> database = find_database(name);
  if (!database) return fail(ErrorCode::not_found, "Database does not exist.");
  OCTAVO_TRY_VOID(catalog_->remove(name));
  {
    std::lock_guard<std::mutex> lock(registry_mutex_);
    names_.erase(std::string(name));
    databases_.erase(std::string(name));
  }
  generation_.fetch_add(1, std::memory_order_release);
  database->mark_deleted();
  database->shut_down();
  updates_.record(name, DatabaseUpdates::Kind::deleted);
  return {};
}

std::shared_ptr<Database> Engine::find_database(std::string_view name) {
  thread_local DatabaseCache cache;
  const std::uint64_t generation = generation_.load(std::memory_order_acquire);
  if (cache.engine != this || cache.generation != generation || cache.databases.size() > kCachedDatabasesMax) {
    cache = {this, generation, {}};
  }
  std::string key(name);
  if (const auto known = cache.databases.find(key); known != cache.databases.end()) {
    if (auto database = known->second.lock()) return database;
  }
  std::shared_ptr<Database> database;
  {
    std::unique_lock<std::mutex> lock(registry_mutex_);
    // The same files must not be open twice: a database that is just being closed is opened again after that.
    closed_.wait(lock, [&] { return !closing_.contains(key); });
    if (const auto open = databases_.find(key); open != databases_.end()) {
      database = open->second;
    } else if (!names_.contains(key)) {
      return nullptr;
    } else {
      auto loaded = load_database(key);
      if (!loaded) {
        spdlog::error("database '{}' cannot be opened: {}", name, loaded.error().reason);
        return nullptr;
      }
      database = std::move(*loaded);
      databases_[key] = database;
      janitor_wake_.notify_one();
    }
  }
  cache.databases[std::move(key)] = database;
  return database;
}

std::vector<std::string> Engine::database_names() const {
  std::lock_guard<std::mutex> lock(registry_mutex_);
  return {names_.begin(), names_.end()};
}

void Engine::keep_within_limits(const std::stop_token& stop) {
  std::unique_lock<std::mutex> lock(janitor_mutex_);
  while (!stop.stop_requested()) {
    janitor_wake_.wait_for(lock, stop, kJanitorInterval, [] { return false; });
    if (!stop.stop_requested()) close_least_recently_used();
  }
}

void Engine::close_least_recently_used() {
  std::vector<std::shared_ptr<Database>> open;
  std::size_t environments = 0;
  {
    std::lock_guard<std::mutex> lock(registry_mutex_);
    for (const auto& [name, database] : databases_) {
      const std::size_t count = database->open_environment_count();
      environments += count;
      open.push_back(database);
    }
  }
  if (environments <= settings_.open_partitions_max) return;
  std::sort(open.begin(), open.end(),
            [](const auto& a, const auto& b) { return a->last_used_ms() < b->last_used_ms(); });
  for (auto& database : open) {
    if (environments <= settings_.open_partitions_max) break;
    environments -= std::min(environments, database->close_idle(database->last_used_ms()));
    if (database->open_environment_count() == 0) forget_if_unused(database);
  }
}

void Engine::forget_if_unused(std::shared_ptr<Database>& database) {
  const std::string name = database->name();
  std::lock_guard<std::mutex> lock(registry_mutex_);
  const auto entry = databases_.find(name);
  if (entry == databases_.end() || entry->second != database) return;
  // Let go, then look whether a request still held it: it is either gone for everyone, or put back.
  const std::weak_ptr<Database> held_elsewhere = database;
  closing_.insert(name);
  entry->second.reset();
  database.reset();
  if (auto alive = held_elsewhere.lock()) {
    closing_.erase(name);
    entry->second = std::move(alive);
  } else {
    databases_.erase(entry);
  }
}

void Engine::shut_down() {
  if (shut_down_) return;
  if (janitor_.joinable()) {
    janitor_.request_stop();
    janitor_wake_.notify_all();
    janitor_.join();
  }
  std::unordered_map<std::string, std::shared_ptr<Database>> databases;
  {
    std::lock_guard<std::mutex> lock(registry_mutex_);
    databases.swap(databases_);
  }
  for (auto& [name, database] : databases) database->shut_down();
  databases.clear();
  workers_.join();
  shut_down_ = true;
}

}  // namespace octavo::partitioning
