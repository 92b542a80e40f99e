#include "api/http/cors.h"

#include <algorithm>
#include <array>

#include "base/ascii_case.h"

namespace octavo::api {

namespace {

// The headers that CouchDB allows in cross-origin requests and replies by default.
constexpr std::array<std::string_view, 19> couch_request_headers{"accept",
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
constexpr std::array<std::string_view, 15> cosmos_request_headers{
    "a-im",         "accept", "accept-language", "authorization", "cache-control",
    "content-type", "date",   "if-match",        "if-none-match", "if-modified-since",
    "origin",       "pragma", "prefer",          "user-agent",    "x-requested-with"};

}  // namespace

constexpr CorsHeaders couch_cors_headers{
    .request_headers = couch_request_headers,
    .request_prefix = {},
    .exposed =
        "content-type, cache-control, accept-ranges, etag, server, x-couch-request-id, x-couch-update-newrev, "
        "x-couchdb-body-time"};
// All of the API's own request headers begin with `x-ms-`. Headers of replies can only be exposed one by one.
constexpr CorsHeaders cosmos_cors_headers{
    .request_headers = cosmos_request_headers,
    .request_prefix = "x-ms-",
    .exposed =
        "content-type, date, etag, lsn, x-ms-activity-id, x-ms-alt-content-path, x-ms-content-path, x-ms-continuation, "
        "x-ms-cosmos-index-utilization, x-ms-documentdb-collection-index-transformation-progress, "
        "x-ms-documentdb-partitionkeyrangeid, x-ms-documentdb-query-metrics, x-ms-documentdb-script-log-results, "
        "x-ms-gatewayversion, x-ms-item-count, x-ms-request-charge, x-ms-resource-quota, x-ms-resource-usage, "
        "x-ms-retry-after-ms, x-ms-serviceversion, x-ms-session-token, x-ms-substatus",
    .changing_method = "PATCH"};

CorsPolicy::CorsPolicy(const config::Settings& settings, const CorsHeaders& api)
    : api_(api),
      enabled_(settings.cors_enabled),
      credentials_(settings.cors_credentials),
      methods_(settings.cors_methods),
      max_age_s_(std::to_string(settings.cors_max_age_s.count())) {
  for (const std::string& origin : settings.cors_origins) {
    if (origin == "*") any_origin_ = true;
    origins_.push_back(lower_case(origin));
  }
  const bool changes = std::ranges::find(methods_, std::string_view("PUT")) != methods_.end();
  if (changes && !api.changing_method.empty()) methods_.emplace_back(api.changing_method);
  for (const std::string_view header : api.request_headers) headers_.emplace_back(header);
  for (const std::string& header : settings.cors_headers) headers_.push_back(lower_case(header));
  for (const std::string& method : methods_) {
    if (!methods_line_.empty()) methods_line_ += ", ";
    methods_line_ += method;
  }
}

bool CorsPolicy::allows_origin(std::string_view origin) const {
  return any_origin_ || std::ranges::find(origins_, lower_case(origin)) != origins_.end();
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
    const std::string name = lower_case(trim_blanks(wanted.substr(begin, end - begin)));
    const bool is_of_api = !api_.request_prefix.empty() && name.starts_with(api_.request_prefix);
    if (!name.empty() && !is_of_api && std::ranges::find(headers_, name) == headers_.end()) return std::nullopt;
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
  const std::string_view site = origin->substr(scheme + 3);
  for (const auto* name : {"Host", "X-Forwarded-Host"}) {
    if (const auto host = request.header(name); host && equals_ignoring_case(*host, site)) return false;
  }
  return true;
}

void CorsPolicy::decorate(const Request& request, Reply& reply) const {
  if (!enabled_) return;
  const auto origin = request.header("Origin");
  if (!origin || !allows_origin(*origin)) return;
  add_origin_headers(*origin, reply);
  reply.headers.emplace_back("Access-Control-Expose-Headers", std::string(api_.exposed));
}

}  // namespace octavo::api
