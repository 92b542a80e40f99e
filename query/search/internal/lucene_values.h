#pragma once

namespace octavo::query::search {

/// Makes the values that Lucene++ makes when they are first asked for: it does so without a lock, and two threads that
/// ask at once end the process. Before anything else of the library that reads or writes an index or makes tokens.
/// Cheap when they are there. From any thread. Throws what the library throws; they are made by a later call then.
void make_lucene_values();

}  // namespace octavo::query::search
