#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>

#include "base/assert.h"

namespace octavo::server {

/// Bytes received and not yet consumed, contiguous. `prepare` and `erase` may move them and invalidate views.
class ReadBuffer {
 public:
  std::string_view data() const { return {storage_.get() + begin_, end_ - begin_}; }
  std::size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }
  std::size_t capacity() const { return capacity_; }

  /// Returns at least `bytes_min` writable bytes after the data; call commit() after writing.
  std::span<char> prepare(std::size_t bytes_min) {
    if (capacity_ - end_ < bytes_min) make_room(bytes_min);
    return {storage_.get() + end_, capacity_ - end_};
  }
  void commit(std::size_t bytes) {
    OCTAVO_ASSERT(bytes <= capacity_ - end_);
    end_ += bytes;
  }

  void consume(std::size_t bytes) {
    OCTAVO_ASSERT(bytes <= size());
    begin_ += bytes;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  /// Removes `bytes` at `offset`, for decoded chunk framing.
  void erase(std::size_t offset, std::size_t bytes) {
    OCTAVO_ASSERT(offset <= size() && bytes <= size() - offset);
    char* const hole = storage_.get() + begin_ + offset;
    std::memmove(hole, hole + bytes, size() - offset - bytes);
    end_ -= bytes;
  }

  void append(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(prepare(bytes.size()).data(), bytes.data(), bytes.size());
    commit(bytes.size());
  }

  /// Frees memory if the capacity exceeds `capacity_max` and the data fits into less.
  void shrink(std::size_t capacity_max) {
    if (capacity_ > capacity_max && size() <= capacity_max) reallocate(std::max(size(), std::size_t{1}));
    if (empty() && capacity_max == 0) *this = ReadBuffer{};
  }

 private:
  void make_room(std::size_t bytes_min) {
    if (capacity_ - size() >= bytes_min) {
      std::memmove(storage_.get(), storage_.get() + begin_, size());
      end_ -= begin_;
      begin_ = 0;
    } else {
      reallocate(std::max(size() + bytes_min, begin_ == 0 ? size() * 2 : size()));
    }
  }

  struct Freer {
    // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): realloc()'s
    void operator()(char* storage) const { std::free(storage); }
  };

  // By realloc, which moves a block of many pages without copying: a large body does not block its thread.
  void reallocate(std::size_t capacity) {
    if (begin_ > 0) {
      std::memmove(storage_.get(), storage_.get() + begin_, size());
      end_ = size();
      begin_ = 0;
    }
    // NOLINTNEXTLINE(cppcoreguidelines-no-malloc)
    auto* const other = static_cast<char*>(std::realloc(storage_.get(), capacity));
    if (other == nullptr) throw std::bad_alloc();
    storage_.release();  // NOLINT(bugprone-unused-return-value): realloc() has freed it
    storage_.reset(other);
    capacity_ = capacity;
  }

  std::unique_ptr<char, Freer> storage_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace octavo::server
