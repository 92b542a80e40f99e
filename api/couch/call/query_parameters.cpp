#include "api/couch/call/query_parameters.h"

#include <charconv>
#include <string>

#include "base/ascii_case.h"
#include "base/encoding.h"
#include "query/json/parsed_document.h"

namespace octavo::api::couch {

namespace {

constexpr std::string_view json_type = "application/json";

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

std::string shown(std::string_view text, const boost::json::value* json) {
  return json ? query::readable_json(*json) : quoted(text);
}

// Calls `use` with each element of a comma-separated list until it returns true. Returns whether it did.
template <class Use>
bool any_in_list(std::string_view list, Use use) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (use(trim_blanks(list.substr(0, comma)))) return true;
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
  return false;
}

// Encodes an id as CouchDB does in Location: letters, digits and `_.-:` are unchanged.
void append_url_encoded(std::string& out, std::string_view text) {
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                       c == '.' || c == '-' || c == ':';
    if (plain) {
      out += c;
    } else {
      crypto::append_percent_encoded(out, c);
    }
  }
}

}  // namespace

Expected<bool> ParameterValue::as_boolean() const {
  if (json_ && json_->is_bool()) return json_->get_bool();
  const auto text = json_ && json_->is_string() ? std::string_view(json_->get_string()) : text_;
  if (equals_ignoring_case(text, "true")) return true;
  if (equals_ignoring_case(text, "false")) return false;
  return fail(ErrorCode::bad_request, "Invalid boolean parameter: " + shown(text_, json_), "query_parse_error");
}

Expected<std::uint64_t> ParameterValue::as_count() const {
  std::optional<std::int64_t> number;
  if (json_ && json_->is_int64()) {
    number = json_->get_int64();
  } else if (json_ && json_->is_string()) {
    number = parse_integer(json_->get_string());
  } else if (!json_) {
    number = parse_integer(text_);
  }
  if (!number) {
    return fail(ErrorCode::bad_request, "Invalid value for integer: " + shown(text_, json_), "query_parse_error");
  }
  if (*number < 0) {
    return fail(ErrorCode::bad_request, "Invalid value for positive integer: " + shown(text_, json_),
                "query_parse_error");
  }
  return static_cast<std::uint64_t>(*number);
}

Expected<boost::json::value> ParameterValue::as_json() const {
  if (json_) return *json_;
  return query::parse_json(text_);
}

bool is_true(const Request& request, std::string_view name) {
  const auto value = request.parameter(name);
  return value && *value == "true";
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t number = 0;
  const auto* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (text.empty() || result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return number;
}

Expected<std::size_t> wanted_count(const Request& request, std::string_view name, std::size_t otherwise,
                                   std::size_t max) {
  const auto text = request.parameter(name);
  if (!text) return otherwise;
  const auto number = parse_integer(*text);
  if (!number || *number < 0 || static_cast<std::uint64_t>(*number) > max) {
    return fail(ErrorCode::bad_request,
                "`" + std::string(name) + "` must be a whole number from 0 to " + std::to_string(max) + ".");
  }
  return static_cast<std::size_t>(*number);
}

Expected<void> require_json_content_type(const Request& request) {
  const auto header = request.header("Content-Type");
  if (header && equals_ignoring_case(trim_blanks(header->substr(0, header->find(';'))), json_type)) return {};
  // Without the option, curl names a form.
  return fail(ErrorCode::bad_request,
              "Content-Type must be application/json; with curl: -H 'Content-Type: application/json'",
              "bad_content_type");
}

Expected<boost::json::value> json_body(const Request& request) {
  return query::parse_json(request.body);
}

Expected<boost::json::object> json_object_body(const Request& request) {
  OCTAVO_TRY(auto value, json_body(request));
  if (!value.is_object()) return fail(ErrorCode::bad_request, "Request body must be a JSON object");
  return std::move(value.get_object());
}

bool accepts_by_name(const Request& request, std::string_view type) {
  const auto accept = request.header("Accept");
  return accept && any_in_list(*accept, [&](std::string_view entry) {
           return equals_ignoring_case(trim_blanks(entry.substr(0, entry.find(';'))), type);
         });
}

bool accepts(const Request& request, std::string_view type) {
  if (!request.header("Accept")) return true;
  const std::string subtypes = std::string(type.substr(0, type.find('/'))) + "/*";
  return accepts_by_name(request, type) || accepts_by_name(request, subtypes) || accepts_by_name(request, "*/*");
}

bool none_match_has(const Request& request, std::string_view etag) {
  const auto header = request.header("If-None-Match");
  return header && any_in_list(*header, [&](std::string_view entry) {
           if (entry.starts_with("W/")) entry.remove_prefix(2);
           return entry == etag;
         });
}

std::string location_of(const Request& request, std::string_view database, std::string_view document_id) {
  std::string location = base_url(request);
  location += '/';
  append_url_encoded(location, database);
  if (!document_id.empty()) {
    location += '/';
    append_url_encoded(location, document_id);
  }
  return location;
}

}  // namespace octavo::api::couch
