#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/request.h"
#include "config/settings.h"

namespace octavo::api::couch {

/// The content of an AuthSession cookie: who logged in and when, signed with the server's secret and the user's salt,
/// so that a changed password ends all sessions. The server keeps no session state.
struct SessionCookie {
  std::string user;
  std::int64_t issued_s = 0;  ///< Unix time
  std::string signature;      ///< raw bytes

  /// nullopt if `value` does not have the format of such a cookie. Does not check the signature.
  static std::optional<SessionCookie> decode(std::string_view value);
  /// `user` must not contain ':'.
  static std::string encode(std::string_view user, std::int64_t issued_s, std::string_view secret,
                            std::string_view salt);

  bool signed_with(std::string_view secret, std::string_view salt) const;
  std::int64_t seconds_left(std::int64_t now_s, std::chrono::seconds timeout_s) const;
};

/// Value of the AuthSession cookie of a request; nullopt if it is absent or empty.
std::optional<std::string_view> session_cookie_of(const Request& request);

/// A Set-Cookie header value: always HttpOnly, Secure under TLS, SameSite=Lax, or SameSite=None if the server is
/// configured for credentials from other origins (which browsers accept only under TLS).
std::string set_session_cookie(std::string_view value, const config::Settings& settings, bool tls);
/// A Set-Cookie header value that makes the client discard the cookie.
std::string clear_session_cookie(const config::Settings& settings, bool tls);

}  // namespace octavo::api::couch
