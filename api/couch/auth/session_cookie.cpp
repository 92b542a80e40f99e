#include "api/couch/auth/session_cookie.h"

#include <charconv>
#include <chrono>

#include <fmt/chrono.h>

#include "base/digest.h"
#include "base/encoding.h"

// Format (AuthSession cookie):
//   cookie    := base64url(user ":" time ":" signature)
//   time      := Unix seconds in hexadecimal, upper case
//   signature := HMAC-SHA-256(secret salt, user ":" time), raw

namespace octavo::api::couch {

namespace {

constexpr std::size_t cookie_bytes_max = 8 * 1024;

std::string sign(std::string_view user_and_time, std::string_view secret, std::string_view salt) {
  return crypto::hmac(crypto::Digest::sha256, std::string(secret).append(salt), user_and_time);
}

std::string user_and_time(std::string_view user, std::int64_t issued_s) {
  char digits[17];
  const auto end = std::to_chars(digits, digits + sizeof digits, issued_s, 16).ptr;
  for (char* c = digits; c != end; ++c) {
    if (*c >= 'a') *c = static_cast<char>(*c - 'a' + 'A');
  }
  return std::string(user).append(":").append(digits, end);
}

std::string attributes(const config::Settings& settings, bool tls) {
  const bool cross_site = tls && settings.cors_enabled && settings.cors_credentials;
  std::string out = "; Version=1; Path=/; HttpOnly";
  if (tls) out += "; Secure";
  out += cross_site ? "; SameSite=None" : "; SameSite=Lax";
  return out;
}

}  // namespace

std::optional<SessionCookie> SessionCookie::decode(std::string_view value) {
  if (value.size() > cookie_bytes_max) return std::nullopt;
  const auto text = crypto::base64url_decode(value);
  if (!text) return std::nullopt;
  const std::size_t first = text->find(':');
  if (first == std::string::npos) return std::nullopt;
  const std::size_t second = text->find(':', first + 1);
  if (second == std::string::npos) return std::nullopt;
  SessionCookie cookie;
  const char* time_end = text->data() + second;
  const auto parsed = std::from_chars(text->data() + first + 1, time_end, cookie.issued_s, 16);
  if (parsed.ec != std::errc() || parsed.ptr != time_end || cookie.issued_s < 0) return std::nullopt;
  cookie.user = text->substr(0, first);
  cookie.signature = text->substr(second + 1);
  return cookie;
}

std::string SessionCookie::encode(std::string_view user, std::int64_t issued_s, std::string_view secret,
                                  std::string_view salt) {
  const std::string data = user_and_time(user, issued_s);
  return crypto::base64url_encode(data + ":" + sign(data, secret, salt));
}

bool SessionCookie::signed_with(std::string_view secret, std::string_view salt) const {
  return crypto::constant_time_equal(sign(user_and_time(user, issued_s), secret, salt), signature);
}

std::int64_t SessionCookie::seconds_left(std::int64_t now_s, std::chrono::seconds timeout_s) const {
  // No overflow: `now_s` comes from a clock, and a forged `issued_s` never passes the signature check.
  return static_cast<std::int64_t>(timeout_s.count()) - (now_s - issued_s);
}

std::optional<std::string_view> session_cookie_of(const Request& request) {
  const auto header = request.header("Cookie");
  if (!header) return std::nullopt;
  for (std::size_t begin = 0; begin < header->size();) {
    const std::size_t end = std::min(header->find(';', begin), header->size());
    std::string_view pair = header->substr(begin, end - begin);
    begin = end + 1;
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    if (!pair.starts_with("AuthSession=")) continue;
    pair.remove_prefix(12);
    while (pair.ends_with(' ')) pair.remove_suffix(1);
    if (pair.size() >= 2 && pair.starts_with('"') && pair.ends_with('"')) pair = pair.substr(1, pair.size() - 2);
    if (pair.empty()) return std::nullopt;
    return pair;
  }
  return std::nullopt;
}

std::string set_session_cookie(std::string_view value, const config::Settings& settings, bool tls) {
  // Expires repeats Max-Age for clients that know only the older attribute (nano's cookie jar).
  const auto expires =
      std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) + settings.session_timeout_s;
  return std::string("AuthSession=").append(value).append(attributes(settings, tls)) +
         fmt::format("; Expires={:%a, %d %b %Y %H:%M:%S} GMT; Max-Age={}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(expires)), settings.session_timeout_s.count());
}

std::string clear_session_cookie(const config::Settings& settings, bool tls) {
  return "AuthSession=" + attributes(settings, tls) + "; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0";
}

}  // namespace octavo::api::couch
