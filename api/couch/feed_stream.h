#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "api/couch/changes_query.h"
#include "api/http/reply.h"
#include "base/error.h"
#include "base/task.h"

namespace octavo::api::couch {

/// A feed that can be followed: `_changes` of a database or a partition, `_db_updates`.
class FollowedFeed {
 public:
  enum class Step : std::uint8_t {
    more,  ///< call again
    wait,  ///< all that is there was sent; call again when something grew
    end    ///< complete, its last line included
  };

  virtual ~FollowedFeed() = default;
  /// Appends what is there, up to about a slice. `on_worker`: may take longer.
  virtual Task<Expected<Step>> advance(std::string& out, bool on_worker) = 0;
  /// Waits until there is more, or the deadline; true when there is.
  virtual Task<bool> wait(std::chrono::steady_clock::time_point deadline) = 0;
  /// Nothing will ever come again: the database is gone.
  virtual bool gone() const = 0;
  virtual void heartbeat(std::string& out) const = 0;
  /// Appends the last line.
  virtual Expected<void> finish(std::string& out) = 0;
};

/// The reply of a feed: whole when it is complete and small, else a stream that follows until the client goes, its
/// limit is reached, or it waited in vain for `patience.timeout`. While idle it holds neither a snapshot nor a buffer.
Task<Expected<Reply>> feed_reply(std::unique_ptr<FollowedFeed> feed, FeedMode mode, FeedPatience patience);

}  // namespace octavo::api::couch
