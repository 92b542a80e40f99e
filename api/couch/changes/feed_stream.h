#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "api/couch/changes/changes_query.h"
#include "api/http/reply.h"
#include "base/error.h"
#include "base/task.h"

namespace octavo::api::couch {

/// A feed that can be followed: `_changes` of a database or a partition, `_db_updates`.
class FollowedFeed {
 public:
  enum class Step : std::uint8_t {
    more,  ///< call again
    wait,  ///< all available rows were sent; call again after a change
    end    ///< complete, including the last line
  };

  virtual ~FollowedFeed() = default;
  /// Appends available rows, up to about a slice. `on_worker` allows it to take longer.
  virtual Task<Expected<Step>> advance(std::string& out, bool on_worker) = 0;
  /// Waits until there are more rows or the deadline passes; true if there are more.
  virtual Task<bool> wait(std::chrono::steady_clock::time_point deadline) = 0;
  /// True if there will be no more rows, because the database was deleted.
  virtual bool gone() const = 0;
  virtual void heartbeat(std::string& out) const = 0;
  /// Appends the last line.
  virtual Expected<void> finish(std::string& out) = 0;
};

/// The reply of a feed: sent whole if it is complete and small, otherwise a stream that follows the feed until the
/// client disconnects, the limit is reached, or nothing changed for `patience.timeout`. While idle it holds neither a
/// snapshot nor a buffer.
Task<Expected<Reply>> feed_reply(std::unique_ptr<FollowedFeed> feed, FeedMode mode, FeedPatience patience);

}  // namespace octavo::api::couch
