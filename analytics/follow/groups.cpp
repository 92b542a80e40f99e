#include "analytics/follow/groups.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/ascii_case.h"
#include "base/digest.h"

namespace octavo::analytics {

namespace {

namespace fs = std::filesystem;
using storage::Catalog;

constexpr std::string_view folder_name = "analytics";

std::string area_of_group(std::string_view group) {
  return "analytics_group:" + crypto::hex_identity(group);
}

fs::path group_folders(const partitioning::Engine& engine) {
  std::error_code ignored;
  return fs::absolute(engine.settings().data_dir, ignored).lexically_normal() / folder_name;
}

}  // namespace

Expected<std::vector<GroupMember>> Groups::members(Catalog& catalog, std::string_view group) {
  const std::string area = area_of_group(group);
  OCTAVO_TRY(const auto facts, catalog.facts(area));
  std::vector<GroupMember> members;
  for (const auto& [tag, name] : facts) {
    OCTAVO_TRY(const auto database, catalog.find_incarnation(name, tag));
    OCTAVO_TRY(const auto definition, definition_of(catalog, tag));
    if (!database) {
      OCTAVO_TRY_VOID(catalog.erase_fact(area, tag));
    } else if (definition && definition->group == group) {
      members.push_back({*definition, database->name, tag});
    }
  }
  return members;
}

Expected<void> Groups::store(partitioning::Database& database, const Definition& definition) {
  Catalog& catalog = database.engine().catalog();
  const std::lock_guard lock(mutex_);
  OCTAVO_TRY(const auto before, definition_of(catalog, database.instance_tag()));
  if (!definition.group.empty()) {
    OCTAVO_TRY(const auto others, members(catalog, definition.group));
    for (const GroupMember& other : others) {
      // DuckDB's names have no case.
      if (other.instance_tag == database.instance_tag() || !equals_ignoring_case(other.definition.as, definition.as)) {
        continue;
      }
      return fail(ErrorCode::conflict, fmt::format("The database {} is `{}` in the group {}: choose another `as`.",
                                                   other.database, other.definition.as, definition.group));
    }
    // First, as members() passes over it without the definition.
    OCTAVO_TRY_VOID(catalog.set_fact(area_of_group(definition.group), database.instance_tag(), database.name()));
  }
  OCTAVO_TRY_VOID(store_definition(catalog, database.instance_tag(), definition));
  if (!before || before->group.empty() || before->group == definition.group) return {};
  return catalog.erase_fact(area_of_group(before->group), database.instance_tag());
}

Expected<void> Groups::erase(partitioning::Database& database) {
  Catalog& catalog = database.engine().catalog();
  const std::lock_guard lock(mutex_);
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
