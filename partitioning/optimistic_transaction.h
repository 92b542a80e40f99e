#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "partitioning/database.h"
#include "partitioning/request_charge.h"
#include "partitioning/scan.h"

namespace octavo::partitioning {

/// Reads and edits of one logical partition that take their time beside it (a function that people wrote decides them),
/// and are then committed in one go, if everything that was read still stands. Serializable: a commit is as if all of
/// it had happened in that moment. Nobody waits for it meanwhile: it takes no locks, holds no snapshot between calls,
/// and the writer's thread only compares and writes.
///
/// What is compared: of each document found, its revision; of scans and queries, that nothing in the logical partition
/// changed since the first of them.
///
/// One thread at a time, which may be another for each call. Memory: its own edits, bounded.
class OptimisticTransaction final : public storage::DocumentTransaction {
 public:
  static constexpr std::size_t writes_max = 10'000;  ///< a commit of so many takes the writer some 300 ms
  static constexpr std::size_t bytes_max = 32ULL << 20;
  static constexpr std::size_t reads_max = 10'000;  ///< documents remembered one by one; with more, as after a scan

  /// `partition_key`: as in front of documents' ids.
  OptimisticTransaction(std::shared_ptr<Database> database, std::string partition_key);

  const std::string& partition_key() const { return partition_key_; }
  const std::shared_ptr<Database>& database() const { return database_; }

  Expected<std::optional<storage::DocumentView>> find(std::string_view id) override;
  /// Edits of this logical partition only. Inner errors are those of a write, and too_large beyond the bounds above.
  Expected<Expected<storage::WrittenDocument>> apply(const storage::DocumentWrite& write) override;

  /// Whether the preconditions of an edit hold; changes nothing.
  Expected<Expected<void>> check(const storage::DocumentWrite& write);

  /// Visits the documents as they are here, live ones only, in byte order of their ids from `from` on. `more`: the
  /// budget is used up, or the visitor paused; then `from` is where to go on.
  Expected<ScanState> scan(std::optional<std::string>& from, ScanBudget budget,
                           FunctionRef<Visit(const storage::DocumentView&)> visit);
  /// To be called before anything else reads the partition's documents than find() and scan().
  Expected<void> reads_all();
  bool has_writes() const { return !writes_.empty(); }
  bool is_full() const { return writes_.size() >= writes_max || bytes_ >= bytes_max; }
  /// The document as these edits left it (maybe deleted); null: they did not touch it, or scans do not see it.
  const storage::DocumentView* changed(std::string_view id) const;
  /// From now on scans show `id` as it is without the edits made so far.
  void hide_from_scans(std::string_view id);

  /// Two reads contradict each other: somebody wrote meanwhile. To be given up, and done again.
  bool is_stale() const { return stale_; }
  /// Whether everything that was read still stands now; otherwise the transaction is stale.
  Expected<bool> still_holds();
  /// Durable on return. False: something that was read has changed, and nothing is written. Errors: those of the edits
  /// that show only now (partition_full), and those of the disk.
  Task<Expected<bool>> commit();
  /// Of the last edit, once committed; 0: there was none.
  storage::Sequence sequence() const { return sequence_; }
  /// Of all edits, once committed.
  RequestUnits write_charge() const { return write_charge_; }

 private:
  /// What was there when a document was read.
  struct Seen {
    bool exists = false;
    bool deleted = false;
    storage::Revision revision;
    bool operator==(const Seen&) const = default;
  };
  struct Change {
    storage::DocumentView view;  ///< id and body are in writes_, or the body in promoted_
    bool hidden = false;
  };
  /// Live leaves below the winner of a document that these edits touch, the best last: a deletion makes it the winner.
  struct Conflicts {
    storage::Revision stored_winner;
    std::vector<storage::Revision> leaves;
  };
  /// What changes with every change of the logical partition.
  struct Standing {
    storage::Sequence last_change = 0;
    std::uint64_t purges = 0;  ///< in the physical partition: they take changes away
    bool operator==(const Standing&) const = default;
  };
  static Seen seen(const std::optional<storage::DocumentView>& document);
  void note(std::string_view id, const Seen& now);
  Expected<std::optional<storage::Revision>> resolve_parent(const storage::DocumentWrite& write,
                                                            const std::optional<storage::DocumentView>& before) const;
  Expected<Expected<void>> take_unique(const storage::DocumentWrite& write,
                                       const std::optional<storage::DocumentView>& before);
  Expected<void> note_conflicts(std::string_view id, const std::optional<storage::DocumentView>& before);
  Expected<void> promote_conflict(std::string_view id, Change& change);
  Expected<bool> commit_on_writer(storage::PartitionTransaction& transaction);

  const std::shared_ptr<Database> database_;
  const std::string partition_key_;
  const std::size_t place_;  ///< physical partition

  std::map<std::string, Seen, std::less<>> reads_;
  std::optional<Standing> standing_;  ///< before the first scan
  std::string found_;                 ///< what find() gave out
  std::string found_id_;

  std::deque<storage::DocumentWrite> writes_;  ///< in order; elements stay where they are
  std::size_t bytes_ = 0;
  std::map<std::string, Change, std::less<>> changes_;
  std::map<std::string, Conflicts, std::less<>> conflicts_;
  std::deque<std::string> promoted_;
  std::map<std::string, std::string> unique_;  ///< digest → who has it now by these edits; empty: nobody

  bool stale_ = false;
  std::optional<Error> refused_;  ///< by the commit
  storage::Sequence sequence_ = 0;
  RequestUnits write_charge_ = 0;
};

/// What becomes of an attempt.
enum class Verdict : std::uint8_t { commit, discard };

/// Runs `attempt` on a worker, on a transaction of its own each time, until one can be committed. With `in_turn` the
/// attempts of one logical partition wait for each other, so that they meet no conflicts among themselves.
/// `attempt`'s error, or `discard`, is final once everything it read still stands. Errors: also conflict with the word
/// `retry_with`, when others write the partition all the time; overloaded, when too many wait for their turn.
struct Committed {
  storage::Sequence sequence = 0;  ///< of the last edit; 0: there was none
  RequestUnits write_charge = 0;   ///< of all edits
};
Task<Expected<Committed>> run_optimistically(std::shared_ptr<Database> database, std::string partition_key,
                                             bool in_turn,
                                             std::function<Expected<Verdict>(OptimisticTransaction&)> attempt);

/// The word of the error when no attempt could be committed.
inline constexpr std::string_view word_retry_with = "retry_with";

}  // namespace octavo::partitioning
