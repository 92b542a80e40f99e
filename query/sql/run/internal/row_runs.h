#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octavo::query::sql {

/// Runs of rows that are equal to ORDER BY, read from an index in that order. The index has its own order among equal
/// rows, and clients that merge need another one. So each run is read completely, and the walk ends after the last run
/// with rows of the page.
class RowRuns {
 public:
  /// The page begins with the entry at `start`; empty, or without this call: with the first one.
  void begin_page(std::string start) { page_start_ = std::move(start); }
  const std::string& page_start() const { return page_start_; }
  /// The walk begins again.
  void restart();

  /// The walk has reached an entry with these fields, which must live until the next entry.
  void see_entry(std::string_view fields) { entry_fields_ = fields; }
  /// Takes the row of the current entry, at `position`, into the current run or into a new one. `order`: its values of
  /// ORDER BY, as a key; `has_scalars`: they are scalars. False: it would begin a run, and `has_room()` is false.
  template <class HasRoom>
  bool take(std::string_view order, bool has_scalars, std::string_view position, HasRoom has_room) {
    if (!is_of_current(order)) {
      if (!starts_.empty() && !has_room()) return false;
      starts_.emplace_back(position);
    }
    note(order, has_scalars);
    return true;
  }

  /// Whether a row that is no result may show, by its values of ORDER BY, that the current run is complete.
  bool may_be_over() const { return !is_over_ && !starts_.empty() && entry_fields_ != fields_; }
  /// Takes the values of such a row.
  void see_order(std::string_view order) { is_over_ = order != order_; }

  /// Whether an entry with these fields is known to belong to the current run: whole runs are read for each page, so
  /// this must be cheap.
  bool has_fields(std::string_view fields) const {
    return !starts_.empty() && is_known_by_fields_ && fields == fields_;
  }
  /// The values of ORDER BY of the current run.
  const std::string& order() const { return order_; }

  /// Number of the current run; it was begun.
  std::size_t current() const;
  /// Number of runs that are known to be complete.
  std::size_t complete() const { return starts_.size() - (starts_.empty() || is_over_ ? 0 : 1); }
  /// Key of the first entry of a run.
  const std::string& start_of(std::size_t run) const { return starts_[run]; }
  /// Where a page must begin after one with the rows of the first `runs` runs: at the next run, or without a next run
  /// at the first entry that was not read. `left`: the position of the walk, which may be `down`. Empty: unknown.
  std::string start_after(std::size_t runs, const std::optional<std::string>& left, bool down) const;

 private:
  // An index may have more fields than the order, and may treat arrays and objects of different contents as equal, so a
  // run ends where both have another value.
  bool is_of_current(std::string_view order) const {
    return !starts_.empty() && (order == order_ || entry_fields_ == fields_);
  }
  void note(std::string_view order, bool has_scalars);

  std::string page_start_;
  std::string_view entry_fields_;    ///< of the current index entry
  std::string fields_;               ///< of the last entry of the run
  bool is_known_by_fields_ = false;  ///< entries with the same fields have the same values
  std::string order_;                ///< values of ORDER BY of the last row of the run, as a key
  std::vector<std::string> starts_;  ///< keys of the first entries of all runs
  bool is_over_ = false;             ///< another value than the last run's was read
};

}  // namespace octavo::query::sql
