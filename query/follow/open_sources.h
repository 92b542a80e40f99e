#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "partitioning/engine.h"

namespace octavo::query {

/// The names of the databases that are noted in an area of facts by their instance tags: a fact's name, or its value if
/// it has one. Forgets those that are gone, or of which `is_needed` is false.
Expected<std::vector<std::string>> noted_sources(storage::Catalog& catalog, std::string_view area,
                                                 FunctionRef<Expected<bool>(std::string_view tag)> is_needed);

/// Opens databases on a worker, so that what follows them continues after a restart. `list`: their names. `what` is for
/// the log: "databases with projections".
void open_sources(partitioning::Engine& engine, std::string_view what,
                  Expected<std::vector<std::string>> (*list)(storage::Catalog&));

}  // namespace octavo::query
