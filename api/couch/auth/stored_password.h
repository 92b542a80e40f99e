#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"

namespace octavo::api::couch {

/// A password as it is stored: enough to check a guess, not enough to make one. Reads all that CouchDB has written;
/// writes PBKDF2 with SHA-256 only.
struct StoredPassword {
  enum class Scheme : std::uint8_t {
    pbkdf2,         ///< derived_key = PBKDF2(password, salt)
    simple,         ///< derived_key = SHA-1(password + salt): CouchDB before 1.3
    simple_pbkdf2,  ///< derived_key = PBKDF2(hex SHA-1(password + salt), salt): an upgraded `simple`
  };
  Scheme scheme = Scheme::pbkdf2;
  crypto::Digest digest = crypto::Digest::sha256;
  std::uint32_t iterations = 0;
  std::string salt;         ///< as text: its bytes are the salt
  std::string derived_key;  ///< hexadecimal, lower case

  /// More rounds than this are refused: one log-in would keep a worker busy for seconds.
  static constexpr std::uint32_t iterations_max = 10'000'000;

  /// Hashes a new password with a random salt. Slow: see crypto::pbkdf2.
  static StoredPassword make(std::string_view password, std::uint32_t iterations);

  /// An entry of CouchDB's [admins]: `-pbkdf2:sha256-<key>,<salt>,<iterations>`, `-pbkdf2-…` (SHA-1),
  /// `-hashed-<sha1>,<salt>`. nullopt when `text` is none, that is, a password in clear.
  static std::optional<StoredPassword> parse_admin_entry(std::string_view text);
  std::string admin_entry() const;

  /// Slow, save for `simple`. Constant time for equal lengths.
  bool matches(std::string_view password) const;
};

}  // namespace octavo::api::couch
