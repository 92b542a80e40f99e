#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "query/sql/evaluate/program.h"

namespace octavo::query::sql {

/// The combinations of a query's FROM for one document after the other, and where in its document a slice or a page has
/// stopped. A query without a JOIN has one combination for each document.
class Combinations {
 public:
  /// `sources` must outlive this.
  explicit Combinations(const std::vector<CompiledSource>& sources) : from_(sources, true, &distinct_elements_) {}
  Combinations(const Combinations&) = delete;
  Combinations& operator=(const Combinations&) = delete;

  /// Begins with the bound document, after the combination where it was left.
  void begin() { from_.begin(left_at_); }
  /// Binds the next combination; false at the end or if the evaluation failed.
  bool next(Evaluation& evaluation) { return from_.next(evaluation); }
  /// The current combination: one number per source.
  std::vector<std::uint64_t> positions() const { return from_.positions(); }

  /// Leaves the document after the current combination.
  void leave() { left_at_ = from_.positions(); }
  /// The combination after which the document was left; empty: it is at its beginning.
  const std::vector<std::uint64_t>& left_at() const { return left_at_; }
  void continue_after(std::vector<std::uint64_t> positions) { left_at_ = std::move(positions); }
  void end_document() { left_at_.clear(); }

  /// Begins again with all documents.
  void restart() {
    left_at_.clear();
    distinct_elements_.clear();
  }

  /// With DISTINCT over a source: the sort key of the current element, and the memory for those that were met.
  const std::string& distinct_key() const { return distinct_elements_.key(); }
  std::size_t distinct_bytes() const { return distinct_elements_.bytes(); }

 private:
  DistinctElements distinct_elements_;
  FromIterator from_;
  std::vector<std::uint64_t> left_at_;
};

}  // namespace octavo::query::sql
