#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "query/search/lucene/lucene_directory.h"

namespace octavo::query::search {

/// Converts the current exception, thrown by Lucene++ or by code that it calls, to an error. Call it inside a catch
/// block. `last_error`: that of the index's directory.
Error current_lucene_error(const LuceneDirectory::LastError& last_error);

/// Runs `body`, which returns an Expected, and converts any exception to an error.
template <class Body>
auto guard_lucene(const LuceneDirectory::LastError& last_error, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return std::unexpected(current_lucene_error(last_error));
  }
}

}  // namespace octavo::query::search
