#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "query/plan/plan.h"
#include "query/walk/index_reader.h"

namespace octavo::query {

/// Intersects the entries that a query walks with entries of other required values in the same automatic index
/// (Branch::filters): looks up the document's entry there instead of loading the document, at a third of the cost.
/// Stops these lookups if they rarely avoid loading a document. One per branch of a running query; one thread.
class EntryFilter {
 public:
  /// `branch` must outlive it.
  explicit EntryFilter(const Branch& branch) : filters_(branch.filters) {}

  /// False: the document of `reader`'s current entry has none of the values of one of the filters. Counts the keys it
  /// examines in `keys_examined`. Errors: those of the storage.
  Expected<bool> passes(const IndexReader& reader, std::string_view document_id, std::uint64_t& keys_examined);

 private:
  Expected<bool> has_one(const IndexReader& reader, const EntryCondition& condition, std::string_view document_id,
                         std::uint64_t& keys_examined);

  const std::vector<EntryCondition>& filters_;
  std::uint64_t looked_ = 0;
  std::uint64_t spared_ = 0;
};

}  // namespace octavo::query
