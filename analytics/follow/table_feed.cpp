#include "analytics/follow/table_feed.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "analytics/channel/batch.h"
#include "query/json/document_text.h"
#include "query/json/parsed_document.h"
#include "storage/document/document.h"

namespace octavo::analytics {

namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::string_view folder_name = "analytics";
constexpr std::chrono::milliseconds answer_patience{10'000};
// A batch takes seconds; on a machine that is always busy, minutes.
constexpr std::chrono::minutes answer_max{20};

std::string revision_text(const storage::Revision& revision) {
  std::string quoted;
  query::append_revision(quoted, revision);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

TableFeed::TableFeed(partitioning::Database& database, Definition definition, Process& process)
    : database_(database), definition_(std::move(definition)), process_(process) {}

std::filesystem::path TableFeed::file_of(const partitioning::Database& database, const Definition& definition) {
  std::error_code ignored;
  return std::filesystem::absolute(database.folder(), ignored) / folder_name / (definition.id + ".duckdb");
}

Expected<void> TableFeed::open() {
  const std::lock_guard working(work_mutex_);
  return open_with_lock();
}

// Called with work_mutex_ held.
Expected<void> TableFeed::open_with_lock() {
  if (closed_) return fail(ErrorCode::not_found, "The analytical store was removed.");
  if (channel_) return {};
  const std::filesystem::path file = file_of(database_, definition_);
  std::error_code failed;
  std::filesystem::create_directories(file.parent_path(), failed);
  if (failed) return fail(ErrorCode::io_failure, "The folder of the analytical store: " + failed.message());
  OCTAVO_TRY(auto channel, process_.connect());
  {
    const std::lock_guard lock(channel_mutex_);
    channel_.emplace(std::move(channel));
  }
  const json::object request{{"file", file.string()},
                             {"include", json::value_from(definition_.include)},
                             {"mode", definition_.json.at("mode")},
                             {"flatten", definition_.flatten},
                             {"beyond", database_.watermark()}};
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
  const auto number = [&](std::string_view name) -> std::uint64_t {
    const auto* const value = parsed.is_object() ? parsed.get_object().if_contains(name) : nullptr;
    return value != nullptr && value->is_number() ? value->to_number<std::uint64_t>() : 0;
  };
  checkpoint_.store(number("checkpoint"), std::memory_order_release);
  purge_count_.store(number("purge_count"), std::memory_order_release);
  const auto* const built = parsed.is_object() ? parsed.get_object().if_contains("built") : nullptr;
  built_.store(built != nullptr && built->is_bool() && built->get_bool(), std::memory_order_release);
  return {};
}

void TableFeed::interrupt() {
  const std::lock_guard lock(channel_mutex_);
  if (channel_) channel_->shut_down();
}

void TableFeed::close() {
  interrupt();
  const std::lock_guard working(work_mutex_);
  const std::lock_guard lock(channel_mutex_);
  closed_ = true;
  channel_.reset();
}

storage::Sequence TableFeed::knows_deletions_through() const {
  return std::max(checkpoint(), purge_scan_.scanned_through());
}

Expected<std::size_t> TableFeed::apply(const query::FeedChanges& changes) {
  const std::lock_guard working(work_mutex_);
  const auto begun = Clock::now();
  OCTAVO_TRY_VOID(open_with_lock());
  const auto went_elsewhere = [] {
    return fail(ErrorCode::overloaded, "The analytical process was started again; its table continues from its checkpoint.");
  };
  if (checkpoint() != changes.from) return went_elsewhere();
  BatchWriter batch(changes.from, changes.reached, changes.complete);
  for (const query::FeedDocument& document : changes.documents) {
    if (storage::is_design_id(document.id)) continue;
    const std::string revision = document.present ? revision_text(document.revision) : std::string();
    batch.add({.id = document.id,
               .revision = revision,
               .modified_s = document.modified_s,
               .present = document.present,
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

// Called with work_mutex_ held.
Expected<void> TableFeed::remove(const std::vector<std::string>& ids, std::uint64_t count) {
  OCTAVO_TRY(const std::string reply, ask(FrameKind::remove, removal_payload(ids, count)));
  return learn_state(reply);
}

Expected<bool> TableFeed::remove_known(const query::KnownPurges& purges) {
  const std::lock_guard working(work_mutex_);
  OCTAVO_TRY_VOID(open_with_lock());
  if (checkpoint() < purges.since) return false;
  OCTAVO_TRY_VOID(remove(purges.gone, purges.purge_count));
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
  const auto remove_some = [this](const std::vector<std::string>& found, std::uint64_t count) {
    return remove(found, count);
  };
  return purge_scan_.run(next_ids, purge_count(), gone, documents_max, remove_some);
}

}  // namespace octavo::analytics
