#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "query/index/index_reader.h"
#include "query/planner/plan.h"

namespace octavo::query {

/// What a query has learnt of its leaps so far; kept between slices.
struct LeapState {
  struct Stream {
    bool rests = false;
    std::uint32_t looked = 0;
    std::uint32_t spared = 0;
  };
  std::vector<Stream> streams;
  std::uint32_t in_vain = 0;  ///< documents in a row that were loaded and are no results
  bool loaded = false;        ///< the last candidate was, and is no result as far as is known
};

/// Intersects the entries of one value that a query walks with those of other values (Branch::leaps): entries of one
/// value stand in the order of document ids, so each index is sought to the candidate of the others, in turn, and whole
/// stretches are passed over. A stream that spares less than a third of its looks rests, and is asked again when eight
/// documents in a row were loaded in vain. Holds snapshots: for one slice, on one thread.
class Leap {
 public:
  /// `branch` and `state` outlive it.
  /// `is_over`: asked after each leap whether the walk is to stop there.
  static Expected<Leap> open(partitioning::Database& database, const Branch& branch, const IndexScope& scope,
                             LeapState& state, std::function<bool()> is_over);

  /// `id`: of the entry that is walked. The lowest id from there on that the other values may have: the same one, then
  /// its document is to be loaded, or a higher one, to which the walk can leap. nullopt: there is none. Counts what it
  /// looked at in `keys_examined`.
  std::optional<std::string> next(std::string_view id, std::uint64_t& keys_examined);
  bool is_over() const { return is_over_(); }

 private:
  struct Value {
    const KeyRange* range;
    IndexReader reader;
  };
  using Values = std::vector<Value>;

  Leap(LeapState& state, std::function<bool()> is_over) : state_(&state), is_over_(std::move(is_over)) {}
  std::optional<std::string> seek(Values& values, std::string_view id, std::uint64_t& keys_examined);

  LeapState* state_;
  std::function<bool()> is_over_;
  std::vector<Values> streams_;
  std::string sought_;
};

}  // namespace octavo::query
