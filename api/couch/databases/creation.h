#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/function_ref.h"
#include "partitioning/engine.h"

namespace octavo::api::couch {

/// The value of a parameter of the creation of a database, as text; nullopt: it is not given.
using CreationParameters = FunctionRef<std::optional<std::string_view>(std::string_view name)>;

/// The parameters that there are.
inline constexpr std::array<std::string_view, 8> creation_parameters{
    "partitioned", "q", "n", "ttl", "throughput", "all_versions", "tombstone_retention", "auto_index"};

/// How a database of this name is created: `PUT /{db}?partitioned=true&q=2`. Errors: bad_request.
Expected<partitioning::CreateDatabaseOptions> options_of_creation(CreationParameters parameters, std::string_view name,
                                                                  std::uint32_t q_max);

}  // namespace octavo::api::couch
