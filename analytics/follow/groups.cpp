#include "analytics/follow/groups.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/ascii_case.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "query/json/parsed_document.h"

namespace octavo::analytics {

namespace {

namespace fs = std::filesystem;
using storage::Catalog;
using storage::FactChange;

constexpr std::string_view folder_name = "analytics";
constexpr std::string_view keys_area = "analytics_group_keys";
constexpr std::size_t key_bytes = 16;

std::string area_of_group(std::string_view key) {
  return "analytics_group:" + crypto::hex_identity(key);
}

Expected<Group> group_of_fact(std::string_view text) {
  const auto parsed = query::parse_json(text);
  if (!parsed || !parsed->is_object()) return fail(ErrorCode::corrupted, "The name of an analytical group is damaged.");
  return Group{query::text_member(parsed->get_object(), "name"), query::text_member(parsed->get_object(), "key")};
}

FactChange key_fact(const Group& group) {
  FactChange fact{std::string(keys_area), crypto::hex_identity(group.name), std::nullopt};
  if (group.key != group.name)
    fact.value = boost::json::serialize(boost::json::object{{"name", group.name}, {"key", group.key}});
  return fact;
}

/// The groups whose names are not their keys.
Expected<std::vector<Group>> named_groups(Catalog& catalog) {
  OCTAVO_TRY(const auto facts, catalog.facts(keys_area));
  std::vector<Group> groups;
  for (const auto& [hash, text] : facts) {
    OCTAVO_TRY(auto group, group_of_fact(text));
    groups.push_back(std::move(group));
  }
  return groups;
}

struct NotedMembers {
  std::vector<GroupMember> members;
  std::vector<std::string> gone;  ///< instance tags
};

Expected<NotedMembers> noted_members(Catalog& catalog, std::string_view key) {
  OCTAVO_TRY(const auto facts, catalog.facts(area_of_group(key)));
  NotedMembers noted;
  for (const auto& [tag, name] : facts) {
    OCTAVO_TRY(const auto database, catalog.find_incarnation(name, tag));
    OCTAVO_TRY(const auto definition, definition_of(catalog, tag));
    if (!database) {
      noted.gone.push_back(tag);
    } else if (definition && definition->group == key) {
      noted.members.push_back({*definition, database->name, tag});
    }
  }
  return noted;
}

/// The definition still has the key that its group has by its name.
Expected<void> check_group(Catalog& catalog, const partitioning::Database& database, const Definition& definition) {
  if (definition.group_name.empty()) return {};
  OCTAVO_TRY(const auto key, key_of_group(catalog, definition.group_name));
  bool is_same = key == definition.group;
  if (definition.by_container) {
    OCTAVO_TRY(const auto record, catalog.find_incarnation(database.name(), database.instance_tag()));
    is_same = is_same && record && storage::name_prefix(record->name) == definition.group_name + '/';
  }
  if (is_same) return {};
  return fail(ErrorCode::overloaded, "The group of databases is changing: try again.");
}

/// No other database of the group has the table's name.
Expected<void> check_table_name(Catalog& catalog, std::string_view tag, const Definition& definition) {
  OCTAVO_TRY(const auto others, noted_members(catalog, definition.group));
  for (const GroupMember& other : others.members) {
    // DuckDB's names have no case.
    if (other.instance_tag == tag || !equals_ignoring_case(other.definition.as, definition.as)) continue;
    OCTAVO_TRY(const auto group, name_of_group(catalog, definition.group));
    return fail(ErrorCode::conflict, fmt::format("The database {} is `{}` in the group {}: choose another `as`.",
                                                 other.database, other.definition.as, group));
  }
  return {};
}

fs::path group_folders(const partitioning::Engine& engine) {
  std::error_code ignored;
  return fs::absolute(engine.settings().data_dir, ignored).lexically_normal() / folder_name;
}

}  // namespace

Expected<std::string> key_of_group(Catalog& catalog, std::string_view name) {
  OCTAVO_TRY(const auto stored, catalog.fact(keys_area, crypto::hex_identity(name)));
  if (!stored) return std::string(name);
  OCTAVO_TRY(auto group, group_of_fact(*stored));
  return std::move(group.key);
}

Expected<std::string> name_of_group(Catalog& catalog, std::string_view key) {
  OCTAVO_TRY(const auto named, named_groups(catalog));
  const auto found = std::ranges::find(named, key, &Group::key);
  return found == named.end() ? std::string(key) : found->name;
}

Expected<Group> find_group(partitioning::Engine& engine, std::string_view name) {
  Catalog& catalog = engine.catalog();
  OCTAVO_TRY(auto key, key_of_group(catalog, name));
  OCTAVO_TRY(const auto members, members_of_group(catalog, key));
  std::string leads_to = engine.databases().resolve_prefix(std::string(name) + '/');
  leads_to.pop_back();
  if (!members.empty() || leads_to == name) return Group{std::string(name), std::move(key)};
  OCTAVO_TRY(key, key_of_group(catalog, leads_to));
  return Group{std::move(leads_to), std::move(key)};
}

Expected<std::vector<GroupMember>> members_of_group(Catalog& catalog, std::string_view key) {
  OCTAVO_TRY(auto noted, noted_members(catalog, key));
  for (const std::string& tag : noted.gone) OCTAVO_TRY_VOID(catalog.erase_fact(area_of_group(key), tag));
  return std::move(noted.members);
}

Expected<std::vector<FactChange>> facts_of_renamed_group(Catalog& catalog, std::string_view before,
                                                         std::string_view name) {
  OCTAVO_TRY(const auto key, key_of_group(catalog, before));
  OCTAVO_TRY(const auto moved, noted_members(catalog, key));
  OCTAVO_TRY(const auto key_there, key_of_group(catalog, name));
  OCTAVO_TRY(const auto others, noted_members(catalog, key_there));
  if (!moved.members.empty() && !others.members.empty()) {
    return fail(
        ErrorCode::precondition_failed,
        fmt::format("There is a group {} of analytical stores, with that of the database {}: define these in another "
                    "group first.",
                    name, others.members.front().database),
        "file_exists");
  }
  // With members there, and none here: those that come join them.
  if (!others.members.empty()) return std::vector<FactChange>();
  std::vector<FactChange> facts;
  OCTAVO_TRY(const auto named, named_groups(catalog));
  facts.push_back(key_fact({std::string(name), key}));
  // The former name is free for another group, with a key of its own.
  const bool is_taken = key == before || std::ranges::any_of(named, [&](const Group& group) {
                          return group.key == before && group.name != name;
                        });
  std::string next(before);
  if (is_taken) next = crypto::hex_encode(crypto::random_bytes(key_bytes));
  facts.push_back(key_fact({std::string(before), std::move(next)}));
  return facts;
}

Expected<void> store_definitions(partitioning::Database& database, const StoreDefinitions& definitions) {
  const Definition& definition = definitions.latest();  // both are in the same group
  Catalog& catalog = database.engine().catalog();
  const std::string& tag = database.instance_tag();
  return catalog.change_facts([&]() -> Expected<std::vector<FactChange>> {
    OCTAVO_TRY(const auto before, definition_of(catalog, tag));
    auto facts = facts_of(tag, definitions);
    if (before && !before->group.empty() && before->group != definition.group) {
      facts.push_back({area_of_group(before->group), tag, std::nullopt});
    }
    if (definition.group.empty()) return facts;
    OCTAVO_TRY_VOID(check_group(catalog, database, definition));
    OCTAVO_TRY_VOID(check_table_name(catalog, tag, definition));
    facts.push_back({area_of_group(definition.group), tag, database.name()});
    return facts;
  });
}

Expected<void> erase_definition(partitioning::Database& database) {
  Catalog& catalog = database.engine().catalog();
  OCTAVO_TRY(const auto before, definition_of(catalog, database.instance_tag()));
  OCTAVO_TRY_VOID(erase_definition(catalog, database.instance_tag()));
  if (!before || before->group.empty()) return {};
  return catalog.erase_fact(area_of_group(before->group), database.instance_tag());
}

TablePlace place_of(partitioning::Database& database, const Definition& definition) {
  std::error_code ignored;
  const std::string name = definition.id + ".duckdb";
  if (definition.group.empty()) return {fs::absolute(database.folder(), ignored) / folder_name / name, {}};
  return {group_folders(database.engine()) / crypto::hex_identity(definition.group) / name, definition.as};
}

void remove_files(const TablePlace& place) {
  const std::string name = place.file.filename().string();
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(place.file.parent_path(), ignored)) {
    if (file.path().filename().string().starts_with(name)) fs::remove_all(file.path(), ignored);
  }
}

void remove_unused_group_files(partitioning::Engine& engine) {
  const fs::path folders = group_folders(engine);
  std::error_code ignored;
  if (!fs::is_directory(folders, ignored)) return;
  const auto stores = tags_with_store(engine.catalog());
  if (!stores) return;
  std::set<std::string> used;
  for (const std::string& tag : *stores) {
    const auto definition = definition_of(engine.catalog(), tag);
    if (!definition) return;
    if (*definition) used.insert((*definition)->id);
  }
  for (const auto& folder : fs::directory_iterator(folders, ignored)) {
    for (const auto& file : fs::directory_iterator(folder.path(), ignored)) {
      const std::string name = file.path().filename().string();
      if (!used.contains(name.substr(0, name.find('.')))) fs::remove_all(file.path(), ignored);
    }
    fs::remove(folder.path(), ignored);  // if it is empty
  }
}

}  // namespace octavo::analytics
