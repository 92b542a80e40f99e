#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/thread_pool.hpp>

#include "config/settings.h"
#include "query/follow/feed_index.h"
#include "storage/lmdb/fault_injector.h"

namespace octavo::query {

/// An index that a design document defines.
struct FeedIndexDefinition {
  std::string identity;         ///< FeedIndex::identity()
  std::string design_document;  ///< `_design/…`
  std::string name;             ///< of the index in the design document; empty if one index serves all of it
  /// Text from which the kind can create the index again, even if the design document has changed: it is stored beside
  /// the files, so that an index whose definition was replaced still answers after a restart.
  std::string content;
  bool on_demand = false;  ///< built only after a query has asked for it (FeedIndexes::demand), and kept from then on
};

/// What an index is given when it is created.
struct FeedIndexOptions {
  std::filesystem::path folder;  ///< the index's own; created by FeedIndex::open
  config::Durability durability = config::Durability::commit;
  storage::FaultInjector* faults = nullptr;
  std::string database_tag;                  ///< of the database's incarnation
  boost::asio::thread_pool* pool = nullptr;  ///< threads that run functions (parallel_work.h); apply() is called on one
  std::shared_ptr<const std::atomic<bool>> stopping;  ///< once true, apply() returns soon, with any error
};

/// One kind of index that follows the feed. Stateless.
struct FeedIndexKind {
  std::string_view name;       ///< `view`: folders are named `view-<identity>`
  std::string_view task_type;  ///< in `_active_tasks`
  /// The indexes that a stored design document defines; none if it is invalid. `body` is without `_id`, `_rev`.
  std::vector<FeedIndexDefinition> (*read)(std::string_view id, std::string_view revision, std::string_view body,
                                           bool database_is_partitioned);
  /// Creates the index, without files yet. Errors: bad_request if `content` is invalid.
  Expected<std::unique_ptr<FeedIndex>> (*make)(const FeedIndexDefinition& definition, FeedIndexOptions options);
};

/// Hash of what decides an index's entries: FeedIndex::identity().
///
/// Format (identity of a view group or search index):
///   identity := 32 hexadecimal digits: the first 16 bytes of SHA-256 over the content (views), or over
///               "octavo-search-2\n" and the JSON of the content (search)
std::string feed_index_identity(std::string_view content);

}  // namespace octavo::query
