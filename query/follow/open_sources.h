#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "partitioning/engine.h"

namespace octavo::query {

/// Opens databases on a worker, so that what follows them continues after a restart. `list`: their names. `what` is for
/// the log: "databases with projections".
void open_sources(partitioning::Engine& engine, std::string_view what,
                  Expected<std::vector<std::string>> (*list)(storage::Catalog&));

}  // namespace octavo::query
