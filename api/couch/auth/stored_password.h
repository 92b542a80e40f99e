#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"

namespace octavo::api::couch {

/// A password as it is stored: a guess can be checked, but the password cannot be recovered. Reads every scheme that
/// CouchDB has used; writes only PBKDF2 with SHA-256.
struct StoredPassword {
  enum class Scheme : std::uint8_t {
    pbkdf2,         ///< derived_key = PBKDF2(password, salt)
    simple,         ///< derived_key = SHA-1(password + salt): CouchDB before 1.3
    simple_pbkdf2,  ///< derived_key = PBKDF2(hex SHA-1(password + salt), salt): upgraded from `simple`
  };
  Scheme scheme = Scheme::pbkdf2;
  crypto::Digest digest = crypto::Digest::sha256;
  std::uint32_t iterations = 0;
  std::string salt;         ///< the bytes of this text are the salt
  std::string derived_key;  ///< hexadecimal, lower case

  /// More iterations than this are refused: one log-in would keep a worker busy for seconds.
  static constexpr std::uint32_t iterations_max = 10'000'000;

  /// Hashes a new password with a random salt. Slow: see crypto::pbkdf2.
  static StoredPassword make(std::string_view password, std::uint32_t iterations);

  /// An entry of CouchDB's [admins]: `-pbkdf2:sha256-<key>,<salt>,<iterations>`, `-pbkdf2-…` (SHA-1),
  /// `-hashed-<sha1>,<salt>`. nullopt if `text` has none of these forms, that is, if it is a password in clear text.
  static std::optional<StoredPassword> parse_admin_entry(std::string_view text);
  std::string admin_entry() const;

  /// Slow, except for `simple`. Compares keys of equal length in constant time.
  bool matches(std::string_view password) const;
};

}  // namespace octavo::api::couch
