#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "partitioning/database.h"

namespace octavo::partitioning {

/// The names of all databases of an engine, and the databases that are open. Those least recently used are closed.
///
/// A name whose files are being opened or closed is busy: the same files must never be open twice. The mutex is not
/// held while files are used, and files are closed by a thread that waits for no other: a thread that waits for a name
/// waits only for the disk.
///
/// Thread-safe.
class DatabaseRegistry {
 public:
  using Databases = std::unordered_map<std::string, std::shared_ptr<Database>>;

  // Finding

  /// The result of Engine::open_database if it is known without waiting for the disk; nullopt: the files must be opened
  /// first. Takes no lock that threads share, except right after a creation or deletion.
  std::optional<Expected<std::shared_ptr<Database>>> find(std::string_view name) const;
  bool contains(const std::string& name) const;
  /// The databases that are open now, in no order.
  std::vector<std::shared_ptr<Database>> open_databases() const;
  /// Names in byte order.
  std::vector<std::string> names() const;
  std::size_t count() const;
  /// Changes when a name may lead to another database.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  /// The name of the database that an alias leads to; any other name itself.
  std::string resolve(std::string_view name) const;
  /// The same for a prefix of names (storage::name_prefix). Costs next to nothing while there are no such aliases.
  std::string resolve_prefix(std::string_view prefix) const;
  /// In byte order.
  std::vector<std::string> prefix_aliases_of(std::string_view prefix) const;
  /// In byte order.
  std::vector<std::string> aliases_of(const std::string& name) const;
  /// At most `count_max` names in ascending or descending byte order, starting at `name` (with it or without); without
  /// `name` from the first name in that order.
  std::vector<std::string> names_from(const std::optional<std::string>& name, bool inclusive, bool descending,
                                      std::size_t count_max) const;

  // Opening

  /// Waits while the name is busy. nullopt: the name is busy from now on, for the caller, who opens the database.
  /// Errors: not_found, overloaded (after close()).
  std::optional<Expected<std::shared_ptr<Database>>> find_or_begin_opening(const std::string& name);
  /// The files of a busy name were opened, or they are closed.
  void leave_busy(const std::string& name);
  /// A database was opened. False after close(): it is not kept, and the caller must shut it down.
  bool keep_open(const std::shared_ptr<Database>& database);

  // Changes of the catalog

  using Aliases = std::map<std::string, std::string, std::less<>>;  ///< alias → name of the database
  /// What is in the catalog, when the engine begins. `prefix_aliases`: prefix → the one that it leads to.
  void set_names(std::set<std::string> names, Aliases aliases, Aliases prefix_aliases);
  void add_name(const std::string& name);
  /// A database was created. The result is that of keep_open().
  bool add(const std::shared_ptr<Database>& database);
  /// A database was deleted, with its aliases. The caller holds it.
  void remove(const std::string& name);
  struct Renamed {
    std::string before;
    std::string name;
  };
  /// Databases got other names, in one step for those who look them up. Their aliases still lead to them. The caller
  /// holds them open. `prefix`: they are a group with a common prefix, which changed; aliases with it changed, too.
  struct RenamedPrefix : Renamed {
    bool keeps_alias = false;  ///< the prefix of before leads to the new one
  };
  void rename(std::span<const Renamed> databases, const RenamedPrefix* prefix = nullptr);
  void add_prefix_alias(const std::string& alias, const std::string& prefix);
  void remove_prefix_alias(const std::string& alias);
  void add_alias(const std::string& alias, const std::string& name);
  void remove_alias(const std::string& alias);

  // Closing

  std::size_t open_store_count() const;
  /// Closes stores until at most `stores_max` are open, or the others are in use. Databases that nothing uses are
  /// closed with their last store.
  void close_least_recently_used(std::size_t stores_max);
  /// From now on no database is kept open. Returns those that were.
  Databases close();

 private:
  std::string resolve_locked(std::string_view name) const;
  void publish_aliases();
  void forget_if_unused(std::shared_ptr<Database>& database);

  std::mutex closing_mutex_;  ///< serializes close_least_recently_used()
  mutable std::mutex mutex_;  ///< guards the members below up to closed_
  Databases open_;
  std::set<std::string> names_;
  Aliases aliases_;
  Aliases prefix_aliases_;
  std::set<std::string> busy_;
  std::condition_variable not_busy_;
  bool closed_ = false;
  /// Changes when a name may stand for a different database: the threads' caches compare it.
  std::atomic<std::uint64_t> generation_{1};
  std::atomic<bool> has_prefix_aliases_{false};
};

}  // namespace octavo::partitioning
