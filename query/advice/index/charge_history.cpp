#include "query/advice/index/charge_history.h"

#include <algorithm>

#include "query/advice/value_growth.h"
#include "query/index/automatic_index.h"

namespace octavo::query::advice {

namespace {

double mean_charge(const ChargeWindow& window) {
  return window.request_units / static_cast<double>(window.count);
}

bool is_chosen(const IndexDefinition& index, const IndexChoice& choice) {
  if (choice.design_document && index.design_document != *choice.design_document) return false;
  if (choice.name && index.name != *choice.name) return false;
  return !choice.fields || index.fields == *choice.fields;
}

}  // namespace

std::optional<double> ChargeChange::saved() const {
  if (without.count == 0 || with.count == 0) return std::nullopt;
  return mean_charge(without) - mean_charge(with);
}

std::optional<double> ChargeChange::saved_per_day(std::int64_t now_s) const {
  const auto each = saved();
  if (!each) return std::nullopt;
  const double days = static_cast<double>(std::max<std::int64_t>(1, now_s - with.from_s)) / seconds_per_day;
  return *each * static_cast<double>(with.count) / days;
}

std::vector<ChargeChange> charge_changes(const RecordedRequests& recorded, IndexMark index) {
  std::vector<ChargeChange> changes;
  for (const RecordedShape& shape : recorded.shapes) {
    ChargeChange change;
    change.shape = &shape;
    for (const ChargeWindow& window : shape.windows) (window.uses(index) ? change.with : change.without).merge(window);
    if (change.with.count > 0) changes.push_back(change);
  }
  std::ranges::stable_sort(changes, [&](const ChargeChange& a, const ChargeChange& b) {
    return a.saved_per_day(recorded.now_s).value_or(0) > b.saved_per_day(recorded.now_s).value_or(0);
  });
  return changes;
}

std::vector<IndexDefinitionPtr> find_indexes(const IndexCatalog& catalog, const IndexChoice& choice) {
  std::vector<IndexDefinitionPtr> found;
  const auto add = [&](IndexDefinitionPtr definition) {
    if (is_chosen(*definition, choice)) found.push_back(std::move(definition));
  };
  for (const IndexView& view : catalog.indexes) add(view.definition);
  if (!catalog.automatic || choice.design_document || choice.name) return found;
  const AutomaticIndexPtr& automatic = catalog.automatic->definition->automatic;
  for (std::size_t i = 0; i < automatic->composites().size(); ++i) add(automatic_composite_definition(automatic, i));
  const bool is_path = choice.fields && choice.fields->size() == 1 && !choice.fields->front().descending;
  if (is_path && automatic->covers(choice.fields->front().path)) {
    add(automatic_path_definition(automatic, choice.fields->front().path));
  }
  return found;
}

}  // namespace octavo::query::advice
