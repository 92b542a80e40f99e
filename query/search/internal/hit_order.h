#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "query/search/internal/columns.h"
#include "query/search/internal/index_snapshot.h"
#include "query/search/search_request.h"

namespace octavo::query::search {

/// What one document is sorted by, in one of the keys. Text lies in a column.
struct OrderSlot {
  bool missing = false;
  double number = 0;
  std::string_view text;
};

/// A document that was found.
struct FoundDocument {
  int32_t document = 0;
  std::vector<OrderSlot> slots;
};

/// Compares documents by sort keys. For one search; keeps the columns it reads from.
class HitOrder {
 public:
  /// `sort` empty: the best first.
  HitOrder(const std::vector<SortKey>& sort, ColumnCache& columns, SearchBudget& budget);

  void enter_segment(const IndexSnapshot::Segment& segment);
  bool needs_score() const { return needs_score_; }
  /// Fills `slots`, of the present segment. `document` counts from the start of the index.
  void read(int32_t document, int32_t base, double score, std::vector<OrderSlot>& slots) const;
  /// Below 0: `a` comes first.
  int compare(const std::vector<OrderSlot>& a, const std::vector<OrderSlot>& b) const;
  /// As clients see it: the values and, last, the document's number.
  std::vector<OrderValue> values(const FoundDocument& found) const;
  std::vector<OrderValue> bookmark_values(const FoundDocument& found) const;
  /// Slots of a bookmark, which has to live meanwhile. nullopt: of another kind.
  std::optional<std::vector<OrderSlot>> slots_of(const std::vector<OrderValue>& values) const;

 private:
  struct Key {
    SortKey key;
    std::shared_ptr<const StringColumn> strings;
    std::shared_ptr<const NumberColumn> numbers;
  };
  std::vector<Key> keys_;
  std::vector<std::shared_ptr<const StringColumn>> kept_;  ///< of all segments: the slots look into them
  ColumnCache& columns_;
  SearchBudget& budget_;
  bool needs_score_ = false;
};

/// The first `limit` documents of an order.
class TopHits {
 public:
  TopHits(const HitOrder& order, std::size_t limit) : order_(order), limit_(limit) {}

  void offer(int32_t document, const std::vector<OrderSlot>& slots);
  /// In order; empties this.
  std::vector<FoundDocument> take();

 private:
  bool before(const FoundDocument& a, const FoundDocument& b) const;
  const HitOrder& order_;
  std::size_t limit_;
  std::vector<FoundDocument> heap_;  ///< the last on top
};

}  // namespace octavo::query::search
