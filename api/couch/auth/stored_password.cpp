#include "api/couch/auth/stored_password.h"

#include <charconv>

#include "base/encoding.h"

// Format (password of an admin in the catalog):
//   admin entry := "-pbkdf2:" digest "-" key "," salt "," iterations
//                | "-pbkdf2-" key "," salt "," iterations             SHA-1
//                | "-hashed-" key "," salt                            SHA-1, not iterated

namespace octavo::api::couch {

namespace {

constexpr std::size_t salt_bytes = 16;

std::string lower_hex(std::string_view text) {
  const auto bytes = crypto::hex_decode(text);
  return bytes ? crypto::hex_encode(*bytes) : std::string();
}

std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == text.npos ? std::string_view() : text.substr(end + 1);
  return part;
}

}  // namespace

StoredPassword StoredPassword::make(std::string_view password, std::uint32_t iterations) {
  StoredPassword stored;
  stored.iterations = iterations;
  stored.salt = crypto::hex_encode(crypto::random_bytes(salt_bytes));
  stored.derived_key = crypto::hex_encode(
      crypto::pbkdf2(stored.digest, password, stored.salt, iterations, crypto::digest_bytes(stored.digest)));
  return stored;
}

std::optional<StoredPassword> StoredPassword::parse_admin_entry(std::string_view text) {
  StoredPassword stored;
  if (text.starts_with("-hashed-")) {
    text.remove_prefix(8);
    stored.scheme = Scheme::simple;
    stored.digest = crypto::Digest::sha1;
  } else if (text.starts_with("-pbkdf2-")) {
    text.remove_prefix(8);
    stored.digest = crypto::Digest::sha1;
  } else if (text.starts_with("-pbkdf2:")) {
    text.remove_prefix(8);
    const auto digest = crypto::digest_from_name(take_until(text, '-'));
    if (!digest) return std::nullopt;
    stored.digest = *digest;
  } else {
    return std::nullopt;
  }
  stored.derived_key = lower_hex(take_until(text, ','));
  if (stored.derived_key.size() != 2 * crypto::digest_bytes(stored.digest)) return std::nullopt;
  stored.salt = take_until(text, ',');
  if (stored.scheme == Scheme::simple) return stored;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), stored.iterations);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  if (stored.iterations == 0 || stored.iterations > iterations_max) return std::nullopt;
  return stored;
}

std::string StoredPassword::admin_entry() const {
  if (scheme == Scheme::simple) return "-hashed-" + derived_key + "," + salt;
  return "-pbkdf2:" + std::string(crypto::digest_name(digest)) + "-" + derived_key + "," + salt + "," +
         std::to_string(iterations);
}

bool StoredPassword::matches(std::string_view password) const {
  std::string candidate(password);
  if (scheme != Scheme::pbkdf2) {
    candidate = crypto::hex_encode(crypto::hash(crypto::Digest::sha1, candidate + salt));
  }
  if (scheme != Scheme::simple) {
    candidate = crypto::hex_encode(crypto::pbkdf2(digest, candidate, salt, iterations, crypto::digest_bytes(digest)));
  }
  return crypto::constant_time_equal(candidate, derived_key);
}

}  // namespace octavo::api::couch
