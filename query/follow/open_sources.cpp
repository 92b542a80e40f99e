#include "query/follow/open_sources.h"

#include <unordered_map>

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "base/jobs/run_guarded.h"

namespace octavo::query {

Expected<std::vector<std::string>> noted_sources(storage::Catalog& catalog, std::string_view area,
                                                 FunctionRef<Expected<bool>(std::string_view tag)> is_needed) {
  std::vector<std::string> names;
  OCTAVO_TRY(const auto facts, catalog.facts(area));
  if (facts.empty()) return names;
  OCTAVO_TRY(const auto databases, catalog.all());
  std::unordered_map<std::string_view, std::string_view> name_of_tag;
  for (const storage::DatabaseRecord& database : databases) name_of_tag.emplace(database.instance_tag, database.name);
  for (const auto& [key, text] : facts) {
    const std::string_view tag = text.empty() ? key : text;
    const auto database = name_of_tag.find(tag);
    OCTAVO_TRY(const bool needed, is_needed(tag));
    if (database != name_of_tag.end() && needed) {
      names.emplace_back(database->second);
    } else {
      OCTAVO_TRY_VOID(catalog.erase_fact(area, key));
    }
  }
  return names;
}

void open_sources(partitioning::Engine& engine, std::string_view what,
                  Expected<std::vector<std::string>> (*list)(storage::Catalog&)) {
  boost::asio::post(engine.workers().pool(), [&engine, what = std::string(what), list] {
    const std::string step = "opening the " + what;
    const auto names = run_guarded(step, [&] { return list(engine.catalog()); });
    if (!names) {
      spdlog::error("the {} cannot be listed: {}", what, reason_of(names.error()));
      return;
    }
    for (const std::string& name : *names) {
      const auto opened = run_guarded(step, [&] { return engine.open_database(name); });
      if (!opened && opened.error().code == ErrorCode::overloaded) return;  // the server is shutting down
    }
  });
}

}  // namespace octavo::query
