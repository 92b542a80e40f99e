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
  /// The numbers of IndexDefinition::absence; empty: it has none.
  std::vector<std::uint32_t> absence_numbers = {};

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
  /// The absence indexes that are complete in every physical partition. A few, one for each path that queries are
  /// sorted by.
  std::vector<IndexView> absences;
  bool assumes_absences = false;  ///< every path has one: for estimates of what an index would save

  const IndexView* find(std::string_view identity) const;
  /// The absence index of `path`; null: it does not exist, or is not complete.
  const IndexView* absence_of(const FieldPath& path) const;
  /// `path` of the automatic index, with an entry for every document if `absence_of` has an index or one is assumed.
  IndexView automatic_path(const FieldPath& path, bool complete) const;
};

}  // namespace octavo::query
