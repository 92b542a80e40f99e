#pragma once

#include "bench/cases/cases.h"

/// The Azure Cosmos DB API beside the CouchDB API, on the same documents. Requests are signed before the measurement
/// begins: what is measured is the server, which checks each signature.
namespace octavo::bench {

void cosmos_get(Run& run);
void cosmos_upsert(Run& run);

}  // namespace octavo::bench
