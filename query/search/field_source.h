#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "query/index/feed_index.h"
#include "query/javascript/functions.h"

namespace octavo::query::search {

using javascript::IndexedField;

/// Decides what of a document is searched: an index function, or the fields of a Mango index of type text.
class FieldSource {
 public:
  virtual ~FieldSource() = default;
  /// Replaces `fields`; none: the document is not in the index. Called on one thread at a time, for as long as a
  /// function takes.
  virtual Expected<void> read(const FeedDocument& document, std::vector<IndexedField>& fields) = 0;
  /// Whether the length of a field's text counts for the score: it costs a byte for each document in memory.
  virtual bool scores_length(std::string_view field) const = 0;
};

}  // namespace octavo::query::search
