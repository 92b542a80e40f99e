#include "partitioning/keys/range_parts.h"

#include <algorithm>
#include <map>

#include "base/assert.h"

namespace octavo::partitioning {

namespace {

// Without a merge, the positions of a former partition are those of all its descendants.
std::map<std::uint32_t, HashRange> ranges_of_ancestors(const std::vector<storage::PartitionMapEntry>& ranges) {
  std::map<std::uint32_t, HashRange> found;
  for (const auto& range : ranges) {
    for (const std::uint32_t ancestor : range.ancestors) {
      const auto [known, is_new] = found.try_emplace(ancestor, range.first, range.last);
      if (is_new) continue;
      known->second.first = std::min(known->second.first, range.first);
      known->second.last = std::max(known->second.last, range.last);
    }
  }
  return found;
}

std::uint32_t id_of(const storage::PartitionMapEntry& entry) {
  return storage::partition_number(entry.folder).value();  // the catalog reads no other names
}

}  // namespace

std::optional<HashRange> range_ever(const PartitionMap& map, std::size_t partition_id) {
  if (const auto* range = map.range_of(partition_id)) return HashRange{range->first, range->last};
  if (!map.former().empty()) {
    const auto found = std::ranges::find(map.former(), partition_id, &storage::FormerPartition::partition_id);
    if (found == map.former().end()) return std::nullopt;
    return HashRange{found->first, found->last};
  }
  std::optional<HashRange> sum;
  for (const auto& range : map.ranges()) {
    if (std::ranges::find(range.ancestors, partition_id) == range.ancestors.end()) continue;
    if (!sum) sum = HashRange{range.first, range.last};
    sum->last = range.last;
  }
  return sum;
}

RangeParts parts_of(const PartitionMap& map, std::size_t partition_id) {
  RangeParts parts;
  const auto range = range_ever(map, partition_id);
  if (!range) return parts;
  parts.range = *range;
  parts.partition_ids = map.partition_ids_between(range->first, range->last);
  parts.hold_more = map.range_of(parts.partition_ids.front())->first < range->first ||
                    map.range_of(parts.partition_ids.back())->last > range->last;
  return parts;
}

bool was_merged(const PartitionMap& map, std::size_t partition_id) {
  const auto* range = map.range_of(partition_id);
  if (range == nullptr || map.former().empty()) return false;
  return std::ranges::any_of(range->ancestors, [&](std::uint32_t ancestor) {
    const auto before = range_ever(map, ancestor);
    return before && (before->first > range->first || before->last < range->last);
  });
}

std::optional<std::size_t> partition_beginning_at(const PartitionMap& map, HashPosition position) {
  const auto& ranges = map.ranges();
  const auto range = std::ranges::find(ranges, position, &storage::PartitionMapEntry::first);
  if (range != ranges.end()) return map.partition_ids()[static_cast<std::size_t>(range - ranges.begin())];
  const auto& former = map.former();
  const auto found = std::ranges::find(former.rbegin(), former.rend(), position, &storage::FormerPartition::first);
  if (found == former.rend()) return std::nullopt;
  return found->partition_id;
}

void replace_ranges(storage::DatabaseRecord& record, const std::vector<storage::PartitionMapEntry>& targets) {
  OCTAVO_ASSERT(!targets.empty());
  auto& ranges = record.partition_map;
  const auto begin = std::ranges::find(ranges, targets.front().first, &storage::PartitionMapEntry::first);
  const auto last =
      std::find_if(begin, ranges.end(), [&](const auto& range) { return range.last == targets.back().last; });
  OCTAVO_ASSERT(begin != ranges.end() && last != ranges.end());
  const auto end = last + 1;
  const auto merged = static_cast<std::size_t>(end - begin) > targets.size();
  if (merged && record.former.empty()) {
    record.created_q = created_q(record);
    for (const auto& [id, range] : ranges_of_ancestors(ranges)) record.former.push_back({id, range.first, range.last});
  }
  if (merged || !record.former.empty()) {
    for (auto range = begin; range != end; ++range) record.former.push_back({id_of(*range), range->first, range->last});
  }
  const auto at = ranges.erase(begin, end);
  ranges.insert(at, targets.begin(), targets.end());
}

std::uint32_t created_q(const storage::DatabaseRecord& record) {
  if (record.created_q != 0) return record.created_q;
  // The first partitions have the ids from 0 on, and each range descends from one of them.
  std::uint32_t count = 0;
  for (const auto& range : record.partition_map) {
    count = std::max(count, (range.ancestors.empty() ? id_of(range) : range.ancestors.front()) + 1);
  }
  return count;
}

}  // namespace octavo::partitioning
