// The change feeds: _changes, _partition/{p}/_changes, and _db_updates.
#include <algorithm>
#include <chrono>
#include <limits>

#include <fmt/format.h>

#include "api/couch/auth/users_database.h"
#include "api/couch/call/json_reply.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/partition_parameter.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/changes/changes_feed.h"
#include "api/couch/changes/changes_filter.h"
#include "api/couch/changes/changes_query.h"
#include "api/couch/changes/feed_stream.h"
#include "api/couch/changes/routes.h"
#include "api/couch/changes/version_feed.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "base/json_writer.h"

namespace octavo::api::couch {

namespace {

using partitioning::DatabaseUpdates;
using partitioning::ScanBudget;
using std::chrono::steady_clock;

// How long a feed waits for documents that are being written. A commit takes about as long as a sync.
constexpr std::chrono::seconds settle_patience{1};

class FollowedChanges final : public FollowedFeed {
 public:
  explicit FollowedChanges(ChangesFeed feed)
      : feed_(std::move(feed)), replaced_before_(feed_.database().times_replaced()) {}

  Task<Expected<Step>> advance(std::string& out, bool on_worker) override {
    constexpr std::size_t documents_tested = 32;
    auto budget = ScanBudget::inline_slice();
    if (feed_.tests_documents()) budget.rows_max = documents_tested;
    if (!on_worker && !feed_.runs_functions() && !feed_.tests_costly()) co_return to_step(feed_.advance(out, budget));
    auto work = [this, &out] { return feed_.advance(out, ScanBudget::worker_slice()); };
    auto& engine = feed_.database().engine();
    if (feed_.runs_functions()) co_return to_step(co_await engine.workers().run_function(std::move(work)));
    co_return to_step(co_await engine.workers().run_patiently(std::move(work)));
  }
  Task<bool> wait(steady_clock::time_point deadline) override {
    if (gone()) co_return false;
    if (!feed_.settles()) co_return co_await feed_.database().wait_for_change(feed_.position(), deadline);
    const auto soon = std::min(deadline, steady_clock::now() + settle_patience);
    const bool grew = co_await feed_.database().wait_for_change(feed_.position(), soon);
    if (!grew) feed_.end_settling();
    co_return !gone();
  }
  bool gone() const override {
    return feed_.database().deleted() || feed_.database().times_replaced() != replaced_before_;
  }
  void heartbeat(std::string& out) const override { feed_.heartbeat(out); }
  Expected<void> finish(std::string& out) override { return feed_.finish(out); }

 private:
  static Expected<Step> to_step(Expected<ChangesFeed::Step> step) {
    if (!step) return std::unexpected(std::move(step).error());
    switch (*step) {
      case ChangesFeed::Step::more:
        return Step::more;
      case ChangesFeed::Step::wait:
        return Step::wait;
      case ChangesFeed::Step::end:
        break;
    }
    return Step::end;
  }

  ChangesFeed feed_;
  const std::uint32_t replaced_before_;  ///< later: a client that asks again gets the new database
};

// A filter that reads the body checks it itself. For the other feeds, too, a body that makes no sense is an error.
Expected<void> check_feed_body(const Request& request, const ChangesQuery& query) {
  if (request.method != Method::post) return {};
  OCTAVO_TRY_VOID(require_json_content_type(request));
  if (request.body.empty() || query.filter == "_doc_ids" || query.filter == "_selector") return {};
  OCTAVO_TRY_VOID(json_object_body(request));
  return {};
}

struct PreparedFeed {
  std::unique_ptr<FollowedFeed> feed;
  std::optional<std::string>
      entity_tag;  // of a reply that stays the same until something is written, purged or dropped
};

bool has_entity_tag(const Call& call, const ChangesQuery& query) {
  // A body may filter, too, and belongs to no entity. Documents that expire change the reply without a write.
  return query.mode == FeedMode::normal && call.request.method != Method::post && !call.database->has_time_to_live();
}

// nullopt if a physical partition cannot be read: the feed of a logical partition may not need it.
std::optional<std::string> entity_tag_of(const partitioning::Database& database) {
  // After a restart the files may be those of a backup, whose sequences are given to other writes.
  constexpr std::size_t start_bytes = 8;
  static const std::string start = crypto::hex_encode(crypto::random_bytes(start_bytes));
  const auto sequence = database.format_sequence(database.committed_sequence());
  const auto hidden = database.hidden_deletions();
  if (!hidden) return std::nullopt;
  return fmt::format("\"{}-{}-{}-{}\"", sequence, hidden->purge_count, hidden->dropped_through, start);
}

// Runs on a worker if the filter in the request's body is large.
Expected<PreparedFeed> prepare_changes(const Call& call, ChangesQuery query, std::optional<std::string> partition_key) {
  // Nothing else needs the key's target, so without a limit the key is not hashed.
  if (call.database->meter().is_limited()) {
    OCTAVO_TRY_VOID(call.database->meter().admit_scan(call.scope_of(partition_key)));
  }
  if (is_system_database(*call.database)) OCTAVO_TRY_VOID(check_system_listing(call, "_changes"));
  OCTAVO_TRY_VOID(check_feed_body(call.request, query));
  PreparedFeed prepared;
  if (query.all_versions) {
    OCTAVO_TRY(prepared.feed, version_feed(call, std::move(query), std::move(partition_key)));
    return prepared;
  }
  OCTAVO_TRY(const auto since, call.database->parse_sequence(query.since));
  OCTAVO_TRY(auto filter, ChangesFilter::create(call, query));
  // Before the feed begins: it shows at least the writes that the tag counts. Functions see more of a request than its
  // URL.
  if (has_entity_tag(call, query) && !filter.runs_functions()) {
    prepared.entity_tag = entity_tag_of(*call.database);
  }
  prepared.feed = std::make_unique<FollowedChanges>(
      ChangesFeed(call.database, std::move(query), since, std::move(filter), std::move(partition_key)));
  return prepared;
}

Task<Expected<Reply>> follow_changes(Call& call, std::optional<std::string> partition_key) {
  OCTAVO_CO_TRY(auto query, parse_changes_query(call.request));
  const auto mode = query.mode;
  const auto patience = query.patience;
  const auto prepare = [&] { return prepare_changes(call, std::move(query), std::move(partition_key)); };
  OCTAVO_CO_TRY(auto prepared, co_await work_on_body(call, prepare));
  auto& tag = prepared.entity_tag;
  if (tag && none_match_has(call.request, *tag)) co_return not_modified(*std::move(tag));
  auto reply = co_await feed_reply(std::move(prepared.feed), mode, patience);
  if (reply && tag) reply->headers.emplace_back("ETag", *std::move(tag));
  co_return reply;
}

Task<Expected<Reply>> changes(Call& call) {
  return follow_changes(call, std::nullopt);
}

Task<Expected<Reply>> partition_changes(Call& call) {
  OCTAVO_CO_TRY_VOID(check_partition_parameter(call));
  co_return co_await follow_changes(call, call.path("partition"));
}

std::string_view name_of(DatabaseUpdates::Kind kind) {
  switch (kind) {
    case DatabaseUpdates::Kind::created:
      return "created";
    case DatabaseUpdates::Kind::deleted:
      return "deleted";
    case DatabaseUpdates::Kind::updated:
      break;
  }
  return "updated";
}

// `_db_updates`: which databases were created, changed or deleted.
class FollowedUpdates final : public FollowedFeed {
 public:
  FollowedUpdates(DatabaseUpdates& updates, FeedMode mode, std::uint64_t since, std::uint64_t limit)
      : updates_(updates), mode_(mode), position_(since), limit_(limit) {}

  Task<Expected<Step>> advance(std::string& out, bool) override {
    if (!std::exchange(started_, true) && !is_line_mode()) out += "{\"results\":[\n";
    const auto count_max = static_cast<std::size_t>(std::min<std::uint64_t>(rows_per_piece, limit_ - emitted_));
    const auto events = updates_.since(position_, count_max);
    for (const auto& event : events) append_row(out, event);
    const bool complete = emitted_ == limit_;
    if (!complete && events.size() == rows_per_piece) co_return Step::more;
    const bool follows = is_line_mode() || (mode_ == FeedMode::longpoll && emitted_ == 0);
    if (follows && !complete) co_return Step::wait;
    OCTAVO_CO_TRY_VOID(finish(out));
    co_return Step::end;
  }
  Task<bool> wait(steady_clock::time_point deadline) override { return updates_.wait(position_, deadline); }
  bool gone() const override { return false; }
  void heartbeat(std::string& out) const override {
    out += mode_ == FeedMode::eventsource ? "event: heartbeat\ndata: \n\n" : "\n";
  }
  Expected<void> finish(std::string& out) override {
    if (mode_ == FeedMode::eventsource) return {};
    out += is_line_mode() ? "{\"last_seq\":" : "\n],\n\"last_seq\":";
    append_json_string(out, updates_.format_sequence(position_));
    out += "}\n";
    return {};
  }

 private:
  static constexpr std::size_t rows_per_piece = 500;

  bool is_line_mode() const { return mode_ == FeedMode::continuous || mode_ == FeedMode::eventsource; }

  void append_row(std::string& out, const DatabaseUpdates::Event& event) {
    if (mode_ == FeedMode::eventsource) {
      out += "data: ";
    } else if (!is_line_mode() && emitted_ > 0) {
      out += ",\n";
    }
    const auto sequence = updates_.format_sequence(event.sequence);
    out += "{\"db_name\":";
    append_json_string(out, event.database);
    out += ",\"type\":\"";
    out += name_of(event.kind);
    out += "\",\"seq\":";
    append_json_string(out, sequence);
    out += '}';
    if (mode_ == FeedMode::eventsource) {
      out += "\nid: ";
      out += sequence;
      out += "\n\n";
    } else if (is_line_mode()) {
      out += '\n';
    }
    position_ = event.sequence;
    ++emitted_;
  }

  DatabaseUpdates& updates_;  // owned by the engine, which outlives every connection
  FeedMode mode_;
  std::uint64_t position_;
  std::uint64_t limit_;
  std::uint64_t emitted_ = 0;
  bool started_ = false;
};

Expected<std::unique_ptr<FollowedUpdates>> parse_updates(const Call& call, FeedMode mode) {
  const auto& request = call.request;
  auto& updates = call.services.engine.updates();
  auto since_text = request.parameter("since").value_or("0");
  if (mode == FeedMode::eventsource) {
    if (const auto last = request.header("Last-Event-ID"); last && !last->empty()) since_text = *last;
  }
  const auto since = updates.parse_sequence(since_text);
  if (!since) return fail(ErrorCode::bad_request, "Malformed sequence supplied in 'since' parameter.");
  auto limit = std::numeric_limits<std::uint64_t>::max();
  if (const auto text = request.parameter("limit")) {
    OCTAVO_TRY(limit, ParameterValue(*text).as_count());
  }
  return std::make_unique<FollowedUpdates>(updates, mode, *since, limit);
}

Task<Expected<Reply>> database_updates(Call& call) {
  OCTAVO_CO_TRY(const auto mode, parse_feed_mode(call.request.parameter("feed").value_or("normal")));
  OCTAVO_CO_TRY(const auto patience, parse_feed_patience(call.request));
  OCTAVO_CO_TRY(auto feed, parse_updates(call, mode));
  co_return co_await feed_reply(std::move(feed), mode, patience);
}

}  // namespace

void add_changes_routes(RouteList& routes) {
  routes.push_back({Method::get, "/{db}/_changes", Access::database_member, changes});
  routes.push_back({Method::post, "/{db}/_changes", Access::database_member, changes});
  routes.push_back({Method::get, "/{db}/_partition/{partition}/_changes", Access::database_member, partition_changes});
  routes.push_back({Method::post, "/{db}/_partition/{partition}/_changes", Access::database_member, partition_changes});
  routes.push_back({Method::get, "/_db_updates", Access::server_admin, database_updates});
}

}  // namespace octavo::api::couch
