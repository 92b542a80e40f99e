#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "query/plan/plan.h"
#include "query/walk/index_reader.h"

namespace octavo::query {

/// What a query has learnt about its leaps so far; kept between slices.
struct LeapState {
  struct Stream {
    bool rests = false;
    std::uint32_t looked = 0;
    std::uint32_t spared = 0;
  };
  std::vector<Stream> streams;
  std::uint32_t in_vain = 0;  ///< consecutive documents that were loaded and are not results
  bool loaded = false;        ///< the last candidate was loaded, and is not known to be a result
};

/// Intersects the entries of one value that a query walks with those of other values (Branch::leaps). Entries of one
/// value are in document id order, so each index in turn seeks the candidate of the others, and whole ranges are
/// skipped. A stream that skips documents in less than a third of its lookups is suspended, and used again after eight
/// consecutive documents were loaded in vain. Holds snapshots: for one slice, on one thread.
class Leap {
 public:
  /// `branch` and `state` must outlive it. `is_over` is called after each leap: whether the walk must stop there.
  static Expected<Leap> open(partitioning::Database& database, const Branch& branch, const IndexScope& scope,
                             LeapState& state, std::function<bool()> is_over);

  /// `id`: of the walked entry. Returns the lowest id from there on that the other values may have: the same id, whose
  /// document must then be loaded, or a higher one, to which the walk can leap. nullopt: no id is left. Counts the keys
  /// it examines in `keys_examined`.
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
