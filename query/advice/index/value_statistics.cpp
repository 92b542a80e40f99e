#include "query/advice/index/value_statistics.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/murmur3.h"

namespace octavo::query::advice {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t more) {
  hash = (hash ^ more) * 0x9E3779B97F4A7C15;
  return hash ^ (hash >> 29);
}

// Equal values have equal hashes; arrays and objects count as one value each: no query asks for one of them.
std::uint64_t hash_of(const simdjson::dom::element& value) {
  const auto type = static_cast<std::uint64_t>(value.type());
  switch (value.type()) {
    case simdjson::dom::element_type::STRING:
      return murmur3_x64_128(value.get_string().value_unsafe()).high | 1;
    case simdjson::dom::element_type::INT64:
    case simdjson::dom::element_type::UINT64:
    case simdjson::dom::element_type::DOUBLE:
      return mix(3, std::bit_cast<std::uint64_t>(value.get_double().value_unsafe())) | 1;
    case simdjson::dom::element_type::BOOL:
      return value.get_bool().value_unsafe() ? 5 : 7;
    default:
      return mix(9, type) | 1;
  }
}

}  // namespace

std::optional<std::vector<std::size_t>> ValueStatistics::numbers_of(std::span<const FieldPath> paths) const {
  std::vector<std::size_t> numbers;
  for (const FieldPath& path : paths) {
    const auto known = std::ranges::find(paths_, path);
    if (known == paths_.end()) return std::nullopt;
    numbers.push_back(static_cast<std::size_t>(known - paths_.begin()));
  }
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

void ValueStatistics::expect(std::span<const FieldPath> paths, bool in_partition) {
  if (sets_.size() == sets_max || count(paths, in_partition)) return;
  for (const FieldPath& path : paths) {
    if (std::ranges::find(paths_, path) != paths_.end()) continue;
    if (paths_.size() == paths_max) return;
    paths_.push_back(path);
  }
  sets_.push_back({*numbers_of(paths), in_partition, 0, {}});
}

void ValueStatistics::add(const simdjson::dom::element& body, std::string_view partition_key) {
  ++documents_;
  hashes_.resize(paths_.size());
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const FieldLookup found = find_field(body, paths_[i]);
    hashes_[i] = found ? hash_of(found.value) : 0;
  }
  const std::uint64_t partition = murmur3_x64_128(partition_key).high;
  for (Set& set : sets_) {
    std::uint64_t hash = set.in_partition ? partition : 11;
    const bool has_all = std::ranges::all_of(set.paths, [&](std::size_t path) {
      hash = mix(hash, hashes_[path]);
      return hashes_[path] != 0;
    });
    if (!has_all) continue;
    ++set.documents;
    set.values.add({reinterpret_cast<const char*>(&hash), sizeof hash});
  }
}

std::optional<ValueCount> ValueStatistics::count(std::span<const FieldPath> paths, bool in_partition) const {
  const auto numbers = numbers_of(paths);
  if (!numbers) return std::nullopt;
  const auto known = std::ranges::find_if(
      sets_, [&](const Set& set) { return set.paths == *numbers && set.in_partition == in_partition; });
  if (known == sets_.end()) return std::nullopt;
  return ValueCount{known->documents, std::min(known->values.count(), known->documents)};
}

}  // namespace octavo::query::advice
