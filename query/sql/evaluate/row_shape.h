#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "query/json/field_path.h"
#include "storage/document/document.h"

namespace octavo::query::sql {

/// A property path whose value a query fixes: `c.a.b = 5`, or `c.a.b IN (…)`.
struct FixedProperty {
  std::vector<std::string> path;
  std::vector<boost::json::value> values;  ///< scalars; at least one
};

/// Where all rows are that a query can match, as the API knows from their properties.
struct Narrowing {
  std::optional<std::vector<std::string>> document_ids;  ///< ids of all rows, to be read one by one
  std::optional<std::string> partition_key;              ///< one logical partition
};

/// How an API presents a document as a row of a query: which properties exist beside the stored body. Stateless or
/// immutable: used by several threads.
class RowShape {
 public:
  virtual ~RowShape() = default;

  /// Whether the document is a row. Deleted documents never are; design documents are not by default.
  virtual bool is_row(const storage::DocumentView& document) const { return !storage::is_design_id(document.id); }
  /// Whether the top-level property is missing from the body, or has another form there (`_id`, `_ts`, …).
  virtual bool is_system_property(std::string_view name) const = 0;
  /// Appends its JSON text (minified), or nothing if the row does not have it.
  virtual void append_system_property(const storage::DocumentView& document, std::string_view name,
                                      std::string& out) const = 0;
  /// Appends the whole row, a minified JSON object.
  virtual void append_row(const storage::DocumentView& document, std::string& out) const = 0;
  /// The path of the property in the stored document, as indexes know it; nullopt: no index can have it.
  virtual std::optional<FieldPath> field_path(std::span<const std::string> path) const = 0;
  /// The number by which clients that merge the results of partitions order equal rows; nullopt: rows have none. It
  /// follows from the id, so an item always has the same number.
  virtual std::optional<std::uint64_t> number_of(std::string_view /*document_id*/) const { return std::nullopt; }
  /// Derives point reads and partitions from properties that equal constants.
  virtual Narrowing narrow(std::span<const FixedProperty>) const { return {}; }
};

/// The rows of the CouchDB API: documents with `_id` and `_rev`.
const RowShape& document_rows();

/// `path` in Mango's syntax, with dots escaped; nullopt if it has none. For implementations of field_path.
std::optional<FieldPath> field_path_of(std::span<const std::string> path);

}  // namespace octavo::query::sql
