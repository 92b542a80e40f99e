#pragma once

#include <string>
#include <vector>

#include "partitioning/engine.h"

namespace octavo::query::copy {

/// The projections that continue with a database that takes the place of another one.
struct ProjectionTakeover {
  std::vector<storage::FactChange> facts;
  std::vector<std::string> sources;  ///< tags of the databases whose projections are others then, in order
};

/// What becomes of the projections that read `source` when `successor` takes its place: those of the source are the
/// successor's then, and those that count its documents count the successor's. They keep their numbers in their
/// targets, and so their rows, and begin with a state of their own. `keeps_ids`: documents have the same ids in both.
/// Only reads the catalog. Error conflict (copy_projections): one that cannot continue.
Expected<ProjectionTakeover> take_over_projections(storage::Catalog& catalog, const partitioning::Database& source,
                                                   const partitioning::Database& successor, bool keeps_ids);

/// Tags of the databases with projections that read this one, in order.
Expected<std::vector<std::string>> sources_of_readers(storage::Catalog& catalog, const partitioning::Database& source);

}  // namespace octavo::query::copy
