#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "query/follow/feed_index.h"
#include "query/javascript/functions.h"

namespace octavo::query::search {

using javascript::IndexedField;

/// Extracts the fields to index from documents: by an index function, or by the definition of a Mango text index.
class FieldSource {
 public:
  virtual ~FieldSource() = default;
  /// Replaces `fields`; if there are none, the document is not in the index. Called on one thread at a time. May take
  /// as long as a JavaScript function.
  virtual Expected<void> read(const FeedDocument& document, std::vector<IndexedField>& fields) = 0;
  /// Whether the length of a field's text affects the score, which costs a byte of memory per document.
  virtual bool scores_length(std::string_view field) const = 0;
};

}  // namespace octavo::query::search
