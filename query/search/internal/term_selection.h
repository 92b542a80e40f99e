#pragma once

#include <functional>
#include <lucene++/LuceneHeaders.h>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "query/search/internal/search_budget.h"

namespace octavo::query::search {

/// Documents of one logical partition, segment by segment; for the time of one search.
class PartitionDocuments {
 public:
  PartitionDocuments(std::string_view partition, std::shared_ptr<SearchBudget> budget);
  /// In rising order. Reads them at the first call for a segment.
  const std::vector<int32_t>& of(const Lucene::IndexReaderPtr& segment);
  const Lucene::TermPtr& term() const { return term_; }

 private:
  Lucene::TermPtr term_;
  std::shared_ptr<SearchBudget> budget_;
  std::unordered_map<const void*, std::vector<int32_t>> segments_;
};

/// Some terms of a field: a range of them, or several, and among those the ones a test lets pass.
struct TermSelection {
  struct Range {
    Lucene::String first;  ///< where to begin
    bool first_included = true;
    std::optional<Lucene::String> last;  ///< nullopt: to the end of the field
    bool last_included = true;
    std::optional<Lucene::String> prefix;  ///< ends with the first term that lacks it
  };
  Lucene::String field;
  std::vector<Range> ranges;
  std::function<bool(std::wstring_view)> test;  ///< empty: all

  /// Calls `visit(enumeration)` for each term of `reader`, in order, until it returns false.
  void for_each(const Lucene::IndexReaderPtr& reader, SearchBudget& budget,
                const std::function<bool(const Lucene::TermEnumPtr&)>& visit) const;
};

/// A query for all documents that have any of the selected terms; each scores the same. Reads the postings of all these
/// terms; with `partition`, of documents of that partition only, skipping the others.
Lucene::QueryPtr make_selection_query(const TermSelection& selection, const std::shared_ptr<SearchBudget>& budget,
                                      const std::shared_ptr<PartitionDocuments>& partition);

}  // namespace octavo::query::search
