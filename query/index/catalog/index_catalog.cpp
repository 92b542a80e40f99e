#include "query/index/catalog/index_catalog.h"

#include <algorithm>

#include "base/assert.h"
#include "query/index/automatic_index.h"

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

const IndexView* IndexCatalog::absence_of(const FieldPath& path) const {
  const auto found = std::ranges::find_if(
      absences, [&](const IndexView& view) { return view.definition->automatic->absent_path() == path; });
  return found == absences.end() ? nullptr : &*found;
}

IndexView IndexCatalog::automatic_path(const FieldPath& path, bool complete) const {
  OCTAVO_ASSERT(automatic.has_value());
  IndexView view = *automatic;
  const AutomaticIndexPtr index = view.definition->automatic;
  const IndexView* absence = complete ? absence_of(path) : nullptr;
  if (absence) view.absence_numbers = absence->numbers;
  view.definition = absence || (complete && assumes_absences) ? complete_path_definition(index, path)
                                                              : automatic_path_definition(index, path);
  return view;
}

}  // namespace octavo::query
