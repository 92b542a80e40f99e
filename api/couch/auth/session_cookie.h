#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/request.h"
#include "config/settings.h"

namespace octavo::api::couch {

/// The content of an AuthSession cookie: who logged in and when, signed with the server's secret and the user's salt,
/// so that a changed password ends all sessions. Nothing of it is kept on the server.
struct SessionCookie {
  std::string user;
  std::int64_t issued_s = 0;  ///< Unix time
  std::string signature;      ///< raw bytes

  /// nullopt when `value` is no such cookie at all; its signature is not checked.
  static std::optional<SessionCookie> decode(std::string_view value);
  /// `user` must not contain ':'.
  static std::string encode(std::string_view user, std::int64_t issued_s, std::string_view secret,
                            std::string_view salt);

  bool signed_with(std::string_view secret, std::string_view salt) const;
  std::int64_t seconds_left(std::int64_t now_s, std::chrono::seconds timeout_s) const;
};

/// Value of the AuthSession cookie of a request; nullopt when there is none or it is empty.
std::optional<std::string_view> session_cookie_of(const Request& request);

/// A Set-Cookie header value. HttpOnly always, Secure under TLS; SameSite=Lax, or None where the server is configured
/// for credentials from other origins (which browsers take under TLS only).
std::string set_session_cookie(std::string_view value, const config::Settings& settings, bool tls);
/// One that makes the client forget the cookie.
std::string clear_session_cookie(const config::Settings& settings, bool tls);

}  // namespace octavo::api::couch
