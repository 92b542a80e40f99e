#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <boost/json.hpp>

#include "api/http/request.h"
#include "base/error.h"

/// Reading of query parameters and JSON request bodies by CouchDB's rules, with CouchDB's error texts. Pure functions.
namespace octavo::api::couch {

/// A parameter as CouchDB reads it from either place: text from the query string, or a value from a JSON body.
class ParameterValue {
 public:
  explicit ParameterValue(std::string_view text) : text_(text) {}
  explicit ParameterValue(const boost::json::value& json) : json_(&json) {}

  bool is_json() const { return json_ != nullptr; }
  /// `true` or `false`, in any case. Error query_parse_error "Invalid boolean parameter: …".
  Expected<bool> as_boolean() const;
  /// 0 or more. Errors query_parse_error "Invalid value for integer: …", "… for positive integer: …".
  Expected<std::uint64_t> as_count() const;
  /// A JSON value: the text is parsed. Error bad_request "invalid UTF-8 JSON…".
  Expected<boost::json::value> as_json() const;

 private:
  std::string_view text_;
  const boost::json::value* json_ = nullptr;
};

/// True when the parameter is there and says exactly `true`: how CouchDB reads the flags of single documents.
bool is_true(const Request& request, std::string_view name);

/// A whole decimal number with an optional sign, nothing around it.
std::optional<std::int64_t> parse_integer(std::string_view text);

/// Error bad_content_type (415) unless the request says `Content-Type: application/json`, whatever its parameters.
Expected<void> require_json_content_type(const Request& request);

/// Errors: bad_request "invalid UTF-8 JSON…".
Expected<boost::json::value> json_body(const Request& request);
/// Errors: as json_body, and "Request body must be a JSON object".
Expected<boost::json::object> json_object_body(const Request& request);

/// Whether an `Accept` header asks for `type` (`multipart/mixed`) by name: wildcards do not count.
bool accepts_by_name(const Request& request, std::string_view type);

/// Whether `If-None-Match` names `etag` (quotes included), weak or not.
bool none_match_has(const Request& request, std::string_view etag);

/// `http://host/db/docid`: the Location of a document or, with an empty id, of a database.
std::string location_of(const Request& request, std::string_view database, std::string_view document_id);

}  // namespace octavo::api::couch
