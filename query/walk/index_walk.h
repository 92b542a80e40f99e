#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/function_ref.h"
#include "partitioning/scan.h"
#include "query/plan/key_range.h"
#include "query/plan/plan.h"
#include "query/walk/index_reader.h"
#include "query/walk/leap.h"

namespace octavo::query {

/// The position of a walk over the ranges of an index between two slices: a key, so that no snapshot is held.
struct IndexPosition {
  std::size_t range = 0;  ///< number of the range, counted in the direction of the walk
  /// The inclusive lower bound (walking up) or exclusive upper bound (walking down) of what is left; absent: all is
  /// left.
  std::optional<std::string> key;
};

enum class WalkStep : std::uint8_t {
  next,
  stop_before,  ///< the slice ends; the next one begins with this entry
  finish,       ///< the whole walk ends
};

/// Runs one slice of a walk over `ranges`, which are in key order, up or down, and passes each entry to `take`. Skips
/// entries of other logical partitions than the query's by seeking; each seek counts as a row. Updates `position` and
/// `rows_left`; passes at least one entry while rows are left, even after `until`. Counts the keys it examines in
/// `keys_examined`. With `leap`, each range is one value and is walked up, and entries that the other values do not
/// have are skipped. Errors: those of `take`.
Expected<partitioning::ScanState> walk_index(IndexReader& reader, std::span<const KeyRange> ranges, bool down,
                                             IndexPosition& position, std::size_t& rows_left,
                                             std::chrono::steady_clock::time_point until, std::uint64_t& keys_examined,
                                             FunctionRef<Expected<WalkStep>(const storage::KeyValue&)> take,
                                             Leap* leap = nullptr);

/// The documents of `range`, up or down, beginning at the id `from` if the walk has reached it.
partitioning::DocumentRange documents_in(const IdRange& range, bool down, const std::optional<std::string>& from);

}  // namespace octavo::query
