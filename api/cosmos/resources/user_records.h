#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "storage/catalog.h"

/// Users, permissions and client encryption keys as the catalog stores them. A permission has two entries: a resource
/// token names its `_rid`, and is valid as long as that entry exists.
///
/// Format (users and permissions in the catalog):
///   area "cosmos_users", name database "/" user                            → JSON of the resource
///   area "cosmos_permissions", name database "/" user "/" permission       → JSON of the resource, without a token
///   area "cosmos_permissions_by_rid", name _rid of the permission          → name of the permission
///   area "cosmos_encryption_keys", name database "/" key                   → JSON of the resource
/// In a permission whose link has resource ids, "given" is that link, and "resource" has the names.
namespace octavo::api::cosmos {

inline constexpr std::string_view user_area = "cosmos_users";
inline constexpr std::string_view permission_area = "cosmos_permissions";
inline constexpr std::string_view encryption_key_area = "cosmos_encryption_keys";
inline constexpr std::size_t user_record_name_bytes_max = 480;  ///< of a name in these areas

/// The `_rid` in a stored resource; empty if it is damaged.
std::string rid_in(std::string_view stored);

/// Gives a permission, or a user with its permissions, another name, and stores `text` as the resource. Tokens stay
/// valid. Errors: bad_request if the name of a permission would be too long.
Expected<void> rename_permission(storage::Catalog& catalog, const std::string& from, const std::string& to,
                                 std::string_view text);
Expected<void> rename_user(storage::Catalog& catalog, const std::string& from, const std::string& to,
                           std::string_view text);

/// Deletes a permission that is stored as `text`, or a user with its permissions. Their tokens become invalid.
Expected<void> erase_permission(storage::Catalog& catalog, std::string_view name, std::string_view text);
Expected<void> erase_user(storage::Catalog& catalog, const std::string& name);
/// The changes of the catalog by which users, permissions and client encryption keys of the database `from` become
/// those of `to`, and permissions name its containers by it. `_rid`s and tokens stay. Errors: bad_request (too many, or
/// a name would be too long).
Expected<std::vector<storage::FactChange>> change_owner_of_users(storage::Catalog& catalog, const std::string& from,
                                                                 const std::string& to);
inline constexpr std::size_t moved_records_max = 20'000;

/// Deletes all users of a database, with their permissions, and its client encryption keys.
Expected<void> erase_users_of(storage::Catalog& catalog, std::string_view database);

}  // namespace octavo::api::cosmos
