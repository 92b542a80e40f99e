#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "query/index/index_entry.h"
#include "query/json/field_path.h"
#include "query/mango/prepared_find.h"
#include "storage/document/document.h"
#include "storage/partition/snapshot.h"

namespace octavo::query {

/// A result of a _find: a document, or the index entry that replaces it.
struct FindMatch {
  const storage::DocumentView* document = nullptr;
  const storage::Snapshot* snapshot = nullptr;
  const IndexRow* row = nullptr;
};

/// Renders the matches of a _find as JSON text: whole documents, or the fields that the request names, with the
/// conflicts that it asks for. `plan` is always the number of the plan that has found the match.
class MatchRenderer {
 public:
  /// `prepared` must outlive this.
  explicit MatchRenderer(const PreparedFind& prepared) : prepared_(prepared) {}

  /// Errors: those of the storage; too_large if it would take seconds.
  Expected<void> append(std::string& out, const FindMatch& match, std::size_t plan);
  /// The text of the request's field number `field`, without conflicts; empty: the match lacks it. Until the next call.
  std::string_view field_text(const FindMatch& match, std::size_t plan, std::size_t field, const FieldPath& path);
  /// Appends the body with its conflicts, for a selector that tests them; nothing if the document has none. Errors:
  /// those of the storage.
  Expected<void> append_with_conflicts(std::string& out, const storage::DocumentView& document,
                                       const storage::Snapshot& snapshot) const;

 private:
  std::string_view covered_text(const IndexRow& row, std::size_t plan, std::size_t field);
  std::string_view document_text(const storage::DocumentView& document, const FieldPath& path,
                                 std::string_view conflicts);
  Expected<void> append_conflicts(std::string& out, const storage::DocumentView& document,
                                  const storage::Snapshot& snapshot) const;

  const PreparedFind& prepared_;
  std::string scratch_;
};

}  // namespace octavo::query
