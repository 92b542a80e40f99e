#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "query/sql/evaluate/groups.h"
#include "query/sql/run/internal/collected_rows.h"
#include "query/sql/run/internal/resume_key.h"

namespace octavo::query::sql {

/// What a query collects before it returns the first result: rows that it sorts, the distinct ones of them, or groups.
/// Keeps the first ones in their order, as many as a page may need.
class RowCollector {
 public:
  /// Both must outlive this.
  RowCollector(const Program& program, Evaluation& evaluation) : program_(program), evaluation_(evaluation) {}

  /// Begins with nothing. Keeps up to `rows_max` rows or groups, or fewer rows that together have `bytes_max`.
  void begin(std::size_t rows_max, std::size_t bytes_max);
  /// Whether it keeps all results in any case, because it must compare each with the others.
  bool keeps_all() const;

  std::size_t bytes() const { return groups_ ? groups_->bytes() : rows_.bytes(); }
  /// Whether there may have been more than it keeps.
  bool is_full() const { return groups_ ? groups_->size() >= groups_max_ : rows_.is_full(); }
  /// Whether it is full and does not keep the row or group with this key.
  bool has_lost(const ResumeKey& key) const;

  // Rows.

  /// Whether a row with this key could be among those that are kept.
  bool has_room_for(std::string_view key) const { return rows_.has_room_for(key); }
  void add(CollectedRow row) { rows_.add(std::move(row)); }
  /// Adds the bound row unless it equals another one. Of equal rows, the first by `order` counts.
  void add_distinct(std::string_view order);
  /// Unordered; without those that add_distinct added.
  const std::vector<CollectedRow>& rows() const { return rows_.rows(); }

  // Groups.

  /// Adds the bound row to its group, if that comes after `resume_key`.
  void add_to_group(const ResumeKey& resume_key);
  /// The key of the group that the bound row belongs to, until the next call. Null: the evaluation failed.
  const std::string* make_group_key();

  /// Everything in order, as results; of groups only those that have a result. `check` is called with the memory that
  /// these take so far, and may let the evaluation fail.
  std::vector<CollectedRow> take(FunctionRef<void(std::size_t)> check);

 private:
  std::vector<CollectedRow> take_groups(FunctionRef<void(std::size_t)> check);

  const Program& program_;
  Evaluation& evaluation_;
  CollectedRows rows_{0};
  std::unique_ptr<Groups> groups_;  ///< null: there are rows
  std::size_t groups_max_ = SIZE_MAX;
  std::string scratch_;  ///< key of the bound row's group, or its identity
};

}  // namespace octavo::query::sql
