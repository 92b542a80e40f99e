#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// System resource ids (`_rid`): 4 bytes of the database, 4 more of the container, 8 more of the item, shown in base64
/// with `-` for `/`. Clients derive the kind from the length, and the container's id from an item's.
namespace octavo::api::cosmos {

/// 4 random bytes. The first byte of a container's part has its top bit set, and that of a user's part does not.
std::string new_database_rid();
std::string new_container_rid(std::string_view database_rid);
std::string new_user_rid(std::string_view database_rid);
std::string new_permission_rid(std::string_view user_rid);

/// For a stored procedure, trigger or user-defined function; `kind` is Cosmos DB's number in the id: 8, 7, 6.
std::string new_script_rid(std::string_view container_rid, unsigned kind);

/// The number of the item with this document id in its container: the same for the same id, and in practice unique (60
/// bits of a hash). Clients order items by it that are equal in ORDER BY.
std::uint64_t item_number(std::string_view document_id);
/// The `_rid` of an item: the container's, then the number, lowest byte first.
std::string item_rid(std::string_view container_rid, std::string_view document_id);

/// Convert between bytes and the base64 in replies. nullopt: not a resource id.
std::string show_rid(std::string_view bytes);
std::optional<std::string> parse_rid(std::string_view shown);

/// A random UUID: unique, but not secret.
std::string new_uuid();

}  // namespace octavo::api::cosmos
