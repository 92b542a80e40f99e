#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "query/follow/feed_index.h"
#include "query/follow/purge_scan.h"
#include "query/project/document_form.h"
#include "query/project/projection_state.h"
#include "query/project/row_program.h"

namespace octavo::query::project {

/// A changed definition of a projection. Readers of the target do not see its rows before they are all known.
struct NextDefinition {
  std::string identity;
  std::uint64_t generation = 0;
  std::vector<std::string> join_tags;
  ProjectionDefinition definition;
  /// The database in which its rows are made, and which takes the place of the target then.
  struct Target {
    std::string name;  ///< until then
    std::string tag;   ///< instance tag; empty: it is being created
    std::uint32_t owner = 0;
  };
  std::optional<Target> target;  ///< nullopt: the rows replace those of the target
};

/// ProjectionRecord::former of one whose source has taken the place of another one: what the target has of this owner.
inline constexpr std::string_view rows_of_target = "*";

/// What the catalog has of a projection.
struct ProjectionRecord {
  std::string name;
  std::string identity;                ///< names the folder; another one after each change of the definition
  std::uint64_t generation = 1;        ///< counts the changes of the definition
  std::uint32_t owner = 0;             ///< its number in the target
  std::string target_tag;              ///< instance tag of the target
  std::vector<std::string> join_tags;  ///< of the joined databases, by join
  bool paused = false;
  bool removing = false;  ///< its rows are being removed, and then it is gone
  ProjectionDefinition definition;
  /// Identity of the state that has written the rows until the definition changed, or `rows_of_target`; empty: all rows
  /// are of the present one.
  std::string former;
  /// Instance tag of the database whose place the target has taken, until that is deleted.
  std::string former_target;
  std::optional<NextDefinition> next;

  /// Rows that it does not know of are replaced when its own are all known.
  bool takes_over() const { return former == rows_of_target; }
};

/// How clients name a definition: by its number and its identity.
std::string rev_of(const ProjectionRecord& record);
std::string rev_of(const NextDefinition& next);
/// That of the changed definition, if there is one.
std::string newest_rev_of(const ProjectionRecord& record);

/// Keeps the rows of one projection up to date: reads the feed of the source, decides which rows there are, and writes
/// them to the target.
///
/// A batch is decided and stored, with the writes that follow from it, before the first of them is made
/// (projection_state.h). Each write says what is there, so repeating them after a crash changes nothing, and a row gets
/// a new revision only when its body changes.
///
/// FeedConsumer's functions are called by the follower's job. The others from any thread.
class Projection final : public FeedConsumer {
 public:
  struct Options {
    FormReader read_form = nullptr;
    std::shared_ptr<const std::atomic<bool>> stopping;  ///< the database is being shut down
    /// Calls the followers of all inputs again soon. Any thread.
    std::function<void()> wake;
    bool is_hidden = false;  ///< it writes no rows until show(), unless it has begun to replace others
  };
  Projection(partitioning::Database& source, ProjectionRecord record, Options options);

  ~Projection() override;
  /// Opens the state. Errors: those of the disk, corrupted.
  Expected<void> open();

  /// A joined database, whose feed is read for one join.
  struct JoinInput {
    std::shared_ptr<partitioning::Database> database;
    FeedConsumer* consumer = nullptr;
  };
  /// Opens the joined database. Once, after open(). Errors: not_found (`join_missing`); those of opening it.
  Expected<JoinInput> open_join(std::size_t join);

  storage::Sequence checkpoint() const override { return checkpoint_.load(std::memory_order_acquire); }
  /// Below the checkpoint while writes are not durable in the target.
  storage::Sequence complete_through() const override;
  std::uint64_t purge_count() const override;
  storage::Sequence knows_deletions_through() const override;
  FeedBodies bodies() const override { return FeedBodies::as_stored; }
  Expected<std::size_t> apply(const FeedChanges& changes) override;
  Expected<bool> remove_known(const KnownPurges& purges) override;
  Expected<bool> remove_purged(const GoneDocuments& gone, std::size_t documents_max) override;

  /// Writes refused rows again, if their id may be free by now. Blocks while a batch is applied.
  Expected<void> retry_refused();
  /// Begins again if the target has lost writes: an older copy of it was restored.
  Expected<void> check_target();
  /// The follower's next step begins again: it removes rows from the target that no document gives, reads the source
  /// from the beginning, and writes every row that differs from what the target has.
  void begin_again() { must_begin_again_.store(true, std::memory_order_release); }
  /// Removes all rows from the target, and those that `former` has written. Blocks until that is done. Error
  /// overloaded: it was stopped.
  Expected<void> remove_rows(ProjectionState* former);
  /// Makes the writes that are still to be made, and no others from now on. Blocks.
  Expected<void> end_writing();
  /// Makes no writes from now on, not even those that are decided. Blocks while a batch is written.
  void give_up_writing();
  /// While it is held it writes no rows: what would fails with the error overloaded. Blocks while a batch is written.
  void hold(bool is_held);
  /// Writes rows from now on.
  void show();
  bool is_hidden() const { return state_->is_hidden(); }
  /// Makes the target's rows those of this projection instead of those that `former` has written (null: of all that
  /// the target has), in slices among the changes of the feed. Continues where an earlier call was interrupted. Blocks
  /// until that is done. Error overloaded: it was stopped.
  Expected<void> replace_rows(ProjectionState* former);

  const ProjectionRecord& record() const { return record_; }
  struct JoinStatus {
    storage::Sequence checkpoint = 0;
    storage::Sequence current_through = 0;
    std::shared_ptr<partitioning::Database> database;  ///< null: it is missing
  };
  struct Status {
    ProjectionState::Numbers numbers;
    std::vector<JoinStatus> joins;  ///< by join
    bool has_pending_writes = false;
    std::uint64_t state_bytes = 0;
    double lag_seconds = 0;
    double request_units = 0;   ///< since the server began
    std::uint64_t changes = 0;  ///< read since then
    std::uint64_t writes = 0;   ///< made since then
    std::string last_error_document;
    std::string last_error;
    std::int64_t last_error_s = 0;  ///< Unix time; 0: there was none
  };
  Status status() const;
  /// About everything that was written to its inputs is known.
  bool is_nearly_current() const;
  /// Everything that its inputs had when they were opened is known.
  bool has_caught_up() const;
  const std::shared_ptr<ProjectionState>& state() const { return state_; }
  storage::Store& store() { return state_->store(); }
  void remove_files() { state_->remove_files(); }

 private:
  class Reader;
  class JoinConsumer;
  Expected<std::shared_ptr<partitioning::Database>> open_target() const;
  Expected<void> deliver(partitioning::Database& target);
  Expected<void> commit(ProjectionState::Batch batch, partitioning::Database& target);
  Expected<void> decide(const ProjectionState::Batch& batch, ProjectionState::Evaluate evaluate,
                        FunctionRef<Expected<void>()> make_durable);
  Expected<void> remove(std::vector<std::string> gone, std::uint64_t purge_count);
  /// Makes rows again whose joined documents have changed, for about FeedConsumer::apply_time. True: there are more.
  Expected<bool> fan_out(partitioning::Database& target);
  Expected<void> restart();
  Expected<void> remove_strays(partitioning::Database& target);
  ProjectionState::Batch next_batch() const;
  void take_numbers();
  void note_error(std::string_view document, std::string_view reason);

  partitioning::Database& source_;
  const ProjectionRecord record_;
  const Options options_;
  const std::shared_ptr<ProjectionState> state_;
  const javascript::ProgramPtr transform_;  ///< null: the definition has none
  std::shared_ptr<const RowProgram> program_;
  std::vector<std::unique_ptr<JoinConsumer>> joins_;  ///< null: not opened

  std::mutex work_mutex_;             ///< held while a batch is decided and written; guards up to the empty line
  std::vector<RowWrite> pending_;     ///< the outbox, if it was not read from the store
  std::vector<std::string> refused_;  ///< by the last delivery
  storage::Sequence target_sequence_ = 0;
  bool has_ended_ = false;  ///< see end_writing()
  bool is_held_ = false;
  PurgeScan purge_scan_;

  storage::Sequence opened_at_ = 0;  ///< watermark of the source at open()
  std::atomic<bool> must_begin_again_{false};
  std::atomic<bool> has_pending_{false};
  std::atomic<storage::Sequence> checkpoint_{0};
  std::atomic<storage::Sequence> complete_through_{0};
  std::atomic<std::uint64_t> purge_count_{0};
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::uint64_t> writes_{0};
  std::atomic<double> request_units_{0};
  std::atomic<std::chrono::steady_clock::time_point> current_at_{std::chrono::steady_clock::now()};
  mutable std::mutex error_mutex_;  ///< guards the members below
  std::string last_error_document_;
  std::string last_error_;
  std::int64_t last_error_s_ = 0;
};

}  // namespace octavo::query::project
