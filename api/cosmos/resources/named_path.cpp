#include "api/cosmos/resources/named_path.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "api/cosmos/call/authorization.h"
#include "api/cosmos/resources/user_records.h"
#include "api/models/resource_id.h"

namespace octavo::api::cosmos {

namespace {

Expected<void> name_database(const Registry& registry, ResourcePath& path) {
  const auto rid = parse_rid(path.database);
  OCTAVO_TRY(const auto known, registry.database(path.database));
  if (known || !rid) return {};
  OCTAVO_TRY(const auto all, registry.databases("", SIZE_MAX));
  const auto found = std::ranges::find(all, *rid, &DatabaseDefinition::rid);
  if (found == all.end()) return {};
  path.database = found->id;
  if (path.resource == Resource::database) path.id = found->id;
  return {};
}

Expected<void> name_container(const Registry& registry, ResourcePath& path) {
  const auto rid = parse_rid(path.container);
  OCTAVO_TRY(const auto all, registry.containers(path.database, "", SIZE_MAX));
  if (!rid || std::ranges::find(all, path.container, &ContainerDefinition::id) != all.end()) return {};
  const auto found = std::ranges::find(all, *rid, &ContainerDefinition::rid);
  if (found == all.end()) return {};
  path.container = found->id;
  if (path.resource == Resource::container) path.id = found->id;
  return {};
}

// `id` is that of a user or an encryption key in `path`.
Expected<void> name_in_database(storage::Catalog& catalog, std::string_view area, const ResourcePath& path,
                                std::string& id) {
  const std::string prefix = path.database + '/';
  OCTAVO_TRY(const auto known, catalog.fact(area, prefix + id));
  if (known) return {};
  OCTAVO_TRY(const auto all, catalog.facts(area));
  for (const auto& [name, text] : all) {
    if (!name.starts_with(prefix)) continue;
    if (rid_in(text) != id) continue;
    id = name.substr(prefix.size());
    break;
  }
  return {};
}

Expected<void> name_permission(storage::Catalog& catalog, ResourcePath& path) {
  const std::string prefix = path.database + '/' + path.owner + '/';
  OCTAVO_TRY(const auto known, catalog.fact(permission_area, prefix + path.id));
  if (known) return {};
  OCTAVO_TRY(const auto name, catalog.fact(permission_rid_area, path.id));
  if (name && name->starts_with(prefix)) path.id = name->substr(prefix.size());
  return {};
}

}  // namespace

Expected<void> name_resources(partitioning::Engine& engine, const Registry& registry, ResourcePath& path) {
  if (is_resource_id(path.database, database_rid_bytes)) OCTAVO_TRY_VOID(name_database(registry, path));
  if (is_resource_id(path.container, container_rid_bytes)) OCTAVO_TRY_VOID(name_container(registry, path));
  const bool is_permission_path = path.resource == Resource::permission;
  const bool is_key_path = path.resource == Resource::encryption_key;
  if (is_permission_path || is_key_path || path.resource == Resource::user) {
    std::string& id = is_permission_path ? path.owner : path.id;
    const std::string_view area = is_key_path ? encryption_key_area : user_area;
    if (is_resource_id(id, user_rid_bytes)) OCTAVO_TRY_VOID(name_in_database(engine.catalog(), area, path, id));
  }
  if (is_permission_path && is_resource_id(path.id, inner_rid_bytes)) {
    OCTAVO_TRY_VOID(name_permission(engine.catalog(), path));
  }
  std::string link = path.named_link();
  std::string replaced = std::exchange(path.signed_link, std::move(link));
  if (path.sent_link.empty()) path.sent_link = std::move(replaced);
  path.named_by_ids = true;
  return {};
}

}  // namespace octavo::api::cosmos
