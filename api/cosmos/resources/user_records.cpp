#include "api/cosmos/resources/user_records.h"

#include <boost/json.hpp>

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

namespace {

// The permission with the link of a container of `to` in place of `from`.
Expected<std::string> with_link_into(const std::string& stored, const std::string& from, const std::string& to) {
  constexpr std::string_view member = "resource";
  OCTAVO_TRY(auto value, query::parse_json(stored));
  if (!value.is_object()) return fail(ErrorCode::corrupted, "The stored permission is damaged.");
  std::string link = query::text_member(value.get_object(), member);
  const std::string start = "dbs/" + from + '/';
  if (!link.starts_with(start)) return stored;
  value.get_object()[member] = link.replace(0, start.size(), "dbs/" + to + '/');
  return boost::json::serialize(value);
}

}  // namespace

Expected<std::vector<storage::FactChange>> change_owner_of_users(storage::Catalog& catalog, const std::string& from,
                                                                 const std::string& to) {
  const std::string prefix = from + '/';
  std::vector<storage::FactChange> changes;
  const auto move = [&](std::string_view area, const std::string& name, std::string text) {
    changes.push_back({std::string(area), name, std::nullopt});
    changes.push_back({std::string(area), to + '/' + name.substr(prefix.size()), std::move(text)});
    return changes.back().name.size() <= user_record_name_bytes_max;
  };
  const auto too_long = [] {
    return fail(ErrorCode::bad_request, "The name of a user or permission would be too long.");
  };
  for (const std::string_view area : {user_area, encryption_key_area, permission_area}) {
    OCTAVO_TRY(const auto facts, catalog.facts(area));
    for (const auto& [name, text] : facts) {
      std::string next = text;
      if (area == permission_area) {
        OCTAVO_TRY(next, with_link_into(text, from, to));
      }
      if (name.starts_with(prefix)) {
        if (!move(area, name, std::move(next))) return too_long();
      } else if (next != text) {
        changes.push_back({std::string(area), name, std::move(next)});
      }
    }
  }
  OCTAVO_TRY(const auto tokens, catalog.facts(permission_rid_area));
  for (const auto& [rid, permission] : tokens) {
    if (!permission.starts_with(prefix)) continue;
    changes.push_back({std::string(permission_rid_area), rid, to + '/' + permission.substr(prefix.size())});
  }
  if (changes.size() <= 2 * moved_records_max) return changes;
  return fail(ErrorCode::bad_request,
              "The database has too many users, permissions and client encryption keys to be renamed.");
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
