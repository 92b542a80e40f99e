#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/http/reply.h"
#include "api/http/request.h"
#include "base/error.h"

namespace octavo::api::cosmos {

/// Resources other than items: ids and JSON texts, in the order of the ids.
using ResourceList = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::size_t page_items_default = 100;
inline constexpr std::size_t page_items_max = 1000;

/// `x-ms-max-item-count`. -1 and 0 ask for as many as fit: a sorted result is computed for each of its pages, so few
/// large pages cost less. Errors: bad_request.
Expected<std::size_t> page_size_of(const Request& request);

/// The position where a page continues: our own text, opaque to clients. nullopt: from the beginning.
/// Errors: bad_request if the continuation is invalid.
///
/// Format (continuation of a feed of the Azure Cosmos DB API):
///   continuation := base64url(text)
///   text         := id                        resources other than items: the last one shown
///                 | partition id " " id       items: the last one shown; without an id, the partition begins
///                 | continuation              queries of databases, containers and other resources: that of SQL
Expected<std::optional<std::string>> continuation_of(const Request& request);
std::string to_continuation(std::string_view text);

/// `{"_rid":…,"<name>":[…],"_count":N}` of items in JSON, with its headers.
Reply feed_reply(std::string_view rid, std::string_view name, const std::vector<std::string>& items,
                 const std::optional<std::string>& continuation);
/// A page of such a feed, of resources that are all in memory: ids and JSON texts, in the order of the ids.
Expected<Reply> feed_page(const Request& request, std::string_view rid, std::string_view name, ResourceList resources);
/// The beginning and end of such a body, for items written one by one.
void begin_feed(std::string& out, std::string_view rid, std::string_view name);
void end_feed(Reply& reply, std::size_t count, const std::optional<std::string>& continuation);

}  // namespace octavo::api::cosmos
