#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "query/index/automatic_index.h"
#include "query/json/field_path.h"

namespace octavo::query {

/// A path of an automatic index whose entries gave the order of the previous pages. A change of the indexing policy
/// removed it: the remaining rows are sorted like its entries.
///
/// Format (path of an index in a continuation):
///   start     := [direction] order path
///   direction := '+' | '-'       the index was read upwards, or downwards; absent in older ones: as ORDER BY says
///   order     := 'b' | 'c'       of strings: by bytes, or by the collation
struct GoneIndex {
  FieldPath path;
  StringOrder order = StringOrder::bytes;
  std::optional<bool> down = {};  ///< whether it was read downwards; nullopt: unknown, the continuation is older

  std::string to_text() const;
  /// nullopt: the text is invalid.
  static std::optional<GoneIndex> from_text(std::string_view text);

  /// The entry that the index had for a document, with its id; nullopt: it had none.
  std::optional<std::string> entry_of(simdjson::dom::element body, std::string_view id) const;
};

}  // namespace octavo::query
