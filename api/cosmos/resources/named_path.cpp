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

// `user` is the name of the user in `path`.
Expected<void> name_user(storage::Catalog& catalog, const ResourcePath& path, std::string& user) {
  const std::string prefix = path.database + '/';
  OCTAVO_TRY(const auto known, catalog.fact(user_area, prefix + user));
  if (known) return {};
  OCTAVO_TRY(const auto all, catalog.facts(user_area));
  for (const auto& [name, text] : all) {
    if (!name.starts_with(prefix)) continue;
    if (rid_in(text) != user) continue;
    user = name.substr(prefix.size());
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
  if (is_permission_path || path.resource == Resource::user) {
    std::string& user = is_permission_path ? path.owner : path.id;
    if (is_resource_id(user, user_rid_bytes)) OCTAVO_TRY_VOID(name_user(engine.catalog(), path, user));
  }
  if (is_permission_path && is_resource_id(path.id, inner_rid_bytes)) {
    OCTAVO_TRY_VOID(name_permission(engine.catalog(), path));
  }
  std::string link = path.named_link();
  path.sent_link = std::exchange(path.signed_link, std::move(link));
  return {};
}

}  // namespace octavo::api::cosmos
