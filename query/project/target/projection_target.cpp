#include "query/project/target/projection_target.h"

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

Expected<void> delete_target(partitioning::Engine& engine, const std::string& name, std::string_view tag) {
  std::string present = name;
  if (tag.empty()) {
    const auto opened = engine.open_database(name);
    if (!opened && opened.error().code == ErrorCode::not_found) return {};
    OCTAVO_TRY_VOID(opened);
    if ((*opened)->watermark() > (*opened)->sequence_base()) return {};
  } else {
    OCTAVO_TRY(const auto found, engine.catalog().find_incarnation(name, tag));
    if (!found) return {};
    present = found->name;
  }
  auto deleted = engine.delete_database(present);
  if (!deleted && deleted.error().code == ErrorCode::not_found) return {};
  return deleted;
}

void tell_target(partitioning::Engine& engine, const std::string& name, std::string_view tag) {
  const auto target = open_target(engine, name, tag);
  if (!target) return;
  if (auto* const extension = (*target)->extension()) extension->owners_changed();
}

}  // namespace octavo::query::project
