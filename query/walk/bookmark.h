#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::query {

/// Where the next page of a query starts: after the row named here. Clients see a token (base/token.h).
///
/// Format (bookmark of _find):
///   bookmark := version:u8 kind:u8 branch:varint identity:sized key:sized
///               [spent:varint count:varint (identity:sized down:u8 key:sized)*]
///               [index:sized index:sized*]
///
/// Version 1 lacks both parts in brackets, version 2 the last one. It has descriptions (index of a continuation) of the
/// index of `identity` and of the `count` others, for the case that one is deleted before the next page. Empty: that
/// one cannot be replaced.
///
/// The checksum detects accidents (a truncated or mixed-up text), not forgery: a forged bookmark can only name another
/// starting point in what the client may read anyway, and is checked like any other input.
struct Bookmark {
  enum class Kind : std::uint8_t {
    primary = 'p',   ///< key: document id
    index = 'i',     ///< identity: of the index; key: entry key
    combined = 'U',  ///< union: branch, and identity and key as above. 'u' had no identity and is rejected
    sorted = 's',    ///< key: sort key of the row, made by the sort in memory
  };
  Kind kind = Kind::primary;
  std::uint64_t branch = 0;
  std::string identity;
  std::string key;
  /// What the continuing plan has cost since its last full page, in hundredths of a request unit.
  std::uint64_t spent = 0;
  /// Plans that the query has left (walked_part.h): their results before `key` were returned.
  struct Left {
    std::string identity;
    bool down = false;
    std::string key;
    std::string index = {};  ///< as Bookmark::index

    bool operator==(const Left&) const = default;
  };
  static constexpr std::size_t left_max = 8;
  std::vector<Left> left;
  /// The index that `identity` names, as text of GoneIndex: what was returned by it can be recognised when it no longer
  /// exists. Empty: then the bookmark is refused.
  std::string index = {};

  /// `origin`: Database::token_origin.
  std::string encode(std::string_view origin = {}) const;
  /// nullopt for any text that encode() did not make, with this origin.
  static std::optional<Bookmark> decode(std::string_view text, std::string_view origin = {});

  bool operator==(const Bookmark&) const = default;
};

}  // namespace octavo::query
