#include "query/mango/run/result_sorter.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "query/collation/sort_key.h"
#include "query/index/index_entry.h"

namespace octavo::query {

void ResultSorter::keep_at_most(std::uint64_t rows_max) {
  OCTAVO_ASSERT(rows_.empty());
  rows_max_ = std::min(rows_max_, rows_max);
}

bool ResultSorter::make_key(simdjson::dom::element root, const storage::DocumentView& document) {
  key_.clear();
  for (const OrderedField& field : sort_) {
    if (field.path.is("_id")) {
      append_text(document.id, field.descending);
    } else if (field.path.is("_rev")) {
      append_text(document.revision.to_string(), field.descending);
    } else if (const auto found = find_field(root, field.path)) {
      if (field.descending) {
        append_sort_key_descending(key_, found.value);
      } else {
        append_sort_key(key_, found.value);
      }
    } else {
      return false;
    }
  }
  // Orders equal keys as an index would.
  append_text(document.id, sort_[0].descending);
  return true;
}

void ResultSorter::append_text(std::string_view text, bool descending) {
  const std::size_t start = key_.size();
  append_sort_key_of_string(key_, text, StringOrder::bytes);
  if (!descending) return;
  for (std::size_t i = start; i < key_.size(); ++i) key_[i] = static_cast<char>(~key_[i]);
}

bool ResultSorter::add(std::string text) {
  OCTAVO_ASSERT(has_room());
  if (rows_.size() >= rows_max_) {
    std::ranges::pop_heap(rows_, {}, key_of);
    bytes_ -= size_of(rows_.back());
    rows_.pop_back();
  }
  Row row{.key = key_, .text = std::move(text)};
  bytes_ += size_of(row);
  has_overflowed_ = bytes_ > bytes_max_;
  if (has_overflowed_) return false;
  rows_.push_back(std::move(row));
  std::ranges::push_heap(rows_, {}, key_of);
  return true;
}

void ResultSorter::clear() {
  rows_.clear();
  bytes_ = 0;
  has_overflowed_ = false;
}

std::vector<std::string> ResultSorter::take(std::uint64_t skip) {
  std::ranges::sort(rows_, {}, key_of);
  std::vector<std::string> texts;
  const auto first = static_cast<std::size_t>(std::min<std::uint64_t>(skip, rows_.size()));
  texts.reserve(rows_.size() - first);
  for (std::size_t i = first; i < rows_.size(); ++i) texts.push_back(std::move(rows_[i].text));
  return texts;
}

}  // namespace octavo::query
