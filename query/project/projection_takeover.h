#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "partitioning/engine.h"

namespace octavo::query::project {

/// What happens to the projections that read a database when another one takes its name.

/// The projections that continue with a database that takes the place of another one.
struct ProjectionTakeover {
  std::vector<storage::FactChange> facts;
  std::vector<std::string> sources;  ///< tags of the databases whose projections are others then, in order
};

/// What becomes of the projections that read `source` when `successor` takes its place: those of the source are the
/// successor's then, and those that count its documents count the successor's. They keep their numbers in their
/// targets, and so their rows, and begin with a state of their own. `keeps_ids`: documents have the same ids in both.
/// `writer`: number of the projection in `source` that continues in the successor; 0: none does. Only reads the
/// catalog. Error conflict (copy_projections): one that cannot continue.
Expected<ProjectionTakeover> take_over_projections(storage::Catalog& catalog, const partitioning::Database& source,
                                                   const partitioning::Database& successor, bool keeps_ids,
                                                   std::uint32_t writer = 0);

/// Lets all projections in the catalog of a backup begin again when they are opened, and replace the rows that their
/// targets have of them: their states are not in it. Returns the tags of the databases that changed definitions were
/// building, which are not used then.
Expected<std::vector<std::string>> begin_projections_again(storage::Catalog& catalog);

/// Keeps all projections that read `source` from writing rows, as long as what is returned lives. Blocks while batches
/// are written.
Expected<std::vector<std::shared_ptr<void>>> hold_readers(partitioning::Database& source);
/// Lets the databases with these tags read again which projections they have: after ProjectionTakeover::facts are
/// stored. Projections of `source` end before those of others begin.
void tell_readers(partitioning::Database& source, const std::vector<std::string>& tags);

}  // namespace octavo::query::project
