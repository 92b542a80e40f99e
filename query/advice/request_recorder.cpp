#include "query/advice/request_recorder.h"

#include <algorithm>
#include <functional>
#include <new>
#include <utility>

#include "base/assert.h"
#include "base/murmur3.h"
#include "query/index/automatic_index.h"

namespace octavo::query::advice {

namespace {

// The first character of a key tells the scope.
constexpr char scope_mark(bool in_partition) {
  return in_partition ? 'p' : 'd';
}

// In the order of the plans, each once; the first ones of many.
std::array<IndexMark, ChargeWindow::indexes_max> indexes_of(std::span<const Plan> plans) {
  std::array<IndexMark, ChargeWindow::indexes_max> marks{};
  std::size_t count = 0;
  const auto add = [&](const IndexView& index) {
    const IndexMark mark = mark_of(index.definition->identity);
    const auto known = std::span(marks).first(count);
    if (count < marks.size() && std::ranges::find(known, mark) == known.end()) marks[count++] = mark;
  };
  for (const Plan& plan : plans) {
    for (const Branch& branch : plan.branches) {
      if (branch.index) add(*branch.index);
      for (const LeapStream& leap : branch.leaps) add(leap.index);
    }
  }
  return marks;
}

// Makes room for a window: the two oldest that can be one become one; if all have other indexes, the oldest is dropped.
void make_room(std::vector<ChargeWindow>& windows) {
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto same = std::find_if(windows.begin() + static_cast<std::ptrdiff_t>(i) + 1, windows.end(),
                                   [&](const auto& other) { return other.indexes == windows[i].indexes; });
    if (same == windows.end()) continue;
    windows[i].merge(*same);
    windows.erase(same);
    return;
  }
  windows.erase(windows.begin());
}

}  // namespace

IndexMark mark_of(std::string_view index_identity) {
  return murmur3_x64_128(index_of_path(index_identity)).high | 1;  // 0 is no index
}

bool ChargeWindow::uses(IndexMark index) const {
  return std::ranges::find(indexes, index) != indexes.end();
}

void ChargeWindow::merge(const ChargeWindow& other) {
  from_s = count == 0 ? other.from_s : std::min(from_s, other.from_s);
  to_s = std::max(to_s, other.to_s);
  count += other.count;
  request_units += other.request_units;
  results += other.results;
  seen_whole += other.seen_whole;
  matches += other.matches;
  partitions += other.partitions;
}

ChargeWindow RecordedShape::total() const {
  ChargeWindow all;
  for (const ChargeWindow& window : windows) all.merge(window);
  return all;
}

RequestRecorder::RequestRecorder(Clock now_s, Counters counters)
    : now_s_(std::move(now_s)), counters_(std::move(counters)) {}

void RequestRecorder::start() {
  const auto before = counters_ ? counters_() : std::nullopt;
  const std::lock_guard lock(mutex_);
  if (shapes_) return;
  shapes_ = std::make_unique<Shapes>();
  since_s_ = now_s_();
  before_ = before;
  is_started_.store(true, std::memory_order_release);
}

ChargeWindow& RequestRecorder::window_of(Note& note, const Indexes& indexes, std::int64_t now_s) {
  // The newest window of these indexes, if it is young.
  const auto known =
      std::find_if(note.windows.rbegin(), note.windows.rend(), [&](const auto& one) { return one.indexes == indexes; });
  if (known != note.windows.rend() && now_s - known->from_s < window_s) return *known;
  add_used(indexes);
  if (note.windows.size() == windows_max) make_room(note.windows);
  ChargeWindow& window = note.windows.emplace_back();
  window.from_s = now_s;
  window.indexes = indexes;
  return window;
}

void RequestRecorder::add_used(const Indexes& indexes) {
  for (const IndexMark mark : indexes) {
    if (mark != 0 && used_.size() < used_indexes_max) used_.insert(mark);
  }
}

void RequestRecorder::record(const RecordedQuery& query, FunctionRef<QueryOutline()> outline) noexcept {
  try {
    if (!is_started_.load(std::memory_order_acquire)) start();
    const std::uint64_t hash = murmur3_x64_128(query.text).high + (query.in_partition ? 1 : 0);
    const Indexes indexes = indexes_of(query.plans);
    const std::int64_t now_s = now_s_();
    std::string key(1, scope_mark(query.in_partition));
    key += query.text.substr(0, text_bytes_max);
    const std::lock_guard lock(mutex_);
    if (!shapes_) return;  // just forgotten
    Note& note = shapes_->add(key, hash, 1).note;
    if (!note.outline) note.outline = keep_outline(outline());
    note.request_units += query.request_units;
    note.results += query.results;
    ChargeWindow& window = window_of(note, indexes, now_s);
    window.to_s = now_s;
    ++window.count;
    window.request_units += query.request_units;
    window.results += query.results;
    window.partitions += query.partitions;
    if (query.matches) {
      ++window.seen_whole;
      window.matches += *query.matches;
    }
    ++count_;
    is_used_ = true;
  } catch (const std::bad_alloc&) {
    // The request must not fail for it.
  }
}

void RequestRecorder::note_indexes(std::span<const Plan> plans) noexcept {
  try {
    if (!is_started_.load(std::memory_order_acquire)) return;
    const Indexes indexes = indexes_of(plans);
    const std::lock_guard lock(mutex_);
    add_used(indexes);
  } catch (const std::bad_alloc&) {
    // As above.
  }
}

RecordedRequests RequestRecorder::recorded() const {
  RecordedRequests found;
  const std::lock_guard lock(mutex_);
  found.now_s = now_s_();
  if (!shapes_) return found;
  found.count = count_;
  found.since_s = since_s_;
  found.used = used_;
  found.before = before_;
  const std::int64_t changed_s = indexes_changed_s_.load(std::memory_order_relaxed);
  if (changed_s > since_s_) found.indexes_changed_s = changed_s;
  for (const auto& entry : shapes_->entries()) {
    if (!entry.note.outline) continue;
    RecordedShape shape;
    shape.text = entry.key.substr(1);
    shape.in_partition = entry.key.front() == scope_mark(true);
    shape.equalities = entry.note.outline->equalities;
    shape.count = static_cast<std::uint64_t>(entry.weight);
    shape.error_max = static_cast<std::uint64_t>(entry.error_max);
    shape.request_units = entry.note.request_units;
    shape.results = entry.note.results;
    shape.outline = entry.note.outline;
    shape.windows = entry.note.windows;
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
  is_started_.store(false, std::memory_order_release);
  shapes_.reset();
  used_.clear();
  before_.reset();
  count_ = 0;
}

}  // namespace octavo::query::advice
