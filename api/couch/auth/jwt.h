#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

/// JSON Web Tokens (RFC 7519) signed by HS256, RS256 or ES256, or the same with 384 or 512.
namespace octavo::api::couch {

/// Verification keys by algorithm and key id. The algorithm is part of a key's name, so a token cannot cause a public
/// key to be used as an HMAC secret. Immutable after loading, thread-safe.
class JwtKeys {
 public:
  /// `configured`: "hs256:<kid>" → base64 secret; "rs256:<kid>", "es256:<kid>" → PEM public key; and the same with 384
  /// or 512. The key id `_default` serves tokens without `kid`. Errors: bad_request, which names the key and the error.
  static Expected<JwtKeys> load(const std::map<std::string, std::string>& configured);

  JwtKeys();
  ~JwtKeys();
  JwtKeys(JwtKeys&&) noexcept;
  JwtKeys& operator=(JwtKeys&&) noexcept;

  bool empty() const;

 private:
  friend class JwtVerifier;
  struct Key;
  std::map<std::string, std::unique_ptr<Key>, std::less<>> keys_;
};

/// The identity in a valid token.
struct JwtIdentity {
  std::string subject;                    ///< `sub`: the user's name, not empty
  std::vector<std::string> roles;         ///< the claim `_couchdb.roles`, or the configured one
  std::optional<std::int64_t> expires_s;  ///< `exp`
};

/// Checks tokens against keys and required claims. Immutable, thread-safe. HS256 takes about 3 µs, RS256 30, ES256 80.
class JwtVerifier {
 public:
  /// `required_claims`: `name` requires that the claim exists, `name=value` that it is this string.
  /// `roles_claim_path`: where the roles are, such as `resource_access.app.roles`, with `\.` for a dot in a name;
  /// empty: in the claim `_couchdb.roles`.
  JwtVerifier(JwtKeys keys, std::vector<std::string> required_claims, std::string_view roles_claim_path = {});

  bool enabled() const { return !keys_.empty(); }

  /// `now_s`: Unix time. `exp` and `nbf` are checked if present.
  /// Errors, in CouchDB's words: bad_request (malformed, unknown key or algorithm, bad signature, missing claim),
  /// unauthorized (expired, not valid yet, no `sub`).
  Expected<JwtIdentity> verify(std::string_view token, std::int64_t now_s) const;

 private:
  JwtKeys keys_;
  std::vector<std::string> required_claims_;
  std::vector<std::string> roles_path_;
};

}  // namespace octavo::api::couch
