#pragma once

#include <functional>
#include <lucene++/LuceneHeaders.h>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "query/search/lucene/search_budget.h"

namespace octavo::query::search {

/// The documents of one logical partition, by segment. For one search.
class PartitionDocuments {
 public:
  PartitionDocuments(std::string_view partition, std::shared_ptr<SearchBudget> budget);
  /// The documents in ascending order. Reads them at the first call for a segment.
  const std::vector<int32_t>& of(const Lucene::IndexReaderPtr& segment);
  const Lucene::TermPtr& term() const { return term_; }

 private:
  Lucene::TermPtr term_;
  std::shared_ptr<SearchBudget> budget_;
  std::unordered_map<const void*, std::vector<int32_t>> segments_;
};

/// A selection of the terms of a field: one or more ranges, optionally filtered by a test.
struct TermSelection {
  struct Range {
    Lucene::String first;  ///< lower bound
    bool first_included = true;
    std::optional<Lucene::String> last;  ///< upper bound; nullopt: the end of the field
    bool last_included = true;
    std::optional<Lucene::String> prefix;  ///< the range ends at the first term without this prefix
  };
  Lucene::String field;
  std::vector<Range> ranges;
  std::function<bool(std::wstring_view)> test;  ///< empty: selects all terms

  /// Calls `visit(enumeration)` for each term of `reader`, in order, until it returns false.
  void for_each(const Lucene::IndexReaderPtr& reader, SearchBudget& budget,
                const std::function<bool(const Lucene::TermEnumPtr&)>& visit) const;
};

/// A query for all documents with any of the selected terms; all have the same score. Reads the postings of all these
/// terms; with `partition`, only those of documents of that partition, skipping the others.
Lucene::QueryPtr make_selection_query(const TermSelection& selection, const std::shared_ptr<SearchBudget>& budget,
                                      const std::shared_ptr<PartitionDocuments>& partition);

}  // namespace octavo::query::search
