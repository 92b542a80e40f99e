#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "api/http/request.h"
#include "base/error.h"
#include "partitioning/scan.h"

namespace octavo::api::couch {

/// What a client asks of `_all_docs` and its kin, from the query string or a JSON body.
struct AllDocsQuery {
  std::optional<boost::json::array> keys;
  std::optional<boost::json::value> start;  ///< `startkey`, met first also when descending
  std::optional<boost::json::value> end;
  bool inclusive_end = true;
  bool descending = false;
  bool include_docs = false;
  bool conflicts = false;
  bool update_sequence = false;
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t skip = 0;
};

/// Reads the query string over the defaults. Unknown parameters are ignored, as CouchDB does.
/// Errors, with its texts: query_parse_error, bad_request.
Expected<AllDocsQuery> parse_all_docs_query(const Request& request);
/// Reads a JSON object (a POST body, or one of `queries`) over `base`.
Expected<AllDocsQuery> parse_all_docs_query(const boost::json::object& members, AllDocsQuery base);

/// The ids of a subset of the documents: [low, high). Empty: no bound.
struct IdBounds {
  std::string low;
  std::string high;
};
IdBounds bounds_of_partition(std::string_view partition);
IdBounds bounds_of_prefix(std::string_view prefix);  ///< `prefix` ends with `/`

/// The range to walk, within `bounds`; nullopt when no id can be in it. Keys that are no strings sort before all ids.
std::optional<partitioning::DocumentRange> range_of(const AllDocsQuery& query, const IdBounds& bounds);

}  // namespace octavo::api::couch
