#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "query/search/run/columns.h"
#include "query/search/run/index_snapshot.h"
#include "query/search/syntax/search_request.h"

namespace octavo::query::search {

/// The value of one document for one sort key. `text` is a view into a column.
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

/// Compares documents by sort keys. For one search; keeps the columns that it reads alive.
class HitOrder {
 public:
  /// If `sort` is empty, the best hit comes first.
  HitOrder(const std::vector<SortKey>& sort, ColumnCache& columns, SearchBudget& budget);

  void enter_segment(const IndexSnapshot::Segment& segment);
  bool needs_score() const { return needs_score_; }
  /// Fills `slots` from the current segment. `document` is counted from the start of the index.
  void read(int32_t document, int32_t base, double score, std::vector<OrderSlot>& slots) const;
  /// Below 0: `a` comes first.
  int compare(const std::vector<OrderSlot>& a, const std::vector<OrderSlot>& b) const;
  /// The order as clients see it: the values, followed by the document's number.
  std::vector<OrderValue> values(const FoundDocument& found) const;
  std::vector<OrderValue> bookmark_values(const FoundDocument& found) const;
  /// The slots of a bookmark, with views into `values`. nullopt if its values do not fit the sort keys.
  std::optional<std::vector<OrderSlot>> slots_of(const std::vector<OrderValue>& values) const;

 private:
  struct Key {
    SortKey key;
    std::shared_ptr<const StringColumn> strings;
    std::shared_ptr<const NumberColumn> numbers;    ///< for a distance: the longitudes
    std::shared_ptr<const NumberColumn> latitudes;  ///< for a distance
  };
  std::vector<Key> keys_;
  std::vector<std::shared_ptr<const StringColumn>> kept_;  ///< of all segments: the slots have views into them
  ColumnCache& columns_;
  SearchBudget& budget_;
  bool needs_score_ = false;
};

/// The first `limit` documents of an order.
class TopHits {
 public:
  TopHits(const HitOrder& order, std::size_t limit) : order_(order), limit_(limit) {}

  void offer(int32_t document, const std::vector<OrderSlot>& slots);
  /// Returns the documents in order and removes them.
  std::vector<FoundDocument> take();

 private:
  bool before(const FoundDocument& a, const FoundDocument& b) const;
  const HitOrder& order_;
  std::size_t limit_;
  std::vector<FoundDocument> heap_;  ///< the last document on top
};

}  // namespace octavo::query::search
