#include "partitioning/database_registry.h"

#include <algorithm>
#include <utility>

#include "base/memory_retry.h"

namespace octavo::partitioning {

namespace {

/// A thread's cache of a registry, valid for one generation.
struct DatabaseCache {
  const void* registry = nullptr;
  std::uint64_t generation = 0;
  std::unordered_map<std::string, std::weak_ptr<Database>> databases;
};
constexpr std::size_t cached_databases_max = 256;

DatabaseCache& thread_cache(const void* registry, std::uint64_t generation) {
  thread_local DatabaseCache cache;
  if (cache.registry != registry || cache.generation != generation || cache.databases.size() > cached_databases_max) {
    cache = {registry, generation, {}};
  }
  return cache;
}

}  // namespace

std::optional<Expected<std::shared_ptr<Database>>> DatabaseRegistry::find(std::string_view name) const {
  auto& cache = thread_cache(this, generation_.load(std::memory_order_acquire));
  std::string key(name);
  if (const auto known = cache.databases.find(key); known != cache.databases.end()) {
    if (auto database = known->second.lock()) return database;
  }
  std::shared_ptr<Database> database;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::string real = resolve_locked(name);
    if (busy_.contains(real)) return std::nullopt;
    if (const auto open = open_.find(real); open != open_.end()) {
      database = open->second;
    } else if (names_.contains(real)) {
      return std::nullopt;
    } else {
      return fail(ErrorCode::not_found, "Database does not exist.");
    }
  }
  cache.databases[std::move(key)] = database;
  return database;
}

bool DatabaseRegistry::contains(const std::string& name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return names_.contains(name);
}

std::vector<std::shared_ptr<Database>> DatabaseRegistry::open_databases() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Database>> open;
  open.reserve(open_.size());
  for (const auto& [name, database] : open_) open.push_back(database);
  return open;
}

std::vector<std::string> DatabaseRegistry::names() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return {names_.begin(), names_.end()};
}

std::size_t DatabaseRegistry::count() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return names_.size();
}

std::vector<std::string> DatabaseRegistry::names_from(const std::optional<std::string>& name, bool inclusive,
                                                      bool descending, std::size_t count_max) const {
  std::vector<std::string> found;
  std::lock_guard<std::mutex> lock(mutex_);
  auto position = descending ? names_.end() : names_.begin();
  if (name) position = inclusive == descending ? names_.upper_bound(*name) : names_.lower_bound(*name);
  while (found.size() < count_max && position != (descending ? names_.begin() : names_.end())) {
    found.push_back(descending ? *--position : *position++);
  }
  return found;
}

std::string DatabaseRegistry::resolve(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return resolve_locked(name);
}

// Called with mutex_ held. A database's own name comes before an alias of a prefix.
std::string DatabaseRegistry::resolve_locked(std::string_view name) const {
  if (const auto alias = aliases_.find(name); alias != aliases_.end()) return alias->second;
  std::string real(name);
  if (prefix_aliases_.empty()) return real;
  const auto prefix = prefix_aliases_.find(storage::name_prefix(name));
  if (prefix == prefix_aliases_.end() || names_.contains(real)) return real;
  real.replace(0, prefix->first.size(), prefix->second);
  const auto alias = aliases_.find(real);
  return alias == aliases_.end() ? real : alias->second;
}

std::string DatabaseRegistry::resolve_prefix(std::string_view prefix) const {
  if (!has_prefix_aliases_.load(std::memory_order_acquire)) return std::string(prefix);
  const std::lock_guard lock(mutex_);
  const auto alias = prefix_aliases_.find(prefix);
  return alias == prefix_aliases_.end() ? std::string(prefix) : alias->second;
}

std::vector<std::string> DatabaseRegistry::prefix_aliases_of(std::string_view prefix) const {
  std::vector<std::string> found;
  const std::lock_guard lock(mutex_);
  for (const auto& [alias, real] : prefix_aliases_) {
    if (real == prefix) found.push_back(alias);
  }
  return found;
}

std::vector<std::string> DatabaseRegistry::aliases_of(const std::string& name) const {
  std::vector<std::string> found;
  const std::lock_guard lock(mutex_);
  for (const auto& [alias, database] : aliases_) {
    if (database == name) found.push_back(alias);
  }
  return found;
}

std::optional<Expected<std::shared_ptr<Database>>> DatabaseRegistry::find_or_begin_opening(const std::string& name) {
  std::unique_lock<std::mutex> lock(mutex_);
  not_busy_.wait(lock, [&] { return !busy_.contains(name); });
  if (const auto open = open_.find(name); open != open_.end()) return open->second;
  if (!names_.contains(name)) return fail(ErrorCode::not_found, "Database does not exist.");
  if (closed_) return fail(ErrorCode::overloaded, "The server is shutting down.");
  busy_.insert(name);
  return std::nullopt;
}

void DatabaseRegistry::leave_busy(const std::string& name) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    busy_.erase(name);
  }
  not_busy_.notify_all();
}

bool DatabaseRegistry::keep_open(const std::shared_ptr<Database>& database) {
  bool kept = false;
  until_memory_suffices([&] {
    std::lock_guard<std::mutex> lock(mutex_);
    kept = !closed_;
    if (kept) open_[database->name()] = database;
  });
  return kept;
}

void DatabaseRegistry::set_names(std::set<std::string> names, Aliases aliases, Aliases prefix_aliases) {
  std::lock_guard<std::mutex> lock(mutex_);
  names_ = std::move(names);
  aliases_ = std::move(aliases);
  prefix_aliases_ = std::move(prefix_aliases);
  publish_aliases();
}

// Called with mutex_ held.
void DatabaseRegistry::publish_aliases() {
  has_prefix_aliases_.store(!prefix_aliases_.empty(), std::memory_order_release);
}

void DatabaseRegistry::add_name(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  names_.insert(name);
}

bool DatabaseRegistry::add(const std::shared_ptr<Database>& database) {
  bool kept = false;
  // Its row is in the catalog already, so this must not fail.
  until_memory_suffices([&] {
    std::lock_guard<std::mutex> lock(mutex_);
    kept = !closed_;
    // Before its name is there: a thread that finds only the name opens the files again.
    if (kept) open_[database->name()] = database;
    names_.insert(database->name());
  });
  generation_.fetch_add(1, std::memory_order_release);
  return kept;
}

void DatabaseRegistry::remove(const std::string& name) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    names_.erase(name);
    open_.erase(name);
    std::erase_if(aliases_, [&](const auto& alias) { return alias.second == name; });
  }
  generation_.fetch_add(1, std::memory_order_release);
}

void DatabaseRegistry::rename(std::span<const Renamed> databases, const RenamedPrefix* prefix) {
  // It is in the catalog already, so this must not fail: all that needs memory comes before the first change.
  until_memory_suffices([&] {
    std::vector<std::set<std::string>::node_type> names;
    std::vector<Databases::node_type> open;
    std::vector<Renamed> renamed(databases.begin(), databases.end());
    names.reserve(renamed.size());
    open.reserve(renamed.size());
    const std::lock_guard lock(mutex_);
    Aliases aliases;
    for (const auto& [alias, name] : aliases_) {
      const auto found = std::ranges::find(databases, name, &Renamed::before);
      const bool is_of_group = prefix != nullptr && found != databases.end() && alias.starts_with(prefix->before);
      aliases.emplace(is_of_group ? prefix->name + alias.substr(prefix->before.size()) : alias,
                      found == databases.end() ? name : found->name);
    }
    for (const Renamed& one : databases) aliases.erase(one.name);
    Aliases prefix_aliases = prefix_aliases_;
    if (prefix != nullptr) {
      for (auto& [alias, real] : prefix_aliases) {
        if (real == prefix->before) real = prefix->name;
      }
      prefix_aliases.erase(prefix->name);
      if (prefix->keeps_alias) prefix_aliases[prefix->before] = prefix->name;
    }
    std::vector<std::string> keys;
    for (const Renamed& one : databases) keys.push_back(one.name);

    aliases_.swap(aliases);
    prefix_aliases_.swap(prefix_aliases);
    publish_aliases();
    for (const Renamed& one : databases) {
      names.push_back(names_.extract(one.before));
      open.push_back(open_.extract(one.before));
    }
    for (std::size_t i = 0; i < renamed.size(); ++i) {
      if (names[i]) names[i].value().swap(renamed[i].name);
      if (open[i]) open[i].key().swap(keys[i]);
      names_.insert(std::move(names[i]));
      open_.insert(std::move(open[i]));
    }
  });
  generation_.fetch_add(1, std::memory_order_release);
}

void DatabaseRegistry::add_alias(const std::string& alias, const std::string& name) {
  until_memory_suffices([&] {
    const std::lock_guard lock(mutex_);
    aliases_[alias] = name;
  });
  generation_.fetch_add(1, std::memory_order_release);
}

void DatabaseRegistry::remove_alias(const std::string& alias) {
  {
    const std::lock_guard lock(mutex_);
    aliases_.erase(alias);
  }
  generation_.fetch_add(1, std::memory_order_release);
}

void DatabaseRegistry::add_prefix_alias(const std::string& alias, const std::string& prefix) {
  until_memory_suffices([&] {
    const std::lock_guard lock(mutex_);
    prefix_aliases_[alias] = prefix;
    publish_aliases();
  });
  generation_.fetch_add(1, std::memory_order_release);
}

void DatabaseRegistry::remove_prefix_alias(const std::string& alias) {
  {
    const std::lock_guard lock(mutex_);
    prefix_aliases_.erase(alias);
    publish_aliases();
  }
  generation_.fetch_add(1, std::memory_order_release);
}

std::size_t DatabaseRegistry::open_store_count() const {
  std::size_t stores = 0;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [name, database] : open_) stores += database->open_store_count();
  return stores;
}

void DatabaseRegistry::close_least_recently_used(std::size_t stores_max) {
  const std::lock_guard<std::mutex> one_at_a_time(closing_mutex_);
  struct Candidate {
    std::uint64_t last_used_ms;
    std::shared_ptr<Database> database;
  };
  std::vector<Candidate> open;
  std::size_t stores = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    open.reserve(open_.size());
    for (const auto& [name, database] : open_) {
      stores += database->open_store_count();
      open.push_back({database->last_used_ms(), database});
    }
  }
  if (stores <= stores_max) return;
  std::ranges::sort(open, {}, &Candidate::last_used_ms);
  for (auto& candidate : open) {
    if (stores <= stores_max) break;
    stores -= std::min(stores, candidate.database->close_idle(candidate.last_used_ms));
    if (candidate.database->open_store_count() == 0) forget_if_unused(candidate.database);
  }
}

void DatabaseRegistry::forget_if_unused(std::shared_ptr<Database>& database) {
  const std::string name = database->name();
  std::lock_guard<std::mutex> lock(mutex_);
  const auto entry = open_.find(name);
  if (entry == open_.end() || entry->second != database) return;
  // Releases the reference, then checks whether a request still held it: the database is either destroyed or put back.
  const std::weak_ptr<Database> held_elsewhere = database;
  busy_.insert(name);
  entry->second.reset();
  database.reset();
  if (auto alive = held_elsewhere.lock()) {
    busy_.erase(name);
    entry->second = std::move(alive);
  } else {
    open_.erase(entry);
  }
}

DatabaseRegistry::Databases DatabaseRegistry::close() {
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  return std::exchange(open_, {});
}

}  // namespace octavo::partitioning
