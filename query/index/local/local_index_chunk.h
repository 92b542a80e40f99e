#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "query/index/local/local_indexes.h"

namespace octavo::query {

/// Result of one task, used once it is durable. Reset at the start of each attempt.
struct LocalIndexes::Chunk {
  std::optional<std::vector<IndexDefinitionPtr>> reconciled;
  std::shared_ptr<const Indexes> indexes;
  bool set_changed = false;  ///< an index was added, became ready, or was removed
  bool more = false;
  std::uint64_t documents = 0;  ///< indexed by this chunk
  std::uint64_t total = 0;      ///< in the partition
  std::vector<std::uint32_t> built;
};

struct LocalIndexes::Progress {
  std::uint32_t number = 0;
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  ActiveTasks::Handle handle;
};

}  // namespace octavo::query
