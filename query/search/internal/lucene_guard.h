#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "query/search/internal/lucene_directory.h"

namespace octavo::query::search {

/// What an exception of Lucene++, or of what it calls, means to the rest of the server. To be called inside of a catch;
/// `last_error`: of the index's directory.
Error current_lucene_error(const LuceneDirectory::LastError& last_error);

/// Runs `body`, which returns an Expected, and turns whatever it throws into an error.
template <class Body>
auto guard_lucene(const LuceneDirectory::LastError& last_error, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return std::unexpected(current_lucene_error(last_error));
  }
}

}  // namespace octavo::query::search
