#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "query/sql/compile/computed_properties.h"
#include "query/sql/evaluate/row_shape.h"
#include "storage/document/document.h"

namespace octavo::api::scripts {

/// Converts between the stored documents of one logical partition and what functions of an API see. Immutable; used by
/// one thread at a time.
class DocumentModel {
 public:
  struct Parsed {
    std::string id;                             ///< document id
    std::string body;                           ///< as stored
    std::optional<storage::Revision> revision;  ///< the revision that it is based on, if it names one
  };
  virtual ~DocumentModel() = default;

  /// Parses a document from a function. `makes_id`: generates an id if it has none. Errors: bad_request, too_large.
  virtual Expected<Parsed> parse(std::string_view json, bool makes_id) const = 0;
  /// Whether a replacement may give its document another id.
  virtual bool gives_other_ids() const { return false; }
  virtual void append(std::string& out, const storage::DocumentView& document) const = 0;

  /// Links of the collection.
  virtual std::string self_link() const = 0;
  virtual std::string alt_link() const = 0;
  /// The document id for an id that follows `/docs/` in a link below alt_link().
  virtual std::string document_id(std::string_view id) const = 0;
  /// The name of a document in links below self_link(), by which it can be found.
  virtual std::string self_name(std::string_view document_id) const = 0;

  virtual const query::sql::RowShape& shape() const = 0;
  /// Computed properties for queries; null: none.
  virtual query::sql::ComputedProperties::Ptr computed_properties() const { return nullptr; }
};

}  // namespace octavo::api::scripts
