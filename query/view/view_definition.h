#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "query/collation/sort_key.h"
#include "query/design/design_document.h"

namespace octavo::query::views {

/// Everything that determines the content of the index of a design document's views, and nothing else. Views with equal
/// definitions share an index, and an unchanged definition does not rebuild it. Immutable.
struct ViewGroupDefinition {
  std::vector<ViewSource> views;  ///< by name
  std::string modules;            ///< DesignDocument::view_modules
  DesignOptions options;
  bool partitioned = false;  ///< rows are grouped by partition, and a query reads one partition
  bool of_indexes = false;   ///< the maps are definitions of Mango indexes (JSON), not functions

  StringOrder key_order() const { return options.raw_collation ? StringOrder::raw : StringOrder::icu; }
  /// Number of the view called `name`; the keys of its rows begin with it.
  std::optional<std::size_t> find(std::string_view name) const;

  /// JSON text of the definition together with the versions of formats and collation that the rows depend on.
  ///
  /// Format (content in definition.json of a view group):
  ///   {"format":1,"collation":version | "raw","raw":bool,"include_design":bool,"local_seq":bool,"partitioned":bool,
  ///    "modules":text,"views":[{"name","map"[,"reduce"]},…][,"language":"query"]}
  ///    language: the maps are definitions of Mango indexes
  std::string content() const;
  /// Reads the result of content(). Errors: bad_request.
  static Expected<ViewGroupDefinition> from_content(std::string_view content);
};

/// The views of `design`; nullopt if it has none.
std::optional<ViewGroupDefinition> view_group_of(const DesignDocument& design, bool database_is_partitioned);

/// The Mango indexes of a design document of language "query" as views, as in CouchDB: the key of a row is the array of
/// the fields, the value is null, and the reduce is `_count`. nullopt if there are none. `body`: as it is stored.
std::optional<ViewGroupDefinition> view_group_of_indexes(std::string_view id, std::string_view body,
                                                         bool database_is_partitioned);

}  // namespace octavo::query::views
