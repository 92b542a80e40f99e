#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <lucene++/LuceneHeaders.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "query/search/internal/search_budget.h"

namespace octavo::query::search {

/// The values of one field in one segment by document: what sorts, groups and facets look at. Made from the field's
/// terms when it is first asked for.
struct StringColumn {
  static constexpr std::uint32_t none = 0;
  std::vector<std::uint32_t> value_of;  ///< by document: number of its greatest term, from 1 on; none
  std::vector<std::uint32_t> begin;     ///< of term n in `text`: begin[n-1] … begin[n]
  std::string text;

  std::string_view value(std::uint32_t number) const {
    return std::string_view(text).substr(begin[number - 1], begin[number] - begin[number - 1]);
  }
  std::size_t bytes() const { return (value_of.size() + begin.size()) * sizeof(std::uint32_t) + text.size(); }
};

/// Several values for each document.
struct FacetColumn {
  std::vector<std::uint32_t> first;   ///< by document, and one more: where its values begin in `values`
  std::vector<std::uint32_t> values;  ///< numbers of terms, from 0 on
  std::vector<std::uint32_t> begin;   ///< of the terms in `text`, and one more
  std::string text;

  std::size_t term_count() const { return begin.empty() ? 0 : begin.size() - 1; }
  std::string_view term(std::uint32_t number) const {
    return std::string_view(text).substr(begin[number], begin[number + 1] - begin[number]);
  }
  std::size_t bytes() const {
    return (first.size() + values.size() + begin.size()) * sizeof(std::uint32_t) + text.size();
  }
};

struct NumberColumn {
  std::vector<double> value_of;  ///< by document; NaN: none
  std::size_t bytes() const { return value_of.size() * sizeof(double); }
};

/// Keeps columns from search to search, up to a number of bytes; the one not used for longest goes first. Thread-safe:
/// two threads that want the same column at once both make it.
class ColumnCache {
 public:
  explicit ColumnCache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  std::shared_ptr<const StringColumn> strings(const Lucene::IndexReaderPtr& segment, const std::string& field,
                                              SearchBudget& budget);
  std::shared_ptr<const FacetColumn> facets(const Lucene::IndexReaderPtr& segment, const std::string& field,
                                            SearchBudget& budget);
  std::shared_ptr<const NumberColumn> numbers(const Lucene::IndexReaderPtr& segment, const std::string& field,
                                              SearchBudget& budget);
  void clear();

 private:
  struct Key {
    const void* segment;  ///< of the segment's files, the same for all readers of it
    char kind;
    std::string field;
    auto operator<=>(const Key&) const = default;
  };
  struct Entry {
    Lucene::LuceneObjectWeakPtr segment;  ///< expired: the address may be another's by now
    std::shared_ptr<const void> column;
    std::size_t bytes = 0;
    std::list<Key>::iterator used;
  };

  template <class Column, class Make>
  std::shared_ptr<const Column> get(const Lucene::IndexReaderPtr& segment, char kind, const std::string& field,
                                    Make make);
  void erase(std::map<Key, Entry>::iterator entry);

  std::size_t bytes_max_;
  std::mutex mutex_;  ///< guards all below
  std::map<Key, Entry> entries_;
  std::list<Key> used_;  ///< latest first
  std::size_t bytes_ = 0;
};

}  // namespace octavo::query::search
