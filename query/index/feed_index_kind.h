#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/thread_pool.hpp>

#include "config/settings.h"
#include "query/index/feed_index.h"
#include "storage/fault_injector.h"

namespace octavo::query {

/// An index that a design document asks for.
struct FeedIndexDefinition {
  std::string identity;         ///< FeedIndex::identity()
  std::string design_document;  ///< `_design/…`
  std::string name;             ///< of the index inside the design document; empty where one index serves all of it
  /// Text from which the kind makes the index again, whatever the design document says by then: it is kept beside the
  /// files, so that an index whose definition was replaced still answers after a restart.
  std::string content;
};

/// What an index gets from its surroundings.
struct FeedIndexOptions {
  std::filesystem::path folder;  ///< the index's own; made by FeedIndex::open
  config::Durability durability = config::Durability::commit;
  storage::FaultInjector* faults = nullptr;
  std::string database_tag;                  ///< of the database's incarnation
  boost::asio::thread_pool* pool = nullptr;  ///< threads that run functions (parallel_work.h); apply() is called on one
  std::shared_ptr<const std::atomic<bool>> stopping;  ///< once true, apply() returns soon, with any error
};

/// One sort of index that follows the feed. Stateless.
struct FeedIndexKind {
  std::string_view name;       ///< `view`: folders are named `view-<identity>`
  std::string_view task_type;  ///< in `_active_tasks`
  /// The indexes that a stored design document asks for; none when it makes no sense. `body` is without `_id`, `_rev`.
  std::vector<FeedIndexDefinition> (*read)(std::string_view id, std::string_view revision, std::string_view body,
                                           bool database_is_partitioned);
  /// Makes the index, without files yet. Errors: bad_request, when `content` makes no sense.
  Expected<std::unique_ptr<FeedIndex>> (*make)(const FeedIndexDefinition& definition, FeedIndexOptions options);
};

/// Hexadecimal hash of what decides an index's entries: FeedIndex::identity().
std::string feed_index_identity(std::string_view content);

/// All kinds that the server has (feed_index_kinds.cpp).
const std::vector<FeedIndexKind>& feed_index_kinds();

}  // namespace octavo::query
