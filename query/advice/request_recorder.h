#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/function_ref.h"
#include "base/sketch/space_saving.h"
#include "base/unix_time.h"
#include "query/advice/query_outline.h"
#include "query/json/field_path.h"
#include "query/plan/plan.h"

namespace octavo::query::advice {

/// Stands for the identity of an index (IndexDefinition::identity).
using IndexMark = std::uint64_t;
IndexMark mark_of(std::string_view index_identity);

/// A query that was answered.
struct RecordedQuery {
  std::string_view text;      ///< of its shape, canonical
  bool in_partition = false;  ///< the request names a logical partition
  double request_units = 0;
  std::uint64_t results = 0;
  std::optional<std::uint64_t> matches = {};  ///< all documents that match; nullopt: it ended before it saw all
  std::size_t partitions = 1;                 ///< physical partitions visited
  std::span<const Plan> plans = {};           ///< by which it was run
};

/// The queries of one shape in some time that were run by the same indexes.
struct ChargeWindow {
  static constexpr std::size_t indexes_max = 4;  ///< more are not kept

  std::int64_t from_s = 0;  ///< Unix time of the first query
  std::int64_t to_s = 0;    ///< and of the last one
  std::uint64_t count = 0;
  double request_units = 0;
  std::uint64_t results = 0;
  std::uint64_t seen_whole = 0;  ///< queries that saw all their matches
  std::uint64_t matches = 0;     ///< of these
  std::uint64_t partitions = 0;  ///< physical partitions visited
  std::array<IndexMark, indexes_max> indexes{};

  bool uses(IndexMark index) const;
  /// Adds the queries of `other`. Precondition: they have the same indexes.
  void merge(const ChargeWindow& other);
};

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
  std::shared_ptr<const QueryOutline> outline;
  std::vector<ChargeWindow> windows;  ///< in the order of their beginnings

  /// All windows together, whatever their indexes.
  ChargeWindow total() const;
};

/// What had been written to the database.
struct WriteCounters {
  std::uint64_t changes = 0;  ///< sequence: each change of a document has one
  std::uint64_t documents = 0;
};

struct RecordedRequests {
  std::uint64_t count = 0;
  std::int64_t since_s = 0;  ///< Unix time of the first query; 0: no query was recorded
  std::int64_t now_s = 0;
  std::vector<RecordedShape> shapes;              ///< the most frequent ones first
  std::unordered_set<IndexMark> used;             ///< indexes that a query used since then
  std::optional<WriteCounters> before = {};       ///< when the first query was recorded; nullopt: unknown
  std::optional<std::int64_t> indexes_changed_s;  ///< Unix time of the last change of a definition since then

  std::int64_t seconds() const { return since_s == 0 ? 0 : now_s - since_s; }
};

/// Counts the queries to one database by shape: always on, in memory, without values. At most shapes_max shapes; of
/// more than these the most frequent ones, with an error. For each shape it keeps what the queries cost with which
/// indexes, in windows that become longer as they age. At most 500 KB once there was a query, and the outlines, which
/// have a limit of the process.
///
/// Thread-safe. record() costs about a microsecond, and holds a lock for a part of it. Never throws for lack of memory:
/// it drops the request then.
class RequestRecorder {
 public:
  static constexpr std::size_t shapes_max = 256;
  static constexpr std::size_t text_bytes_max = 1'024;
  static constexpr std::size_t windows_max = 8;  ///< of a shape
  static constexpr std::int64_t window_s = 600;
  static constexpr std::size_t used_indexes_max = 2'048;

  using Clock = std::function<std::int64_t()>;
  /// Read once, when the first query is recorded.
  using Counters = std::function<std::optional<WriteCounters>()>;
  explicit RequestRecorder(Clock now_s = unix_now_s, Counters counters = {});

  /// `outline` is called for a shape that is not known.
  void record(const RecordedQuery& query, FunctionRef<QueryOutline()> outline) noexcept;
  /// Notes the indexes of a query that is not counted: one of a stored procedure.
  void note_indexes(std::span<const Plan> plans) noexcept;
  /// The definitions of indexes have changed. Must not block.
  void note_definitions() noexcept { indexes_changed_s_.store(now_s_(), std::memory_order_relaxed); }
  RecordedRequests recorded() const;

  /// Drops everything if nothing was recorded since the last call. For databases that are not used.
  void forget_if_idle();

 private:
  struct Note {
    std::shared_ptr<const QueryOutline> outline;  ///< null: the shape is new
    double request_units = 0;
    std::uint64_t results = 0;
    std::vector<ChargeWindow> windows;
  };
  using Shapes = SpaceSaving<Note, shapes_max>;
  using Indexes = std::array<IndexMark, ChargeWindow::indexes_max>;

  void start();
  ChargeWindow& window_of(Note& note, const Indexes& indexes, std::int64_t now_s);
  void add_used(const Indexes& indexes);

  const Clock now_s_;
  const Counters counters_;
  std::atomic<std::int64_t> indexes_changed_s_{0};  ///< 0: never
  std::atomic<bool> is_started_{false};
  mutable std::mutex mutex_;  ///< guards the members below
  std::unique_ptr<Shapes> shapes_;
  std::unordered_set<IndexMark> used_;
  std::optional<WriteCounters> before_;
  std::uint64_t count_ = 0;
  std::int64_t since_s_ = 0;
  bool is_used_ = false;  ///< since the last forget_if_idle()
};

}  // namespace octavo::query::advice
