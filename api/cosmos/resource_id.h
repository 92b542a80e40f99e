#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// System resource ids (`_rid`): 4 bytes of the database, 4 more of the container, 8 more of the item, shown in base64
/// with `-` for `/`. Clients tell the kind by the length, and cut an item's id down to its container's.
namespace octavo::api::cosmos {

/// 4 random bytes. Containers have the top bit of their first byte set, as users of a database do not.
std::string new_database_rid();
std::string new_container_rid(std::string_view database_rid);
std::string new_user_rid(std::string_view database_rid);
std::string new_permission_rid(std::string_view user_rid);

/// Of a stored procedure, trigger or user-defined function; `kind` is what Cosmos DB has in the id: 8, 7, 6.
std::string new_script_rid(std::string_view container_rid, unsigned kind);

/// The number of the item with this document id in its container: always the same for the same id, and in practice no
/// other's (60 bits of a hash). Clients order what ORDER BY has as equal by it.
std::uint64_t item_number(std::string_view document_id);
/// The id of the item: the container's, and the number from its lowest byte to its highest.
std::string item_rid(std::string_view container_rid, std::string_view document_id);

/// Bytes ↔ what is shown. nullopt: not a resource id.
std::string show_rid(std::string_view bytes);
std::optional<std::string> parse_rid(std::string_view shown);

/// A random UUID: different from all others, but not secret.
std::string new_uuid();

}  // namespace octavo::api::cosmos
