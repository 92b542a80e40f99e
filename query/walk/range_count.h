#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "partitioning/database.h"
#include "query/plan/plan.h"

namespace octavo::query {

/// Number of physical partitions with the documents that a plan reads by their ids; nullopt if it reads anything else.
std::optional<std::size_t> ranges_of_points(const partitioning::Database& database, std::span<const Branch> branches);

}  // namespace octavo::query
