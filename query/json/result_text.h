#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "partitioning/scan.h"

namespace octavo::query {

/// The results of a query as JSON text, separated by commas, until they are sent. The caller of a query may take the
/// text between two slices; the next result is then still separated from those that were taken.
class ResultText {
 public:
  std::string& text() { return text_; }
  /// Whether so much waits that the slice should end.
  bool is_full() const { return text_.size() >= partitioning::ScanBudget::output_bytes_max; }

  /// Begins a result, whose text the caller appends.
  std::string& begin() {
    if (!std::exchange(is_first_, false)) text_ += separator;
    return text_;
  }
  void add(std::string_view result) { begin() += result; }
  /// Adds the result that `append(text)` appends, and returns its size. nullopt: `append` returned false, and nothing
  /// was added.
  template <class Append>
  std::optional<std::size_t> add_if(Append append) {
    const std::size_t before = text_.size();
    const bool was_first = is_first_;
    begin();
    const std::size_t start = text_.size();
    if (append(text_)) return text_.size() - start;
    text_.resize(before);
    is_first_ = was_first;
    return std::nullopt;
  }
  /// Whether add_if would add a result.
  template <class Append>
  bool would_add(Append append) {
    const std::size_t before = text_.size();
    const bool appended = append(text_);
    text_.resize(before);
    return appended;
  }

 private:
  // A view, as it is appended for each result: its size need not be counted.
  static constexpr std::string_view separator = ",\n";

  std::string text_;
  bool is_first_ = true;
};

}  // namespace octavo::query
