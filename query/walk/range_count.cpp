#include "query/walk/range_count.h"

#include <algorithm>
#include <set>

namespace octavo::query {

std::optional<std::size_t> ranges_of_points(const partitioning::Database& database, std::span<const Branch> branches) {
  const bool only_points = !branches.empty() && std::ranges::all_of(branches, [](const Branch& branch) {
    return !branch.index && std::ranges::all_of(branch.id_ranges, &IdRange::is_point);
  });
  if (!only_points) return std::nullopt;
  std::set<std::size_t> partition_ids;
  for (const Branch& branch : branches) {
    for (const IdRange& range : branch.id_ranges) partition_ids.insert(database.locate_document(*range.start));
  }
  return std::max<std::size_t>(partition_ids.size(), 1);
}

}  // namespace octavo::query
