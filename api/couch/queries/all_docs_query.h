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

/// The parameters of `_all_docs` and similar endpoints, from the query string or a JSON body.
struct AllDocsQuery {
  std::optional<boost::json::array> keys;
  std::optional<boost::json::value> start;  ///< `startkey`: comes first, also if descending
  std::optional<boost::json::value> end;
  bool inclusive_end = true;
  bool descending = false;
  bool include_docs = false;
  bool conflicts = false;
  bool update_sequence = false;
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t skip = 0;
};

/// Reads the query string; its parameters override those of `base`. Unknown parameters are ignored, as in CouchDB.
/// Errors, with CouchDB's texts: query_parse_error, bad_request.
Expected<AllDocsQuery> parse_all_docs_query(const Request& request, AllDocsQuery base = {});
/// Reads a JSON object (a POST body, or one of `queries`); its members override those of `base`.
Expected<AllDocsQuery> parse_all_docs_query(const boost::json::object& members, AllDocsQuery base);

/// The ids of a subset of the documents: [low, high). An empty string means no bound.
struct IdBounds {
  std::string low;
  std::string high;
};
IdBounds bounds_of_partition(std::string_view partition);
IdBounds bounds_of_prefix(std::string_view prefix);  ///< `prefix` ends with `/`

/// The range to walk, within `bounds`; nullopt if no id can be in it. Keys that are not strings sort before all ids.
std::optional<partitioning::DocumentRange> range_of(const AllDocsQuery& query, const IdBounds& bounds);

}  // namespace octavo::api::couch
