#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "storage/lmdb/store.h"
#include "storage/lmdb/store_copy.h"

namespace octavo::storage {

/// One entry of a partition map: positions [first, last] of the hash space are stored in `folder` below the database's
/// folder.
struct PartitionMapEntry {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::string folder;                         ///< see partition_folder
  std::vector<std::uint32_t> ancestors = {};  ///< partition ids it descends from by splits and merges, oldest first
};

/// A physical partition that was split or merged, and the positions that it had.
struct FormerPartition {
  std::uint32_t partition_id = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool operator==(const FormerPartition&) const = default;
};

/// The beginning of a database's name up to its first slash, with it; empty without one. A group of databases has a
/// common prefix, such as the containers of a database of the Azure Cosmos DB API.
std::string_view name_prefix(std::string_view name);

/// A physical partition's folder is `partition-<partition id>`; an id is never reused while the database exists.
std::string partition_folder(std::uint32_t number);
/// nullopt: not the name of a partition's folder.
std::optional<std::uint32_t> partition_number(std::string_view folder);
inline constexpr std::uint32_t partition_number_max = (1U << 20) - 1;

/// How the partition key, the part of a document id before its first `:`, becomes a position in the hash space. See
/// partitioning/keys/typed_key.h. The numbers are stored and must not change.
enum class KeyScheme : std::uint8_t {
  text = 0,        ///< the text itself (CouchDB API)
  hash_v2 = 1,     ///< one typed value, Azure Cosmos DB's version-2 hash
  hash_v1 = 2,     ///< one typed value, its version-1 hash
  multi_hash = 3,  ///< several typed values; the first one decides
};

/// What the catalog knows of a database.
struct DatabaseRecord {
  std::string name;
  std::string instance_tag;  ///< 32 hexadecimal digits; also the name of its folder
  std::int64_t created_s = 0;
  bool partitioned = false;
  std::uint32_t revs_limit = 1000;
  std::vector<PartitionMapEntry> partition_map;
  KeyScheme key_scheme = KeyScheme::text;
  bool auto_index = false;      ///< every path is indexed, without an index definition
  std::string definition = {};  ///< further data of the API that created it (Cosmos: the container); or empty
  /// All former partitions, from the first merge on. Before it they follow from the ancestors: the positions of one are
  /// those of all its descendants.
  std::vector<FormerPartition> former = {};
  std::uint32_t created_q = 0;  ///< physical partitions at the creation; 0: no merge yet, so it follows from the map
  /// All sequences are above it: positions in the feed of a database whose name this one has taken over are not.
  std::uint64_t sequence_base = 0;
  /// In the positions of the change feed instead of the instance tag, if the database came from a backup: positions of
  /// before may be beyond what the backup has. Or empty.
  std::string feed_tag = {};
};

/// A change of a database's name.
struct Renaming {
  DatabaseRecord before;
  std::string name;
};

/// The new value of a named fact; nullopt: it is erased.
struct FactChange {
  std::string area;
  std::string name;
  std::optional<std::string> value;
};

/// The list of databases and the server's own durable facts (security objects, admins, secrets), in a separate
/// store. Every change is durable on return. Thread-safe; writers wait for each other. Some disk space is kept in
/// reserve, so that databases can be removed and small facts written on a full disk.
class Catalog {
 public:
  Catalog(std::filesystem::path folder, config::Durability durability, FaultInjector* faults = nullptr);

  /// Creates or opens the catalog. Errors: io_failure, corrupted.
  Expected<void> open();

  Expected<std::optional<DatabaseRecord>> find(std::string_view name);
  Expected<std::vector<DatabaseRecord>> all();
  /// The database with this instance tag, which had the name `name` once: reads all records if it has another one.
  Expected<std::optional<DatabaseRecord>> find_incarnation(std::string_view name, std::string_view instance_tag);
  /// Errors: precondition_failed if the name is that of a database, or an alias.
  Expected<void> add(const DatabaseRecord& record);
  /// Errors: not_found if this database no longer exists, even if another one has its name.
  Expected<void> replace(const DatabaseRecord& record);
  /// Gives databases other names, which may be those of each other, and changes facts, in one transaction. What is kept
  /// by name goes with the database; `facts` are changed after that. An alias of a database ends when the database gets
  /// its name. Errors: those of replace; precondition_failed, naming it, if a name is that of another database, or its
  /// alias.
  Expected<void> rename(std::span<const Renaming> renamings, std::span<const FactChange> facts);
  /// The same with the facts that `decide` returns: no other change of the catalog comes between. Errors: its own, too.
  Expected<void> rename(std::span<const Renaming> renamings, FunctionRef<Expected<std::vector<FactChange>>()> decide);
  /// Names that lead to a database beside its own one, and its instance tag.
  Expected<std::vector<std::pair<std::string, std::string>>> aliases();
  /// Errors: those of replace; precondition_failed if the name is that of a database, or an alias of another one.
  Expected<void> add_alias(std::string_view alias, const DatabaseRecord& record);
  /// Errors: not_found if it is no alias of this database.
  Expected<void> erase_alias(std::string_view alias, const DatabaseRecord& record);
  /// Removes the database, its aliases and its facts, and records its folder as garbage, in one transaction. Errors:
  /// not_found.
  Expected<void> remove(std::string_view name);
  /// Folders of removed databases whose files may still exist.
  Expected<std::vector<std::string>> garbage();
  Expected<void> forget_garbage(std::string_view folder);

  /// Named facts, by area: ("security", database name), ("admins", user), ("secrets", …).
  Expected<std::optional<std::string>> fact(std::string_view area, std::string_view name);
  Expected<std::vector<std::pair<std::string, std::string>>> facts(std::string_view area);
  Expected<void> set_fact(std::string_view area, std::string_view name, std::string_view value);
  /// Sets a fact of this database; `record.name` is the fact's name. Errors: those of replace.
  Expected<void> set_fact_of(const DatabaseRecord& record, std::string_view area, std::string_view value);
  Expected<void> erase_fact(std::string_view area, std::string_view name);
  /// Erases the fact unless `check` of its value (nullopt: none) fails, in one transaction.
  Expected<void> erase_fact(std::string_view area, std::string_view name,
                            FunctionRef<Expected<void>(std::optional<std::string_view> before)> check);
  /// Replaces the fact by the result of `change` for its present value (nullopt: none), in one transaction. On its
  /// error nothing changes. `change` may run again, so it must have no other effects; the last run's results count.
  Expected<void> change_fact(std::string_view area, std::string_view name,
                             FunctionRef<Expected<std::string>(std::optional<std::string_view> before)> change);
  /// Changes the facts that `decide` returns, in one transaction: no other change of the catalog comes between. Errors:
  /// those of `decide`.
  Expected<void> change_facts(FunctionRef<Expected<std::vector<FactChange>>()> decide);
  /// The fact that makes a name lead to the database with this instance tag.
  static FactChange alias(std::string_view name, std::string_view instance_tag);
  /// The fact that makes names that begin with `alias` lead to those that begin with `prefix`; nullopt: none.
  static FactChange prefix_alias(std::string_view alias, std::optional<std::string> prefix);
  /// Prefixes that lead to other ones, and these.
  Expected<std::vector<std::pair<std::string, std::string>>> prefix_aliases();
  /// The fact that is a database's security object; nullopt: it has none.
  static FactChange security(std::string_view name, std::optional<std::string> json);
  /// Area of facts that are removed with the database.
  static std::string area_of_database(std::string_view instance_tag) { return "of:" + std::string(instance_tag); }

  /// Copies the catalog into `folder`, as StoreBackup does.
  Expected<void> back_up(const std::filesystem::path& folder, StoreCopy::Options options);
  /// Gives every database another feed_tag, in one transaction.
  Expected<void> replace_feed_tags(FunctionRef<std::string()> new_tag);

  void close();

 private:
  /// Called with write_mutex_ held.
  Expected<void> write_names(std::span<const Renaming> renamings, std::span<const FactChange> facts);
  Expected<void> keep_reserve(std::size_t fact_bytes);
  Expected<void> find_same(const WriteTransaction& transaction, const DatabaseRecord& record) const;
  Expected<void> check_free(const WriteTransaction& transaction, std::string_view name,
                            const DatabaseRecord* user = nullptr) const;
  Expected<void> erase_facts(WriteTransaction& transaction, std::string_view area,
                             FunctionRef<bool(std::string_view value)> is_meant) const;

  std::mutex write_mutex_;
  Store store_;
};

}  // namespace octavo::storage
