#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/reply.h"
#include "api/http/request.h"
#include "config/settings.h"

namespace octavo::api {

/// The headers and methods of an API that browsers may use from other origins.
struct CorsHeaders {
  std::span<const std::string_view> request_headers;  ///< allowed, in lower case
  std::string_view request_prefix;                    ///< headers that begin with it are allowed, too; empty: none
  std::string_view exposed;                           ///< headers of replies that a page may read: a list with commas
  std::string_view changing_method = {};              ///< allowed if PUT is; empty: none
};
extern const CorsHeaders couch_cors_headers;
extern const CorsHeaders cosmos_cors_headers;

/// Cross-origin resource sharing by CouchDB's rules: an allowed origin is echoed (also if `*` is configured), and a
/// preflight that asks for more than is allowed gets none of the headers that answer one. Immutable, thread-safe. Costs
/// one header lookup if a request has no `Origin`.
class CorsPolicy {
 public:
  explicit CorsPolicy(const config::Settings& settings, const CorsHeaders& api = couch_cors_headers);

  /// The whole reply (204) to a permitted preflight, to be sent before authentication. nullopt if the request is not a
  /// preflight or not permitted; handle it like any other request then.
  std::optional<Reply> preflight(const Request& request) const;

  /// Whether the request is a write that a browser sends for a page of another site: it has an `Origin` that is neither
  /// this server (as named by `Host` or a proxy's `X-Forwarded-Host`) nor allowed.
  bool is_foreign_write(const Request& request) const;

  /// Adds the CORS headers to any other reply, errors included.
  void decorate(const Request& request, Reply& reply) const;

 private:
  bool allows_origin(std::string_view origin) const;
  void add_origin_headers(std::string_view origin, Reply& reply) const;

  const CorsHeaders& api_;
  bool enabled_;
  bool any_origin_ = false;
  bool credentials_;
  std::vector<std::string> origins_;
  std::vector<std::string> methods_;
  std::vector<std::string> headers_;  ///< lower case
  std::string methods_line_;
  std::string max_age_s_;
};

}  // namespace octavo::api
