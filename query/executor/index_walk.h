#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/function_ref.h"
#include "partitioning/scan.h"
#include "query/executor/leap.h"
#include "query/index/index_reader.h"
#include "query/planner/key_range.h"
#include "query/planner/plan.h"

namespace octavo::query {

/// Where a walk over the ranges of an index stands between two slices: by key, so that no snapshot is held.
struct IndexPosition {
  std::size_t range = 0;  ///< in the direction of the walk
  /// The lower bound of what is left (walking up: inclusive), or the upper (walking down: exclusive); absent: all.
  std::optional<std::string> key;
};

enum class WalkStep : std::uint8_t {
  next,
  stop_before,  ///< the slice ends; the next one begins with this entry
  finish,       ///< the whole walk ends
};

/// One slice of a walk over `ranges`, which are in key order, up or down: hands each entry to `take`. Entries of other
/// logical partitions than the query's are passed over by seeking; each seek counts as a row. Updates `position` and
/// `rows_left`; at least one entry is handed over when there are rows left, whatever the time is. Counts all that it
/// looked at in `keys_examined`. With `leap` each range is one value, walked up, and entries that the other values do
/// not have are passed over. Errors: those of `take`.
Expected<partitioning::ScanState> walk_index(IndexReader& reader, std::span<const KeyRange> ranges, bool down,
                                             IndexPosition& position, std::size_t& rows_left,
                                             std::chrono::steady_clock::time_point until, std::uint64_t& keys_examined,
                                             FunctionRef<Expected<WalkStep>(const storage::KeyValue&)> take,
                                             Leap* leap = nullptr);

/// The documents of `range`, up or down, from the id `from` on where the walk has come to it.
partitioning::DocumentRange documents_in(const IdRange& range, bool down, const std::optional<std::string>& from);

}  // namespace octavo::query
