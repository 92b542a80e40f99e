#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "base/error.h"
#include "query/search/documents/field_source.h"

namespace octavo::query::search {

/// A Mango index of type "text". All strings, numbers and booleans of a document become fields of a search index, named
/// by their path and type (`address.city:string`, `lines.[].price:number`); the field `$default` contains all strings,
/// and `$fieldnames` the names of all fields of the document.
struct TextIndexDefinition {
  std::string design_document;  ///< `_design/…`
  std::string name;
  bool partitioned = false;
  boost::json::object def;  ///< as stored: `fields`, `default_field`, …
  boost::json::value analyzer;

  /// The index in the reply of `GET /{db}/_index`.
  boost::json::object to_json() const;
  /// The part of the definition that determines the content of the index (search_kind.h).
  boost::json::object content() const;
  /// `name:type` of each field; nullopt: all.
  std::optional<std::vector<std::string>> columns() const;
  bool has_default_field() const;
};
using TextIndexDefinitionPtr = std::shared_ptr<const TextIndexDefinition>;

/// The text indexes of one design document of language "query"; skips invalid ones.
std::vector<TextIndexDefinitionPtr> text_indexes_of(std::string_view design_id, std::string_view body,
                                                    bool database_is_partitioned);

/// Checks the member `index` of a `POST /{db}/_index` with type "text" and returns the `def` to store. Errors:
/// bad_request with Mango's words.
Expected<boost::json::object> check_text_index(const boost::json::object& index);
/// The text index as a member of `indexes` in a design document.
boost::json::value stored_text_index(const boost::json::object& def);

/// Makes the field source of a text index. `def` is the member `text` of TextIndexDefinition::content().
Expected<std::unique_ptr<FieldSource>> make_text_fields(const boost::json::value& def);

}  // namespace octavo::query::search
