#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "analytics/duckdb/duckdb_api.h"
#include "analytics/table/value_type.h"

namespace octavo::analytics {

/// The values of a column for some rows, as DuckDB's vectors hold them: an object's members and a list's elements are
/// in columns of their own.
class ColumnBuffer {
 public:
  explicit ColumnBuffer(const ValueType& type);
  /// Those of columns of scalars.
  static std::vector<ColumnBuffer> of(std::initializer_list<ValueKind> kinds);

  /// boolean, integer, number, text, object or list: how the values are stored.
  ValueKind kind() const { return kind_; }
  std::size_t size() const { return size_; }
  /// How many values NULL adds, those of the members included.
  std::size_t null_cells() const { return null_cells_; }
  bool is_all_valid() const { return is_all_valid_; }
  /// A bit for each value, from the lowest one of the first word on: 0 stands for NULL.
  std::span<const std::uint64_t> validity() const { return valid_; }
  std::span<const std::uint8_t> booleans() const { return booleans_; }
  std::span<const std::int64_t> integers() const { return integers_; }
  std::span<const double> numbers() const { return numbers_; }
  std::span<const std::string_view> texts() const { return texts_; }
  std::span<const duckdb::ListEntry> lists() const { return lists_; }
  /// Of an object in the order of its type; a list has one.
  std::span<const ColumnBuffer> children() const { return children_; }
  ColumnBuffer& child(std::size_t n) { return children_[n]; }

  // Each of these adds a value. Precondition: the values are stored so.

  void null();
  void boolean(bool value);
  void integer(std::int64_t value);
  void number(double value);
  /// `value` must live until the buffer is cleared.
  void text(std::string_view value);
  /// An object; the caller adds a value to each of its members.
  void object();
  /// A list of the elements that were added to the child since it had `first`.
  void list(std::size_t first);

  /// Forgets the values behind the first `count`, and what was added to the children for further ones.
  void truncate(std::size_t count);
  void clear();

 private:
  void add_validity(bool is_valid);

  ValueKind kind_;
  std::size_t null_cells_ = 1;
  std::size_t size_ = 0;
  bool is_all_valid_ = true;
  std::vector<std::uint64_t> valid_;
  std::vector<std::uint8_t> booleans_;
  std::vector<std::int64_t> integers_;
  std::vector<double> numbers_;
  std::vector<std::string_view> texts_;
  std::vector<duckdb::ListEntry> lists_;
  std::vector<ColumnBuffer> children_;
};

}  // namespace octavo::analytics
