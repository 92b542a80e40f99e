#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/index/automatic_index.h"

namespace octavo::query {

/// A path or a composite index of an automatic index, by whose entries the previous pages were read. A change of the
/// indexing policy removed it: the remaining rows are sorted like its entries. It also stands for the documents by id,
/// if these were read for one side of a union and another side has lost its index.
///
/// Format (index of a continuation):
///   start     := ['@' partition_id:varint] ['|' side:varint] [direction] (path | composite | 'p')
///   path      := order text
///   composite := ('B' | 'C') (direction path:sized)*    its fields; `order` in capitals
///   direction := '+' | '-'                              of the walk: up or down; absent in older ones: as ORDER BY
///   order     := 'b' | 'c'                              of strings: by bytes, or by the collation
///
/// 'p' stands for the documents. `partition_id`: of the physical partition that was read; it was one after another.
/// `side`: of the union.
struct GoneIndex {
  std::vector<OrderedField> fields;  ///< one: a path; several: a composite index; none: the documents by id
  StringOrder order = StringOrder::bytes;
  std::optional<bool> down = {};  ///< whether it was read downwards; nullopt: unknown, the continuation is older
  std::optional<std::size_t> partition_id = {};
  std::optional<std::uint64_t> side = {};

  /// nullopt: the entries cannot be made again without the index: it is none of those, or leads to elements of an
  /// array.
  static std::optional<GoneIndex> of(const IndexDefinition& index, bool down);

  std::string to_text() const;
  /// nullopt: the text is invalid.
  static std::optional<GoneIndex> from_text(std::string_view text);

  /// Whether it was a part of what the pages read: other parts were read before it, and others are left.
  bool is_part() const { return partition_id || side; }
  /// The entry that the index had for a document, with its id; nullopt: it had none.
  std::optional<std::string> entry_of(simdjson::dom::element body, std::string_view id) const;
};

}  // namespace octavo::query
