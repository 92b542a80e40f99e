#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::query::sql {

/// Where the next page of a query starts. Clients see opaque base64url text.
///
///   continuation := version:u8 kind:u8 fingerprint:u64 skip:varint left:varint branch:varint
///                   (size:varint identity) (size:varint key) (count:varint position:varint*) checksum:u32
///
/// It says only how much of the result was given out already: a forged one names another starting point in what the
/// client may read anyway. It is bound to its query by `fingerprint`, and checked like any other input.
struct Continuation {
  enum class Kind : std::uint8_t {
    primary = 'p',   ///< key: document id
    index = 'i',     ///< identity: of the index; key: entry key
    combined = 'u',  ///< union; branch, and as above for that branch's source
    sorted = 's',    ///< key: of the last row in the order of the result
    grouped = 'g',   ///< key: of the last group
  };
  Kind kind = Kind::primary;
  std::uint64_t fingerprint = 0;
  std::uint64_t skip = 0;           ///< of OFFSET, still to be skipped
  std::uint64_t left = UINT64_MAX;  ///< of TOP or LIMIT, still to be given out
  std::uint64_t branch = 0;
  std::string identity;
  std::string key;
  /// Inside of the document at `key`: the combination of JOIN after which to go on. Empty: after the document.
  std::vector<std::uint64_t> positions;

  std::string encode() const;
  /// nullopt for anything that encode() did not make.
  static std::optional<Continuation> decode(std::string_view text);

  bool operator==(const Continuation&) const = default;
};

}  // namespace octavo::query::sql
