#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/thread_pool.hpp>
#include <boost/json.hpp>

#include "analytics/channel/channel.h"
#include "analytics/follow/database_analytics.h"
#include "analytics/process/process.h"
#include "base/jobs/workers.h"
#include "config/settings.h"
#include "query/follow/feed_attachment.h"

namespace octavo::analytics {

/// The analytical stores of a server: columns of documents that can be asked in SQL, in a process of their own. Must
/// outlive the engine. Thread-safe.
class Analytics {
 public:
  Analytics(const config::Settings& settings, query::ActiveTasks* tasks);
  ~Analytics();

  bool enabled() const { return process_ != nullptr; }
  /// Why nothing can be asked; success: analytics are enabled.
  Expected<void> require_enabled() const;
  /// For query::DatabaseServices::factory().
  query::FeedAttachmentFactory attachments(ContainerTtl read_ttl);
  /// The analytical store of an open database; null if its engine was opened without attachments().
  static DatabaseAnalytics* of(query::FeedAttachment* attachment);

  /// What queries, or exports, may use: each kind has its own limits.
  struct Lane {
    const std::size_t count_max;
    const std::chrono::milliseconds time_max;
    const std::string_view count_setting;
    const std::string_view time_setting;
    std::atomic<std::size_t> running{0};
  };

  /// A query or an export that runs: its answer comes in frames (the checkpoint of an export, rows, then end or
  /// failure). It ends when this is destroyed.
  class Query {
   public:
    Query(Analytics& analytics, Lane& lane, Channel channel);
    Query(Query&& other) noexcept = default;
    /// Waits some 100 ms for the next frame; nullopt: no frame has come. Blocks: for workers(). Errors: overloaded: the
    /// process has ended; timeout: it does not answer.
    Expected<std::optional<Frame>> next();

   private:
    friend class Analytics;
    struct Leave {
      void operator()(Lane* lane) const { lane->running.fetch_sub(1); }
    };
    Analytics* analytics_;
    std::unique_ptr<Lane, Leave> slot_;
    std::unique_ptr<Channel> channel_;
    std::chrono::steady_clock::time_point deadline_;
  };
  /// Begins a query to a table (DatabaseAnalytics::table). Blocks: for workers(). Errors: throttled: too many run;
  /// those of Process::connect.
  Expected<Query> ask(const TablePlace& table, boost::json::object query);
  /// The same to the tables of a group: all of them, as the process refuses the query if it has others.
  Expected<Query> ask_group(const std::vector<TablePlace>& tables, boost::json::object query);
  /// As ask(), with the limits of exports: begins with a frame `reply` that has {checkpoint}, the sequence of the
  /// database whose rows follow.
  Expected<Query> export_rows(const TablePlace& table, boost::json::object query);
  /// By how many columns an exported folder can be divided.
  static constexpr std::size_t partition_columns_max = 8;
  /// Begins to bring a folder of files up to date (analytics/export/folder_export.h), with the limits of exports: the
  /// answer is one frame `reply`. Errors: as ask(); unsupported with the word exports_disabled: there is no setting
  /// `analytics.export_folder`.
  struct FolderRequest {
    std::string folder;  ///< a name in the setting `analytics.export_folder`
    std::string owner;   ///< the instance tag of the database
    std::string table;   ///< the name of one of the store's tables
    std::vector<std::string> partition_by;
  };
  Expected<Query> export_folder(const TablePlace& table, const FolderRequest& wanted);
  /// What the process knows of the table: {checkpoint, rows, columns}. Blocks.
  Expected<boost::json::object> table_status(const TablePlace& table);

  /// Threads for what waits for the process, beside those of the engine: it has a low priority. Precondition: enabled.
  Workers& workers() { return *workers_; }
  Process::Status process_status() const;
  /// Ends the process. Idempotent.
  void stop();

 private:
  friend class Query;
  Expected<Query> begin(Lane& lane, FrameKind kind, const boost::json::object& request);

  const std::filesystem::path export_folder_;  ///< empty: none
  Lane queries_;
  Lane exports_;
  query::ActiveTasks* const tasks_;
  std::unique_ptr<Process> process_;  ///< null: not enabled
  std::unique_ptr<Workers> workers_;  ///< as above
  std::unique_ptr<boost::asio::thread_pool> followers_;
};

}  // namespace octavo::analytics
