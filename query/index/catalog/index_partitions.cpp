// The part of MangoIndexes that follows splits: local indexes of physical partitions that are added and removed.
#include <algorithm>
#include <utility>

#include "query/index/catalog/mango_indexes.h"

namespace octavo::query {

void MangoIndexes::set_locals(Locals locals) {
  all_locals_.push_back(std::make_unique<const Locals>(std::move(locals)));
  locals_.store(all_locals_.back().get(), std::memory_order_release);
}

// The new partition's first documents come with the entries of all indexes, as an index of nothing is ready at once.
Expected<void> MangoIndexes::partition_added(std::size_t partition_id) {
  if (!database_.partitioned() && !database_.auto_index()) return {};
  OCTAVO_TRY_VOID(catalog());
  auto& partition = database_.physical_partition(partition_id);
  auto indexes = std::make_shared<LocalIndexes>(partition, tasks_, database_.name(), database_.partitioned());
  partition.set_unique_keys(policy().unique_keys);
  partition.set_observer(indexes);
  {
    const std::lock_guard lock(locals_mutex_);
    Locals next = locals();
    if (next.size() <= partition_id) next.resize(partition_id + 1);
    next[partition_id] = indexes;
    set_locals(std::move(next));
  }
  // A load that began earlier does not include the partition; one that begins later does.
  std::vector<IndexDefinitionPtr> wanted;
  {
    const std::lock_guard loading(load_mutex_);
    wanted = wanted_locals_;
    reconcile(*indexes, std::move(wanted));
  }
  return {};
}

void MangoIndexes::partition_removed(std::size_t partition_id) {
  std::shared_ptr<LocalIndexes> removed;
  {
    const std::lock_guard lock(locals_mutex_);
    Locals next = locals();
    if (partition_id < next.size()) removed = std::move(next[partition_id]);
    set_locals(std::move(next));
  }
  if (removed) removed->shut_down();
}

bool MangoIndexes::is_partition_ready(std::size_t partition_id, std::size_t source) {
  const Locals& all = locals();
  if (partition_id >= all.size() || !all[partition_id]) return true;
  const auto there = all[partition_id]->indexes();
  const auto here = all[source]->indexes();
  if (!here) return true;
  return std::ranges::all_of(*here, [&](const LocalIndexes::Index& index) {
    return index.stage != LocalIndexes::Stage::ready || !is_wanted_local(index) ||
           (there && std::ranges::any_of(*there, [&](const LocalIndexes::Index& other) {
              return other.stage == LocalIndexes::Stage::ready &&
                     other.definition->identity == index.definition->identity;
            }));
  });
}

// An index that is no longer wanted, such as that of the former policy, may be missing.
bool MangoIndexes::is_wanted_local(const LocalIndexes::Index& index) {
  const std::lock_guard loading(load_mutex_);
  return std::ranges::any_of(
      wanted_locals_, [&](const auto& definition) { return definition->identity == index.definition->identity; });
}

void MangoIndexes::partitions_changed() {
  const Locals& all = locals();
  for (std::size_t partition_id = 0; partition_id < all.size(); ++partition_id) {
    if (all[partition_id] && !database_.is_current(partition_id)) all[partition_id]->shut_down();
  }
  publish();
  progress_.notify_all();
}

}  // namespace octavo::query
