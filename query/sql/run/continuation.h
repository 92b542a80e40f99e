#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/walk/bookmark.h"

namespace octavo::query::sql {

/// The error text for a continuation that this server did not make.
inline constexpr std::string_view foreign_continuation_reason = "The continuation was not issued by this server.";

/// Where the next page of a query starts. Clients see a token (base/token.h).
///
/// Format (continuation of SQL):
///   continuation := version:u8 kind:u8 fingerprint:u64be skip:varint left:varint branch:varint
///                   identity:sized key:sized (count:varint position:varint*)
///                   [start:sized] [version 2: digest[16] same_beginning:varint] [version 3:
///                   partition_id_plus_one:varint] [version 4 and 5: partition_id_plus_one:varint spent:varint]
///                   [version 5: digest:sized same_beginning:varint
///                   count:varint (identity:sized down:u8 key:sized index:sized)*]
///
/// `start` exists for the kinds of has_start(), and from version 4 on for a union. Version 1 has a whole key. Version 2
/// has the first bytes of a long key, and its digest. Versions 3 and 4 have a whole key and what follows it. Version 5
/// has an empty digest if the key is whole, and what other plans have returned, as a bookmark has it. Only pages that a
/// charge limit ended have spent something. A union before version 4 cannot be continued when its index is gone.
///
/// It only says how much of the result was returned: a forged one names another starting point in what the client may
/// read anyway. `fingerprint` binds it to its query, and it is checked like any other input.
struct Continuation {
  enum class Kind : std::uint8_t {
    primary = 'p',    ///< key: document id
    index = 'i',      ///< identity: of the index; key: entry key
    automatic = 'a',  ///< the same, for an index whose entries can be made again when it is gone; start: what it is.
                      ///< 'i' is written for other indexes, and was written for all but paths of an automatic index
    walked = 'w',     ///< key: of the last row in the order of such an index, which no longer exists; start: as before
    combined = 'U',   ///< union: branch, and as above for that branch's source. 'u' had no identity and is rejected
    sorted = 's',     ///< key: of the last row in the order of the result
    ordered = 'o',    ///< the same; identity: of the index that was read in this order, beginning at `start`
    grouped = 'g',    ///< key: of the last group
  };
  Kind kind = Kind::primary;
  std::uint64_t fingerprint = 0;
  std::uint64_t skip = 0;           ///< rows of OFFSET that are still to be skipped
  std::uint64_t left = UINT64_MAX;  ///< rows of TOP or LIMIT that are still to be returned
  std::uint64_t branch = 0;         ///< of a union; for `ordered`: 1 if the index was read downwards
  /// For a query that reads one physical partition after the other: the id of the one it reads, plus 1. 0: it reads
  /// all.
  std::uint64_t partition_id_plus_one = 0;
  std::string identity;
  std::string key;
  /// Position inside the document at `key`: the combination of JOIN after which to continue. Empty: after the document.
  std::vector<std::uint64_t> positions;
  /// Key of the first entry that ORDER BY considers equal to the last row; or how the entries of an index were made
  /// (gone_index.h), depending on the kind.
  std::string start;
  std::string digest;                ///< of the whole key; empty: `key` is the whole key
  std::uint64_t same_beginning = 0;  ///< results up to this one, inclusive, whose longer keys begin with `key`
  /// What the continuing plan has cost since its last full page, in hundredths of a request unit.
  std::uint64_t spent = 0;
  /// Plans that took turns with the continuing one: their results before `key` were returned. In the physical partition
  /// that is read, if they are read one after the other.
  std::vector<Bookmark::Left> left_plans;

  std::string encode(std::string_view origin = {}) const;
  /// nullopt for any text that encode() did not make.
  static std::optional<Continuation> decode(std::string_view text, std::string_view origin = {});

  /// Limit of a key, which is 6 KB of text: continuations travel in headers, and clients accept headers of 8 KB or
  /// more.
  static constexpr std::size_t key_bytes_max = 4 * 1024;
  static constexpr std::size_t beginning_bytes = 256;
  /// Makes `whole` the key. If it is longer than `bytes_max`, keeps only its beginning, and its digest.
  void set_key(std::string whole, std::size_t bytes_max = key_bytes_max);
  /// Whether the key belongs to a row or group of the result, not to what is read.
  bool names_row() const {
    return kind == Kind::sorted || kind == Kind::ordered || kind == Kind::walked || kind == Kind::grouped;
  }
  bool has_start() const { return kind == Kind::ordered || kind == Kind::automatic || kind == Kind::walked; }
  bool is_union_with_start() const { return kind == Kind::combined && !start.empty(); }
  bool has_whole_key() const { return digest.empty(); }
  /// Identifies a key of which only the beginning is kept; 16 bytes.
  static std::string digest_of(std::string_view key);
  /// Whether `key` is longer than `beginning` and begins with it.
  static bool goes_on(std::string_view key, std::string_view beginning) {
    return key.size() > beginning.size() && key.starts_with(beginning);
  }

  bool operator==(const Continuation&) const = default;
};

}  // namespace octavo::query::sql
