#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "base/error.h"
#include "query/search/syntax/query_syntax.h"

/// Translates Mango selectors to searches of a text index, like CouchDB's mango_selector_text. A search finds at least
/// the documents that the selector matches, with the rule of Mango's text indexes that a condition only applies to
/// values of its argument's type.
namespace octavo::query::search {

/// A selector translated for a text index.
struct TextQuery {
  QueryNode query;                   ///< finds at least all documents that the selector matches
  std::vector<std::string> columns;  ///< the columns that the index must have for the query
  std::string text;                  ///< the query in Lucene's syntax, for `_explain`
};
/// Translates a selector as Mango does; hits must be tested with the selector. nullopt if a text index cannot serve it.
/// Errors: bad_request for invalid syntax in `$text`.
Expected<std::optional<TextQuery>> text_query_of(const boost::json::value& selector);

/// `selector` without its `$text` conditions, which cannot be tested on a document. nullopt if it has none.
std::optional<boost::json::value> without_text(const boost::json::value& selector);

}  // namespace octavo::query::search
