// Other names of databases: renaming and aliases.
#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "analytics/follow/groups.h"
#include "api/cosmos/resources/registry.h"
#include "api/cosmos/resources/user_records.h"
#include "api/models/database_properties.h"
#include "api/models/resource_id.h"

namespace octavo::api::cosmos {

namespace {

/// Clients need no more.
constexpr std::size_t aliases_max = 100;  // of a database

std::unexpected<Error> taken(std::string_view name) {
  return fail(ErrorCode::precondition_failed,
              fmt::format("{} is the name, or an alias, of another database of the Azure Cosmos DB API.", name),
              "file_exists");
}

std::unexpected<Error> too_many_aliases() {
  return fail(ErrorCode::bad_request, fmt::format("A database has at most {} aliases: remove some.", aliases_max));
}

}  // namespace

// The database with this id, or the one that this alias leads to.
Expected<DatabaseDefinition> Registry::present(std::string_view id) const {
  OCTAVO_TRY(auto known, database(resolve(id)));
  if (known) return std::move(*known);
  return fail(ErrorCode::not_found, fmt::format("The Azure Cosmos DB API has no database {}.", id));
}

Expected<void> Registry::rename_database(std::string_view id, const std::string& name, bool keep_alias) {
  OCTAVO_TRY_VOID(check_database_id(name));
  const std::lock_guard lock(changes_);
  OCTAVO_TRY(const auto definition, present(id));
  const std::string before = definition.id;
  if (name == before) return {};
  OCTAVO_TRY(const auto other, database(name));
  if (const std::string leads_to = resolve(name); other || (leads_to != name && leads_to != before)) return taken(name);
  const auto aliases = engine_.databases().prefix_aliases_of(before + '/');
  if (keep_alias && aliases.size() >= aliases_max && std::ranges::find(aliases, name + '/') == aliases.end()) {
    return too_many_aliases();
  }
  std::vector<storage::FactChange> facts;
  facts.push_back({std::string(database_area), name, definition.to_stored()});
  facts.push_back({std::string(database_area), before, std::nullopt});
  OCTAVO_TRY(auto users, change_owner_of_users(engine_.catalog(), before, name));
  std::ranges::move(users, std::back_inserter(facts));
  // A store may be defined in a group with the next name meanwhile.
  return engine_.rename_group(
      {{before + '/', name + '/'}, keep_alias}, [](std::string_view text) { return is_container(text); },
      std::move(facts), [&] { return analytics::facts_of_renamed_group(engine_.catalog(), before, name); });
}

Expected<CosmosDatabases::Names> Registry::names_of(std::string_view id) const {
  OCTAVO_TRY(const auto definition, present(id));
  Names names{definition.id, engine_.databases().prefix_aliases_of(definition.id + '/')};
  for (std::string& alias : names.aliases) alias.pop_back();
  return names;
}

Expected<void> Registry::add_alias(std::string_view id, const std::string& alias) {
  OCTAVO_TRY_VOID(check_database_id(alias));
  const std::lock_guard lock(changes_);
  OCTAVO_TRY(const auto names, names_of(id));
  if (std::ranges::find(names.aliases, alias) != names.aliases.end()) return {};
  OCTAVO_TRY(const auto other, database(alias));
  if (other || resolve(alias) != alias) return taken(alias);
  if (names.aliases.size() >= aliases_max) return too_many_aliases();
  return engine_.add_prefix_alias(alias + '/', names.id + '/');
}

Expected<void> Registry::remove_alias(std::string_view id, const std::string& alias) {
  const std::lock_guard lock(changes_);
  OCTAVO_TRY(const auto names, names_of(id));
  if (std::ranges::find(names.aliases, alias) == names.aliases.end()) {
    return fail(ErrorCode::not_found, "The database has no such alias.");
  }
  return engine_.remove_prefix_alias(alias + '/', names.id + '/');
}

}  // namespace octavo::api::cosmos
