#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <boost/json.hpp>

#include "api/http/request.h"
#include "base/error.h"
#include "query/view/view_scan.h"

namespace octavo::api::couch {

/// The parameters of a view query, from the query string or a JSON body.
struct ViewQuery {
  enum class Update : std::uint8_t { yes, no, lazy };

  query::views::KeyRange range;
  std::optional<boost::json::array> keys;
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t skip = 0;
  std::optional<bool> reduce;
  std::optional<bool> group;
  std::optional<std::uint64_t> group_level;
  bool include_docs = false;
  std::optional<bool> conflicts;
  bool sorted = true;
  bool update_sequence = false;
  Update update = Update::yes;
  std::optional<std::string> partition;

  /// The group level of ReduceScan: 0, a level, or ReduceScan::exact.
  std::uint64_t level() const;
};

/// Reads a JSON object (a POST body, or one of `queries`); its members override those of `base`. Unknown members are
/// ignored, as in CouchDB. Errors, with CouchDB's texts: query_parse_error, bad_request.
Expected<ViewQuery> parse_view_query(const boost::json::object& members, ViewQuery base);
/// Reads the query string; its parameters override those of `base`.
Expected<ViewQuery> parse_view_query(const Request& request, ViewQuery base);

/// Checks that the query is valid for a view with or without a reduce function, and sets `reduce` to what will be done.
/// Error query_parse_error with CouchDB's text.
Expected<void> check_view_query(ViewQuery& query, bool view_has_reduce, bool view_is_partitioned);

}  // namespace octavo::api::couch
