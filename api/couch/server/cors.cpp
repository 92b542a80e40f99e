#include "api/couch/server/cors.h"

#include <algorithm>
#include <array>

namespace octavo::api::couch {

namespace {

// The headers that CouchDB allows in cross-origin requests and replies by default.
constexpr std::array<std::string_view, 19> usual_request_headers{"accept",
                                                                 "accept-language",
                                                                 "authorization",
                                                                 "content-length",
                                                                 "content-range",
                                                                 "content-type",
                                                                 "destination",
                                                                 "expires",
                                                                 "if-match",
                                                                 "last-modified",
                                                                 "origin",
                                                                 "pragma",
                                                                 "x-couch-full-commit",
                                                                 "x-couch-id",
                                                                 "x-couch-persist",
                                                                 "x-couchdb-www-authenticate",
                                                                 "x-http-method-override",
                                                                 "x-requested-with",
                                                                 "x-couchdb-vhost-path"};
constexpr std::string_view exposed_headers =
    "content-type, cache-control, accept-ranges, etag, server, x-couch-request-id, x-couch-update-newrev, "
    "x-couchdb-body-time";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

CorsPolicy::CorsPolicy(const config::Settings& settings)
    : enabled_(settings.cors_enabled),
      credentials_(settings.cors_credentials),
      methods_(settings.cors_methods),
      max_age_s_(std::to_string(settings.cors_max_age_s.count())) {
  for (const std::string& origin : settings.cors_origins) {
    if (origin == "*") any_origin_ = true;
    origins_.push_back(lower(origin));
  }
  for (const std::string_view header : usual_request_headers) headers_.emplace_back(header);
  for (const std::string& header : settings.cors_headers) headers_.push_back(lower(header));
  for (const std::string& method : methods_) {
    if (!methods_line_.empty()) methods_line_ += ", ";
    methods_line_ += method;
  }
}

bool CorsPolicy::allows_origin(std::string_view origin) const {
  return any_origin_ || std::ranges::find(origins_, lower(origin)) != origins_.end();
}

void CorsPolicy::add_origin_headers(std::string_view origin, Reply& reply) const {
  // Echo the origin, never `*`: browsers refuse `*` with credentials. Caches must distinguish origins.
  reply.headers.emplace_back("Access-Control-Allow-Origin", std::string(origin));
  reply.headers.emplace_back("Vary", "Origin");
  if (credentials_ && origin != "*") reply.headers.emplace_back("Access-Control-Allow-Credentials", "true");
}

std::optional<Reply> CorsPolicy::preflight(const Request& request) const {
  if (!enabled_ || request.method != Method::options) return std::nullopt;
  const auto origin = request.header("Origin");
  const auto method = request.header("Access-Control-Request-Method");
  if (!origin || !method || !allows_origin(*origin)) return std::nullopt;
  if (std::ranges::find(methods_, *method) == methods_.end()) return std::nullopt;

  const std::string_view wanted = request.header("Access-Control-Request-Headers").value_or("");
  for (std::size_t begin = 0; begin < wanted.size();) {
    const std::size_t end = std::min(wanted.find(',', begin), wanted.size());
    const std::string name = lower(trim_blanks(wanted.substr(begin, end - begin)));
    if (!name.empty() && std::ranges::find(headers_, name) == headers_.end()) return std::nullopt;
    begin = end + 1;
  }

  Reply reply;
  reply.status = 204;
  reply.content_type = "";
  add_origin_headers(*origin, reply);
  reply.headers.emplace_back("Access-Control-Max-Age", max_age_s_);
  reply.headers.emplace_back("Access-Control-Allow-Methods", methods_line_);
  reply.headers.emplace_back("Access-Control-Allow-Headers", std::string(wanted));
  return reply;
}

bool CorsPolicy::is_foreign_write(const Request& request) const {
  const auto method = request.method;
  if (method == Method::get || method == Method::head || method == Method::options) return false;
  const auto origin = request.header("Origin");
  if (!origin || origin->empty() || (enabled_ && allows_origin(*origin))) return false;
  const auto scheme = origin->find("://");
  if (scheme == std::string_view::npos) return true;  // `null`
  const std::string site = lower(origin->substr(scheme + 3));
  for (const auto* name : {"Host", "X-Forwarded-Host"}) {
    if (const auto host = request.header(name); host && lower(*host) == site) return false;
  }
  return true;
}

void CorsPolicy::decorate(const Request& request, Reply& reply) const {
  if (!enabled_) return;
  const auto origin = request.header("Origin");
  if (!origin || !allows_origin(*origin)) return;
  add_origin_headers(*origin, reply);
  reply.headers.emplace_back("Access-Control-Expose-Headers", std::string(exposed_headers));
}

}  // namespace octavo::api::couch
