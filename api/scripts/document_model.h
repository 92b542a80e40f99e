#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "query/sql/computed_properties.h"
#include "query/sql/row_shape.h"
#include "storage/document.h"

namespace octavo::api::scripts {

/// How a door shows the documents of one logical partition to functions, and reads what they write. Immutable; used by
/// one thread at a time.
class DocumentModel {
 public:
  struct Parsed {
    std::string id;                             ///< the document's
    std::string body;                           ///< as stored
    std::optional<storage::Revision> revision;  ///< that it says it is based on
  };
  virtual ~DocumentModel() = default;

  /// A document as a function writes it. `makes_id`: one without an id gets one. Errors: bad_request, too_large.
  virtual Expected<Parsed> parse(std::string_view json, bool makes_id) const = 0;
  virtual void append(std::string& out, const storage::DocumentView& document) const = 0;

  /// Links of the collection.
  virtual std::string self_link() const = 0;
  virtual std::string alt_link() const = 0;
  /// What follows `/docs/` below the collection's alt_link: an id.
  virtual std::string document_id(std::string_view id) const = 0;
  /// What follows it below the self_link; by it the document is found again.
  virtual std::string self_name(std::string_view document_id) const = 0;

  virtual const query::sql::RowShape& shape() const = 0;
  /// What queries compute; null: nothing.
  virtual query::sql::ComputedProperties::Ptr computed_properties() const { return nullptr; }
};

}  // namespace octavo::api::scripts
