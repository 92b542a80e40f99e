#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/task.h"
#include "base/unix_time.h"
#include "partitioning/engine.h"
#include "query/advice/request_recorder.h"
#include "query/copy/copies.h"
#include "query/database/database_properties.h"
#include "query/database/expiry.h"
#include "query/database/tombstone_retention.h"
#include "query/database/version_retention.h"
#include "query/follow/active_tasks.h"
#include "query/follow/feed_attachment.h"
#include "query/follow/feed_indexes.h"
#include "query/functions/design_functions.h"
#include "query/index/catalog/mango_indexes.h"
#include "query/project/projections.h"

namespace octavo::query {

/// What the query layer keeps for one open database: owns the parts, hands them out, and passes on what the database
/// reports. Applies the properties in the database's definition: time to live, throughput, retention of versions and
/// of tombstones.
/// Created by the engine through factory(). Thread-safe.
class DatabaseServices final : public partitioning::DatabaseExtension {
 public:
  /// The clock by which tombstones are old. Tests pass another one than the system's.
  using UnixClock = std::function<std::int64_t()>;

  DatabaseServices(partitioning::Database& database, ActiveTasks* tasks, DefinitionReader read_definition,
                   UnixClock now_s = unix_now_s, project::FormReader read_form = nullptr,
                   const FeedAttachmentFactory& attach = {}, copy::Succession succession = {});
  ~DatabaseServices() override;

  /// For Engine::open. `tasks` may be null; it must outlive the engine. Without `read_form` there are no projections.
  /// `attach` makes what a layer above adds to each database. `succession`: see there.
  static partitioning::ExtensionFactory factory(ActiveTasks* tasks, DefinitionReader read_definition,
                                                UnixClock now_s = unix_now_s, project::FormReader read_form = nullptr,
                                                FeedAttachmentFactory attach = {}, copy::Succession succession = {});

  partitioning::Database& database() { return database_; }
  MangoIndexes& indexes() { return indexes_; }
  const MangoIndexes& indexes() const { return indexes_; }
  /// Views and search indexes.
  FeedIndexes& feed_indexes() { return feed_indexes_; }
  const FeedIndexes& feed_indexes() const { return feed_indexes_; }
  /// The queries to the database, by shape.
  advice::RequestRecorder& recorder() { return recorder_; }
  const advice::RequestRecorder& recorder() const { return recorder_; }
  /// The projections of which the database is the source.
  project::Projections& projections() { return projections_; }
  /// Of the database to others.
  copy::Copies& copies() { return copies_; }
  /// What a layer above has added; null: nothing.
  FeedAttachment* attachment() { return attachment_.get(); }
  /// The functions of the database's design documents.
  DesignFunctions& design_functions() { return design_functions_; }
  /// Waits until all documents that have expired by now are deleted, so that indexes that follow the feed no longer
  /// contain them. See Expiration.
  Task<Expected<void>> wait_for_expirations(std::chrono::steady_clock::time_point deadline);

  void design_documents_changed() override;
  void committed() override;
  void definition_changed() override;
  void owners_changed() override { projections_.load_owners(); }
  std::shared_ptr<void> hold_projections() override { return projections_.hold(); }
  void projections_changed() override { projections_.read_again(); }
  void add_commit_listener(std::weak_ptr<const CommitListener> listener) override {
    projections_.add_commit_listener(std::move(listener));
  }
  Expected<void> partition_added(std::size_t partition_id) override;
  void partition_removed(std::size_t partition_id) override;
  bool is_partition_ready(std::size_t partition_id, std::size_t source) override;
  std::size_t partitions_needed() override;
  void partitions_changed() override;
  void shut_down() override;
  std::size_t open_store_count() const override;
  std::uint64_t last_used_ms() const override;
  std::size_t close_idle(std::uint64_t last_used_before_ms) override;
  Expected<void> load_indexes() override;
  std::vector<storage::CompactionQueue::Target> compaction_targets() override;
  /// Removes files of views, search indexes and global indexes that no design document defines. Blocking.
  Expected<void> clean_up();

 private:
  /// `properties`: read before; nullopt: the definition is damaged.
  DatabaseServices(partitioning::Database& database, ActiveTasks* tasks, DefinitionReader read_definition,
                   UnixClock now_s, project::FormReader read_form, const FeedAttachmentFactory& attach,
                   copy::Succession succession, const std::optional<DatabaseProperties>& properties);
  void apply_properties();
  void apply(const DatabaseProperties& properties);
  storage::Sequence followed_through();

  partitioning::Database& database_;
  const DefinitionReader read_definition_;
  const UnixClock now_s_;
  advice::RequestRecorder recorder_;
  DesignFunctions design_functions_;
  FeedIndexes feed_indexes_;
  MangoIndexes indexes_;
  project::Projections projections_;
  copy::Copies copies_;
  const std::unique_ptr<FeedAttachment> attachment_;  ///< may be null
  std::mutex mutex_;                                  ///< guards the members below
  std::unique_ptr<Expiration> expiration_;          ///< created when documents first have a time to live, and then kept
  std::unique_ptr<VersionRetention> retention_;     ///< as above, for versions of documents
  std::unique_ptr<TombstoneRetention> tombstones_;  ///< as above
  std::atomic<TombstoneRetention*> told_of_commits_{nullptr};  ///< tombstones_, once it is there; not guarded
  bool shut_down_ = false;
};

/// The services of an open database; null if its engine was opened without a factory, as some tests do. Precondition:
/// the engine was not opened with another factory than DatabaseServices::factory.
DatabaseServices* services_of(partitioning::Database& database);

/// What has been written to the database so far, for the recorder; nullopt: it cannot be read.
std::optional<advice::WriteCounters> write_counters(const partitioning::Database& database);

/// Services that must exist. Errors: internal if `services` is null.
Expected<DatabaseServices*> required(DatabaseServices* services);

}  // namespace octavo::query
