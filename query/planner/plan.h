#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "query/index/index_manager.h"
#include "query/planner/find_request.h"
#include "query/planner/key_range.h"

namespace octavo::query {

/// A stretch of document ids in byte order; an absent bound is open.
struct IdRange {
  std::optional<std::string> start;
  bool start_inclusive = true;
  std::optional<std::string> end;
  bool end_inclusive = true;

  bool is_point() const { return start && end && *start == *end; }
};

/// What a result has in an automatic index besides the entry that is walked: at this path one of these keys.
struct EntryCondition {
  std::string field;              ///< for people
  std::uint64_t path = 0;         ///< IndexDefinition::automatic_path
  std::vector<std::string> keys;  ///< of entries, without the document's id
};

/// Another index by which the results have one of some values: entries of each value stand in the order of their
/// documents.
struct LeapStream {
  IndexView index;
  std::vector<KeyRange> values;  ///< a value each: what follows in an entry's key is the document's id
};

/// One way to some of the results: an index, or the documents themselves.
struct Branch {
  Selector selector;                    ///< what its results match; in a union, this branch's alternative with the rest
  std::optional<IndexView> index;       ///< absent: the primary index (documents by id)
  IndexBounds bounds;                   ///< with an index
  std::vector<IdRange> id_ranges;       ///< without: in rising order
  std::vector<EntryCondition> filters;  ///< spare the loading of documents that have not all of them
  /// With ranges that are one value (by bytes, and by the collation besides): what its entries are intersected with
  /// (executor/leap.h), the rarest first.
  std::vector<LeapStream> leaps;
  bool recheck = true;  ///< documents must be tested against `selector`: the ranges do not say it all
  std::vector<std::size_t> columns_that_must_exist;  ///< fields sorted by which the ranges do not guarantee
};

/// How a query is run. Immutable; bound to a catalog's generation.
struct Plan {
  std::vector<Branch> branches;  ///< none: nothing can match. Several: a union, results of later ones are skipped
                                 ///< when an earlier one has them
  bool descending = false;       ///< ranges are walked from their end
  bool sort_in_memory = false;
  bool order_may_lapse = false;  ///< rests on PlannerStatistics::order_is_exact: holds for one request
  bool covering = false;         ///< answered from index entries, no document is read
  /// In request units, for entries and documents alone: what is likely, and what reading everything in the ranges
  /// costs.
  double expected = 0;
  double most = 0;
  std::vector<std::string> warnings;

  bool uses_primary() const { return branches.size() == 1 && !branches[0].index; }
};

/// Why an index is, or is not, what a plan uses.
struct Candidate {
  std::optional<IndexView> index;  ///< absent: the primary index
  bool usable = false;
  bool chosen = false;
  bool leaves_out = false;  ///< a partial index whose filter the selector does not imply: only use_index may choose it
  std::string reason;       ///< CouchDB's code, or `higher_cost`, `not_built`, when none of them tells the truth
  std::string detail;       ///< for people
  std::size_t ranking = 0;  ///< 0 for the one that is used
  bool covering = false;
  bool serves_sort = false;
  bool sort_descending = false;  ///< serves the sort when walked backwards
  std::uint64_t rows = 0;        ///< entries in its ranges
  bool rows_exact = false;       ///< not estimated
  double expected = 0;           ///< as Plan's
  double most = 0;
  /// Numbers of the candidates that it is intersected with (Branch::leaps), the rarest first; `joined`: such a one,
  /// without a plan of its own.
  std::vector<std::size_t> leaps;
  bool joined = false;
  bool recheck = true;
  IndexBounds bounds;
  std::vector<IdRange> id_ranges;
  std::vector<std::size_t> columns_that_must_exist;
};

}  // namespace octavo::query
