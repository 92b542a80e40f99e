#include "api/cosmos/resources/user_records.h"

#include "api/cosmos/call/authorization.h"
#include "query/json/parsed_document.h"

namespace octavo::api::cosmos {

std::string rid_in(std::string_view stored) {
  const auto value = query::parse_json(stored);
  return value && value->is_object() ? query::text_member(value->get_object(), "_rid") : std::string();
}

// In this order, a crash leaves both names with one `_rid`, so the change can be repeated.
Expected<void> rename_permission(storage::Catalog& catalog, const std::string& from, const std::string& to,
                                 std::string_view text) {
  OCTAVO_TRY_VOID(catalog.set_fact(permission_area, to, text));
  OCTAVO_TRY_VOID(catalog.set_fact(permission_rid_area, rid_in(text), to));
  return catalog.erase_fact(permission_area, from);
}

Expected<void> rename_user(storage::Catalog& catalog, const std::string& from, const std::string& to,
                           std::string_view text) {
  const std::string prefix = from + '/';
  OCTAVO_TRY(const auto permissions, catalog.facts(permission_area));
  for (const auto& [name, permission] : permissions) {
    if (name.starts_with(prefix) && to.size() + name.size() - from.size() > user_record_name_bytes_max) {
      return fail(ErrorCode::bad_request, "The input name is too long.");
    }
  }
  OCTAVO_TRY_VOID(catalog.set_fact(user_area, to, text));
  for (const auto& [name, permission] : permissions) {
    if (!name.starts_with(prefix)) continue;
    OCTAVO_TRY_VOID(rename_permission(catalog, name, to + '/' + name.substr(prefix.size()), permission));
  }
  return catalog.erase_fact(user_area, from);
}

Expected<void> erase_permission(storage::Catalog& catalog, std::string_view name, std::string_view text) {
  OCTAVO_TRY(const auto value, query::parse_json(text));
  // The entry for the token first: the token must not outlive its permission.
  OCTAVO_TRY_VOID(catalog.erase_fact(permission_rid_area, query::text_member(value.get_object(), "_rid")));
  return catalog.erase_fact(permission_area, name);
}

Expected<void> erase_user(storage::Catalog& catalog, const std::string& name) {
  OCTAVO_TRY(const auto permissions, catalog.facts(permission_area));
  for (const auto& [permission, text] : permissions) {
    if (permission.starts_with(name + '/')) OCTAVO_TRY_VOID(erase_permission(catalog, permission, text));
  }
  return catalog.erase_fact(user_area, name);
}

Expected<void> erase_users_of(storage::Catalog& catalog, std::string_view database) {
  const std::string prefix = std::string(database) + '/';
  // Tokens first: they must not give access to a later database of this name.
  OCTAVO_TRY(const auto tokens, catalog.facts(permission_rid_area));
  for (const auto& [rid, permission] : tokens) {
    if (permission.starts_with(prefix)) OCTAVO_TRY_VOID(catalog.erase_fact(permission_rid_area, rid));
  }
  for (const std::string_view area : {user_area, permission_area, encryption_key_area}) {
    OCTAVO_TRY(const auto facts, catalog.facts(area));
    for (const auto& [name, text] : facts) {
      if (name.starts_with(prefix)) OCTAVO_TRY_VOID(catalog.erase_fact(area, name));
    }
  }
  return {};
}

}  // namespace octavo::api::cosmos
