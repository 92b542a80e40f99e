#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo::storage {

/// The part of a revision after the dash. Usually 16 bytes shown as 32 hexadecimal digits; replication may bring any
/// other text of up to 32 bytes, which is kept unchanged.
class RevisionHash {
 public:
  static constexpr std::size_t text_bytes_max = 32;
  static constexpr std::size_t digest_bytes = 16;
  static constexpr std::size_t half_bytes = 8;
  static_assert(2 * digest_bytes <= text_bytes_max && 2 * half_bytes == digest_bytes);

  RevisionHash() = default;
  /// A digest whose second half follows from its first (see next_revision). All new revisions have such hashes, of
  /// which records store the first half alone.
  static RevisionHash from_half(std::string_view half);
  /// nullopt: empty, longer than text_bytes_max, or not printable ASCII without spaces, quotes and backslashes.
  static std::optional<RevisionHash> from_text(std::string_view text);
  /// Restores a hash from its bytes() and is_digest().
  static RevisionHash from_bytes(std::string_view bytes, bool is_digest);

  bool is_digest() const { return digest_; }
  /// True if from_half(bytes().substr(0, half_bytes)) is this hash.
  bool follows_from_half() const;
  std::string_view bytes() const { return {bytes_.data(), size_}; }
  void append_text(std::string& out) const;
  /// Writes the text, which has at most text_bytes_max bytes, and returns its end.
  char* write_text(char* out) const;

  /// CouchDB's order: bytewise over the raw (decoded) bytes.
  std::strong_ordering operator<=>(const RevisionHash& other) const { return bytes() <=> other.bytes(); }
  bool operator==(const RevisionHash& other) const { return bytes() == other.bytes(); }

 private:
  std::array<char, text_bytes_max> bytes_{};
  std::uint8_t size_ = 0;
  bool digest_ = false;
};

/// `N-hash`: generation and hash of one edit. Value type, no allocation.
struct Revision {
  std::uint64_t generation = 0;
  RevisionHash hash;

  /// Parses `N-hash`. Error: bad_request "Invalid rev format", as in CouchDB.
  static Expected<Revision> parse(std::string_view text);
  std::string to_string() const;
  void append_to(std::string& out) const;

  std::strong_ordering operator<=>(const Revision&) const = default;
  bool operator==(const Revision&) const = default;
};

/// The revision of an edit. It is deterministic, so that the same edit on two servers gives the same revision.
/// Its hash is 8 bytes of SHA-256(deleted, parent generation, parent hash, body), and 8 bytes that follow from them.
///
/// Where tombstones were dropped, a first revision also depends on `salt`, PartitionCounters::dropped_through: a
/// document that was deleted there and is created with its former body would else get its former revision, which
/// replicas know as deleted. 0: none was dropped.
Revision next_revision(const std::optional<Revision>& parent, bool deleted, std::string_view body,
                       std::uint64_t salt = 0);

}  // namespace octavo::storage
