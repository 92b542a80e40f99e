#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "query/index/catalog/index_catalog.h"
#include "query/plan/key_range.h"
#include "query/selector/selector.h"

namespace octavo::query {

/// A range of document ids in byte order; an absent bound is open.
struct IdRange {
  std::optional<std::string> start;
  bool start_inclusive = true;
  std::optional<std::string> end;
  bool end_inclusive = true;

  bool is_point() const { return start && end && *start == *end; }
};

/// A further entry that a result must have in an automatic index: one of these keys at this path.
struct EntryCondition {
  std::string field;              ///< for display
  std::uint64_t path = 0;         ///< IndexDefinition::automatic_path
  std::vector<std::string> keys;  ///< entry keys without the document id
};

/// Another index in which every result has one of some values. The entries of each value are in document id order.
struct LeapStream {
  IndexView index;
  std::vector<KeyRange> values;  ///< one value each: the rest of an entry's key is the document id
};

/// One source of results: an index, or the documents themselves.
struct Branch {
  Selector selector;                    ///< of its results; in a union, one alternative and the other conditions
  std::optional<IndexView> index;       ///< absent: the primary index (documents by id)
  IndexBounds bounds;                   ///< with an index
  std::vector<IdRange> id_ranges;       ///< without an index; in ascending order
  std::vector<EntryCondition> filters;  ///< documents that do not meet all of them are not loaded
  /// If the ranges are one value (by bytes, and possibly also by the collation): the streams that its entries are
  /// intersected with (walk/leap.h), the rarest first.
  std::vector<LeapStream> leaps;
  bool recheck = true;  ///< documents must be tested against `selector`: the ranges do not express all of it
  std::vector<std::size_t> columns_that_must_exist;  ///< sort columns that the ranges do not guarantee
};

/// How a query is run. Immutable; valid for one generation of the catalog.
struct Plan {
  std::vector<Branch> branches;  ///< empty: nothing can match. Several: a union, in which a later branch skips results
                                 ///< that an earlier one has
  bool descending = false;       ///< ranges are walked from their end
  bool sort_in_memory = false;
  bool order_may_lapse = false;  ///< depends on PlannerStatistics::order_is_exact: valid for one request
  bool covering = false;         ///< answered from index entries; no document is read
  /// In request units, for entries and documents only: the likely cost, and the cost of reading everything in the
  /// ranges.
  double expected = 0;
  double most = 0;
  double matching = 1;  ///< estimated share of the entries or documents in the ranges that are results
  std::vector<std::string> warnings;

  bool uses_primary() const { return branches.size() == 1 && !branches[0].index; }
};

/// An index that was examined, and why a plan uses it or not.
struct Candidate {
  std::optional<IndexView> index;  ///< absent: the primary index
  bool usable = false;
  bool chosen = false;
  bool leaves_out = false;  ///< a partial index whose filter the selector does not imply: only use_index may choose it
  std::string reason;       ///< CouchDB's code, or `higher_cost`, `not_built`, … where none of CouchDB's is true
  std::string detail;       ///< for display
  std::size_t ranking = 0;  ///< 0: the plan uses it
  bool covering = false;
  bool serves_sort = false;
  bool sort_descending = false;  ///< serves the sort when walked backwards
  std::uint64_t rows = 0;        ///< entries in its ranges
  bool rows_exact = false;       ///< not estimated
  double expected = 0;           ///< as Plan::expected
  double most = 0;
  double matching = 1;
  /// Numbers of the candidates that it is intersected with (Branch::leaps), the rarest first. `joined`: another
  /// candidate is intersected with this one, which then has no plan of its own.
  std::vector<std::size_t> leaps;
  bool joined = false;
  bool recheck = true;
  IndexBounds bounds;
  std::vector<IdRange> id_ranges;
  std::vector<std::size_t> columns_that_must_exist;
};

}  // namespace octavo::query
