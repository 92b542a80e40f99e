#pragma once

#include <optional>
#include <string>
#include <vector>

#include "query/advice/request_recorder.h"
#include "query/index/catalog/index_catalog.h"
#include "query/index/index_definition.h"

/// What an index has changed, by the recorded charges.
namespace octavo::query::advice {

/// The recorded queries of a shape without an index and with it.
struct ChargeChange {
  const RecordedShape* shape = nullptr;
  ChargeWindow without;  ///< count 0: none is known
  ChargeWindow with;

  /// Request units that a query costs less with the index; nullopt: it was not recorded without.
  std::optional<double> saved() const;
  /// Request units per day, at the pace of the queries with the index.
  std::optional<double> saved_per_day(std::int64_t now_s) const;
};

/// The shapes of which queries used the index; those that have saved most first. They refer to `recorded`.
std::vector<ChargeChange> charge_changes(const RecordedRequests& recorded, IndexMark index);

/// Which indexes are meant.
struct IndexChoice {
  std::optional<std::string> design_document;  ///< with `_design/`
  std::optional<std::string> name;
  std::optional<std::vector<OrderedField>> fields;
};

/// Those of the catalog: of design documents, composite ones of a policy, and single paths of a policy if the choice
/// names the one field. Without a choice all that have a name.
std::vector<IndexDefinitionPtr> find_indexes(const IndexCatalog& catalog, const IndexChoice& choice);

}  // namespace octavo::query::advice
