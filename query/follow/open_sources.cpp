#include "query/follow/open_sources.h"

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "base/jobs/background_jobs.h"

namespace octavo::query {

void open_sources(partitioning::Engine& engine, std::string_view what,
                  Expected<std::vector<std::string>> (*list)(storage::Catalog&)) {
  boost::asio::post(engine.workers().pool(), [&engine, what = std::string(what), list] {
    const std::string step = "opening the " + what;
    const auto names = run_guarded(step, [&] { return list(engine.catalog()); });
    if (!names) {
      spdlog::error("the {} cannot be listed: {}", what, names.error().reason);
      return;
    }
    for (const std::string& name : *names) {
      const auto opened = run_guarded(step, [&] { return engine.open_database(name); });
      if (!opened && opened.error().code == ErrorCode::overloaded) return;  // the server is shutting down
    }
  });
}

}  // namespace octavo::query
