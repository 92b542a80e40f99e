#include "partitioning/moves/merge_watch.h"

namespace octavo::partitioning {

std::optional<MergeWatch::Pair> MergeWatch::note(std::string_view instance_tag, const MergeView& view,
                                                 const Limits& limits, Clock::time_point now) {
  const std::uint64_t bytes_max = limits.bytes / 100 * percent_max;
  const double per_second_max = limits.per_second * static_cast<double>(percent_max) / 100;
  const auto known = small_.find(instance_tag);
  std::map<Pair, Clock::time_point> small;
  std::optional<Pair> due;
  std::uint64_t least = 0;
  for (std::size_t i = 0; i + 1 < view.parts.size(); ++i) {
    const auto& low = view.parts[i];
    const auto& high = view.parts[i + 1];
    if (!low.bytes || !high.bytes || *low.bytes + *high.bytes >= bytes_max) continue;
    if (low.per_second + high.per_second >= per_second_max) continue;
    const Pair pair{low.partition_id, high.partition_id};
    auto since = now;
    if (known != small_.end()) {
      const auto before = known->second.find(pair);
      if (before != known->second.end()) since = before->second;
    }
    small.emplace(pair, since);
    const std::uint64_t bytes = *low.bytes + *high.bytes;
    if (now - since < limits.after || (due && bytes >= least)) continue;
    due = pair;
    least = bytes;
  }
  if (view.waits || view.parts.size() <= view.count_min) due.reset();
  if (due) small[*due] = now;
  if (small.empty()) {
    if (known != small_.end()) small_.erase(known);
  } else {
    small_.insert_or_assign(std::string(instance_tag), std::move(small));
  }
  return due;
}

void MergeWatch::keep_only(const std::set<std::string, std::less<>>& instance_tags) {
  std::erase_if(small_, [&](const auto& entry) { return !instance_tags.contains(entry.first); });
}

}  // namespace octavo::partitioning
