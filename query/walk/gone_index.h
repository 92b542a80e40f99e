#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/index/automatic_index.h"
#include "query/index/index_definition.h"
#include "query/index/index_entry.h"

namespace octavo::query {

/// An index by whose entries the previous pages were read: a JSON index, or a path or a composite index of an automatic
/// one. It was deleted, or removed by a change of the indexing policy, so the remaining rows are sorted like its
/// entries. So are the rows of a path whose absence index is being built, until pages can be read by it. It also stands
/// for the documents by id, if these were read for one side of a union and another side has lost its index.
///
/// Format (index of a continuation):
///   start     := ['@' partition_id:varint] ['|' side:varint] [direction] (path | several | 'p')
///   path      := order text
///   several   := ('B' | 'C' | 'j') (direction path:sized)*    fields of a composite index, with the order in capitals,
///                                                             or of a JSON index
///   direction := '+' | '-'                              of the walk: up or down; absent in older ones: as ORDER BY
///   order     := 'b' | 'c'                              of strings: by bytes, or by the collation
///              | 'a'                                    by bytes, with an entry for each document without the path
///
/// 'p' stands for the documents. `partition_id`: of the physical partition that was read; it was one after another.
/// `side`: of the union.
struct GoneIndex {
  std::vector<OrderedField> fields;  ///< none: the documents by id
  bool is_json = false;              ///< a JSON index; otherwise one field is a path, and several a composite index
  bool has_absences = false;         ///< a path with an entry for each document that lacks it
  StringOrder order = StringOrder::bytes;
  std::optional<bool> down = {};  ///< whether it was read downwards; nullopt: unknown, the continuation is older
  std::optional<std::size_t> partition_id = {};
  std::optional<std::uint64_t> side = {};

  /// nullopt: the entries cannot be made again without the index, because it leads to elements of an array.
  static std::optional<GoneIndex> of(const IndexDefinition& index, bool down);

  std::string to_text() const;
  /// nullopt: the text is invalid.
  static std::optional<GoneIndex> from_text(std::string_view text);

  /// Whether it was a part of what the pages read: other parts were read before it, and others are left.
  bool is_part() const { return partition_id || side; }
  /// The entry that the index had for a document that is a result; nullopt: it had none.
  std::optional<std::string> entry_of(const IndexedDocument& document) const;
};

}  // namespace octavo::query
