#include "storage/lmdb/internal/row_log.h"

#include <exception>
#include <utility>

#include "base/assert.h"
#include "base/byte_codec.h"

namespace octavo::storage {

// In memory a row is: tree:varint key:sized has_value:u8 [value:sized].
void RowLog::add(std::size_t tree, std::string_view key, std::optional<std::string_view> value) noexcept {
  if (broken()) return;
  try {
    ByteWriter out(pending_);
    out.varint(tree);
    out.sized_bytes(key);
    out.u8(value ? 1 : 0);
    if (value) out.sized_bytes(*value);
  } catch (const std::exception&) {
    break_off();
  }
}

void RowLog::cut(std::size_t mark) noexcept {
  if (mark < pending_.size()) pending_.erase(mark);
}

void RowLog::seal() noexcept {
  if (pending_.empty() || broken()) return;
  const std::size_t bytes = pending_.size();
  try {
    const std::lock_guard lock(mutex_);
    if (waiting_bytes_ + bytes > waiting_bytes_max) {
      break_off();
      return;
    }
    sealed_.push_back(std::move(pending_));
    waiting_bytes_ += bytes;
    pending_.clear();
  } catch (const std::exception&) {
    break_off();
  }
}

std::string RowLog::take(std::size_t bytes_max) {
  const std::lock_guard lock(mutex_);
  std::string rows;
  while (!sealed_.empty() && (rows.empty() || rows.size() + sealed_.front().size() <= bytes_max)) {
    if (rows.empty()) {
      rows = std::move(sealed_.front());
      waiting_bytes_ -= rows.size();
    } else {
      rows += sealed_.front();
      waiting_bytes_ -= sealed_.front().size();
    }
    sealed_.pop_front();
  }
  return rows;
}

std::size_t RowLog::waiting_bytes() const {
  const std::lock_guard lock(mutex_);
  return waiting_bytes_;
}

Expected<void> RowLog::for_each(std::string_view rows, FunctionRef<Expected<void>(const Row&)> apply) {
  ByteReader in(rows);
  while (!in.rest().empty()) {
    Row row;
    row.tree = in.varint();
    row.key = in.sized_bytes();
    if (in.u8() != 0) row.value = in.sized_bytes();
    OCTAVO_ASSERT(in.ok());
    OCTAVO_TRY_VOID(apply(row));
  }
  return {};
}

}  // namespace octavo::storage
