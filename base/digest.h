#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// OpenSSL's digests and random bytes as values. All functions are thread-safe. A failure of OpenSSL itself (out of
/// memory) throws std::bad_alloc.
namespace octavo::crypto {

enum class Digest : std::uint8_t { sha1, sha224, sha256, sha384, sha512 };

/// CouchDB's names in `pbkdf2_prf`: sha, sha224, sha256, sha384, sha512.
std::optional<Digest> digest_from_name(std::string_view name);
std::string_view digest_name(Digest digest);
std::size_t digest_bytes(Digest digest);

/// Plain digest, as raw bytes. For the legacy "simple" password scheme.
std::string hash(Digest digest, std::string_view bytes);

using Sha256Value = std::array<char, 32>;
/// SHA-256 of one text, without an allocation or a lock.
Sha256Value sha256(std::string_view bytes);
/// SHA-256 of the parts in a row. A null part is empty.
Sha256Value sha256(std::initializer_list<std::string_view> parts);

/// The first 16 bytes of SHA-256, as 32 hexadecimal digits: identifies what `content` describes, also in file names.
std::string hex_identity(std::string_view content);

/// RFC 2104, as raw bytes.
std::string hmac(Digest digest, std::string_view key, std::string_view message);

/// RFC 8018, as raw bytes. Slow on purpose (50,000 rounds ≈ 20 ms): for worker threads. `iterations` at least 1.
std::string pbkdf2(Digest digest, std::string_view password, std::string_view salt, std::uint32_t iterations,
                   std::size_t key_bytes);

/// Takes equally long for equal and for different texts of one length.
bool constant_time_equal(std::string_view a, std::string_view b);

/// From the operating system's generator.
std::string random_bytes(std::size_t count);

/// HMAC-SHA-256 with one key, for the request path: the key is absorbed once, and no lock of OpenSSL is taken.
/// Thread-safe. About 0.5 µs for a short message.
class KeyedHash {
 public:
  using Value = std::array<char, 32>;

  explicit KeyedHash(std::string_view key);
  ~KeyedHash();
  KeyedHash(KeyedHash&&) noexcept;
  KeyedHash& operator=(KeyedHash&&) noexcept;

  /// MAC of the parts, each preceded by its length, so that different lists of parts differ.
  Value operator()(std::initializer_list<std::string_view> parts) const;
  /// MAC of the plain message (RFC 2104), as other programs compute it.
  Value of_message(std::string_view message) const;

 private:
  struct Contexts;
  template <class Absorb>
  Value compute(Absorb absorb) const;
  std::unique_ptr<Contexts> contexts_;
};

}  // namespace octavo::crypto
