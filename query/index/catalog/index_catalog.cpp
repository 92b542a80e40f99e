#include "query/index/catalog/index_catalog.h"

#include <algorithm>

namespace octavo::query {

bool IndexView::is_built() const {
  if (global) return global->ready();
  return std::ranges::all_of(partition_ids, [this](std::size_t partition_id) { return ready(partition_id); });
}

bool IndexView::ready(std::size_t partition_id) const {
  return global ? global->ready() : partition_id < local_ready.size() && local_ready[partition_id];
}

const IndexView* IndexCatalog::find(std::string_view identity) const {
  const auto found = std::ranges::find(
      indexes, identity, [](const IndexView& view) -> std::string_view { return view.definition->identity; });
  return found == indexes.end() ? nullptr : &*found;
}

}  // namespace octavo::query
