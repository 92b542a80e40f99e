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
#include "query/planner/aggregation.h"
#include "query/selector/selector.h"

namespace octavo::query {

/// Limits on what one `_find` may ask for.
inline constexpr std::size_t find_fields_max = 1'000;
inline constexpr std::size_t find_bookmark_bytes_max = 64 * 1024;

/// A `_find` or `_explain` request, checked. Immutable once parsed.
struct FindRequest {
  boost::json::value selector_json;  ///< as sent
  Selector selector;
  /// Set when the selector has `$text`: as sent, while `selector` is what can be tested on a document. Only a text
  /// index answers it (search/text_find.h).
  std::optional<boost::json::value> text_selector;
  /// What else is known when strings are compared by their bytes (a query in SQL): of use for indexes in that order. It
  /// has the alternatives of `selector`, in the same order.
  std::optional<Selector> ordinal;
  bool sort_is_ordinal = false;         ///< `sort` is by bytes: indexes in the collation's order do not serve it
  bool sort_keeps_missing = false;      ///< documents without a field of the sort are results too, before the others
  bool matches_nothing = false;         ///< `{"$or":[]}` and its like, alone: no query is run, as in CouchDB
  std::vector<std::string> use_index;   ///< none, [ddoc] or [ddoc, name]; ddoc as sent, with or without `_design/`
  std::optional<std::string> bookmark;  ///< nullopt: from the start
  std::uint64_t limit = 25;
  std::uint64_t skip = 0;
  std::vector<OrderedField>
      sort;  ///< of documents; an aggregation has its own order, limit and skip count its rows then
  std::vector<FieldPath> fields;  ///< none: whole documents. With an aggregation: what it needs of them
  std::optional<Aggregation> aggregation;
  std::string partition;  ///< empty: the whole database
  std::uint64_t r = 1;
  bool conflicts = false;
  bool stale_ok = false;
  bool update = true;  ///< false also by `stale`
  bool stable = false;
  bool execution_stats = false;
  bool allow_fallback = true;

  /// Matches that are needed at most, from the first on.
  std::uint64_t matches_needed() const;
  /// The options as `_explain` shows them.
  boost::json::object options_to_json() const;
};

/// Parses a request body. `partition` is the one in the URL, empty for the whole database.
/// Errors: bad_request with Mango's words (missing_required_key, invalid_key, invalid_boolean, …) or those of the
/// selector.
Expected<FindRequest> parse_find_request(std::string_view body, std::string_view partition,
                                         std::uint64_t default_limit);

}  // namespace octavo::query
