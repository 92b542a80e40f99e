#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "base/error.h"

/// System resource ids (`_rid`). Clients derive the kind from the length, and the container's id from an item's.
///
/// Format (resource id, _rid):
///   rid        := base64, with "-" for "/", of one of these:
///   database   := random[4]                  the last byte is odd
///   container  := database random[4]         the top bit of its first byte is set
///   user       := database random[4]         that bit is clear
///   permission := user random[8]
///   item       := container number:u64       the low 60 bits of MurmurHash3 x64-128 of the document id
///   script     := container random[8]        the top four bits of the last byte: 8 procedure, 7 trigger, 6 function
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

/// Lengths of resource ids.
inline constexpr std::size_t database_rid_bytes = 4;
inline constexpr std::size_t container_rid_bytes = 8;
inline constexpr std::size_t user_rid_bytes = 8;
inline constexpr std::size_t inner_rid_bytes = 16;  ///< of a permission, an item, or a function

/// Convert between bytes and the base64 in replies. nullopt: not a resource id.
std::string show_rid(std::string_view bytes);
std::optional<std::string> parse_rid(std::string_view shown);

/// Whether `text` is a resource id of this length as clients write it.
bool is_resource_id(std::string_view text, std::size_t bytes);

/// A random UUID: unique, but not secret.
std::string new_uuid();

/// Checks the id of a database, container, user, script or permission: 1 to 255 characters, none of `/ \ ? #`, no space
/// at the end. Errors: bad_request.
Expected<void> check_resource_id(std::string_view id);
/// The `id` in a resource's body, as its user named it. Errors: bad_request.
Expected<std::string> id_of(const boost::json::object& body);

}  // namespace octavo::api::cosmos
