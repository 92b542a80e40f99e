#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "base/assert.h"

namespace octavo::query::sql {

/// Memory for the values that a query builds while it evaluates one item: allocated in order, freed by rewinding to a
/// mark. Runs no destructors. One thread.
class Arena {
 public:
  /// `bytes_max`: limit of the total; beyond it allocate() returns null.
  explicit Arena(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  struct Mark {
    std::size_t block = 0;
    std::size_t used = 0;
  };
  Mark mark() const { return {block_, used_}; }
  void rewind(Mark mark) {
    block_ = mark.block;
    used_ = mark.used;
    // The memory of one huge item must not stay allocated for all items that follow.
    while (blocks_.size() > block_ + 1 && total_ > kept_bytes) {
      total_ -= blocks_.back().size;
      blocks_.pop_back();
    }
  }

  /// Aligned for any value; null beyond the limit.
  void* allocate(std::size_t size) {
    size = (size + alignment - 1) / alignment * alignment;
    while (block_ < blocks_.size()) {
      OCTAVO_ASSERT(used_ <= blocks_[block_].size);
      if (blocks_[block_].size - used_ >= size) {
        void* memory = blocks_[block_].bytes.get() + used_;
        used_ += size;
        return memory;
      }
      if (block_ + 1 == blocks_.size()) break;
      ++block_;
      used_ = 0;
    }
    const std::size_t wanted = std::max(size, blocks_.empty() ? first_block_bytes : blocks_.back().size * 2);
    const std::size_t block_size = std::max(size, std::min(wanted, block_bytes_max));
    if (size > bytes_max_ || total_ + block_size > bytes_max_) return nullptr;
    blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(block_size), block_size});
    total_ += block_size;
    block_ = blocks_.size() - 1;
    used_ = size;
    return blocks_[block_].bytes.get();
  }

  /// Null beyond the limit.
  template <class T>
  T* allocate_array(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count > bytes_max_ / sizeof(T)) return nullptr;
    return static_cast<T*>(allocate(std::max<std::size_t>(1, count * sizeof(T))));
  }

 private:
  static constexpr std::size_t alignment = alignof(std::max_align_t);
  static constexpr std::size_t first_block_bytes = 4 * 1024;
  static constexpr std::size_t block_bytes_max = 1024 * 1024;
  static constexpr std::size_t kept_bytes = 256 * 1024;

  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size;
  };
  std::vector<Block> blocks_;
  std::size_t block_ = 0;
  std::size_t used_ = 0;
  std::size_t total_ = 0;
  std::size_t bytes_max_;
};

}  // namespace octavo::query::sql
