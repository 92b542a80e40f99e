#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <boost/json.hpp>

#include "api/http/request.h"
#include "base/error.h"

/// Reads query parameters and JSON request bodies by CouchDB's rules, with CouchDB's error texts. Pure functions.
namespace octavo::api::couch {

/// A parameter: text from the query string, or a value from a JSON body.
class ParameterValue {
 public:
  explicit ParameterValue(std::string_view text) : text_(text) {}
  explicit ParameterValue(const boost::json::value& json) : json_(&json) {}

  bool is_json() const { return json_ != nullptr; }
  /// `true` or `false`, in any case. Error query_parse_error "Invalid boolean parameter: …".
  Expected<bool> as_boolean() const;
  /// An integer of 0 or more. Errors query_parse_error "Invalid value for integer: …", "… for positive integer: …".
  Expected<std::uint64_t> as_count() const;
  /// A JSON value: the text is parsed. Error bad_request "invalid UTF-8 JSON…".
  Expected<boost::json::value> as_json() const;

 private:
  std::string_view text_;
  const boost::json::value* json_ = nullptr;
};

/// True if the parameter is present and exactly `true`, as CouchDB reads the flags of single documents.
bool is_true(const Request& request, std::string_view name);

/// Parses a decimal integer with an optional sign. nullopt if there is anything before or after it.
std::optional<std::int64_t> parse_integer(std::string_view text);

/// How many rows of a report are wanted; `otherwise` without the parameter. Error bad_request: it is no whole number
/// from 0 to `max`.
Expected<std::size_t> wanted_count(const Request& request, std::string_view name, std::size_t otherwise,
                                   std::size_t max);

/// Error bad_content_type (415) unless the request has `Content-Type: application/json`, with any parameters.
Expected<void> require_json_content_type(const Request& request);

/// Errors: bad_request "invalid UTF-8 JSON…".
Expected<boost::json::value> json_body(const Request& request);
/// Errors: those of json_body, and "Request body must be a JSON object".
Expected<boost::json::object> json_object_body(const Request& request);

/// Whether an `Accept` header contains `type` (such as `multipart/mixed`) by name; wildcards do not count.
bool accepts_by_name(const Request& request, std::string_view type);
/// Whether the client takes `type`: `Accept` contains it or a wildcard for it, or the request has no `Accept`.
bool accepts(const Request& request, std::string_view type);

/// Whether `If-None-Match` names `etag` (quotes included), weak or not.
bool none_match_has(const Request& request, std::string_view etag);

/// `http://host/db/docid`: the Location of a document, or of a database if the id is empty. Behind a proxy, the headers
/// `X-Forwarded-Host`, `X-Forwarded-Proto` and `X-Forwarded-Ssl` tell scheme and host.
std::string location_of(const Request& request, std::string_view database, std::string_view document_id);

}  // namespace octavo::api::couch
