#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/couch/call.h"
#include "query/search/search_request.h"

namespace octavo::api::couch {

/// What a request to `_search` asks for, as dreyfus reads it.
struct SearchParameters {
  query::search::SearchRequest request;  ///< without partition, sequence and deadline
  bool has_query = false;
  std::optional<std::string> partition;  ///< from query string or body; the URL's is not here
  bool include_docs = false;
  bool stale_ok = false;
  bool is_old_grouping = false;        ///< `group_by`: the reply has the words of that time
  bool uses_facets_or_groups = false;  ///< which searches of a partition may not
};

/// Reads the query string of a GET or the JSON body of a POST. Errors: query_parse_error and bad_request in CouchDB's
/// words.
Expected<SearchParameters> read_search_parameters(const Request& request, bool database_is_partitioned);

}  // namespace octavo::api::couch
