#include "query/search/run/columns.h"

#include <limits>
#include <lucene++/Term.h>
#include <lucene++/TermDocs.h>
#include <lucene++/TermEnum.h>
#include <utility>

#include "query/search/documents/number_terms.h"
#include "query/search/lucene/lucene_text.h"
#include "query/search/run/term_selection.h"

namespace octavo::query::search {

namespace {

// Visits every term of a field and every document that contains it.
template <class Visit>
void for_each_posting(const Lucene::IndexReaderPtr& segment, const Lucene::String& field, SearchBudget& budget,
                      Visit visit) {
  TermSelection all;
  all.field = field;
  all.ranges.emplace_back();
  const Lucene::TermDocsPtr postings = segment->termDocs();
  all.for_each(segment, budget, [&](const Lucene::TermEnumPtr& terms) {
    if (!visit.term(terms->term()->_text)) return false;
    postings->seek(terms);
    while (postings->next()) {
      visit.document(static_cast<std::size_t>(postings->doc()));
      budget.step();
    }
    return true;
  });
}

struct StringVisit {
  StringColumn& column;
  bool term(std::wstring_view text) const {
    if (column.text.size() > std::numeric_limits<std::uint32_t>::max() / 2) return false;
    append_utf8(column.text, text);
    column.begin.push_back(static_cast<std::uint32_t>(column.text.size()));
    return true;
  }
  void document(std::size_t number) const {
    column.value_of[number] = static_cast<std::uint32_t>(column.begin.size() - 1);
  }
};

struct FacetVisit {
  FacetColumn& column;
  std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs;  ///< document and term
  bool term(std::wstring_view text) const {
    if (column.text.size() > std::numeric_limits<std::uint32_t>::max() / 2) return false;
    append_utf8(column.text, text);
    column.begin.push_back(static_cast<std::uint32_t>(column.text.size()));
    return true;
  }
  void document(std::size_t number) const {
    pairs.emplace_back(static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(column.begin.size() - 2));
    ++column.first[number + 1];
  }
};

struct NumberVisit {
  NumberColumn& column;
  std::optional<double>& current;
  bool term(std::wstring_view text) const {
    current = number_of(text);
    return current.has_value();  // terms with fewer bits come after those with all bits
  }
  void document(std::size_t number) const { column.value_of[number] = *current; }
};

}  // namespace

template <class Column, class Make>
std::shared_ptr<const Column> ColumnCache::get(const Lucene::IndexReaderPtr& segment, char kind,
                                               const std::string& field, Make make) {
  const Lucene::LuceneObjectPtr core = segment->getFieldCacheKey();
  const Key key{core.get(), kind, field};
  {
    const std::lock_guard lock(mutex_);
    if (const Entry* const known = columns_.find(key)) {
      if (!known->segment.expired()) return std::static_pointer_cast<const Column>(known->column);
      columns_.erase(key);
    }
  }
  std::shared_ptr<const Column> column = make();
  const std::lock_guard lock(mutex_);
  columns_.insert(key, Entry{Lucene::LuceneObjectWeakPtr(core), column}, column->bytes());
  return column;
}

void ColumnCache::clear() {
  const std::lock_guard lock(mutex_);
  columns_.clear();
}

std::shared_ptr<const StringColumn> ColumnCache::strings(const Lucene::IndexReaderPtr& segment,
                                                         const std::string& field, SearchBudget& budget) {
  return get<StringColumn>(segment, 's', field, [&] {
    auto column = std::make_shared<StringColumn>();
    column->value_of.resize(static_cast<std::size_t>(segment->maxDoc()), StringColumn::none);
    column->begin.push_back(0);
    const Lucene::String name = field == "_id" ? id_field : to_wide(field);
    for_each_posting(segment, name, budget, StringVisit{*column});
    return column;
  });
}

std::shared_ptr<const FacetColumn> ColumnCache::facets(const Lucene::IndexReaderPtr& segment, const std::string& field,
                                                       SearchBudget& budget) {
  return get<FacetColumn>(segment, 'f', field, [&] {
    auto column = std::make_shared<FacetColumn>();
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    column->first.resize(static_cast<std::size_t>(segment->maxDoc()) + 1);
    column->begin.push_back(0);
    for_each_posting(segment, facet_field(field), budget, FacetVisit{*column, pairs});
    for (std::size_t i = 1; i < column->first.size(); ++i) column->first[i] += column->first[i - 1];
    column->values.resize(pairs.size());
    std::vector<std::uint32_t> next(column->first.begin(), column->first.end());
    for (const auto& [document, term] : pairs) column->values[next[document]++] = term;
    return column;
  });
}

std::shared_ptr<const NumberColumn> ColumnCache::numbers(const Lucene::IndexReaderPtr& segment,
                                                         const std::string& field, SearchBudget& budget) {
  return get<NumberColumn>(segment, 'n', field, [&] {
    auto column = std::make_shared<NumberColumn>();
    column->value_of.resize(static_cast<std::size_t>(segment->maxDoc()), std::numeric_limits<double>::quiet_NaN());
    std::optional<double> current;
    for_each_posting(segment, number_field(field), budget, NumberVisit{*column, current});
    return column;
  });
}

}  // namespace octavo::query::search
