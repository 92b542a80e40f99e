// Which name leads to which database.
#include <utility>

#include <spdlog/spdlog.h>

#include "base/memory_retry.h"
#include "partitioning/engine.h"

namespace octavo::partitioning {

std::shared_ptr<Database> Engine::find_database(std::string_view name) {
  auto database = open_database(name);
  return database ? std::move(*database) : nullptr;
}

Expected<std::shared_ptr<Database>> Engine::open_database(std::string_view name) {
  if (auto known = registry_.find(name)) return *std::move(known);
  while (true) {
    const std::string key = registry_.resolve(name);
    auto opened = [&]() -> Expected<std::shared_ptr<Database>> {
      if (auto known = registry_.find_or_begin_opening(key)) return *std::move(known);
      return load_database(key);
    }();
    // The database may have got another name meanwhile.
    const bool is_elsewhere = !opened && opened.error().code == ErrorCode::not_found && registry_.resolve(name) != key;
    if (is_elsewhere) continue;
    if (!opened && opened.error().code != ErrorCode::not_found) {
      spdlog::error("database '{}' cannot be opened: {}", name, opened.error().reason);
    }
    return opened;
  }
}

Expected<std::shared_ptr<Database>> Engine::open_incarnation(std::string_view name, std::string_view instance_tag) {
  auto opened = open_database(name);
  const bool is_found = opened && (*opened)->instance_tag() == instance_tag;
  if (is_found || (!opened && opened.error().code != ErrorCode::not_found)) return opened;
  OCTAVO_TRY(const auto record, catalog_->find_incarnation(name, instance_tag));
  if (!record) return fail(ErrorCode::not_found, "Database does not exist.");
  opened = open_database(record->name);
  if (opened && (*opened)->instance_tag() != instance_tag) {
    return fail(ErrorCode::not_found, "Database does not exist.");
  }
  return opened;
}

Expected<void> Engine::rename_database(Database& database, const std::string& name, bool keep_alias) {
  const std::lock_guard schema(schema_mutex_);
  const std::lock_guard facts(database.facts_mutex_);
  if (database.deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  const std::string before = database.name();
  if (name == before) return {};
  const storage::Renaming renaming{database.record_, name};
  std::vector<storage::FactChange> aliases;
  if (keep_alias) aliases.push_back(storage::Catalog::alias(before, database.instance_tag()));
  const auto written = catalog_->rename({&renaming, 1}, aliases);
  if (!written) {
    // A failed disk may have stored it, as it may store a creation.
    const auto stored = catalog_->find(name);
    if (!stored || !*stored || (*stored)->instance_tag != database.instance_tag()) return written;
  }
  until_memory_suffices([&] { database.renamed(name); });
  const DatabaseRegistry::Renamed renamed{before, name};
  registry_.rename({&renamed, 1});
  if (keep_alias) registry_.add_alias(before, name);
  until_memory_suffices([&] {
    updates_.record(before, DatabaseUpdates::Kind::deleted);
    updates_.record(name, DatabaseUpdates::Kind::created);
  });
  return written;
}

Expected<void> Engine::add_alias(const std::string& alias, Database& database) {
  const std::lock_guard schema(schema_mutex_);
  const std::lock_guard facts(database.facts_mutex_);
  if (database.deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  OCTAVO_TRY_VOID(catalog_->add_alias(alias, database.record_));
  registry_.add_alias(alias, database.name());
  return {};
}

Expected<void> Engine::remove_alias(const std::string& alias, Database& database) {
  const std::lock_guard schema(schema_mutex_);
  const std::lock_guard facts(database.facts_mutex_);
  OCTAVO_TRY_VOID(catalog_->erase_alias(alias, database.record_));
  registry_.remove_alias(alias);
  return {};
}

}  // namespace octavo::partitioning
