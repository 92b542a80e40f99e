#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/couch/call/call.h"
#include "query/search/syntax/search_request.h"

namespace octavo::api::couch {

/// The parameters of `_search`, as CouchDB's search module dreyfus reads them.
struct SearchParameters {
  query::search::SearchRequest request;  ///< without partition, sequence and deadline
  bool has_query = false;
  std::optional<std::string> partition;  ///< from the query string or body, not from the path
  bool include_docs = false;
  bool stale_ok = false;
  bool is_old_grouping = false;        ///< `group_by`: the reply has the older member names
  bool uses_facets_or_groups = false;  ///< not allowed in searches of a partition
};

/// Reads the query string of a GET or the JSON body of a POST. Errors: query_parse_error and bad_request with CouchDB's
/// texts.
Expected<SearchParameters> read_search_parameters(const Request& request, bool database_is_partitioned);

}  // namespace octavo::api::couch
