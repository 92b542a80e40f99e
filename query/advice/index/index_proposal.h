#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "query/advice/request_recorder.h"
#include "query/index/catalog/index_catalog.h"
#include "query/index/index_definition.h"

namespace octavo::query::advice {

/// An index that might be created.
struct IndexProposal {
  enum class Kind : std::uint8_t {
    json,           ///< of a design document
    composite,      ///< of the indexing policy of a container
    included_path,  ///< one path of such a policy
  };

  Kind kind = Kind::json;
  std::vector<OrderedField> fields;
  bool partitioned = false;  ///< serves queries of one logical partition; of kind json

  /// The identity that its parts have in plans (IndexDefinition::identity).
  std::string identity() const;
  bool operator==(const IndexProposal&) const = default;
};

/// The indexes that a database has.
struct PresentIndexes {
  std::shared_ptr<const IndexCatalog> catalog;
  bool is_container = false;  ///< an indexing policy says what is indexed, not design documents
  std::vector<std::size_t> partition_ids;
};

/// Proposes indexes for the shapes: the properties that must equal one value first, then those that the query sorts by
/// or has a range of, then those that it returns. Properties that more request units of queries compare come first, so
/// that several shapes share the beginning of an index. Leaves out what exists. The most wanted ones, at most
/// index_proposals_max.
std::vector<IndexProposal> propose_indexes(std::span<const RecordedShape> shapes, const PresentIndexes& present);
inline constexpr std::size_t index_proposals_max = 64;
inline constexpr std::size_t proposal_fields_max = 8;

/// The present indexes as if the proposals had been created and were complete.
IndexCatalog catalog_with(const PresentIndexes& present, std::span<const IndexProposal* const> proposals);

}  // namespace octavo::query::advice
