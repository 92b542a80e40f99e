#pragma once

#include <cstddef>
#include <cstdint>
#include <lucene++/LuceneHeaders.h>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "query/search/lucene/search_budget.h"
#include "query/search/run/byte_bounded_cache.h"

namespace octavo::query::search {

/// The values of one field in one segment, by document, for sorting, groups and facets. Made from the field's terms at
/// the first use.
struct StringColumn {
  static constexpr std::uint32_t none = 0;
  std::vector<std::uint32_t> value_of;  ///< by document: number of its greatest term, counted from 1, or `none`
  std::vector<std::uint32_t> begin;     ///< term n is the part of `text` from begin[n-1] to begin[n]
  std::string text;

  std::string_view value(std::uint32_t number) const {
    return std::string_view(text).substr(begin[number - 1], begin[number] - begin[number - 1]);
  }
  std::size_t bytes() const { return (value_of.size() + begin.size()) * sizeof(std::uint32_t) + text.size(); }
};

/// The same for any number of values per document.
struct FacetColumn {
  std::vector<std::uint32_t> first;   ///< by document, plus one: where its values begin in `values`
  std::vector<std::uint32_t> values;  ///< numbers of terms, counted from 0
  std::vector<std::uint32_t> begin;   ///< by term, plus one: where it begins in `text`
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
  std::vector<double> value_of;  ///< by document; NaN: no value
  std::size_t bytes() const { return value_of.size() * sizeof(double); }
};

/// Caches columns between searches, up to a number of bytes; discards the least recently used first. Thread-safe: two
/// threads that need the same column at once both make it.
class ColumnCache {
 public:
  explicit ColumnCache(std::size_t bytes_max) : columns_(bytes_max) {}

  std::shared_ptr<const StringColumn> strings(const Lucene::IndexReaderPtr& segment, const std::string& field,
                                              SearchBudget& budget);
  std::shared_ptr<const FacetColumn> facets(const Lucene::IndexReaderPtr& segment, const std::string& field,
                                            SearchBudget& budget);
  std::shared_ptr<const NumberColumn> numbers(const Lucene::IndexReaderPtr& segment, const std::string& field,
                                              SearchBudget& budget);
  void clear();

 private:
  struct Key {
    const void* segment;  ///< identifies the segment's files; the same for all its readers
    char kind;
    std::string field;
    auto operator<=>(const Key&) const = default;
  };
  struct Entry {
    Lucene::LuceneObjectWeakPtr segment;  ///< if expired, the address in the key may belong to another segment
    std::shared_ptr<const void> column;
  };

  template <class Column, class Make>
  std::shared_ptr<const Column> get(const Lucene::IndexReaderPtr& segment, char kind, const std::string& field,
                                    Make make);

  std::mutex mutex_;  ///< guards columns_
  ByteBoundedCache<Key, Entry> columns_;
};

}  // namespace octavo::query::search
