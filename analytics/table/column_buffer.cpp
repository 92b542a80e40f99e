#include "analytics/table/column_buffer.h"

#include <algorithm>

#include "base/assert.h"

namespace octavo::analytics {

ColumnBuffer::ColumnBuffer(const ValueType& type)
    : kind_(type.is_stored_as_text()           ? ValueKind::text
            : type.kind == ValueKind::variants ? ValueKind::object
                                               : type.kind) {
  if (kind_ == ValueKind::text) return;
  for (const ValueType& child : type.children) children_.emplace_back(child);
  if (kind_ != ValueKind::object) return;
  for (const ColumnBuffer& child : children_) null_cells_ += child.null_cells_;
}

std::vector<ColumnBuffer> ColumnBuffer::of(std::initializer_list<ValueKind> kinds) {
  std::vector<ColumnBuffer> buffers;
  for (const ValueKind kind : kinds) buffers.emplace_back(ValueType::of(kind));
  return buffers;
}

void ColumnBuffer::add_validity(bool is_valid) {
  if (size_ % 64 == 0) valid_.push_back(0);
  valid_.back() |= static_cast<std::uint64_t>(is_valid) << (size_ % 64);
  is_all_valid_ = is_all_valid_ && is_valid;
  ++size_;
}

void ColumnBuffer::null() {
  add_validity(false);
  switch (kind_) {
    case ValueKind::boolean:
      return booleans_.push_back(0);
    case ValueKind::integer:
      return integers_.push_back(0);
    case ValueKind::number:
      return numbers_.push_back(0);
    case ValueKind::object:
      for (ColumnBuffer& child : children_) child.null();
      return;
    case ValueKind::list:
      return lists_.push_back({children_.front().size(), 0});
    default:
      texts_.emplace_back();
  }
}

void ColumnBuffer::boolean(bool value) {
  OCTAVO_ASSERT(kind_ == ValueKind::boolean);
  add_validity(true);
  booleans_.push_back(value ? 1 : 0);
}

void ColumnBuffer::integer(std::int64_t value) {
  OCTAVO_ASSERT(kind_ == ValueKind::integer);
  add_validity(true);
  integers_.push_back(value);
}

void ColumnBuffer::number(double value) {
  OCTAVO_ASSERT(kind_ == ValueKind::number);
  add_validity(true);
  numbers_.push_back(value);
}

void ColumnBuffer::text(std::string_view value) {
  OCTAVO_ASSERT(kind_ == ValueKind::text);
  add_validity(true);
  texts_.push_back(value);
}

void ColumnBuffer::object() {
  OCTAVO_ASSERT(kind_ == ValueKind::object);
  add_validity(true);
}

void ColumnBuffer::list(std::size_t first) {
  OCTAVO_ASSERT(kind_ == ValueKind::list && first <= children_.front().size());
  add_validity(true);
  lists_.push_back({first, children_.front().size() - first});
}

void ColumnBuffer::truncate(std::size_t count) {
  const std::size_t values = std::min(count, size_);
  size_ = values;
  valid_.resize((values + 63) / 64);
  if (values % 64 != 0) valid_.back() &= (std::uint64_t{1} << (values % 64)) - 1;
  switch (kind_) {
    case ValueKind::boolean:
      return booleans_.resize(values);
    case ValueKind::integer:
      return integers_.resize(values);
    case ValueKind::number:
      return numbers_.resize(values);
    case ValueKind::object:
      for (ColumnBuffer& child : children_) child.truncate(values);
      return;
    case ValueKind::list:
      lists_.resize(values);
      return children_.front().truncate(values == 0 ? 0 : lists_.back().offset + lists_.back().length);
    default:
      return texts_.resize(values);
  }
}

void ColumnBuffer::clear() {
  truncate(0);
  is_all_valid_ = true;
  for (ColumnBuffer& child : children_) child.clear();
}

}  // namespace octavo::analytics
