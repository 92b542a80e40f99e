#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analytics/analytics.h"
#include "analytics/follow/groups.h"
#include "api/couch/call/call.h"

namespace octavo::api::couch {

/// What keeps the analytical store of a database, whether or not it has one. Lives as long as the database is open.
/// Errors: internal.
Expected<analytics::DatabaseAnalytics*> store_of(const Call& call, partitioning::Database& database);
/// Of the request's database.
Expected<analytics::DatabaseAnalytics*> store_of(const Call& call);

/// The database, if the user may read it. Errors: not_found, unauthorized, forbidden.
Task<Expected<std::shared_ptr<partitioning::Database>>> open_readable(Call& call, const std::string& name);

/// A database of a group; null: it cannot be opened.
struct ReadableMember {
  analytics::Definition definition;
  std::shared_ptr<partitioning::Database> database;
  std::optional<Error> unopened;  ///< why
};
/// The databases of the group that has this key, if the user may read them all. Errors: unauthorized, forbidden.
Task<Expected<std::vector<ReadableMember>>> open_readable_group(Call& call, const std::string& key);
/// As analytics::find_group.
Task<Expected<analytics::Group>> find_group(Call& call, const std::string& name);

}  // namespace octavo::api::couch
