#include "query/walk/plan_walk.h"

#include <algorithm>
#include <utility>

#include "partitioning/throughput/request_charge.h"

namespace octavo::query {

double WalkStatistics::charge_since(const WalkStatistics& before) const {
  return partitioning::charge_of_scan({.partitions = 0,
                                       .keys = keys_examined - before.keys_examined,
                                       .documents = documents_examined - before.documents_examined,
                                       .document_bytes = document_bytes - before.document_bytes});
}

WalkStatistics& WalkStatistics::operator+=(const WalkStatistics& other) {
  keys_examined += other.keys_examined;
  documents_examined += other.documents_examined;
  document_bytes += other.document_bytes;
  results_returned += other.results_returned;
  return *this;
}

WalkStatistics WalkStatistics::operator-(const WalkStatistics& before) const {
  return {.keys_examined = keys_examined - before.keys_examined,
          .documents_examined = documents_examined - before.documents_examined,
          .document_bytes = document_bytes - before.document_bytes,
          .results_returned = results_returned - before.results_returned};
}

void PlanWalk::restart() {
  branch = 0;
  end_branch();
}

void PlanWalk::end_branch() {
  position = {};
  inside.reset();
  filter_.reset();
  leap_ = {};
  scan_.reset();
}

std::optional<std::size_t> PlanWalk::partition_id_read(const QueryScope& scope) const {
  if (parts.empty()) return scope.physical_partition;
  return parts.size() == 1 ? std::optional(parts.front()) : std::nullopt;
}

bool PlanWalk::is_in_parts(const Slice& slice, std::string_view id) const {
  return std::ranges::find(parts, slice.database.locate_document(id)) != parts.end();
}

bool PlanWalk::is_in_narrow_scope(const Slice& slice, std::string_view id) const {
  const partitioning::Database& database = slice.database;
  const QueryScope& scope = slice.scope;
  if (parts.size() > 1 && !is_in_parts(slice, id)) return false;
  if (scope.physical_partition && database.locate_document(id) != *scope.physical_partition) return false;
  if (!id.starts_with(scope.id_prefix)) return false;
  if (!scope.hash_range) return true;
  const auto hash = partitioning::hash_position(id, database.partitioned(), database.key_scheme());
  if (hash < scope.hash_range->first || hash >= scope.hash_range->second) return false;
  return !scope.effective_range || scope.effective_range->holds(id, database.key_scheme());
}

bool PlanWalk::is_point_wanted(const Slice& slice, std::string_view id) const {
  const bool down = slice.plan.descending;
  const bool is_behind = position.key && inside != id && (down ? id >= *position.key : id <= *position.key);
  const std::string_view key = slice.scope.partition_key;
  const bool is_in_partition = key.empty() || (id.starts_with(key) && id.substr(key.size()).starts_with(':'));
  if (is_behind || !is_in_partition || !is_in_scope(slice, id)) return false;
  if (!slice.counts_all_ids && storage::is_design_id(id)) return false;
  return parts.empty() || is_in_parts(slice, id);
}

bool PlanWalk::is_document_wanted(const Slice& slice, const IdRange& range,
                                  const storage::DocumentView& document) const {
  const std::string_view id = document.id;
  if (document.deleted || (!slice.counts_all_ids && storage::is_design_id(id))) return false;
  const bool down = slice.plan.descending;
  const auto& first = down ? range.end : range.start;
  const bool first_inclusive = down ? range.end_inclusive : range.start_inclusive;
  if (!first_inclusive && first == id) return false;
  if (position.key == id && inside != id) return false;
  return is_in_scope(slice, id);
}

void PlanWalk::begin_scan(const Slice& slice, const IdRange& range) {
  partitioning::DocumentRange bounds = documents_in(range, slice.plan.descending, position.key);
  if (!slice.scope.partition_key.empty()) bounds.partition_key = slice.scope.partition_key;
  bounds.physical_partition = slice.scope.physical_partition;
  if (!parts.empty()) bounds.partition_ids = [this] { return parts; };
  scan_ = std::make_unique<partitioning::DocumentScan>(slice.database, std::move(bounds));
}

std::unexpected<Error> PlanWalk::damaged_entry(const IndexView& index) {
  return fail(ErrorCode::corrupted, "An entry of index " + index.definition->name + " is damaged.");
}

}  // namespace octavo::query
