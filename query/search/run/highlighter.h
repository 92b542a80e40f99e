#pragma once

#include <string>
#include <string_view>

#include "query/search/analysis/analyzer.h"
#include "query/search/run/query_builder.h"
#include "query/search/syntax/search_request.h"

namespace octavo::query::search {

/// Marks the words of a query in stored texts, and selects the fragments with most of them, like Lucene's highlighter
/// with its simple fragments.
class Highlighter {
 public:
  Highlighter(const Highlighting& options, const QueryNode& query, const FieldAnalyzers& analyzers,
              SearchBudget& budget)
      : options_(options), analyzers_(analyzers), words_(query, analyzers), budget_(budget) {}

  /// Makes `{"field":["… <em>word</em> …"]}` from a document's stored fields (a JSON object, or empty). Throws
  /// TimeIsOver.
  std::string mark(std::string_view stored_fields) const;

 private:
  void mark_text(std::string_view field, std::string_view text, std::string& out, bool& first) const;

  const Highlighting& options_;
  const FieldAnalyzers& analyzers_;
  WordMatcher words_;
  SearchBudget& budget_;
};

}  // namespace octavo::query::search
