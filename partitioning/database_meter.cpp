#include "partitioning/database_meter.h"

#include <new>

#include "partitioning/database.h"

namespace octavo::partitioning {

Expected<void> DatabaseMeter::admit(const DocumentTarget& target) const {
  if (!is_limited()) return {};
  return admit(database_.locate(target));
}

void DatabaseMeter::spend(const DocumentTarget& target, RequestUnits units) noexcept {
  try {
    spend(database_.locate(target), target.partition_key(), units);
  } catch (const std::bad_alloc&) {
    // No memory for locating: the work, which is already done, is not charged.
  }
}

Expected<void> DatabaseMeter::admit_scan(const std::optional<DocumentTarget>& scope) const {
  return scope ? admit(*scope) : admit(database_.partition_ids());
}

void DatabaseMeter::spend_on_scan(const std::optional<DocumentTarget>& scope, RequestUnits units) noexcept {
  if (scope) {
    spend(*scope, units);
  } else {
    spend(database_.partition_ids(), units);
  }
}

}  // namespace octavo::partitioning
