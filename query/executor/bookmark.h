#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace octavo::query {

/// Where the next page of a query starts: after the row named here. Clients see opaque base64url text.
///
///   bookmark := version:u8 kind:u8 branch:varint (size:varint identity) (size:varint key) checksum:u32
///
/// The checksum is against accidents (a cut or mixed-up text), not against forgers: a forged bookmark can only name
/// another starting point in what the client may read anyway, and is checked like any other input.
struct Bookmark {
  enum class Kind : std::uint8_t {
    primary = 'p',   ///< key: document id
    index = 'i',     ///< identity: of the index; key: entry key
    combined = 'U',  ///< union; branch, and as above for that branch's source. 'u' had no identity: it is refused
    sorted = 's',    ///< key: sort key of the row, made by the sort in memory
  };
  Kind kind = Kind::primary;
  std::uint64_t branch = 0;
  std::string identity;
  std::string key;

  std::string encode() const;
  /// nullopt for anything that encode() did not make.
  static std::optional<Bookmark> decode(std::string_view text);

  bool operator==(const Bookmark&) const = default;
};

}  // namespace octavo::query
