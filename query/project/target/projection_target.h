#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "partitioning/database.h"

/// The database that a projection, or a copy, writes to: it is known by its instance tag, and by the name that it
/// had when the projection was created.
namespace octavo::query::project {

/// Error not_found with the word target_missing: why nothing can be written.
Error missing_target(std::string_view name);
/// Errors: that one; those of opening a database.
Expected<std::shared_ptr<partitioning::Database>> open_target(partitioning::Engine& engine, const std::string& name,
                                                              std::string_view tag);
/// Deletes it. With an empty tag: the database that has the name, if nothing was written to it. Errors: those of
/// opening and deleting it; not if it is gone.
Expected<void> delete_target(partitioning::Engine& engine, const std::string& name, std::string_view tag);
/// Lets the target read again what writes into it (owners_of), if it is there.
void tell_target(partitioning::Engine& engine, const std::string& name, std::string_view tag);

}  // namespace octavo::query::project
