// What clients prove who they are with: base64, JSON Web Tokens, session cookies, stored passwords.
#include <chrono>
#include <optional>
#include <string>

#include "api/couch/auth/jwt.h"
#include "api/couch/auth/session_cookie.h"
#include "api/couch/auth/stored_password.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "fuzz/target.h"

namespace {

using namespace octavo::api;
namespace crypto = octavo::crypto;
using octavo::fuzz::InputReader;
using octavo::fuzz::require;

constexpr std::int64_t fixed_now_s = 1'700'000'000;
constexpr std::string_view server_secret = "a secret of the server";

struct OneHeader final : HeaderSource {
  std::optional<std::string_view> find(std::string_view) const override { return value; }
  void for_each(octavo::FunctionRef<void(std::string_view, std::string_view)> visit) const override {
    visit("X", value);
  }
  std::string_view value;
};

void check_coding(std::string_view text) {
  require(crypto::base64_decode(crypto::base64_encode(text)) == text, "base64 is reversible");
  require(crypto::base64url_decode(crypto::base64url_encode(text)) == text, "base64url is reversible");
  require(crypto::hex_decode(crypto::hex_encode(text)) == text, "hexadecimal is reversible");
  // What decodes is written in one way only, but for padding and case.
  if (const auto bytes = crypto::base64_decode(text)) {
    std::string canonical = crypto::base64_encode(*bytes);
    if (canonical != text) {
      while (canonical.ends_with('=')) canonical.pop_back();
      require(canonical == text, "base64 has one spelling");
    }
  }
  if (const auto bytes = crypto::base64url_decode(text)) {
    std::string_view unpadded = text;
    while (unpadded.ends_with('=')) unpadded.remove_suffix(1);
    require(crypto::base64url_encode(*bytes) == unpadded, "base64url has one spelling");
  }
}

couch::JwtVerifier verifier() {
  // Keys whose private halves were thrown away.
  static const std::string rsa =
      "-----BEGIN PUBLIC KEY-----\n"
      "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAtTsur7/j3GAxhWm+1cQ0\n"
      "3S61op5UGM/WqSftfHWDXbQAS5BafNehNymjzyU2qNbMDoi9NnerAGBlKlJSKXBZ\n"
      "GP9n4HGaaSoV0gyLLiCamT2QcnNb5gPn76DM9gNWzhqy8W8EFAN/a2+ZbBdPjfDf\n"
      "xBROHGVo9gTT50fb72G6e/HMPUmz3/ZMStBQKOrJv2ktPtCBQs/dahLKW9jOys3q\n"
      "iygmcxCWU5gMDTwnUjdN/PH2FjRwl4B3sFx0983dbVpvKbpUATtwSb/y1PaFz78z\n"
      "RRyMPHsdFVUyXyLob2gcmIdz3p37F/NbyvmOovaJFWVpTVIX7nP0Wei1zu9QZd6z\n"
      "ewIDAQAB\n"
      "-----END PUBLIC KEY-----\n";
  static const std::string ec =
      "-----BEGIN PUBLIC KEY-----\n"
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE2lscaUk/DGgO8KaS5YgLNtXW4KHv\n"
      "dgWkhF8kSB+RsW6mwPPMwg+S0i7f92zhB9v3UjED/AcKgumOQrfyk30GUw==\n"
      "-----END PUBLIC KEY-----\n";
  auto keys = couch::JwtKeys::load(
      {{"hs256:_default", crypto::base64_encode(server_secret)}, {"rs256:r", rsa}, {"es256:e", ec}});
  require(keys.has_value(), "the keys can be used");
  return {*std::move(keys), {"iss=fuzz"}};
}

/// Signs what follows the head, so that the claims are reached and not only the signature's check.
std::string signed_token(std::string_view head, std::string_view claims) {
  const std::string text = crypto::base64url_encode(head) + "." + crypto::base64url_encode(claims);
  return text + "." + crypto::base64url_encode(crypto::hmac(crypto::Digest::sha256, server_secret, text));
}

void check_token(std::string_view token, bool is_ours) {
  static const couch::JwtVerifier jwt = verifier();
  const auto identity = jwt.verify(token, fixed_now_s);
  if (!identity) return;
  require(is_ours, "only the server can sign");
  require(!identity->subject.empty(), "a valid token names a user");
  if (identity->expires_s) require(*identity->expires_s > fixed_now_s, "a valid token is not expired");
}

void check_cookie(std::string_view value) {
  const auto cookie = couch::SessionCookie::decode(value);
  if (!cookie) return;
  require(cookie->issued_s >= 0, "time does not run backwards");
  (void)cookie->seconds_left(fixed_now_s, std::chrono::seconds(600));
  require(!cookie->signed_with(server_secret, "salt"), "only the server can sign");
  const auto ours =
      couch::SessionCookie::decode(couch::SessionCookie::encode(cookie->user, cookie->issued_s, server_secret, "salt"));
  require(ours && ours->user == cookie->user && ours->issued_s == cookie->issued_s, "a cookie reads back");
  require(ours->signed_with(server_secret, "salt"), "and is signed");
  require(!ours->signed_with(server_secret, "salt2"), "for one salt");
}

void check_stored_password(std::string_view text) {
  const auto stored = couch::StoredPassword::parse_admin_entry(text);
  if (!stored) return;
  require(stored->iterations <= couch::StoredPassword::iterations_max, "one log-in cannot take for ever");
  if (stored->iterations > 10) return;
  (void)stored->matches("password");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  InputReader in(octavo::fuzz::text_of(data, size));
  switch (in.byte() & 3) {
    case 0:
      check_coding(in.rest());
      break;
    case 1: {
      check_token(in.rest(), false);
      const std::string_view head = in.line();
      check_token(signed_token(head.empty() ? R"({"alg":"HS256"})" : head, in.rest()), true);
      break;
    }
    case 2: {
      OneHeader header;
      header.value = in.rest();
      Request request;
      request.headers = &header;
      if (const auto value = couch::session_cookie_of(request)) check_cookie(*value);
      check_cookie(in.rest());
      check_cookie(crypto::base64url_encode(in.rest()));
      break;
    }
    default:
      check_stored_password(in.rest());
  }
  return 0;
}
