#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "base/error.h"
#include "query/index/index_definition.h"
#include "query/json/field_path.h"
#include "query/mango/aggregation.h"
#include "query/plan/plan_request.h"
#include "query/selector/selector.h"

namespace octavo::query {

/// Limits on one `_find` request.
inline constexpr std::size_t find_fields_max = 1'000;
inline constexpr std::size_t find_bookmark_bytes_max = 64 * 1024;

/// A validated `_find` or `_explain` request. Immutable once parsed.
struct FindRequest {
  Selector selector;
  /// Set if the selector has `$text`: the selector as sent, while `selector` has the conditions that can be tested on a
  /// document. Only a text index can answer it (mango/text_find.h).
  std::optional<boost::json::value> text_selector;
  bool matches_nothing = false;         ///< the selector is `{"$or":[]}` or similar: no query is run, as in CouchDB
  std::vector<std::string> use_index;   ///< empty, [ddoc] or [ddoc, name]; ddoc as sent, with or without `_design/`
  std::optional<std::string> bookmark;  ///< nullopt: from the start
  std::uint64_t limit = 25;
  std::uint64_t skip = 0;
  /// Order of the documents. Empty with an aggregation: it has its own order, and `limit` and `skip` count its rows.
  std::vector<OrderedField> sort;
  std::vector<FieldPath> fields;  ///< empty: whole documents. With an aggregation: the fields that it needs
  std::optional<Aggregation> aggregation;
  std::string partition;  ///< empty: the whole database
  std::uint64_t r = 1;
  bool conflicts = false;
  bool stale_ok = false;
  bool update = true;  ///< `stale: ok` sets it to false, too
  bool stable = false;
  bool execution_stats = false;
  bool allow_fallback = true;
  bool strict = false;  ///< follow CouchDB's rules where this server does more (PlanRequest::strict)

  /// Maximum number of matches that are needed, counted from the first: skip + limit, or unlimited for an aggregation.
  std::uint64_t matches_needed() const;
  /// What the planner needs to know of it.
  PlanRequest plan_request() const;
};

/// Parses a request body. `partition` is the one in the URL, empty for the whole database. Errors: bad_request with
/// Mango's error names (missing_required_key, invalid_key, invalid_boolean, …) or the errors of the selector.
Expected<FindRequest> parse_find_request(std::string_view body, std::string_view partition,
                                         std::uint64_t default_limit);

/// The request under CouchDB's rules. Error unsupported_mixed_sort if its fields are sorted in different directions.
Expected<FindRequest> with_strict_rules(FindRequest request);

/// The error for a sort that needs an index: CouchDB's text, and the index to create.
Error missing_sort_index(const FindRequest& request, bool database_is_partitioned);

}  // namespace octavo::query
