#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "partitioning/database.h"
#include "query/sql/evaluate/row_shape.h"

namespace octavo::query::project {

/// How the API that created a database presents its documents to projections: as sources of rows, and as rows.
/// Immutable.
class DocumentForm {
 public:
  virtual ~DocumentForm() = default;

  /// A document as expressions see it.
  virtual const sql::RowShape& shape() const = 0;
  /// The `id` of a document whose body has none. nullopt: documents need not have one.
  virtual std::optional<std::string> implied_id(std::string_view document_id) const = 0;

  /// Whether documents have their partition key and their id in their body. Otherwise a projection has templates for
  /// both.
  virtual bool keeps_key_in_body() const = 0;
  /// The document id that follows from a partition key (JSON) and an id. nullopt: none can. Precondition:
  /// keeps_key_in_body().
  virtual std::optional<std::string> find_id(std::string_view key, std::string_view id) const = 0;
  struct Placed {
    std::string id;    ///< document id
    std::string body;  ///< as it is stored
  };
  /// What a row, a JSON object, is as a document. Precondition: keeps_key_in_body(). Errors: bad_request, too_large: it
  /// cannot be a document of this database, and why.
  virtual Expected<Placed> place(std::string_view row, std::size_t bytes_max) const = 0;
};

/// The form of an open database's documents. The program passes this function to DatabaseServices, so that no layer
/// below the APIs knows their formats. Errors: corrupted.
using FormReader = Expected<std::shared_ptr<const DocumentForm>> (*)(const partitioning::Database& database);

}  // namespace octavo::query::project
