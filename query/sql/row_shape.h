#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "query/json/field_path.h"
#include "storage/document.h"

namespace octavo::query::sql {

/// A property path whose value a query fixes: `c.a.b = 5`, or `c.a.b IN (…)`.
struct FixedProperty {
  std::vector<std::string> path;
  std::vector<boost::json::value> values;  ///< scalars; at least one
};

/// Where the only rows are that a query can match, as the door knows from its properties.
struct Narrowing {
  std::optional<std::vector<std::string>> document_ids;  ///< all of them; to be read one by one
  std::optional<std::string> partition_key;              ///< one logical partition
};

/// How a door shows a document as a row of a query: which properties there are beside the stored body. Stateless or
/// immutable: used by several threads.
class RowShape {
 public:
  virtual ~RowShape() = default;

  /// Whether the document is a row at all. Deleted documents never are; design documents are left out by default.
  virtual bool is_row(const storage::DocumentView& document) const { return !storage::is_design_id(document.id); }
  /// A property at the top of the row that the body does not have, or has otherwise (`_id`, `_ts`, …).
  virtual bool is_system_property(std::string_view name) const = 0;
  /// Appends its JSON text (minified); nothing: the row does not have it.
  virtual void append_system_property(const storage::DocumentView& document, std::string_view name,
                                      std::string& out) const = 0;
  /// Appends the whole row, a minified JSON object.
  virtual void append_row(const storage::DocumentView& document, std::string& out) const = 0;
  /// The property by its path in the stored document, where indexes know it; nullopt: no index can.
  virtual std::optional<FieldPath> field_path(std::span<const std::string> path) const = 0;
  /// The number that clients which merge the results of partitions order equal rows by; nullopt: rows have none. It
  /// follows from the id, so an item always has the same.
  virtual std::optional<std::uint64_t> number_of(std::string_view /*document_id*/) const { return std::nullopt; }
  /// Point reads and partitions from properties that are equal to constants.
  virtual Narrowing narrow(std::span<const FixedProperty>) const { return {}; }
};

/// The Couch door's rows: documents with `_id` and `_rev`.
const RowShape& document_rows();

/// `path` as Mango writes it, dots escaped; nullopt when it has none. For implementations of field_path.
std::optional<FieldPath> field_path_of(std::span<const std::string> path);

}  // namespace octavo::query::sql
