#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <simdjson.h>

#include "query/collation/sort_key.h"
#include "query/view/view_definition.h"

/// Keys and values of the rows of a group of views.
///
/// Format (rows of views):
///   row key   := view:u16be partition? sort_key document ordinal:u32be
///   partition := the partition key as text, only in partitioned groups
///   document  := the document's id as text
///   text      := as in sort keys by bytes (append_key_text)
///   row value := document_size:varint key_size:varint key value
///                document_size: the size of `document` above; key and value: JSON texts
///
/// Rows of one view are therefore ordered by key, then by the bytes of the document id, then by emission.
/// `sort_key`: see query/collation/sort_key.h; in order `raw` with `"collation": "raw"`, else `icu`.
namespace octavo::query::views {

inline constexpr std::size_t ordinal_bytes = 4;

/// Precondition: `element` has this type.
inline simdjson::dom::array array_of(const simdjson::dom::element& element) {
  return simdjson::dom::array(element);
}
inline simdjson::dom::object object_of(const simdjson::dom::element& element) {
  return simdjson::dom::object(element);
}

/// The common prefix of the row keys of a view, or of one of its partitions.
std::string view_prefix(std::size_t view);
std::string view_prefix(std::size_t view, std::string_view partition);
/// The least string above all strings that begin with `prefix`. Precondition: not all bytes of `prefix` are FF.
std::string after_prefix(std::string prefix);

/// The part of a sort key that encodes the first `level` elements of an array; all keys with these elements begin with
/// it. Empty if the key is no array or has fewer elements: such a key is a group by itself. `sort_keys` begins with the
/// key.
std::string_view group_prefix(std::string_view sort_keys, std::size_t level, StringOrder order);

/// A decoded row. The members are views into the stored row.
struct ViewRow {
  std::string_view row_key;
  std::string_view escaped_id;
  std::string_view key;    ///< JSON text
  std::string_view value;  ///< JSON text
  std::string id() const;
};
/// nullopt if the bytes are invalid.
std::optional<ViewRow> read_row(std::string_view row_key, std::string_view row_value);
void append_row_value(std::string& out, std::size_t escaped_id_bytes, std::string_view key, std::string_view value);

}  // namespace octavo::query::views
