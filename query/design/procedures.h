#pragma once

#include <string_view>
#include <vector>

#include "partitioning/database.h"
#include "query/design/design_document.h"

/// Stored procedures in design documents: the member `sprocs`, from names to functions.
namespace octavo::query {

/// Of a stored design document. Errors: bad_request when the member is no object.
Expected<std::vector<NamedFunction>> procedures_of(std::string_view body);

/// The function that `name` names now: `ddoc/name`, or the name alone for the first design document, in order of their
/// ids, that has it. The result's name is for messages. Reads design documents: on a worker. Errors: not_found.
Expected<NamedFunction> find_procedure(partitioning::Database& database, std::string_view name);

}  // namespace octavo::query
