#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "base/assert.h"
#include "query/index/index_definition.h"
#include "storage/document/revision.h"

namespace octavo::query {

/// Index entries, the same for local and global indexes (a local index adds a prefix to the key, see LocalIndexes).
///
/// Format (entry of an index):
///   key    := field key* document id                 sort keys (query/collation/sort_key.h), `_id` by its bytes
///   value  := id_size:varint (size:varint json)*     one per field, as JSON text; size 0: the document lacks the field
///
/// The values make the index covering: a query for indexed fields needs no document. Sort keys of strings cannot be
/// decoded, so the text is stored as well. The size of the id tells where it begins in the key.
struct IndexedDocument {
  simdjson::dom::element body;
  std::string_view body_text;
  std::string_view id;
  storage::Revision revision;
};

/// Appends the entry of `document` to `key` and `value`. False: the index's filter excludes it, and nothing was
/// appended. Deterministic: the entry of an old version of a document can be found by computing it again.
bool append_index_entry(const IndexDefinition& definition, const IndexedDocument& document, std::string& key,
                        std::string& value);
/// The same for an index of these fields without a filter.
void append_index_entry(std::span<const OrderedField> fields, const IndexedDocument& document, std::string& key,
                        std::string& value);

/// A decoded row. Views into the row.
class IndexRow {
 public:
  /// `key` without the prefix of a local index. nullopt if the bytes are invalid.
  static std::optional<IndexRow> decode(std::string_view key, std::string_view value);

  std::string_view document_id() const {
    OCTAVO_ASSERT(id_size_ <= key_.size());
    return key_.substr(key_.size() - id_size_);
  }
  /// Field keys, without the id.
  std::string_view field_keys() const {
    OCTAVO_ASSERT(id_size_ <= key_.size());
    return key_.substr(0, key_.size() - id_size_);
  }
  /// JSON text of field number `field`; empty if the document lacks it. Linear in `field`.
  std::string_view field(std::size_t field) const;

 private:
  std::string_view key_;
  std::size_t id_size_ = 0;
  std::string_view fields_;
};

}  // namespace octavo::query
