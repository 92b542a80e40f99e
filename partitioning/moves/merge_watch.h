#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octavo::partitioning {

/// The physical partitions of a database, as far as it matters for merging them.
struct MergeView {
  struct Part {
    std::size_t partition_id = 0;
    std::optional<std::uint64_t> bytes;  ///< nullopt: many, or unknown
    double per_second = 0;               ///< request units in the last minute
  };
  std::vector<Part> parts;    ///< in the order of the hash space
  std::size_t count_min = 1;  ///< there must not be fewer
  bool waits = false;         ///< none are merged now, but what is small counts as such
};

/// Remembers how long neighbouring physical partitions have been small. Those that stay so are merged. The limits are
/// well below those of a split: otherwise splits and merges would chase each other. A partition that was split or
/// merged has a new id, so its time begins again, as everything does after a restart, or when the database was closed.
///
/// One thread at a time; the times come from the caller.
class MergeWatch {
 public:
  using Clock = std::chrono::steady_clock;
  using Pair = std::pair<std::size_t, std::size_t>;

  /// What two neighbours must not reach together, in percent of what a single one may have.
  static constexpr std::uint64_t percent_max = 40;

  struct Limits {
    std::uint64_t bytes = 0;   ///< at which a physical partition is split
    double per_second = 0;     ///< that one serves
    Clock::duration after{0};  ///< how long they must have been small
  };

  /// Neighbours that are to be merged: those with the least bytes, if there are several. Their time begins again, so
  /// that a merge which fails is not tried again at once.
  std::optional<Pair> note(std::string_view instance_tag, const MergeView& view, const Limits& limits,
                           Clock::time_point now);
  /// Forgets the other databases.
  void keep_only(const std::set<std::string, std::less<>>& instance_tags);

 private:
  /// Since when these neighbours have been small.
  std::map<std::string, std::map<Pair, Clock::time_point>, std::less<>> small_;
};

}  // namespace octavo::partitioning
