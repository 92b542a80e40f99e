#pragma once

#include <cstdint>
#include <future>
#include <string>

#include "storage/document/document_record.h"
#include "storage/logs/version_log.h"
#include "storage/partition/physical_partition.h"

namespace octavo::tests {

/// Changes when a logged version says that it was written, as if the clock had shown another time then.
inline Expected<void> stamp_version(storage::PhysicalPartition& partition, storage::Sequence sequence,
                                    std::int64_t time_s) {
  std::promise<Expected<void>> done;
  partition.run_index_task(
      [&](storage::WriteTransaction& transaction, storage::Tree) -> Expected<void> {
        const storage::Tree meta = partition.store().tree(static_cast<std::size_t>(storage::PartitionTree::meta));
        auto row = storage::VersionLog(transaction, meta).rows().seek(sequence);
        if (!row || row->sequence != sequence) return fail(ErrorCode::not_found, "There is no such version.");
        const std::string id(row->id);
        const std::string body(row->body);
        row->id = id;
        row->body = body;
        row->time_s = time_s;
        return storage::VersionLog::append(transaction, meta, *row);
      },
      [&](Expected<void> result) { done.set_value(std::move(result)); });
  return done.get_future().get();
}

}  // namespace octavo::tests
