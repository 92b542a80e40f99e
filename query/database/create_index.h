#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "base/error.h"
#include "query/index/index_definition.h"

namespace octavo::query {

/// A checked `POST /{db}/_index` request.
struct CreateIndexRequest {
  std::string design_document;  ///< with `_design/`; given, or derived from the hash of the request
  std::string name;             ///< given, or the hash
  boost::json::object index;    ///< as sent; becomes `options.def`
  std::vector<OrderedField> fields;
  boost::json::object partial_filter;  ///< normalised; empty: none
  std::optional<bool> partitioned;
  std::uint64_t w = 2;
  bool is_text = false;  ///< `"type": "text"`: `index` is then the result of search::check_text_index
};

/// Errors, with Mango's words: missing_required_key, invalid_key, invalid_index, invalid_string, invalid_index_name, …
Expected<CreateIndexRequest> parse_create_index(const boost::json::value& body);

/// Adds the index to the body of its design document (`existing` absent: a new one). nullopt: the same index exists
/// already. Errors: invalid_ddoc_lang, invalid_partitioned_option, bad_request for `partitioned: true` in a database
/// that is not partitioned.
Expected<std::optional<std::string>> add_index_to_design_document(const CreateIndexRequest& request,
                                                                  std::optional<std::string_view> existing,
                                                                  bool database_is_partitioned);

/// Removes the index `name` (nullopt: all indexes) from a design document's body. An empty result: only the language is
/// left, and the document should be deleted. Errors: not_found.
enum class IndexType : std::uint8_t { any, json, text };
Expected<std::string> remove_index_from_design_document(std::string_view body, std::optional<std::string_view> name,
                                                        IndexType type = IndexType::any);

}  // namespace octavo::query
