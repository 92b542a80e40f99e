#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "api/http/request.h"
#include "base/error.h"

namespace octavo::api::couch {

/// How a change feed is sent: all at once; all at once, after waiting for a first row; or row by row without end.
enum class FeedMode : std::uint8_t { normal, longpoll, continuous, eventsource };

/// How long a feed waits for changes, and what happens then.
struct FeedPatience {
  std::optional<std::chrono::milliseconds> heartbeat;  ///< send a heartbeat after this silence; the feed does not end
  std::chrono::milliseconds timeout{std::chrono::milliseconds{60'000}};  ///< without heartbeat: end the feed

  std::chrono::milliseconds wait() const { return heartbeat.value_or(timeout); }
};

/// The parameters of `_changes`, from the query string.
struct ChangesQuery {
  FeedMode mode = FeedMode::normal;
  std::string since = "0";
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
  bool descending = false;
  bool include_docs = false;
  bool conflicts = false;
  bool all_leaves = false;         ///< `style=all_docs`
  std::uint64_t seq_interval = 1;  ///< only every n-th row shows its sequence
  FeedPatience patience;
  std::string filter;
  bool all_versions = false;  ///< `mode=all_versions`: see version_feed.h
};

/// Errors, with CouchDB's texts: bad_request.
Expected<ChangesQuery> parse_changes_query(const Request& request);

/// Parts of parse_changes_query that other feeds use.
Expected<FeedMode> parse_feed_mode(std::string_view value);
Expected<FeedPatience> parse_feed_patience(const Request& request);

}  // namespace octavo::api::couch
