#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "query/index/global/global_index.h"
#include "query/index/index_definition.h"

namespace octavo::query {

/// An index as queries see it. A value; while it exists, a global index's files stay open.
struct IndexView {
  IndexDefinitionPtr definition;
  std::shared_ptr<GlobalIndex> global;  ///< set for a global index
  /// For a local index, by partition id: the number of its entries; 0 if it does not exist (yet).
  std::vector<std::uint32_t> numbers;
  std::vector<bool> local_ready;
  std::vector<std::size_t> partition_ids = {};  ///< for a local index: the partition ids of the database at that time

  bool is_local() const { return definition->partitioned; }
  /// Whether the index is complete everywhere.
  bool is_built() const;
  /// Whether the index is complete; for a local index, in the physical partition `partition_id`.
  bool ready(std::size_t partition_id) const;
};

/// All indexes of a database at one moment, ordered by design document and name.
struct IndexCatalog {
  std::uint64_t generation = 0;  ///< of this run of the server; a new one for each change
  std::vector<IndexView> indexes;

  /// The automatic index; nullopt: the database has none, or none that is complete in every physical partition.
  std::optional<IndexView> automatic;

  const IndexView* find(std::string_view identity) const;
};

}  // namespace octavo::query
