#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "partitioning/keys/document_target.h"
#include "partitioning/throughput/consumption.h"
#include "partitioning/throughput/point_requests.h"

namespace octavo::partitioning {

class Database;

/// What the requests to a database spend, and may spend: Consumption, which knows partition ids, for documents and
/// logical partitions.
///
/// Database::write() admits the writes: the results of documents whose physical partition has used up its throughput
/// are `throttled`. Reads must be admitted by their callers. All callers report at the end what they spent.
///
/// Thread-safe.
class DatabaseMeter : public Consumption {
 public:
  /// `database` must outlive the meter. The others are those of Consumption.
  DatabaseMeter(const Database& database, std::span<const std::size_t> partition_ids, std::size_t partition_id_end)
      : Consumption(partition_ids, partition_id_end), database_(database) {}

  using Consumption::admit;
  using Consumption::spend;
  Expected<void> admit(const DocumentTarget& target) const;
  void spend(const DocumentTarget& target, RequestUnits units) noexcept;

  /// For a scan of what `scope` is the target of; nullopt: of all physical partitions.
  Expected<void> admit_scan(const std::optional<DocumentTarget>& scope) const;
  void spend_on_scan(const std::optional<DocumentTarget>& scope, RequestUnits units) noexcept;

  /// Which documents are asked for.
  PointRequests& point_requests() { return point_requests_; }
  const PointRequests& point_requests() const { return point_requests_; }

 private:
  const Database& database_;
  PointRequests point_requests_;
};

}  // namespace octavo::partitioning
