#include "api/models/container_members.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

namespace octavo::api::cosmos {

namespace {

namespace json = boost::json;

// Members of a definition, and those that replies add: clients send back what they have read.
constexpr std::array<std::string_view, 23> known_members{
    "id",
    "partitionKey",
    "indexingPolicy",
    "uniqueKeyPolicy",
    "defaultTtl",
    "_rid",
    "changeFeedPolicy",
    "computedProperties",
    "geospatialConfig",
    "conflictResolutionPolicy",
    "_ts",
    "_self",
    "_etag",
    "_docs",
    "_sprocs",
    "_triggers",
    "_udfs",
    "_conflicts",
    "analyticalStorageTtl",
    "clientEncryptionPolicy",
    "fullTextPolicy",
    "vectorEmbeddingPolicy",
    "statistics",
};

/// Policies of searches that do not exist here. Clients send them empty, too, as other servers show them.
struct SearchPolicy {
  std::string_view owner;  ///< member of the container
  std::string_view list;   ///< in the owner; searches need its entries
  std::string_view search;
};
constexpr std::array<SearchPolicy, 4> search_policies{{
    {"vectorEmbeddingPolicy", "vectorEmbeddings", "vector"},
    {"indexingPolicy", "vectorIndexes", "vector"},
    {"fullTextPolicy", "fullTextPaths", "full-text"},
    {"indexingPolicy", "fullTextIndexes", "full-text"},
}};

bool is_empty_list(const json::value* list) {
  return list == nullptr || list->is_null() || (list->is_array() && list->get_array().empty());
}

Expected<void> check_search_policies(const json::object& body) {
  for (const SearchPolicy& policy : search_policies) {
    const auto* owner = body.if_contains(policy.owner);
    if (owner == nullptr || !owner->is_object() || is_empty_list(owner->get_object().if_contains(policy.list)))
      continue;
    const std::string_view instead =
        policy.search == "full-text" ? " The CouchDB API has full-text indexes (design documents and _index)." : "";
    return fail(ErrorCode::bad_request, fmt::format("There is no {} search in SQL: leave out '{}' of '{}'.{}",
                                                    policy.search, policy.list, policy.owner, instead));
  }
  return {};
}

/// Bounds for the log, as a client may send any number of members of any length.
constexpr std::size_t members_logged_max = 10;
constexpr std::size_t name_bytes_logged_max = 64;

void warn_of_unknown_members(const json::object& body) {
  std::vector<std::string> unknown;
  for (const auto& member : body) {
    const std::string_view name = member.key();
    if (std::ranges::find(known_members, name) != known_members.end()) continue;
    if (unknown.size() == members_logged_max) break;
    unknown.push_back(fmt::format("{:?}", name.substr(0, name_bytes_logged_max)));
  }
  if (unknown.empty()) return;
  const auto* id = body.if_contains("id");
  spdlog::warn("container {}: members that do nothing here: {}", id != nullptr ? json::serialize(*id) : "without an id",
               fmt::join(unknown, ", "));
}

}  // namespace

Expected<void> check_members(const json::object& body) {
  if (const auto* view = body.if_contains("materializedViewDefinition"); view != nullptr && !view->is_null()) {
    return fail(ErrorCode::bad_request,
                "A container cannot be made a materialized view: leave out 'materializedViewDefinition', and let a "
                "projection write into it (PUT /{db}/_projection/{name} of the CouchDB API).");
  }
  OCTAVO_TRY_VOID(check_search_policies(body));
  warn_of_unknown_members(body);
  return {};
}

}  // namespace octavo::api::cosmos
