#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "base/error.h"
#include "query/search/field_source.h"
#include "query/search/query_syntax.h"
#include "query/selector/selector.h"

namespace octavo::query::search {

/// A Mango index of type "text": all strings, numbers and booleans of a document as fields of a search index, by the
/// path to them and their type (`address.city:string`, `lines.[].price:number`), and all strings together as
/// `$default`. The field `$fieldnames` has the names of all fields of a document.
struct TextIndexDefinition {
  std::string design_document;  ///< `_design/…`
  std::string name;
  bool partitioned = false;
  boost::json::object def;  ///< as stored: `fields`, `default_field`, …
  boost::json::value analyzer;

  /// As in `GET /{db}/_index`.
  boost::json::object to_json() const;
  /// What decides what the index holds (search_kind.h).
  boost::json::object content() const;
  /// `name:type` of each field; nullopt: all.
  std::optional<std::vector<std::string>> columns() const;
  bool has_default_field() const;
};
using TextIndexDefinitionPtr = std::shared_ptr<const TextIndexDefinition>;

/// The text indexes of one design document of language "query"; those that make no sense are left out.
std::vector<TextIndexDefinitionPtr> text_indexes_of(std::string_view design_id, std::string_view body,
                                                    bool database_is_partitioned);

/// `index` of a `POST /{db}/_index` with type "text", checked: the `def` to store. Errors: bad_request in Mango's
/// words.
Expected<boost::json::object> check_text_index(const boost::json::object& index);
/// The member of `indexes` that a design document gets for it.
boost::json::value stored_text_index(const boost::json::object& def);

/// Reads the fields of documents for such an index, from TextIndexDefinition::content()'s member `text`.
Expected<std::unique_ptr<FieldSource>> make_text_fields(const boost::json::value& def);

/// A selector for a text index.
struct TextQuery {
  QueryNode query;                   ///< finds at least all that the selector matches
  std::vector<std::string> columns;  ///< what the index must have for that
  std::string text;                  ///< in Lucene's syntax, for `_explain`
};
/// Translates as Mango does; what is found has to be tested with the selector. nullopt: a text index cannot serve it.
/// Errors: bad_request for `$text` in bad syntax.
Expected<std::optional<TextQuery>> text_query_of(const boost::json::value& selector);

/// `selector` with conditions `$text` taken out, as they are no test of a document. nullopt: there are none.
std::optional<boost::json::value> without_text(const boost::json::value& selector);

}  // namespace octavo::query::search
