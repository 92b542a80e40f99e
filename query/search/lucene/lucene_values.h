#pragma once

namespace octavo::query::search {

/// Creates the values that Lucene++ creates lazily: it does so without a lock, and two threads that need one at the
/// same time crash the process. Call it before any function of the library that reads or writes an index or makes
/// tokens. Thread-safe; cheap after the first call. Throws what the library throws; a later call then tries again.
void make_lucene_values();

}  // namespace octavo::query::search
