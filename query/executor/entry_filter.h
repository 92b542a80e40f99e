#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "query/index/index_reader.h"
#include "query/planner/plan.h"

namespace octavo::query {

/// Intersects the entries that a query walks with those of other values that it asks for in the same automatic index
/// (Branch::filters): looks for the document's entry there instead of loading the document, which costs a third. Where
/// it hardly ever spares a document it stops looking. One per branch of a running query; one thread.
class EntryFilter {
 public:
  /// `branch` must outlive it.
  explicit EntryFilter(const Branch& branch) : filters_(branch.filters) {}

  /// False: the document, which the entry that `reader` stands at names, has none of the values of one of the filters.
  /// Counts what it looked at in `keys_examined`. Errors: those of the storage.
  Expected<bool> passes(const IndexReader& reader, std::string_view document_id, std::uint64_t& keys_examined);

 private:
  Expected<bool> has_one(const IndexReader& reader, const EntryCondition& condition, std::string_view document_id,
                         std::uint64_t& keys_examined);

  const std::vector<EntryCondition>& filters_;
  std::uint64_t looked_ = 0;
  std::uint64_t spared_ = 0;
};

}  // namespace octavo::query
