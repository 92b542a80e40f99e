#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octavo::query {

/// What `options` of a design document say.
struct DesignOptions {
  std::optional<bool> partitioned;  ///< absent: as the database is
  bool raw_collation = false;       ///< `"collation": "raw"`
  bool include_design = false;      ///< design documents are indexed too
  bool local_sequence = false;      ///< `_local_seq` is in the documents that functions see
};

/// A view as written: source texts.
struct ViewSource {
  std::string name;
  std::string map;
  std::optional<std::string> reduce;  ///< a built-in's name (`_sum`) or JavaScript
};

/// A search index as written.
struct SearchSource {
  std::string name;
  std::string index;     ///< JavaScript
  std::string analyzer;  ///< JSON text; empty: standard
};

struct NamedFunction {
  std::string name;
  std::string source;
};

/// A design document of language "javascript", read once. Immutable; shared by all that run its functions.
struct DesignDocument {
  std::string id;        ///< `_design/…`
  std::string revision;  ///< text
  std::vector<ViewSource> views;
  std::vector<SearchSource> indexes;
  std::optional<std::string> validate_doc_update;
  std::vector<NamedFunction> filters;
  std::vector<NamedFunction> updates;
  DesignOptions options;
  /// The whole document as JSON text: `require` finds modules in it. Functions of views see `views.lib` only, as that
  /// is what decides, with their own text, what an index holds.
  std::string body;
  /// What `require` of views sees, for javascript::Program: `{"views":{"lib":…}}`; empty: nothing.
  std::string view_modules;

  /// In a partitioned database: whether views and search indexes are of one logical partition each.
  bool partitioned(bool database_is_partitioned) const {
    return database_is_partitioned && options.partitioned.value_or(true);
  }
  const ViewSource* view(std::string_view name) const;
  const SearchSource* index(std::string_view name) const;
  const NamedFunction* filter(std::string_view name) const;
  const NamedFunction* update(std::string_view name) const;
};

using DesignDocumentPtr = std::shared_ptr<const DesignDocument>;

/// Reads a stored design document. nullptr for another language than "javascript" (Mango's "query", say). Members of
/// the wrong type give an error with CouchDB's words for a PUT of such a document (400 invalid_design_doc); functions
/// are not compiled here (javascript/program.h).
Expected<DesignDocumentPtr> read_design_document(std::string_view id, std::string_view revision, std::string_view body);

}  // namespace octavo::query
