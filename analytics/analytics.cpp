#include "analytics/analytics.h"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "query/json/parsed_document.h"

namespace octavo::analytics {

namespace {

constexpr std::chrono::milliseconds frame_patience{100};
// Beyond the time of a query the process has this long to say that it was stopped.
constexpr std::chrono::milliseconds answer_grace{10'000};
// What the process knows is left out of a status that would take longer.
constexpr std::chrono::milliseconds status_patience{3'000};
constexpr std::size_t follower_threads = 2;
constexpr std::string_view library_name = "libduckdb.so";

// Beside the program, unless the settings name another place.
std::filesystem::path library_of(const config::Settings& settings) {
  std::error_code ignored;
  if (!settings.analytics_library.empty()) return std::filesystem::absolute(settings.analytics_library, ignored);
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / library_name;
}

WorkerOptions options_of(const config::Settings& settings) {
  return {.library = library_of(settings),
          .library_sha256 = settings.analytics_library_sha256,
          .memory_bytes = settings.analytics_memory_limit,
          .temporary_bytes = settings.analytics_max_temp_size,
          .query_time_max = settings.analytics_query_timeout_ms};
}

}  // namespace

Analytics::Analytics(const config::Settings& settings, query::ActiveTasks* tasks)
    : export_folder_(settings.analytics_export_folder),
      queries_{.count_max = settings.analytics_max_queries,
               .time_max = settings.analytics_query_timeout_ms,
               .count_setting = "analytics.max_queries",
               .time_setting = "analytics.query_timeout"},
      exports_{.count_max = settings.analytics_max_exports,
               .time_max = settings.analytics_export_timeout_ms,
               .count_setting = "analytics.max_exports",
               .time_setting = "analytics.export_timeout"},
      tasks_(tasks) {
  if (!settings.analytics_enabled) return;
  process_ = std::make_unique<Process>(options_of(settings));
  workers_ = std::make_unique<Workers>(queries_.count_max + exports_.count_max);
  followers_ = std::make_unique<boost::asio::thread_pool>(follower_threads);
}

Analytics::~Analytics() {
  stop();
  if (workers_) workers_->join();
  if (followers_) followers_->join();
}

Expected<void> Analytics::require_enabled() const {
  if (enabled()) return {};
  return fail(
      ErrorCode::unsupported,
      "Analytics are not enabled: set analytics.enabled (OCTAVO_ANALYTICS_ENABLED=true) and start the server again.",
      "analytics_disabled");
}

query::FeedAttachmentFactory Analytics::attachments(ContainerTtl read_ttl) {
  return [this, read_ttl](partitioning::Database& database) {
    auto& pool = followers_ ? *followers_ : database.engine().indexers();
    return std::make_unique<DatabaseAnalytics>(database, read_ttl, process_.get(), pool, tasks_);
  };
}

DatabaseAnalytics* Analytics::of(query::FeedAttachment* attachment) {
  return dynamic_cast<DatabaseAnalytics*>(attachment);
}

Analytics::Query::Query(Analytics& analytics, Lane& lane, Channel channel)
    : analytics_(&analytics),
      slot_(&lane),
      channel_(std::make_unique<Channel>(std::move(channel))),
      deadline_(std::chrono::steady_clock::now() + lane.time_max + answer_grace) {}

Expected<std::optional<Frame>> Analytics::Query::next() {
  auto frame = channel_->receive(frame_patience, Channel::rows_bytes_max);
  // The process closes the channel of a query whose time is over and that does not stop at once.
  if (!frame && std::chrono::steady_clock::now() > deadline_ - answer_grace) {
    return fail(ErrorCode::timeout,
                fmt::format("The query took longer than {}, {} ms, and was stopped.", slot_->time_setting,
                            slot_->time_max.count()),
                "query_timeout");
  }
  if (frame && !*frame && std::chrono::steady_clock::now() > deadline_) {
    analytics_->process_->kill();
    return fail(ErrorCode::timeout, "The analytical process did not answer in time, and was ended.", "query_timeout");
  }
  return frame;
}

Expected<Analytics::Query> Analytics::begin(Lane& lane, FrameKind kind, const boost::json::object& request) {
  if (lane.running.fetch_add(1) >= lane.count_max) {
    lane.running.fetch_sub(1);
    Error error{
        ErrorCode::throttled,
        fmt::format("{} of them run already, as many as {} allows: try again.", lane.count_max, lane.count_setting),
        {}};
    error.retry_after_ms = 1'000;
    return std::unexpected(std::move(error));
  }
  auto channel = process_->connect();
  if (!channel) {
    lane.running.fetch_sub(1);
    return std::unexpected(std::move(channel).error());
  }
  Query begun(*this, lane, *std::move(channel));
  OCTAVO_TRY_VOID(begun.channel_->send(kind, boost::json::serialize(request)));
  return begun;
}

Expected<Analytics::Query> Analytics::ask(const TablePlace& table, boost::json::object query) {
  query["table"] = to_json(table);
  return begin(queries_, FrameKind::run_sql, query);
}

Expected<Analytics::Query> Analytics::ask_group(const std::vector<TablePlace>& tables, boost::json::object query) {
  boost::json::array places;
  for (const TablePlace& table : tables) places.push_back(to_json(table));
  query["group"] = std::move(places);
  return begin(queries_, FrameKind::run_sql, query);
}

Expected<Analytics::Query> Analytics::export_rows(const TablePlace& table, boost::json::object query) {
  query["table"] = to_json(table);
  query["export_ms"] = exports_.time_max.count();
  return begin(exports_, FrameKind::run_sql, query);
}

Expected<Analytics::Query> Analytics::export_folder(const TablePlace& table, const FolderRequest& wanted) {
  if (export_folder_.empty()) {
    return fail(
        ErrorCode::unsupported,
        "There is no folder for exports: set analytics.export_folder (OCTAVO_ANALYTICS_EXPORT_FOLDER) and start the "
        "server again.",
        "exports_disabled");
  }
  std::error_code ignored;
  return begin(exports_, FrameKind::export_folder,
               {{"table", to_json(table)},
                {"name", wanted.table},
                {"parent", std::filesystem::absolute(export_folder_, ignored).string()},
                {"folder", wanted.folder},
                {"owner", wanted.owner},
                {"partition_by", boost::json::value_from(wanted.partition_by)},
                {"export_ms", exports_.time_max.count()}});
}

Expected<boost::json::object> Analytics::table_status(const TablePlace& table) {
  OCTAVO_TRY(auto channel, process_->connect());
  OCTAVO_TRY_VOID(channel.send(FrameKind::read_status, boost::json::serialize(to_json(table))));
  const auto until = std::chrono::steady_clock::now() + status_patience;
  while (std::chrono::steady_clock::now() < until) {
    OCTAVO_TRY(const auto frame, channel.receive(frame_patience));
    if (!frame) continue;
    if (frame->kind != FrameKind::reply) return std::unexpected(error_of_payload(frame->payload));
    OCTAVO_TRY(const auto parsed, query::parse_json(frame->payload));
    if (!parsed.is_object()) break;
    return parsed.get_object();
  }
  return fail(ErrorCode::overloaded, "The analytical process is busy.");
}

Process::Status Analytics::process_status() const {
  return process_ ? process_->status() : Process::Status{};
}

void Analytics::stop() {
  if (process_) process_->stop();
}

}  // namespace octavo::analytics
