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
constexpr std::array<std::string_view, 20> known_members{
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
    "statistics",
};

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
  // Null and 0 mean none.
  const auto* analytical = body.if_contains("analyticalStorageTtl");
  if (analytical != nullptr && !analytical->is_null() && *analytical != json::value(0)) {
    return fail(ErrorCode::bad_request,
                "There is no analytical store: leave out 'analyticalStorageTtl', or set it to 0. Items are kept for "
                "queries as long as 'defaultTtl' says.");
  }
  warn_of_unknown_members(body);
  return {};
}

}  // namespace octavo::api::cosmos
