#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "query/json/field_path.h"
#include "query/mango/find_request.h"
#include "storage/document/document.h"

namespace octavo::query {

/// Sorts the results of a _find in memory. Keeps the first ones in their order: those that skip and limit may need.
class ResultSorter {
 public:
  /// `sort` is not empty and must outlive this.
  ResultSorter(const std::vector<OrderedField>& sort, std::uint64_t rows_max, std::size_t bytes_max)
      : sort_(sort), rows_max_(rows_max), bytes_max_(bytes_max) {}

  /// From now on, keeps at most `rows_max` results. Nothing was added yet.
  void keep_at_most(std::uint64_t rows_max);

  /// Makes the key of a document. False: it lacks a sort field. Results have all of them, like the entries of CouchDB's
  /// indexes.
  bool make_key(simdjson::dom::element root, const storage::DocumentView& document);
  /// The key that was made last.
  const std::string& key() const { return key_; }
  /// Whether the result with this key may be among the first ones.
  bool has_room() const { return rows_.size() < rows_max_ || key_ < rows_.front().key; }
  /// Adds the text of the result with this key. False: there are more bytes than allowed. Precondition: has_room().
  bool add(std::string text);
  /// Whether add has returned false.
  bool has_overflowed() const { return has_overflowed_; }
  void clear();

  std::size_t size() const { return rows_.size(); }
  /// The texts in order, without the first `skip`. Call it once, at the end.
  std::vector<std::string> take(std::uint64_t skip);
  /// After take: the key of the last result. Precondition: there is one.
  const std::string& last_key() const { return rows_.back().key; }

 private:
  struct Row {
    std::string key;
    std::string text;
  };
  static constexpr auto key_of = [](const Row& row) -> std::string_view { return row.key; };
  static std::size_t size_of(const Row& row) { return row.key.size() + row.text.size() + sizeof(Row); }
  void append_text(std::string_view text, bool descending);

  const std::vector<OrderedField>& sort_;
  std::uint64_t rows_max_;
  std::size_t bytes_max_;
  std::vector<Row> rows_;  ///< a heap with the last row on top, until they are taken
  std::size_t bytes_ = 0;
  bool has_overflowed_ = false;
  std::string key_;
};

}  // namespace octavo::query
