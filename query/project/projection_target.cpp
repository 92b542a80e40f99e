#include "query/project/projection_target.h"

#include <fmt/format.h>

#include "partitioning/database_extension.h"
#include "partitioning/engine.h"

namespace octavo::query::project {

Error missing_target(std::string_view name) {
  return {ErrorCode::not_found, fmt::format("The target {} does not exist any more.", name), "target_missing"};
}

Expected<std::shared_ptr<partitioning::Database>> open_target(partitioning::Engine& engine, const std::string& name,
                                                              std::string_view tag) {
  auto target = engine.open_incarnation(name, tag);
  if (!target && target.error().code == ErrorCode::not_found) return std::unexpected(missing_target(name));
  return target;
}

void tell_target(partitioning::Engine& engine, const std::string& name, std::string_view tag) {
  const auto target = open_target(engine, name, tag);
  if (!target) return;
  if (auto* const extension = (*target)->extension()) extension->owners_changed();
}

}  // namespace octavo::query::project
