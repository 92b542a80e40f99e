#pragma once

#include <memory>
#include <optional>
#include <string>

#include "query/project/document_form.h"

namespace octavo::tests {

/// Documents whose projections have templates, as those of the CouchDB API.
class DocumentRowsForm final : public query::project::DocumentForm {
 public:
  const query::sql::RowShape& shape() const override { return query::sql::document_rows(); }
  std::optional<std::string> implied_id(std::string_view document_id) const override {
    return implies_id ? std::optional<std::string>(document_id) : std::nullopt;
  }
  bool keeps_key_in_body() const override { return false; }
  std::optional<std::string> find_id(std::string_view, std::string_view) const override { return std::nullopt; }
  Expected<Placed> place(std::string_view, std::size_t) const override { return fail(ErrorCode::internal, {}); }

  bool implies_id = false;
};

inline Expected<std::shared_ptr<const query::project::DocumentForm>> read_document_rows_form(
    const partitioning::Database&) {
  return std::make_shared<const DocumentRowsForm>();
}

}  // namespace octavo::tests
