#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "storage/document/document.h"
#include "storage/partition/physical_partition.h"

namespace octavo::storage {

/// Receives the writes of a partition that was split. Thread-safe; each call completes `done` once, as the partition
/// would have.
class WriteSuccessor {
 public:
  virtual ~WriteSuccessor() = default;
  virtual void write(std::vector<DocumentWrite> writes, WriteOptions options, PhysicalPartition::Completion done) = 0;
  virtual void write_local(LocalDocumentWrite write, PhysicalPartition::LocalCompletion done) = 0;
  virtual void purge(std::vector<PurgeRequest> requests, PhysicalPartition::PurgeCompletion done) = 0;
  virtual void run_transaction(PhysicalPartition::TransactionTask task, std::string partition_key, std::size_t bytes,
                               std::move_only_function<void(Expected<void>)> done) = 0;
};

}  // namespace octavo::storage
