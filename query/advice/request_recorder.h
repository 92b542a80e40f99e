#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/sketch/space_saving.h"
#include "query/json/field_path.h"

namespace octavo::query::advice {

/// A query without its literals and parameters.
struct QueryShape {
  std::string text;                   ///< for people; only the beginning of a long one
  std::vector<FieldPath> equalities;  ///< properties that must equal one constant
  bool in_partition = false;          ///< the request names a logical partition
};

/// The queries of one shape.
struct RecordedShape : QueryShape {
  std::uint64_t count = 0;
  std::uint64_t error_max = 0;  ///< at most this part of `count` belongs to other shapes
  double request_units = 0;
  std::uint64_t results = 0;
};

struct RecordedRequests {
  std::uint64_t count = 0;
  std::int64_t since_s = 0;           ///< Unix time of the first query; 0: no query was recorded
  std::vector<RecordedShape> shapes;  ///< the most frequent ones first
};

/// Counts the queries to one database by shape: always on, in memory, without values. At most shapes_max shapes; of
/// more than these the most frequent ones, with an error. At most 300 KB once there was a query.
///
/// Thread-safe. record() costs about a microsecond, and holds a lock for a part of it. Never throws for lack of memory:
/// it drops the request then.
class RequestRecorder {
 public:
  static constexpr std::size_t shapes_max = 256;
  static constexpr std::size_t text_bytes_max = 1'024;

  /// `text`: of the shape, canonical. `equalities` is called for a shape that is not known.
  void record(std::string_view text, bool in_partition, double request_units, std::uint64_t results,
              FunctionRef<std::vector<FieldPath>()> equalities) noexcept;
  RecordedRequests recorded() const;

  /// Drops everything if nothing was recorded since the last call. For databases that are not used.
  void forget_if_idle();

 private:
  struct Note {
    std::vector<FieldPath> equalities;
    double request_units = 0;
    std::uint64_t results = 0;
    bool is_known = false;
  };
  using Shapes = SpaceSaving<Note, shapes_max>;

  mutable std::mutex mutex_;  ///< guards the members below
  std::unique_ptr<Shapes> shapes_;
  std::uint64_t count_ = 0;
  std::int64_t since_s_ = 0;
  bool is_used_ = false;  ///< since the last forget_if_idle()
};

}  // namespace octavo::query::advice
