#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json.hpp>
#include <simdjson.h>

namespace octavo::query {

/// Sort keys: JSON values as bytes whose memcmp order is the collation (collation.h):
/// sign(memcmp(key(a), key(b))) == sign(compare(a, b)), and equal values have equal keys.
///
/// Format (sort key):
///   key      := lowest | missing | value | highest
///   lowest   := 01                        below everything
///   missing  := 02                        a field that does not exist: below null
///   value    := 03                        null
///             | 04 | 05                   false | true
///             | 06 double:8 residual?     number; residual only where |double| >= 2^53
///             | 07 string                 ICU sort key + 00   (or, by bytes: UTF-8 with 00 → 00 FF, then 00 00)
///             | 08 value* 00              array
///             | 09 (07 string value)* 00  object
///   highest  := FF                        above everything
///
/// Raw collation has other first bytes: 06 number, 10 false, 11 null, 12 true, 13 object, 14 array, 15 string.
///
/// `double` is big-endian, with all bits flipped for negative numbers and the sign bit for others; `residual` is the
/// difference between an integer and its double (append_residual in query/json/large_integer.h), so integers of any
/// size keep their exact order. No key is a prefix of another, so keys may be joined: the key of a compound index is
/// the keys of its fields in order. A descending field is the same with every byte complemented, which keeps both
/// properties.
///
/// A string's text cannot be recovered from a key in order `icu` (ICU sort keys are one-way): code that needs the value
/// stores it separately. Cost: about 0.3 µs for a short string, a few ns for others. Thread-safe.
enum class StringOrder : std::uint8_t {
  icu,    ///< the order of the CouchDB API
  bytes,  ///< ordinal UTF-8
  raw,    ///< strings as `bytes`, and the types in the order of CouchDB's raw collation (compare_raw)
};

void append_sort_key(std::string& out, const simdjson::dom::element& value, StringOrder order = StringOrder::icu);
void append_sort_key(std::string& out, const boost::json::value& value, StringOrder order = StringOrder::icu);
void append_sort_key_descending(std::string& out, const simdjson::dom::element& value,
                                StringOrder order = StringOrder::icu);
void append_sort_key_descending(std::string& out, const boost::json::value& value,
                                StringOrder order = StringOrder::icu);

/// The key of a string that is not a JSON value (for example `_id`).
void append_sort_key_of_string(std::string& out, std::string_view text, StringOrder order = StringOrder::icu);

/// Appends the beginning of that key: its first `bytes` bytes, and more after them, which may differ from the whole
/// key. If the whole key has at most `bytes` bytes, appends the whole key. For cutting long keys: of a long text, only
/// a part is looked at, unless nearly all of its characters are ignored or combine with others.
void append_beginning_of_sort_key(std::string& out, std::string_view text, StringOrder order, std::size_t bytes);

/// Appends a string in the encoding of order `bytes`: UTF-8 with 00 → 00 FF, then 00 00.
void append_key_text(std::string& out, std::string_view text);

/// Keys that are not values. In a descending field write them with `descending`: `lowest` then is still below
/// everything in the field's *ascending* order, that is, after everything on disk.
enum class SortSentinel : std::uint8_t { lowest = 0x01, missing = 0x02, highest = 0xFF };
inline void append_sort_key(std::string& out, SortSentinel sentinel, bool descending = false) {
  const auto byte = static_cast<std::uint8_t>(sentinel);
  out.push_back(static_cast<char>(descending ? ~byte : byte));
}

/// The length of the one key at the start of `keys` (as joined for a compound index), or 0 if the bytes are not a key.
std::size_t sort_key_length(std::string_view keys, bool descending = false, StringOrder order = StringOrder::icu);

/// True if the key at the start of `keys` is an array's: the keys of its elements follow the first byte.
bool is_array_sort_key(std::string_view keys, StringOrder order = StringOrder::icu);

/// True if the key at the start of `keys` is `missing`.
inline bool is_missing_sort_key(std::string_view keys, bool descending = false) {
  return !keys.empty() && static_cast<std::uint8_t>(keys[0]) == (descending ? 0xFD : 0x02);
}

}  // namespace octavo::query
