// Format (trees of the catalog):
//   databases  name          → database record
//   garbage    instance tag  → name      the folder of a removed database, whose files may still exist
//   facts      area 00 name  → text      the owner of an area defines its text
//
// Format (database record):
//   database record := version:u8 instance_tag:sized created_s:u48 flags:u8 (1 partitioned, 2 auto_index)
//                      revs_limit:varint entry_count:varint (first:u64 last:u64 folder:sized)*
//                      [version 2 to 6: key_scheme:u8 definition:sized]
//                      [version 3 to 6: for each entry ancestor_count:varint ancestor:varint*]
//                      [version 4 to 6: created_q:varint former_count:varint (partition_id:varint first:u64 last:u64)*]
//                      [version 5, 6: sequence_base:varint]
//                      [version 6: feed_tag:sized]
//
// A record is written in the lowest version that can express it, so that older programs can read it.
#include "storage/catalog.h"

#include <algorithm>
#include <charconv>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "storage/lmdb/store_backup.h"

namespace octavo::storage {
namespace {

enum CatalogTree : std::size_t { databases, garbage_folders, facts_tree };
constexpr std::uint8_t plain_row_version = 1;
constexpr std::uint8_t defined_row_version = 2;
constexpr std::uint8_t split_row_version = 3;
constexpr std::uint8_t merged_row_version = 4;
constexpr std::uint8_t successor_row_version = 5;
constexpr std::uint8_t restored_row_version = 6;
constexpr std::size_t change_bytes = 1 << 16;
/// Disk space kept for changes that must be possible on a full disk: removing a database, and changing who may read
/// one. A deletion copies a few pages of each tree.
constexpr std::uint64_t reserve_bytes = 512ULL << 10;
/// Small facts may use the other half, so that many of them still leave enough for deletions.
constexpr std::uint64_t reserve_beside_facts = reserve_bytes / 2;
constexpr std::size_t small_fact_bytes = 64ULL << 10;
/// What one row of a large change may need beside its value: a part of a page, for the row of before and the new one.
constexpr std::size_t row_bytes_around = 1 << 10;

constexpr std::string_view partition_folder_prefix = "partition-";

// Format (facts of databases by their names):
//   area "security", name of the database   → JSON, the security object
//   area "aliases", alias                   → instance tag of the database that it leads to
//   area "prefix_aliases", "alias/"         → "prefix/": names that begin with the one lead to those with the other
constexpr std::string_view security_area = "security";
constexpr std::string_view aliases_area = "aliases";
constexpr std::string_view prefix_aliases_area = "prefix_aliases";

std::string encode(const DatabaseRecord& record) {
  OCTAVO_ASSERT(!record.partition_map.empty());  // a reader takes such a record for damaged
  std::string out;
  ByteWriter writer(out);
  const bool defined = record.key_scheme != KeyScheme::text || !record.definition.empty();
  const bool split =
      std::ranges::any_of(record.partition_map, [](const auto& entry) { return !entry.ancestors.empty(); });
  const bool restored = !record.feed_tag.empty();
  const bool follows = record.sequence_base != 0 || restored;
  const bool merged = !record.former.empty() || follows;
  writer.u8(restored  ? restored_row_version
            : follows ? successor_row_version
            : merged  ? merged_row_version
            : split   ? split_row_version
            : defined ? defined_row_version
                      : plain_row_version);
  writer.sized_bytes(record.instance_tag);
  writer.u48(static_cast<std::uint64_t>(record.created_s));
  writer.u8(static_cast<std::uint8_t>((record.partitioned ? 1 : 0) | (record.auto_index ? 2 : 0)));
  writer.varint(record.revs_limit);
  writer.varint(record.partition_map.size());
  for (const PartitionMapEntry& entry : record.partition_map) {
    OCTAVO_ASSERT(partition_number(entry.folder).has_value());
    writer.u64(entry.first);
    writer.u64(entry.last);
    writer.sized_bytes(entry.folder);
  }
  if (defined || split || merged) {
    writer.u8(static_cast<std::uint8_t>(record.key_scheme));
    writer.sized_bytes(record.definition);
  }
  if (split || merged) {
    for (const PartitionMapEntry& entry : record.partition_map) {
      writer.varint(entry.ancestors.size());
      for (const std::uint32_t ancestor : entry.ancestors) writer.varint(ancestor);
    }
  }
  if (merged) {
    writer.varint(record.created_q);
    writer.varint(record.former.size());
    for (const FormerPartition& former : record.former) {
      writer.varint(former.partition_id);
      writer.u64(former.first);
      writer.u64(former.last);
    }
  }
  if (follows) writer.varint(record.sequence_base);
  if (restored) writer.sized_bytes(record.feed_tag);
  return out;
}

Expected<DatabaseRecord> decode(std::string_view name, std::string_view bytes) {
  ByteReader reader(bytes);
  DatabaseRecord record;
  record.name = name;
  const std::uint8_t version = reader.u8();
  bool known = version >= plain_row_version && version <= restored_row_version;
  record.instance_tag = reader.sized_bytes();
  record.created_s = static_cast<std::int64_t>(reader.u48());
  const std::uint8_t flags = reader.u8();
  record.partitioned = (flags & 1) != 0;
  record.auto_index = (flags & 2) != 0;
  record.revs_limit = static_cast<std::uint32_t>(reader.varint());
  // A damaged count reads past the end of the record, as each entry and each ancestor is at least one byte.
  const std::uint64_t count = reader.varint();
  for (std::uint64_t i = 0; reader.ok() && i < count; ++i) {
    PartitionMapEntry entry;
    entry.first = reader.u64();
    entry.last = reader.u64();
    entry.folder = reader.sized_bytes();
    known = known && partition_number(entry.folder).has_value();
    record.partition_map.push_back(std::move(entry));
  }
  if (version >= defined_row_version) {
    const std::uint8_t scheme = reader.u8();
    known = known && scheme <= static_cast<std::uint8_t>(KeyScheme::multi_hash);
    record.key_scheme = static_cast<KeyScheme>(scheme);
    record.definition = reader.sized_bytes();
  }
  if (version >= split_row_version) {
    for (PartitionMapEntry& entry : record.partition_map) {
      const std::uint64_t ancestors = reader.varint();
      for (std::uint64_t i = 0; reader.ok() && i < ancestors; ++i) {
        entry.ancestors.push_back(static_cast<std::uint32_t>(reader.varint()));
      }
    }
  }
  if (version >= merged_row_version) {
    record.created_q = static_cast<std::uint32_t>(reader.varint());
    const std::uint64_t former = reader.varint();
    for (std::uint64_t i = 0; reader.ok() && i < former; ++i) {
      const auto partition_id = static_cast<std::uint32_t>(reader.varint());
      const std::uint64_t first = reader.u64();
      record.former.push_back({partition_id, first, reader.u64()});
    }
  }
  if (version >= successor_row_version) record.sequence_base = reader.varint();
  if (version >= restored_row_version) record.feed_tag = reader.sized_bytes();
  if (!known || !reader.ok() || record.partition_map.empty()) {
    return fail(ErrorCode::corrupted, "The catalog's record of database '" + std::string(name) + "' is damaged.");
  }
  return record;
}

std::string fact_key(std::string_view area, std::string_view name) {
  std::string key(area);
  key.push_back('\0');
  key.append(name);
  return key;
}

Store::Options store_options(std::filesystem::path folder, config::Durability durability, FaultInjector* faults) {
  Store::Options options;
  options.folder = std::move(folder);
  options.trees = {"databases", "garbage", "facts"};
  // Files of databases are created and removed according to this catalog, so it must not lose a commit.
  options.durability = durability == config::Durability::relaxed ? config::Durability::commit : durability;
  options.capacity_bytes_initial = 1 << 20;
  options.faults = faults;
  return options;
}

}  // namespace

std::string_view name_prefix(std::string_view name) {
  return name.substr(0, name.find('/') + 1);
}

std::string partition_folder(std::uint32_t number) {
  OCTAVO_ASSERT(number <= partition_number_max);
  return std::string(partition_folder_prefix) + std::to_string(number);
}

std::optional<std::uint32_t> partition_number(std::string_view folder) {
  if (!folder.starts_with(partition_folder_prefix)) return std::nullopt;
  folder.remove_prefix(partition_folder_prefix.size());
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(folder.data(), folder.data() + folder.size(), number);
  if (error != std::errc{} || end != folder.data() + folder.size() || number > partition_number_max)
    return std::nullopt;
  return number;
}

Catalog::Catalog(std::filesystem::path folder, config::Durability durability, FaultInjector* faults)
    : store_(store_options(std::move(folder), durability, faults)) {}

Expected<void> Catalog::open() {
  OCTAVO_TRY_VOID(store_.create_whole());
  static_cast<void>(store_.reserve_space(reserve_bytes));  // the disk may be full
  return {};
}
void Catalog::close() {
  store_.close_if_idle();
}

Expected<std::optional<DatabaseRecord>> Catalog::find(std::string_view name) {
  OCTAVO_TRY(const ReadTransaction transaction, store_.read());
  OCTAVO_TRY(const auto row, transaction.get(store_.tree(databases), name));
  if (!row) return std::nullopt;
  OCTAVO_TRY(DatabaseRecord record, decode(name, *row));
  return record;
}

Expected<std::vector<DatabaseRecord>> Catalog::all() {
  OCTAVO_TRY(const ReadTransaction transaction, store_.read());
  std::vector<DatabaseRecord> records;
  Cursor cursor(transaction, store_.tree(databases));
  for (auto row = cursor.first(); row; row = cursor.next()) {
    OCTAVO_TRY(DatabaseRecord record, decode(row->key, row->value));
    records.push_back(std::move(record));
  }
  return records;
}

Expected<std::optional<DatabaseRecord>> Catalog::find_incarnation(std::string_view name,
                                                                  std::string_view instance_tag) {
  OCTAVO_TRY(auto record, find(name));
  if (record && record->instance_tag == instance_tag) return record;
  OCTAVO_TRY(auto records, all());
  const auto found = std::ranges::find(records, instance_tag, &DatabaseRecord::instance_tag);
  if (found == records.end()) return std::nullopt;
  return std::move(*found);
}

// For writes that may fail on a full disk.
Expected<void> Catalog::keep_reserve(std::size_t fact_bytes) {
  auto kept = store_.reserve_space(reserve_bytes);
  return kept || fact_bytes > small_fact_bytes ? kept : store_.reserve_space(reserve_beside_facts);
}

Expected<void> Catalog::add(const DatabaseRecord& record) {
  std::lock_guard<std::mutex> lock(write_mutex_);
  OCTAVO_TRY_VOID(store_.reserve_space(reserve_bytes));
  return store_.write(change_bytes, [&](WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY_VOID(check_free(transaction, record.name));
    return transaction.put(store_.tree(databases), record.name, encode(record));
  });
}

// The name is neither that of a database nor an alias, but for one of `user`, whose name it is to be.
Expected<void> Catalog::check_free(const WriteTransaction& transaction, std::string_view name,
                                   const DatabaseRecord* user) const {
  OCTAVO_TRY(const auto taken, transaction.get(store_.tree(databases), name));
  OCTAVO_TRY(const auto alias, transaction.get(store_.tree(facts_tree), fact_key(aliases_area, name)));
  bool is_free = !taken && (!alias || (user != nullptr && *alias == user->instance_tag));
  if (const auto prefix = name_prefix(name); is_free && !prefix.empty()) {
    OCTAVO_TRY(const auto other, transaction.get(store_.tree(facts_tree), fact_key(prefix_aliases_area, prefix)));
    is_free = !other || (user != nullptr && *other == name_prefix(user->name));
  }
  if (is_free) return {};
  return fail(ErrorCode::precondition_failed,
              user == nullptr ? "The database could not be created, the file already exists."
                              : std::string(name) + " is the name, or an alias, of another database.",
              "file_exists");
}

Expected<void> Catalog::replace(const DatabaseRecord& record) {
  std::lock_guard<std::mutex> lock(write_mutex_);
  OCTAVO_TRY_VOID(store_.reserve_space(reserve_bytes));
  return store_.write(change_bytes, [&](WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY_VOID(find_same(transaction, record));
    return transaction.put(store_.tree(databases), record.name, encode(record));
  });
}

// A change of a database may come late: the database may have been deleted and its name reused.
Expected<void> Catalog::find_same(const WriteTransaction& transaction, const DatabaseRecord& record) const {
  OCTAVO_TRY(const auto row, transaction.get(store_.tree(databases), record.name));
  if (row) {
    OCTAVO_TRY(const DatabaseRecord known, decode(record.name, *row));
    if (known.instance_tag == record.instance_tag) return {};
  }
  return fail(ErrorCode::not_found, "Database does not exist.");
}

Expected<void> Catalog::remove(std::string_view name) {
  std::lock_guard<std::mutex> lock(write_mutex_);
  return store_.write(change_bytes, [&](WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY(const auto row, transaction.get(store_.tree(databases), name));
    if (!row) return fail(ErrorCode::not_found, "Database does not exist.");
    OCTAVO_TRY(const DatabaseRecord record, decode(name, *row));
    OCTAVO_TRY_VOID(transaction.put(store_.tree(garbage_folders), record.instance_tag, name));
    OCTAVO_TRY_VOID(transaction.erase(store_.tree(facts_tree), fact_key(security_area, name)));
    OCTAVO_TRY_VOID(erase_facts(transaction, area_of_database(record.instance_tag), [](auto) { return true; }));
    OCTAVO_TRY_VOID(erase_facts(transaction, aliases_area, [&](auto tag) { return tag == record.instance_tag; }));
    OCTAVO_TRY_VOID(transaction.erase(store_.tree(databases), name));
    return {};
  });
}

Expected<void> Catalog::erase_facts(WriteTransaction& transaction, std::string_view area,
                                    FunctionRef<bool(std::string_view value)> is_meant) const {
  std::vector<std::string> keys;
  {
    const std::string prefix = fact_key(area, {});
    Cursor cursor(transaction, store_.tree(facts_tree));
    for (auto fact = cursor.seek(prefix); fact && fact->key.starts_with(prefix); fact = cursor.next()) {
      if (is_meant(fact->value)) keys.emplace_back(fact->key);
    }
  }
  for (const auto& key : keys) OCTAVO_TRY_VOID(transaction.erase(store_.tree(facts_tree), key));
  return {};
}

Expected<void> Catalog::rename(std::span<const Renaming> renamings, std::span<const FactChange> facts) {
  const std::lock_guard lock(write_mutex_);
  return write_names(renamings, facts);
}

Expected<void> Catalog::rename(std::span<const Renaming> renamings,
                               FunctionRef<Expected<std::vector<FactChange>>()> decide) {
  const std::lock_guard lock(write_mutex_);
  OCTAVO_TRY(const auto facts, decide());
  return write_names(renamings, facts);
}

Expected<void> Catalog::change_facts(FunctionRef<Expected<std::vector<FactChange>>()> decide) {
  return rename({}, decide);
}

Expected<void> Catalog::write_names(std::span<const Renaming> renamings, std::span<const FactChange> facts) {
  OCTAVO_TRY_VOID(store_.reserve_space(reserve_bytes));
  std::size_t bytes = change_bytes;
  for (const Renaming& one : renamings) bytes += row_bytes_around + 2 * encode(one.before).size();
  for (const FactChange& fact : facts) bytes += row_bytes_around + 2 * (fact.value ? fact.value->size() : 0);
  return store_.write(bytes, [&](WriteTransaction& transaction) -> Expected<void> {
    const Tree facts_of_names = store_.tree(facts_tree);
    std::vector<std::optional<std::string>> security;
    for (const Renaming& one : renamings) {
      OCTAVO_TRY_VOID(find_same(transaction, one.before));
      const std::string key = fact_key(security_area, one.before.name);
      OCTAVO_TRY(const auto stored, transaction.get(facts_of_names, key));
      security.emplace_back(stored ? std::optional<std::string>(*stored) : std::nullopt);
      OCTAVO_TRY_VOID(transaction.erase(facts_of_names, key));
      OCTAVO_TRY_VOID(transaction.erase(store_.tree(databases), one.before.name));
    }
    for (std::size_t i = 0; i < renamings.size(); ++i) {
      const Renaming& one = renamings[i];
      OCTAVO_TRY_VOID(check_free(transaction, one.name, &one.before));
      DatabaseRecord record = one.before;
      record.name = one.name;
      OCTAVO_TRY_VOID(transaction.erase(facts_of_names, fact_key(aliases_area, one.name)));
      OCTAVO_TRY_VOID(transaction.put(store_.tree(databases), record.name, encode(record)));
      if (!security[i]) continue;
      OCTAVO_TRY_VOID(transaction.put(facts_of_names, fact_key(security_area, one.name), *security[i]));
    }
    for (const FactChange& fact : facts) {
      const std::string key = fact_key(fact.area, fact.name);
      if (fact.value) {
        OCTAVO_TRY_VOID(transaction.put(facts_of_names, key, *fact.value));
      } else {
        OCTAVO_TRY_VOID(transaction.erase(facts_of_names, key));
      }
    }
    return {};
  });
}

Expected<std::vector<std::pair<std::string, std::string>>> Catalog::aliases() {
  return facts(aliases_area);
}

FactChange Catalog::alias(std::string_view name, std::string_view instance_tag) {
  return {std::string(aliases_area), std::string(name), std::string(instance_tag)};
}

FactChange Catalog::prefix_alias(std::string_view alias, std::optional<std::string> prefix) {
  return {std::string(prefix_aliases_area), std::string(alias), std::move(prefix)};
}

Expected<std::vector<std::pair<std::string, std::string>>> Catalog::prefix_aliases() {
  return facts(prefix_aliases_area);
}

FactChange Catalog::security(std::string_view name, std::optional<std::string> json) {
  return {std::string(security_area), std::string(name), std::move(json)};
}

Expected<void> Catalog::add_alias(std::string_view alias, const DatabaseRecord& record) {
  const std::lock_guard lock(write_mutex_);
  OCTAVO_TRY_VOID(keep_reserve(0));
  return store_.write(change_bytes, [&](WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY_VOID(find_same(transaction, record));
    OCTAVO_TRY_VOID(check_free(transaction, alias, &record));
    return transaction.put(store_.tree(facts_tree), fact_key(aliases_area, alias), record.instance_tag);
  });
}

Expected<void> Catalog::erase_alias(std::string_view alias, const DatabaseRecord& record) {
  return erase_fact(aliases_area, alias, [&](std::optional<std::string_view> tag) -> Expected<void> {
    if (tag == record.instance_tag) return {};
    return fail(ErrorCode::not_found, "The database has no such alias.");
  });
}

Expected<std::vector<std::string>> Catalog::garbage() {
  OCTAVO_TRY(const ReadTransaction transaction, store_.read());
  std::vector<std::string> folders;
  Cursor cursor(transaction, store_.tree(garbage_folders));
  for (auto row = cursor.first(); row; row = cursor.next()) folders.emplace_back(row->key);
  return folders;
}

Expected<void> Catalog::forget_garbage(std::string_view folder) {
  std::lock_guard<std::mutex> lock(write_mutex_);
  static_cast<void>(store_.reserve_space(reserve_bytes));  // the folder's files have just freed space
  return store_.write(change_bytes, [&](WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY_VOID(transaction.erase(store_.tree(garbage_folders), folder));
    return {};
  });
}

Expected<std::optional<std::string>> Catalog::fact(std::string_view area, std::string_view name) {
  OCTAVO_TRY(const ReadTransaction transaction, store_.read());
  OCTAVO_TRY(const auto value, transaction.get(store_.tree(facts_tree), fact_key(area, name)));
  if (!value) return std::nullopt;
  return std::string(*value);
}

Expected<std::vector<std::pair<std::string, std::string>>> Catalog::facts(std::string_view area) {
  OCTAVO_TRY(const ReadTransaction transaction, store_.read());
  std::vector<std::pair<std::string, std::string>> found;
  const std::string prefix = fact_key(area, {});
  Cursor cursor(transaction, store_.tree(facts_tree));
  for (auto row = cursor.seek(prefix); row && row->key.starts_with(prefix); row = cursor.next()) {
    found.emplace_back(row->key.substr(prefix.size()), row->value);
  }
  return found;
}

Expected<void> Catalog::set_fact(std::string_view area, std::string_view name, std::string_view value) {
  std::lock_guard<std::mutex> lock(write_mutex_);
  OCTAVO_TRY_VOID(keep_reserve(value.size()));
  return store_.write(change_bytes + value.size(), [&](WriteTransaction& transaction) -> Expected<void> {
    return transaction.put(store_.tree(facts_tree), fact_key(area, name), value);
  });
}

Expected<void> Catalog::set_fact_of(const DatabaseRecord& record, std::string_view area, std::string_view value) {
  std::lock_guard<std::mutex> lock(write_mutex_);
  OCTAVO_TRY_VOID(keep_reserve(value.size()));
  return store_.write(change_bytes + value.size(), [&](WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY_VOID(find_same(transaction, record));
    return transaction.put(store_.tree(facts_tree), fact_key(area, record.name), value);
  });
}

Expected<void> Catalog::erase_fact(std::string_view area, std::string_view name) {
  return erase_fact(area, name, [](std::optional<std::string_view>) { return Expected<void>{}; });
}

Expected<void> Catalog::erase_fact(std::string_view area, std::string_view name,
                                   FunctionRef<Expected<void>(std::optional<std::string_view> before)> check) {
  std::lock_guard<std::mutex> lock(write_mutex_);
  return store_.write(change_bytes, [&](WriteTransaction& transaction) -> Expected<void> {
    const std::string key = fact_key(area, name);
    OCTAVO_TRY(const auto before, transaction.get(store_.tree(facts_tree), key));
    OCTAVO_TRY_VOID(check(before));
    OCTAVO_TRY_VOID(transaction.erase(store_.tree(facts_tree), key));
    return {};
  });
}

Expected<void> Catalog::change_fact(std::string_view area, std::string_view name,
                                    FunctionRef<Expected<std::string>(std::optional<std::string_view> before)> change) {
  std::lock_guard<std::mutex> lock(write_mutex_);
  OCTAVO_TRY_VOID(keep_reserve(small_fact_bytes));
  return store_.write(change_bytes, [&](WriteTransaction& transaction) -> Expected<void> {
    const std::string key = fact_key(area, name);
    OCTAVO_TRY(const auto before, transaction.get(store_.tree(facts_tree), key));
    OCTAVO_TRY(const std::string after, change(before));
    return transaction.put(store_.tree(facts_tree), key, after);
  });
}

Expected<void> Catalog::back_up(const std::filesystem::path& folder, StoreCopy::Options options) {
  return StoreBackup(store_, folder, std::move(options)).run();
}

Expected<void> Catalog::replace_feed_tags(FunctionRef<std::string()> new_tag) {
  const std::lock_guard lock(write_mutex_);
  OCTAVO_TRY(std::vector<DatabaseRecord> records, all());
  return store_.write(change_bytes + records.size() * row_bytes_around,
                      [&](WriteTransaction& transaction) -> Expected<void> {
                        for (DatabaseRecord& record : records) {
                          record.feed_tag = new_tag();
                          OCTAVO_TRY_VOID(transaction.put(store_.tree(databases), record.name, encode(record)));
                        }
                        return {};
                      });
}

}  // namespace octavo::storage
