#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octavo::query {

/// The `options` of a design document.
struct DesignOptions {
  std::optional<bool> partitioned;  ///< absent: same as the database
  bool raw_collation = false;       ///< `"collation": "raw"`
  bool include_design = false;      ///< design documents are indexed too
  bool local_sequence = false;      ///< `_local_seq` is in the documents that functions see
};

/// Views of one design document. Its index numbers them with 16 bits.
inline constexpr std::size_t design_views_max = 10'000;

/// A view as it stands in the design document: source texts.
struct ViewSource {
  std::string name;
  std::string map;
  std::optional<std::string> reduce;  ///< a built-in's name (`_sum`) or JavaScript
};

/// A search index as it stands in the design document.
struct SearchSource {
  std::string name;
  std::string index;     ///< JavaScript
  std::string analyzer;  ///< JSON text; empty: standard
};

struct NamedFunction {
  std::string name;
  std::string source;
};

/// A parsed design document of language "javascript". Immutable; shared by all users of its functions.
struct DesignDocument {
  std::string id;        ///< `_design/…`
  std::string revision;  ///< text
  std::vector<ViewSource> views;
  std::vector<SearchSource> indexes;
  std::optional<std::string> validate_doc_update;
  std::vector<NamedFunction> filters;
  std::vector<NamedFunction> updates;
  DesignOptions options;
  /// The whole document as JSON text, in which `require` finds modules. Functions of views see only `views.lib`: their
  /// source text and that member determine the content of an index.
  std::string body;
  /// The modules that `require` finds in views, for javascript::Program: `{"views":{"lib":…}}`; empty: none.
  std::string view_modules;

  /// Whether each query of a view or search index reads one logical partition. Only in a partitioned database.
  bool partitioned(bool database_is_partitioned) const {
    return database_is_partitioned && options.partitioned.value_or(true);
  }
  const ViewSource* view(std::string_view name) const;
  const SearchSource* index(std::string_view name) const;
  const NamedFunction* filter(std::string_view name) const;
  const NamedFunction* update(std::string_view name) const;
};

using DesignDocumentPtr = std::shared_ptr<const DesignDocument>;

/// Reads a stored design document. nullptr if its language is not "javascript" (but Mango's "query", for example). A
/// member of the wrong type is an error, the same as CouchDB's for a PUT of such a document (400 invalid_design_doc).
/// Does not compile functions (see javascript/program.h).
Expected<DesignDocumentPtr> read_design_document(std::string_view id, std::string_view revision, std::string_view body);

}  // namespace octavo::query
