#include "storage/lmdb/internal/long_key_run.h"

#include "base/assert.h"
#include "storage/lmdb/internal/long_key_rows.h"

namespace octavo::storage {

void LongKeyRun::enter(Cursor& cursor, std::string_view key) {
  OCTAVO_ASSERT(long_key::is_long(key));
  prefix_.assign(long_key::prefix_of(key));
  of_levels_.reset();
  of_digests_.reset();
  const std::string run_row = long_key::run_row_key(prefix_);
  std::optional<std::uint64_t> number;
  auto row = cursor.seek(run_row);
  if (row && row->key == run_row) {
    number = long_key::decode_number(row->value);
    row = cursor.next();
    ++rows_read_;
  }
  ++rows_read_;
  has_levels_ = number.has_value();
  has_digests_ = row && row->key.starts_with(prefix_);
  if (has_levels_) {
    if (!levels_) levels_.emplace(cursor.beside(Tree{tree_.long_keys}));
    levels_->enter(prefix_, *number);
  }
  if (has_digests_) {
    if (!digests_) digests_.emplace(cursor.beside(tree_));
    digests_->enter(prefix_);
  }
}

std::optional<KeyValue> LongKeyRun::seek(std::string_view key) {
  return start(true, [key](auto& rows) { return rows.seek(key); });
}
std::optional<KeyValue> LongKeyRun::seek_back(std::string_view key) {
  return start(false, [key](auto& rows) { return rows.seek_back(key); });
}
std::optional<KeyValue> LongKeyRun::first() {
  return start(true, [](auto& rows) { return rows.first(); });
}
std::optional<KeyValue> LongKeyRun::last() {
  return start(false, [](auto& rows) { return rows.last(); });
}

std::uint64_t LongKeyRun::rows_read() const {
  return rows_read_ + (levels_ ? levels_->rows_read() : 0) + (digests_ ? digests_->rows_read() : 0);
}

template <class Find>
std::optional<KeyValue> LongKeyRun::start(bool forward, Find find) {
  forward_ = forward;
  of_levels_ = has_levels_ ? find(*levels_) : std::nullopt;
  of_digests_ = has_digests_ ? find(*digests_) : std::nullopt;
  return choose();
}

std::optional<KeyValue> LongKeyRun::choose() {
  if (!of_levels_ || !of_digests_) {
    at_digests_ = of_digests_.has_value();
  } else {
    at_digests_ = forward_ ? of_digests_->key < of_levels_->key : of_levels_->key < of_digests_->key;
  }
  return at_digests_ ? of_digests_ : of_levels_;
}

std::optional<KeyValue> LongKeyRun::step(bool forward) {
  if (forward != forward_ && has_levels_ && has_digests_) {
    // The form that has not the present entry is beyond it in the other direction.
    const auto present = at_digests_ ? of_digests_ : of_levels_;
    OCTAVO_ASSERT(present.has_value());
    const std::string key(present->key);
    static_cast<void>(forward ? seek(key) : seek_back(key));
  }
  forward_ = forward;
  if (at_digests_) {
    OCTAVO_ASSERT(of_digests_.has_value());
    of_digests_ = forward ? digests_->next() : digests_->previous();
  } else {
    OCTAVO_ASSERT(of_levels_.has_value());
    of_levels_ = forward ? levels_->next() : levels_->previous();
  }
  return choose();
}

}  // namespace octavo::storage
