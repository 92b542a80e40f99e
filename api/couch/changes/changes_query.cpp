#include "api/couch/changes/changes_query.h"

#include <algorithm>

#include "api/couch/call/query_parameters.h"

namespace octavo::api::couch {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds patience_max{60'000};  // Apache CouchDB's chttpd/changes_timeout

}  // namespace

Expected<FeedMode> parse_feed_mode(std::string_view value) {
  if (value == "normal") return FeedMode::normal;
  if (value == "longpoll") return FeedMode::longpoll;
  if (value == "continuous" || value == "live") return FeedMode::continuous;
  if (value == "eventsource") return FeedMode::eventsource;
  return fail(ErrorCode::bad_request, "Supported `feed` types: normal, continuous, live, longpoll, eventsource");
}

Expected<FeedPatience> parse_feed_patience(const Request& request) {
  FeedPatience patience;
  if (const auto timeout = request.parameter("timeout")) {
    OCTAVO_TRY(const auto count, ParameterValue(*timeout).as_count());
    patience.timeout = milliseconds(std::min<std::uint64_t>(count, patience_max.count()));
  }
  if (const auto heartbeat = request.parameter("heartbeat"); heartbeat && *heartbeat != "false") {
    if (*heartbeat == "true") {
      patience.heartbeat = patience_max;
      return patience;
    }
    const auto number = parse_integer(*heartbeat);
    if (!number)
      return fail(ErrorCode::bad_request,
                  "Invalid heartbeat value. Expecting a positive integer value (in milliseconds).");
    if (*number <= 0)
      return fail(ErrorCode::bad_request, "The heartbeat value should be a positive integer (in milliseconds).");
    patience.heartbeat = std::min(patience_max, milliseconds(std::min<std::int64_t>(*number, patience_max.count())));
  }
  return patience;
}

Expected<ChangesQuery> parse_changes_query(const Request& request) {
  ChangesQuery query;
  for (const auto& [name, value] : request.query) {
    if (name == "feed") {
      OCTAVO_TRY(query.mode, parse_feed_mode(value));
    } else if (name == "since" || name == "last-event-id") {
      query.since = value;
    } else if (name == "limit") {
      OCTAVO_TRY(query.limit, ParameterValue(value).as_count());
    } else if (name == "style") {
      if (value != "main_only" && value != "all_docs")
        return fail(ErrorCode::bad_request, "Supported `style`s: main_only, all_docs");
      query.all_leaves = value == "all_docs";
    } else if (name == "seq_interval") {
      const auto interval = parse_integer(value);
      if (!interval || *interval <= 0) return fail(ErrorCode::bad_request, "invalid_seq_interval");
      query.seq_interval = static_cast<std::uint64_t>(*interval);
    } else if (name == "filter") {
      query.filter = value;
    } else if (name == "mode") {
      if (value != "latest_version" && value != "all_versions") {
        return fail(ErrorCode::bad_request, "Supported `mode`s: latest_version, all_versions");
      }
      query.all_versions = value == "all_versions";
    }
  }
  query.descending = is_true(request, "descending");
  query.include_docs = is_true(request, "include_docs");
  query.conflicts = is_true(request, "conflicts");
  OCTAVO_TRY(query.patience, parse_feed_patience(request));
  // A browser that reconnects sends its position in the header but repeats the old `since` in the query.
  if (query.mode == FeedMode::eventsource) {
    if (const auto last = request.header("Last-Event-ID"); last && !last->empty()) query.since = *last;
  }
  return query;
}

}  // namespace octavo::api::couch
