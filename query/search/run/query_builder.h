#pragma once

#include <functional>
#include <lucene++/LuceneHeaders.h>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "query/search/analysis/analyzer.h"
#include "query/search/lucene/search_budget.h"
#include "query/search/run/term_selection.h"
#include "query/search/syntax/query_syntax.h"

namespace octavo::query::search {

/// Makes Lucene queries from parsed queries, for one search.
class QueryBuilder {
 public:
  /// `partition` may be null: the whole index.
  QueryBuilder(const FieldAnalyzers& analyzers, Lucene::IndexReaderPtr reader, std::shared_ptr<SearchBudget> budget,
               std::shared_ptr<PartitionDocuments> partition)
      : analyzers_(analyzers),
        reader_(std::move(reader)),
        budget_(std::move(budget)),
        partition_(std::move(partition)) {}

  /// nullptr: the query has no term left, for example because it has only stop words; it matches no document.
  /// Errors: bad_request (for an invalid regular expression, …).
  Expected<Lucene::QueryPtr> build(const QueryNode& node);
  /// Matches documents with one of the values in a facet.
  static Lucene::QueryPtr any_facet(std::string_view field, std::span<const std::string> values);

 private:
  Expected<Lucene::QueryPtr> build_unboosted(const QueryNode& node);
  Expected<Lucene::QueryPtr> build_clauses(const QueryNode& node);
  Lucene::QueryPtr build_words(const QueryNode& node);
  Lucene::QueryPtr build_phrase(const QueryNode& node);
  Lucene::QueryPtr build_fuzzy(const QueryNode& node);
  Lucene::QueryPtr build_range(const QueryNode& node);
  Lucene::QueryPtr build_wildcard(const QueryNode& node);
  Expected<Lucene::QueryPtr> build_regex(const QueryNode& node);
  Lucene::QueryPtr numbers(std::string_view field, double lower, bool lower_inclusive, double upper,
                           bool upper_inclusive);
  Lucene::QueryPtr select(const TermSelection& selection) {
    return make_selection_query(selection, budget_, partition_);
  }

  const FieldAnalyzers& analyzers_;
  Lucene::IndexReaderPtr reader_;
  std::shared_ptr<SearchBudget> budget_;
  std::shared_ptr<PartitionDocuments> partition_;
};

/// Finds the words of a text that match a query, for highlighting. Ignores the query's fields, as Cloudant does.
class WordMatcher {
 public:
  WordMatcher(const QueryNode& query, const FieldAnalyzers& analyzers);
  /// Throws TimeIsOver.
  bool matches(std::string_view term, SearchBudget& budget) const;

 private:
  void collect(const QueryNode& node, const FieldAnalyzers& analyzers);
  std::vector<std::string> words_;  ///< sorted
  std::vector<std::function<bool(std::string_view)>> tests_;
};

/// Whether `text` matches a pattern with `*` and `?`; `\` escapes. O(pattern × text).
bool matches_wildcard(std::wstring_view pattern, std::wstring_view text);
/// The number of edits (insert, remove, replace, swap neighbours) between two words; any number above `most` if there
/// are more.
int edit_distance(std::wstring_view a, std::wstring_view b, int most);

}  // namespace octavo::query::search
