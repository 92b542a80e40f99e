#include "analytics/follow/table_feed.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <system_error>
#include <utility>

#include "analytics/channel/batch.h"
#include "analytics/follow/groups.h"
#include "base/unix_time.h"
#include "query/json/document_text.h"
#include "query/json/parsed_document.h"
#include "storage/document/document.h"

namespace octavo::analytics {

namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds answer_patience{10'000};
// Some tenths of a second: what follows the feed waits for it.
constexpr std::size_t expired_rows_max = 10'000;
// A batch takes seconds; on a machine that is always busy, minutes.
constexpr std::chrono::minutes answer_max{20};

std::string revision_text(const storage::Revision& revision) {
  std::string quoted;
  query::append_revision(quoted, revision);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

TableFeed::TableFeed(partitioning::Database& database, Definition definition, bool is_beside, Process& process)
    : database_(database),
      definition_(std::move(definition)),
      ttl_s_(definition_.ttl_s),
      process_(process),
      rereads_(definition_.rereads),
      builds_ended_(is_beside ? definition_.build - 1 : definition_.build),
      is_beside_(is_beside) {}

void TableFeed::set_builds(std::uint64_t ended, std::uint64_t building) {
  raise_builds_ended(ended);
  building_.store(building, std::memory_order_release);
}

void TableFeed::raise_builds_ended(std::uint64_t ended) {
  std::uint64_t known = builds_ended();
  while (known < ended && !builds_ended_.compare_exchange_weak(known, ended, std::memory_order_acq_rel)) {
  }
}

Expected<void> TableFeed::open() {
  const std::lock_guard working(work_mutex_);
  return open_with_lock();
}

// Called with work_mutex_ held.
Expected<void> TableFeed::open_with_lock() {
  if (closed_) return fail(ErrorCode::not_found, "The analytical store was removed.");
  if (channel_) return {};
  const TablePlace place = place_of(database_, definition_);
  std::error_code failed;
  std::filesystem::create_directories(place.file.parent_path(), failed);
  if (failed) return fail(ErrorCode::io_failure, "The folder of the analytical store: " + failed.message());
  OCTAVO_TRY(auto channel, process_.connect());
  {
    const std::lock_guard lock(channel_mutex_);
    channel_.emplace(std::move(channel));
  }
  json::object request = to_json(place);
  request["include"] = json::value_from(definition_.include);
  request["mode"] = definition_.json.at("mode");
  request["flatten"] = definition_.flatten;
  request["beyond"] = database_.watermark();
  request["rereads"] = rereads_;
  request["build"] = definition_.build;
  request["ended"] = builds_ended();
  request["building"] = building_.load(std::memory_order_acquire);
  request["is_beside"] = is_beside();
  OCTAVO_TRY(const std::string reply, ask(FrameKind::open_table, json::serialize(request)));
  complete_through_.store(0, std::memory_order_release);
  return learn_state(reply);
}

// Called with work_mutex_ held, with a channel.
Expected<std::string> TableFeed::ask(FrameKind kind, std::string_view payload) {
  auto answered = [&]() -> Expected<Frame> {
    OCTAVO_TRY_VOID(channel_->send(kind, payload));
    for (const auto until = Clock::now() + answer_max; Clock::now() < until;) {
      OCTAVO_TRY(auto frame, channel_->receive(answer_patience));
      if (frame) return *std::move(frame);
    }
    process_.kill();
    return fail(ErrorCode::overloaded, "The analytical process did not answer in time, and was ended.");
  }();
  if (answered && answered->kind == FrameKind::reply) return std::move(answered->payload);
  Error error = answered ? error_of_payload(answered->payload) : std::move(answered).error();
  // The table is opened again, so that what it is after the failure is read from it.
  const std::lock_guard lock(channel_mutex_);
  channel_.reset();
  return std::unexpected(std::move(error));
}

Expected<void> TableFeed::learn_state(std::string_view payload) {
  OCTAVO_TRY(const auto parsed, query::parse_json(payload));
  if (!parsed.is_object()) return fail(ErrorCode::internal, "The state of a table is no object.");
  const json::object& state = parsed.get_object();
  const auto number = [&](std::string_view name) -> std::uint64_t {
    const auto* const value = state.if_contains(name);
    return value != nullptr && value->is_number() ? value->to_number<std::uint64_t>() : 0;
  };
  const auto flag = [&](std::string_view name) {
    const auto* const value = state.if_contains(name);
    return value != nullptr && value->is_bool() && value->get_bool();
  };
  checkpoint_.store(number("checkpoint"), std::memory_order_release);
  purge_count_.store(number("purge_count"), std::memory_order_release);
  reread_to_.store(number("reread_to"), std::memory_order_release);
  built_.store(flag("built"), std::memory_order_release);
  is_beside_.store(flag("is_beside"), std::memory_order_release);
  raise_builds_ended(number("ended"));
  knows_place_.store(true, std::memory_order_release);
  return {};
}

void TableFeed::interrupt() {
  const std::lock_guard lock(channel_mutex_);
  if (channel_) channel_->shut_down();
}

void TableFeed::close() {
  interrupt();
  const std::lock_guard working(work_mutex_);
  closed_ = true;
  close_with_lock();
}

void TableFeed::close_for_now() {
  const std::lock_guard working(work_mutex_);
  close_with_lock();
}

// Called with work_mutex_ held.
void TableFeed::close_with_lock() {
  const std::lock_guard lock(channel_mutex_);
  channel_.reset();
}

Expected<bool> TableFeed::take_place_of(TableFeed& other) {
  const std::scoped_lock working(work_mutex_, other.work_mutex_);
  OCTAVO_TRY_VOID(open_with_lock());
  if (is_beside()) {
    if (checkpoint() < other.checkpoint() || purge_count() < other.purge_count()) return false;
    forget_place();
    OCTAVO_TRY_VOID(ask(FrameKind::take_place, {}));
    is_beside_.store(false, std::memory_order_release);
    close_with_lock();
  }
  other.closed_ = true;
  other.close_with_lock();
  return true;
}

storage::Sequence TableFeed::knows_deletions_through() const {
  return std::max(checkpoint(), purge_scan_.scanned_through());
}

Expected<std::size_t> TableFeed::apply(const query::FeedChanges& changes) {
  const std::lock_guard working(work_mutex_);
  const auto begun = Clock::now();
  OCTAVO_TRY_VOID(open_with_lock());
  const auto went_elsewhere = [] {
    return fail(ErrorCode::overloaded, "The table was opened again, and continues from its checkpoint.");
  };
  if (checkpoint() != changes.from) return went_elsewhere();
  BatchWriter batch(changes.from, changes.reached, changes.complete);
  const std::int64_t now_s = unix_now_s();
  for (const query::FeedDocument& document : changes.documents) {
    if (storage::is_design_id(document.id)) continue;
    const std::string revision = document.present ? revision_text(document.revision) : std::string();
    batch.add({.id = document.id,
               .revision = revision,
               .modified_s = document.modified_s,
               .row = row_change(document, now_s),
               .json = document.json});
  }
  OCTAVO_TRY(const std::string reply, ask(FrameKind::apply, batch.payload()));
  OCTAVO_TRY_VOID(learn_state(reply));
  if (checkpoint() != changes.reached) return went_elsewhere();
  if (changes.complete) complete_through_.store(changes.reached, std::memory_order_release);
  last_batch_.store(std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun),
                    std::memory_order_relaxed);
  return changes.documents.size();
}

RowChange TableFeed::row_change(const query::FeedDocument& document, std::int64_t now_s) const {
  const std::int64_t ttl = ttl_s();
  if (!document.present) return ttl == 0 ? RowChange::remove : RowChange::mark_deleted;
  const bool has_expired = ttl > 0 && document.modified_s > 0 && document.modified_s + ttl <= now_s;
  return has_expired ? RowChange::remove : RowChange::replace;
}

// While the feed is read again, all purges since the beginning are given. Kept rows of documents that were written
// again after a purge that the table has accounted for must stay.
Expected<std::vector<std::string>> TableFeed::newly_purged(const query::KnownPurges& purges) const {
  const storage::Sequence accounted = reread_to_.load(std::memory_order_acquire);
  if (ttl_s() == 0 || accounted <= purges.since) return purges.gone;
  std::vector<std::string> ids;
  for (const std::size_t partition_id : database_.partition_ids()) {
    OCTAVO_TRY(const auto snapshot, database_.snapshot(partition_id));
    OCTAVO_TRY(const auto purged, snapshot.purged_after(accounted));
    if (!purged) return purges.gone;
    std::ranges::copy_if(*purged, std::back_inserter(ids), [&](const std::string& id) {
      return std::ranges::find(purges.gone, id) != purges.gone.end();
    });
  }
  return ids;
}

Expected<bool> TableFeed::has_tombstone(const std::string& id) const {
  OCTAVO_TRY(const auto snapshot, database_.snapshot_for_document(id));
  OCTAVO_TRY(const auto record, snapshot.find_stored_record(id));
  // One that was written again meanwhile comes with the feed.
  return record.has_value();
}

Expected<bool> TableFeed::remove_expired() {
  const std::lock_guard working(work_mutex_);
  const std::int64_t ttl = ttl_s();
  if (ttl == Definition::forever) return false;
  OCTAVO_TRY_VOID(open_with_lock());
  const json::object request{
      {"written_before_s", ttl > 0 ? unix_now_s() - ttl + 1 : 0}, {"deleted", ttl == 0}, {"count", expired_rows_max}};
  OCTAVO_TRY(const std::string reply, ask(FrameKind::expire, json::serialize(request)));
  OCTAVO_TRY(const auto parsed, query::parse_json(reply));
  return parsed.at("removed").to_number<std::size_t>() == expired_rows_max;
}

void TableFeed::change_ttl(const Definition& definition) {
  ttl_s_.store(definition.ttl_s, std::memory_order_release);
  // Only this function changes it, for one caller at a time. A batch that runs has the former time, and what removes
  // expired rows comes after it.
  if (rereads_ == definition.rereads) return;
  const std::lock_guard working(work_mutex_);
  rereads_ = definition.rereads;
  // No batch runs, so nothing is committed by this channel any more. The next batch opens the table again.
  close_with_lock();
  checkpoint_.store(0, std::memory_order_release);
}

// Called with work_mutex_ held.
Expected<void> TableFeed::remove(const std::vector<std::string>& ids, std::uint64_t count, bool marks) {
  OCTAVO_TRY(const std::string reply, ask(FrameKind::remove, removal_payload(ids, count, marks)));
  return learn_state(reply);
}

Expected<bool> TableFeed::remove_known(const query::KnownPurges& purges) {
  const std::lock_guard working(work_mutex_);
  OCTAVO_TRY_VOID(open_with_lock());
  if (checkpoint() < purges.since) return false;
  OCTAVO_TRY(const auto ids, newly_purged(purges));
  OCTAVO_TRY_VOID(remove(ids, purges.purge_count));
  purge_scan_.reset();
  return true;
}

Expected<bool> TableFeed::remove_purged(const query::GoneDocuments& gone, std::size_t documents_max) {
  const std::lock_guard working(work_mutex_);
  OCTAVO_TRY_VOID(open_with_lock());
  const auto next_ids = [this](std::string_view after, std::size_t count_max) -> Expected<std::vector<std::string>> {
    const json::object request{{"after", after}, {"count", count_max}};
    OCTAVO_TRY(const std::string reply, ask(FrameKind::list_ids, json::serialize(request)));
    OCTAVO_TRY(const auto parsed, query::parse_json(reply));
    std::vector<std::string> ids;
    if (!parsed.is_array()) return fail(ErrorCode::internal, "A list of ids is no list.");
    for (const auto& id : parsed.get_array()) ids.emplace_back(id.get_string());
    return ids;
  };
  // Tombstones that were dropped look like purges. Rows that may have been purged do not stay.
  const bool may_be_purged = gone.purge_count != purge_count();
  const auto remove_some = [&](const std::vector<std::string>& found, std::uint64_t count) -> Expected<void> {
    if (ttl_s() == 0) return remove(found, count);
    std::vector<std::string> deleted;
    std::vector<std::string> purged;
    for (const std::string& id : found) {
      OCTAVO_TRY(const bool is_deleted, has_tombstone(id));
      (is_deleted || !may_be_purged ? deleted : purged).push_back(id);
    }
    if (!deleted.empty()) OCTAVO_TRY_VOID(remove(deleted, purge_count(), true));
    return remove(purged, count);
  };
  return purge_scan_.run(next_ids, purge_count(), gone, documents_max, remove_some);
}

}  // namespace octavo::analytics
