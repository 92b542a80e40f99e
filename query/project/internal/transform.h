#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/project/row_program.h"

/// Rows that a JavaScript function makes. Private to RowEvaluator.
namespace octavo::query::project {

/// The rows of a document, each a minified JSON object. The function gets the document as expressions see it, and the
/// joined values by name. The system properties that it sees there are no fields of a row. Errors: those of
/// javascript::transform; bad_request, too_large: what it returned cannot be rows.
Expected<std::vector<std::string>> transformed_rows(const javascript::ProgramPtr& function, const sql::RowShape& shape,
                                                    const storage::DocumentView& document, std::string_view joined);

/// Error bad_request: two rows have the same id.
Expected<void> check_distinct(std::span<const ProjectedRow> rows);

}  // namespace octavo::query::project
