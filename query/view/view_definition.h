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

  StringOrder key_order() const { return options.raw_collation ? StringOrder::raw : StringOrder::icu; }
  /// Number of the view called `name`; the keys of its rows begin with it.
  std::optional<std::size_t> find(std::string_view name) const;

  /// JSON text of the definition together with the versions of formats and collation that the rows depend on.
  ///
  /// Format (content in definition.json of a view group):
  ///   {"format":1,"collation":version | "raw","raw":bool,"include_design":bool,"local_seq":bool,"partitioned":bool,
  ///    "modules":text,"views":[{"name","map"[,"reduce"]},…]}
  std::string content() const;
  /// Reads the result of content(). Errors: bad_request.
  static Expected<ViewGroupDefinition> from_content(std::string_view content);
};

/// The views of `design`; nullopt if it has none.
std::optional<ViewGroupDefinition> view_group_of(const DesignDocument& design, bool database_is_partitioned);

}  // namespace octavo::query::views
