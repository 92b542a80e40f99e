// Which name leads to which database.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "base/jobs/sleep.h"
#include "base/memory_retry.h"
#include "partitioning/engine.h"

namespace octavo::partitioning {

namespace {

/// A change-over takes less than a tenth of a second, unless the disk fails.
constexpr std::chrono::seconds gate_wait_max{10};
constexpr std::chrono::milliseconds gate_look{2};
constexpr std::chrono::milliseconds catalog_retry{100};
constexpr int catalog_attempts = 50;

}  // namespace

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
      spdlog::error("database '{}' cannot be opened: {}", name, reason_of(opened.error()));
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

// After a crash in between all get other tags once more.
Expected<void> Engine::take_up_backup() {
  if (!data_folder_.is_backup()) return {};
  constexpr std::size_t tag_bytes = 16;
  OCTAVO_TRY_VOID(catalog_->replace_feed_tags([] { return crypto::hex_encode(crypto::random_bytes(tag_bytes)); }));
  return data_folder_.forget_backup();
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

Expected<std::vector<std::shared_ptr<Database>>> Engine::open_group(
    std::string_view prefix, FunctionRef<bool(std::string_view definition)> is_member) {
  constexpr std::size_t batch_names = 100;
  std::vector<std::shared_ptr<Database>> group;
  std::string from(prefix);
  while (true) {
    const auto names = registry_.names_from(from, true, false, batch_names);
    for (const std::string& name : names) {
      if (!name.starts_with(prefix)) return group;
      OCTAVO_TRY(auto database, open_database(name));
      if (!is_member(database->definition()->text)) continue;
      if (group.size() == group_databases_max) {
        return fail(ErrorCode::bad_request,
                    fmt::format("At most {} containers can get other names at once.", group_databases_max));
      }
      group.push_back(std::move(database));
    }
    if (names.size() < batch_names) return group;
    from = names.back() + '\0';
  }
}

// The changes of aliases when databases with the prefix `renaming.before` get another one. Errors: precondition_failed
// if an alias would be that of another database.
Expected<void> Engine::change_aliases_of_group(const DatabaseRegistry::RenamedPrefix& renaming,
                                               std::span<const std::shared_ptr<Database>> group,
                                               std::vector<storage::FactChange>& facts) const {
  for (const auto& database : group) {
    for (const std::string& alias : registry_.aliases_of(database->name())) {
      if (!alias.starts_with(renaming.before)) continue;
      std::string next = renaming.name + alias.substr(renaming.before.size());
      const std::string leads_to = registry_.resolve(next);
      if (leads_to != next ? leads_to != database->name() : registry_.contains(next)) {
        return fail(ErrorCode::precondition_failed, next + " is the name, or an alias, of another database.",
                    "file_exists");
      }
      auto erased = storage::Catalog::alias(alias, {});
      erased.value.reset();
      facts.push_back(std::move(erased));
      // An alias that is the new name of the database itself ends.
      if (renaming.name + database->name().substr(renaming.before.size()) == next) continue;
      facts.push_back(storage::Catalog::alias(next, database->instance_tag()));
    }
  }
  for (const std::string& alias : registry_.prefix_aliases_of(renaming.before)) {
    if (alias != renaming.name) facts.push_back(storage::Catalog::prefix_alias(alias, renaming.name));
  }
  facts.push_back(storage::Catalog::prefix_alias(renaming.name, std::nullopt));
  if (renaming.keeps_alias) facts.push_back(storage::Catalog::prefix_alias(renaming.before, renaming.name));
  return {};
}

Expected<void> Engine::rename_group(const DatabaseRegistry::RenamedPrefix& renaming,
                                    FunctionRef<bool(std::string_view definition)> is_member,
                                    std::vector<storage::FactChange> facts, DecideFacts decide) {
  OCTAVO_ASSERT(!facts.empty() && facts.front().value);
  const std::lock_guard schema(schema_mutex_);
  if (const std::string leads_to = registry_.resolve_prefix(renaming.name);
      leads_to != renaming.name && leads_to != renaming.before) {
    return fail(ErrorCode::precondition_failed, fmt::format("{} is an alias of {}.", renaming.name, leads_to),
                "file_exists");
  }
  OCTAVO_TRY(const auto group, open_group(renaming.before, is_member));
  OCTAVO_TRY_VOID(change_aliases_of_group(renaming, group, facts));
  std::vector<std::unique_lock<std::mutex>> locks;
  std::vector<storage::Renaming> renamings;
  std::vector<DatabaseRegistry::Renamed> renamed;
  for (const auto& database : group) {
    locks.emplace_back(database->facts_mutex_);
    std::string name = renaming.name + database->name().substr(renaming.before.size());
    if (name.size() > defined_name_bytes_max) {
      return fail(ErrorCode::bad_request,
                  fmt::format("{} would have more than {} bytes.", name, defined_name_bytes_max),
                  "illegal_database_name");
    }
    renamed.push_back({database->name(), name});
    renamings.push_back({database->record_, std::move(name)});
  }
  const auto written = catalog_->rename(renamings, [&]() -> Expected<std::vector<storage::FactChange>> {
    OCTAVO_TRY(auto decided, decide());
    decided.insert(decided.begin(), facts.begin(), facts.end());
    return decided;
  });
  if (!written) {
    // A failed disk may have stored it, as it may store a creation.
    const auto stored = catalog_->fact(facts.front().area, facts.front().name);
    if (!stored || *stored != facts.front().value) return written;
  }
  for (std::size_t i = 0; i < group.size(); ++i) until_memory_suffices([&] { group[i]->renamed(renamed[i].name); });
  registry_.rename(renamed, &renaming);
  for (const auto& [before, name] : renamed) {
    until_memory_suffices([&] {
      updates_.record(before, DatabaseUpdates::Kind::deleted);
      updates_.record(name, DatabaseUpdates::Kind::created);
    });
  }
  shared_budgets_.rename(renaming.before.substr(0, renaming.before.size() - 1),
                         renaming.name.substr(0, renaming.name.size() - 1));
  return written;
}

Expected<void> Engine::add_prefix_alias(const std::string& alias, const std::string& prefix) {
  const std::lock_guard schema(schema_mutex_);
  const std::string leads_to = registry_.resolve_prefix(alias);
  if (leads_to == prefix) return {};
  if (leads_to != alias) {
    return fail(ErrorCode::precondition_failed, fmt::format("{} is an alias of {}.", alias, leads_to), "file_exists");
  }
  const auto fact = storage::Catalog::prefix_alias(alias, prefix);
  OCTAVO_TRY_VOID(catalog_->set_fact(fact.area, fact.name, *fact.value));
  registry_.add_prefix_alias(alias, prefix);
  return {};
}

Expected<void> Engine::remove_prefix_alias(const std::string& alias, const std::string& prefix) {
  const std::lock_guard schema(schema_mutex_);
  if (alias == prefix || registry_.resolve_prefix(alias) != prefix) {
    return fail(ErrorCode::not_found, fmt::format("{} is no alias of {}.", alias, prefix));
  }
  const auto fact = storage::Catalog::prefix_alias(alias, std::nullopt);
  OCTAVO_TRY_VOID(catalog_->erase_fact(fact.area, fact.name));
  registry_.remove_prefix_alias(alias);
  return {};
}

DatabaseOrigin DatabaseOrigin::after(const Database& database) {
  // Room for 10^12 changes, and for some splits and merges while the documents are copied.
  constexpr storage::Sequence step = storage::Sequence{1} << 40;
  constexpr std::uint32_t id_step = 64;
  const auto ids = static_cast<std::uint32_t>(database.partition_map().partition_id_end());
  return {(ids + 2 * id_step - 1) / id_step * id_step, (database.sequence_base() / step + 1) * step};
}

Expected<void> Engine::hand_over_name(Database& database, const std::string& former_name, Database& successor,
                                      FunctionRef<Expected<std::vector<storage::FactChange>>()> decide_facts) {
  const std::lock_guard schema(schema_mutex_);
  const std::scoped_lock of_both(database.facts_mutex_, successor.facts_mutex_);
  if (database.deleted() || successor.deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  const auto& ids = successor.partition_ids();
  if (database.committed_sequence() > successor.sequence_base() ||
      database.partition_map().partition_id_end() > *std::ranges::min_element(ids)) {
    return fail(ErrorCode::conflict,
                "Positions in the database are not below those of its successor: it was split too often since that was "
                "created.",
                "positions_overlap");
  }
  const std::string name = database.name();
  const std::string successor_name = successor.name();
  const storage::Renaming renamings[] = {{database.record_, former_name}, {successor.record_, name}};
  const auto security = database.security();
  // Programs that use them must not continue with the former database.
  std::vector<std::string> aliases = registry_.aliases_of(name);
  std::erase(aliases, former_name);
  if (former_name != successor_name) aliases.push_back(successor_name);
  const auto decide = [&]() -> Expected<std::vector<storage::FactChange>> {
    OCTAVO_TRY(auto facts, decide_facts());
    facts.push_back(storage::Catalog::security(name, security ? std::optional(*security) : std::nullopt));
    for (const auto& alias : aliases) facts.push_back(storage::Catalog::alias(alias, successor.instance_tag()));
    return facts;
  };
  const auto written = catalog_->rename(renamings, decide);
  if (!written) {
    // A failed disk may have stored it. Until it is known which name counts, no write may go to either.
    auto stored = catalog_->find(name);
    for (int attempt = 0; !stored && attempt < catalog_attempts && !ending_; ++attempt) {
      std::this_thread::sleep_for(catalog_retry);
      stored = catalog_->find(name);
    }
    if (!stored || !*stored || (*stored)->instance_tag != successor.instance_tag()) return written;
    spdlog::warn("database {}: the disk failed, and has taken the new name all the same: {}", name,
                 reason_of(written.error()));
  }
  until_memory_suffices([&] { database.renamed(former_name); });
  until_memory_suffices([&] { successor.renamed(name); });
  successor.security_.store(security, std::memory_order_release);
  const DatabaseRegistry::Renamed renamed[] = {{name, former_name}, {successor_name, name}};
  registry_.rename(renamed);
  for (const auto& alias : aliases) registry_.add_alias(alias, name);
  database.replaced();
  until_memory_suffices([&] {
    updates_.record(successor_name, DatabaseUpdates::Kind::deleted);
    updates_.record(former_name, DatabaseUpdates::Kind::created);
    updates_.record(name, DatabaseUpdates::Kind::deleted);
    updates_.record(name, DatabaseUpdates::Kind::created);
  });
  return {};
}

Task<Expected<Engine::OpenForWriting>> Engine::open_for_writing(std::string_view name) {
  std::optional<std::chrono::steady_clock::time_point> until;
  while (true) {
    const std::uint64_t generation = registry_.generation();
    auto found = registry_.find(name);
    if (!found) found = co_await open_in_background(name);
    OCTAVO_CO_TRY(auto database, *std::move(found));
    if (auto pass = database->gate().enter()) {
      if (registry_.generation() == generation) co_return OpenForWriting{std::move(database), *std::move(pass)};
      continue;
    }
    const auto now = std::chrono::steady_clock::now();
    if (!until) until = now + gate_wait_max;
    if (now >= *until) co_return fail(ErrorCode::overloaded, "The database is being changed over: try again.");
    co_await sleep_for(gate_look);
  }
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
