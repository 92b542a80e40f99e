#include "query/sql/run/internal/row_collector.h"

#include <algorithm>
#include <unordered_set>

namespace octavo::query::sql {

void RowCollector::begin(std::size_t rows_max, std::size_t bytes_max) {
  rows_ = CollectedRows(rows_max, bytes_max);
  groups_ = program_.grouped ? std::make_unique<Groups>(program_) : nullptr;
  groups_max_ = keeps_all() ? SIZE_MAX : rows_max;
}

bool RowCollector::keeps_all() const {
  return program_.distinct || (program_.grouped && program_.selection == Query::Selection::value);
}

bool RowCollector::has_lost(const ResumeKey& key) const {
  if (!is_full()) return false;
  if (!groups_) {
    return std::ranges::none_of(rows_.rows(), [&](const CollectedRow& row) { return key.is_key(row.key); });
  }
  return std::ranges::none_of(groups_->all(), [&](const auto& group) { return key.is_key(group.first); });
}

void RowCollector::add_distinct(std::string_view order) {
  std::string& identity = scratch_;
  identity.clear();
  CollectedRow row;
  if (program_.projects_row) {
    evaluation_.append_order_key(identity, evaluation_.row.whole(evaluation_.arena));
    program_.append_projection(evaluation_, row.text);
  } else if (program_.is_merged_by_client) {
    // The client's query distinguishes payloads: `_rid` and the order are those of the first item.
    evaluation_.append_order_key(identity, program_.items.back().value->evaluate(evaluation_));
    program_.append_projection(evaluation_, row.text);
  } else {
    const Value value = program_.project(evaluation_);
    if (value.is_undefined()) return;
    evaluation_.append_order_key(identity, value);
    evaluation_.append_json(value, row.text);
  }
  if (evaluation_.failed()) return;
  row.key.reserve(order.size() + identity.size());
  row.key += order;
  row.key += identity;
  rows_.add_distinct(identity, std::move(row));
}

void RowCollector::add_to_group(const ResumeKey& resume_key) {
  const bool skips = resume_key.is_set() && !program_.distinct;
  groups_->add_row(evaluation_, groups_max_, skips ? &resume_key.key() : nullptr);
}

const std::string* RowCollector::make_group_key() {
  scratch_.clear();
  return groups_->append_key(evaluation_, scratch_) ? &scratch_ : nullptr;
}

std::vector<CollectedRow> RowCollector::take(FunctionRef<void(std::size_t)> check) {
  if (!groups_) return rows_.take_sorted();
  // If this were interrupted, it could not be begun again.
  evaluation_.set_interruptible(false);
  auto rows = take_groups(check);
  evaluation_.set_interruptible(true);
  groups_.reset();
  return rows;
}

std::vector<CollectedRow> RowCollector::take_groups(FunctionRef<void(std::size_t)> check) {
  std::vector<CollectedRow> rows;
  std::unordered_set<std::string> seen;
  std::size_t bytes = 0;
  for (const auto& [key, group] : groups_->all()) {
    evaluation_.arena.rewind({});
    evaluation_.begin_item();
    groups_->select(evaluation_, group);
    CollectedRow row;
    bool defined = false;
    if (program_.distinct) {
      const Value value = program_.project(evaluation_);
      std::string identity;
      evaluation_.append_order_key(identity, value);
      bytes += identity.size();
      defined = !value.is_undefined() && seen.insert(std::move(identity)).second;
      if (defined) evaluation_.append_json(value, row.text);
    } else {
      defined = program_.append_projection(evaluation_, row.text);
    }
    groups_->unselect(evaluation_);
    bytes += row.text.size() + key.size() + sizeof(row);
    check(bytes);
    if (evaluation_.failed()) break;
    if (!defined) continue;
    row.key = key;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace octavo::query::sql
