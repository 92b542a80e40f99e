#pragma once

#include <string_view>
#include <vector>

#include "partitioning/database.h"
#include "query/design/design_document.h"

/// Stored procedures in design documents: the member `sprocs`, from names to functions.
namespace octavo::query {

/// The stored procedures of a stored design document. Errors: bad_request if the member is not an object.
Expected<std::vector<NamedFunction>> procedures_of(std::string_view body);

/// The current function called `name`: `ddoc/name`, or only its own name, which finds it in the first design document,
/// by id, that has it. The result's name is for messages. Reads design documents, so call it on a worker. Errors:
/// not_found.
Expected<NamedFunction> find_procedure(partitioning::Database& database, std::string_view name);

}  // namespace octavo::query
