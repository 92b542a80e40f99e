#include "api/couch/documents/function_request.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "api/couch/auth/authenticator.h"
#include "api/couch/auth/security.h"
#include "api/couch/call/database_info.h"
#include "api/couch/server/server.h"
#include "base/ascii_case.h"
#include "base/json_writer.h"
#include "query/json/normalize.h"

namespace octavo::api::couch {

namespace {

using TextPairs = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view session_cookie = "AuthSession";

void append_shown(std::string& out, std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return append_json_string(out, text);
  std::string ascii(text);
  std::ranges::replace_if(ascii, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  append_json_string(out, ascii);
}

void append_member(std::string& out, std::string_view name, std::string_view text) {
  append_json_key(out, name);
  append_shown(out, text);
}

void append_pairs(std::string& out, std::string_view name, const TextPairs& pairs) {
  append_json_key(out, name);
  out += '{';
  bool first = true;
  for (const auto& [key, value] : pairs) {
    if (!std::exchange(first, false)) out += ',';
    append_shown(out, key);
    out += ':';
    append_shown(out, value);
  }
  out += '}';
}

TextPairs cookies_of(const Request& request) {
  TextPairs cookies;
  auto rest = request.header("Cookie").value_or("");
  while (!rest.empty()) {
    const auto end = rest.find(';');
    const auto cookie = trim_blanks(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    const auto equals = cookie.find('=');
    const auto name = trim_blanks(cookie.substr(0, equals));
    if (name.empty() || equals == std::string_view::npos || name == session_cookie) continue;
    cookies.emplace_back(name, trim_blanks(cookie.substr(equals + 1)));
  }
  return cookies;
}

TextPairs headers_of(const Request& request, const TextPairs& cookies) {
  TextPairs headers;
  if (request.headers == nullptr) return headers;
  request.headers->for_each([&](std::string_view name, std::string_view value) {
    if (equals_ignoring_case(name, "Authorization") || equals_ignoring_case(name, "Cookie")) return;
    headers.emplace_back(name, value);
  });
  std::string shown;
  for (const auto& [name, value] : cookies) shown += (shown.empty() ? "" : "; ") + name + "=" + value;
  if (!shown.empty()) headers.emplace_back("Cookie", std::move(shown));
  return headers;
}

// The fields of a form body: `a=1&b=2`.
TextPairs form_of(const Request& request) {
  TextPairs form;
  if (request.method != Method::post && request.method != Method::put) return form;
  if (!request.header("Content-Type").value_or("").starts_with("application/x-www-form-urlencoded")) return form;
  auto rest = request.body;
  while (!rest.empty()) {
    const auto end = rest.find('&');
    const auto field = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (field.empty()) continue;
    const auto equals = field.find('=');
    auto name = percent_decode(field.substr(0, equals), true);
    auto value = percent_decode(equals == std::string_view::npos ? std::string_view{} : field.substr(equals + 1), true);
    if (name && value) form.emplace_back(*std::move(name), *std::move(value));
  }
  return form;
}

// As in CouchDB, some parameters are shown as JSON values.
void append_query(std::string& out, const Request& request) {
  constexpr std::array<std::string_view, 4> json_parameters{"startkey", "endkey", "key", "descending"};
  append_json_key(out, "query");
  out += '{';
  bool first = true;
  for (const auto& [name, value] : request.query) {
    if (!std::exchange(first, false)) out += ',';
    append_shown(out, name);
    out += ':';
    const auto begin = out.size();
    if (std::ranges::find(json_parameters, name) != json_parameters.end() && query::normalize_value(value, out))
      continue;
    out.resize(begin);
    append_shown(out, value);
  }
  out += '}';
}

void append_segments(std::string& out, std::string_view name, const std::vector<std::string>& segments) {
  append_json_key(out, name);
  out += '[';
  for (const auto& segment : segments) {
    if (&segment != segments.data()) out += ',';
    append_shown(out, segment);
  }
  out += ']';
}

}  // namespace

std::string user_context_json(const Call& call) {
  std::string out = "{\"db\":";
  append_json_string(out, call.database->name());
  out += ",\"name\":";
  if (call.user.name.empty()) {
    out += "null";
  } else {
    append_shown(out, call.user.name);
  }
  append_segments(out, "roles", call.user.roles);
  out += '}';
  return out;
}

std::string security_json(const Call& call) {
  if (const auto text = call.database->security()) return *text;
  return std::string(default_security_json(call.services.authenticator.has_admins()));
}

Expected<std::string> request_json(const Call& call, std::optional<std::string_view> document_id) {
  const auto& request = call.request;
  const auto cookies = cookies_of(request);
  std::string out = "{\"info\":";
  OCTAVO_TRY_VOID(append_database_info(out, *call.database));
  while (out.back() == '\n') out.pop_back();
  append_member(out, "uuid", new_uuid(call.services.settings));
  if (document_id) {
    append_member(out, "id", *document_id);
  } else {
    out += ",\"id\":null";
  }
  append_member(out, "method", to_string(request.method));
  append_segments(out, "requested_path", request.segments);
  append_segments(out, "path", request.segments);
  append_member(out, "raw_path", request.target);
  append_query(out, request);
  append_pairs(out, "headers", headers_of(request, cookies));
  // CouchDB shows a missing body as "undefined".
  const bool has_body = request.method == Method::post || request.method == Method::put || !request.body.empty();
  append_member(out, "body", has_body ? request.body : std::string_view("undefined"));
  append_member(out, "peer", request.peer_address);
  append_pairs(out, "form", form_of(request));
  append_pairs(out, "cookie", cookies);
  out += ",\"userCtx\":" + user_context_json(call);
  out += ",\"secObj\":" + security_json(call);
  out += '}';
  return out;
}

}  // namespace octavo::api::couch
