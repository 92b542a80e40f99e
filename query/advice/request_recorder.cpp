#include "query/advice/request_recorder.h"

#include <algorithm>
#include <functional>
#include <new>
#include <utility>

#include "base/murmur3.h"
#include "base/unix_time.h"

namespace octavo::query::advice {

namespace {

// The first character of a key tells the scope.
constexpr char scope_mark(bool in_partition) {
  return in_partition ? 'p' : 'd';
}

}  // namespace

void RequestRecorder::record(std::string_view text, bool in_partition, double request_units, std::uint64_t results,
                             FunctionRef<std::vector<FieldPath>()> equalities) noexcept {
  try {
    const std::uint64_t hash = murmur3_x64_128(text).high + (in_partition ? 1 : 0);
    std::string key(1, scope_mark(in_partition));
    key += text.substr(0, text_bytes_max);
    const std::lock_guard lock(mutex_);
    if (!shapes_) {
      shapes_ = std::make_unique<Shapes>();
      since_s_ = unix_now_s();
    }
    Note& note = shapes_->add(key, hash, 1).note;
    if (!note.is_known) {
      note.equalities = equalities();
      note.is_known = true;
    }
    note.request_units += request_units;
    note.results += results;
    ++count_;
    is_used_ = true;
  } catch (const std::bad_alloc&) {
    // The request must not fail for it.
  }
}

RecordedRequests RequestRecorder::recorded() const {
  RecordedRequests found;
  const std::lock_guard lock(mutex_);
  if (!shapes_) return found;
  found.count = count_;
  found.since_s = since_s_;
  for (const auto& entry : shapes_->entries()) {
    RecordedShape shape;
    shape.text = entry.key.substr(1);
    shape.in_partition = entry.key.front() == scope_mark(true);
    shape.equalities = entry.note.equalities;
    shape.count = static_cast<std::uint64_t>(entry.weight);
    shape.error_max = static_cast<std::uint64_t>(entry.error_max);
    shape.request_units = entry.note.request_units;
    shape.results = entry.note.results;
    found.shapes.push_back(std::move(shape));
  }
  std::ranges::sort(found.shapes, std::ranges::greater{}, &RecordedShape::count);
  return found;
}

void RequestRecorder::forget_if_idle() {
  const std::lock_guard lock(mutex_);
  if (is_used_) {
    is_used_ = false;
    return;
  }
  shapes_.reset();
  count_ = 0;
}

}  // namespace octavo::query::advice
