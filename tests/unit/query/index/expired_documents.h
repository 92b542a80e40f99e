#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "partitioning/database.h"
#include "storage/document/document_record.h"
#include "storage/document/expiry.h"

namespace octavo::tests {

class EverythingExpired final : public storage::TimeToLive {
 public:
  std::optional<std::int64_t> expires_s(const storage::DocumentView& document) const override {
    return storage::is_design_id(document.id) ? std::nullopt : std::optional<std::int64_t>(0);
  }
  std::int64_t identity() const override { return 0; }
};

/// Whether all documents but design documents have expired. The test deletes none of them.
inline void set_all_expired(partitioning::Database& database, bool expired) {
  for (const std::size_t partition_id : database.partition_ids()) {
    auto& partition = database.physical_partition(partition_id);
    partition.set_time_to_live(expired ? std::make_shared<EverythingExpired>() : nullptr);
  }
}

}  // namespace octavo::tests
