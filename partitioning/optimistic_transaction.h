#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "partitioning/database.h"
#include "partitioning/scan.h"
#include "partitioning/throughput/request_charge.h"
#include "storage/partition/document_transaction.h"
#include "storage/partition/partition_transaction.h"

namespace octavo::partitioning {

/// Reads and edits of one logical partition that may take long, because a user's function decides them, and are then
/// committed together if everything that was read is unchanged. Serializable: a commit has the effect of doing all of
/// it at that moment. No other request waits meanwhile: it takes no locks, holds no snapshot between calls, and the
/// writer's thread only compares and writes.
///
/// What is compared: for each document found, its revision; for scans and queries, that nothing in the logical
/// partition has changed since the first of them.
///
/// Not thread-safe; consecutive calls may come from different threads. Memory: its own edits, bounded.
class OptimisticTransaction final : public storage::DocumentTransaction {
 public:
  static constexpr std::size_t writes_max = 10'000;  ///< a commit of this many takes the writer some 300 ms
  static constexpr std::size_t bytes_max = 32ULL << 20;
  static constexpr std::size_t reads_max = 10'000;  ///< documents remembered individually; beyond that, as after a scan

  /// `target`: a logical partition, or a document in it. Its text is copied.
  OptimisticTransaction(std::shared_ptr<Database> database, const DocumentTarget& target);
  OptimisticTransaction(const OptimisticTransaction&) = delete;
  OptimisticTransaction& operator=(const OptimisticTransaction&) = delete;

  const std::string& partition_key() const { return partition_key_; }
  const std::shared_ptr<Database>& database() const { return database_; }

  Expected<std::optional<storage::DocumentView>> find(std::string_view id) override;
  /// Edits of this logical partition only. Refused for the reasons of a write, and too_large beyond the bounds above.
  Expected<storage::EditOutcome> apply(const storage::DocumentWrite& write) override;

  /// Applies a deletion and the creation of another document, or refuses both and changes nothing.
  Expected<storage::EditOutcome> move(const storage::DocumentWrite& deletion, const storage::DocumentWrite& creation);

  /// Checks the preconditions of an edit; changes nothing.
  Expected<storage::Refusal> check(const storage::DocumentWrite& write);

  /// Visits the live documents with this transaction's edits, in byte order of their ids, starting at `from`. `more`:
  /// the budget is used up, or the visitor paused; `from` is then where to continue.
  Expected<ScanState> scan(std::optional<std::string>& from, ScanBudget budget,
                           FunctionRef<Visit(const storage::DocumentView&)> visit);
  /// Must be called before the partition's documents are read by any other means than find() and scan().
  Expected<void> reads_all();
  bool has_writes() const { return !writes_.empty(); }
  bool is_full() const { return writes_.size() >= writes_max || bytes_ >= bytes_max; }
  /// The document after these edits (possibly deleted); null: they did not change it, or it is hidden from scans.
  const storage::DocumentView* changed(std::string_view id) const;
  /// From now on scans show `id` without the edits made so far.
  void hide_from_scans(std::string_view id);

  /// Two reads contradict each other because of a concurrent write: the transaction must be abandoned and repeated.
  bool is_stale() const { return stale_; }
  /// Whether everything that was read is still unchanged; otherwise the transaction is stale.
  Expected<bool> still_holds();
  /// Durable on return. False: something that was read has changed, and nothing is written. Errors: those of the edits
  /// that can occur only now (partition_full), and those of the disk.
  Task<Expected<bool>> commit();
  /// Sequence of the last edit, after the commit; 0: there was none.
  storage::Sequence sequence() const { return sequence_; }
  /// Charge of all edits, after the commit.
  RequestUnits write_charge() const { return write_charge_; }

 private:
  /// A document's state when it was read.
  struct Seen {
    bool exists = false;
    bool deleted = false;
    storage::Revision revision;
    bool operator==(const Seen&) const = default;
  };
  struct Change {
    storage::DocumentView view;  ///< id and body are stored in writes_, or the body in promoted_
    bool hidden = false;
  };
  /// Live leaves below the winner of an edited document, the best last: a deletion makes that one the winner.
  struct Conflicts {
    storage::Revision stored_winner;
    std::vector<storage::Revision> leaves;
  };
  /// Values that change with every change of the logical partition.
  struct Standing {
    storage::Sequence last_change = 0;
    std::uint64_t purges = 0;  ///< purges in the physical partition: they remove changes
    bool operator==(const Standing&) const = default;
  };
  /// `Document`: DocumentView or DocumentRecord.
  template <class Document>
  static Seen seen(const std::optional<Document>& document);
  void note(std::string_view id, const Seen& now);
  Expected<std::optional<storage::Revision>> resolve_parent(const storage::DocumentWrite& write,
                                                            const std::optional<storage::DocumentView>& before) const;
  bool has_room_for(std::size_t writes, std::size_t bytes) const;
  /// Of the unique values that the edit's document has afterwards.
  std::vector<std::string> unique_digests(const storage::DocumentWrite& write) const;
  /// Whether some of them belong to a document other than `id` and `giver`.
  Expected<storage::Refusal> check_unique(std::span<const std::string> digests, std::string_view id,
                                          std::string_view giver) const;
  void take_unique(std::span<const std::string> digests, const std::string& id,
                   const std::optional<storage::DocumentView>& before);
  Expected<void> note_conflicts(std::string_view id, const std::optional<storage::DocumentView>& before);
  Expected<void> promote_conflict(std::string_view id, Change& change);
  Expected<bool> commit_on_writer(storage::PartitionTransaction& transaction);

  const std::shared_ptr<Database> database_;
  const std::string partition_key_;
  const DocumentTarget target_;     ///< refers to partition_key_
  const std::size_t partition_id_;  ///< physical partition

  std::map<std::string, Seen, std::less<>> reads_;
  std::optional<Standing> standing_;  ///< as of the first scan
  std::string found_;                 ///< storage for the body that find() returned
  std::string found_id_;

  std::deque<storage::DocumentWrite> writes_;  ///< in order; elements keep their addresses
  std::size_t bytes_ = 0;
  std::map<std::string, Change, std::less<>> changes_;
  std::map<std::string, Conflicts, std::less<>> conflicts_;
  std::deque<std::string> promoted_;
  std::map<std::string, std::string> unique_;  ///< digest → its document after these edits; empty: none

  bool stale_ = false;
  std::optional<Error> refused_;  ///< error of an edit in the commit
  storage::Sequence sequence_ = 0;
  RequestUnits write_charge_ = 0;
};

/// How an attempt ends.
enum class Verdict : std::uint8_t { commit, discard };

struct Committed {
  storage::Sequence sequence = 0;  ///< of the last edit; 0: there was none
  RequestUnits write_charge = 0;   ///< of all edits
};

/// Runs `attempt` on a worker, each time with a new transaction on the logical partition of `target`, until one can be
/// committed. The text that `target` refers to must outlive the task. With `in_turn` the attempts of one logical
/// partition wait for each other, so that they do not conflict among themselves. `attempt`'s error, or `discard`, is
/// final if everything it read is still unchanged. Errors: also conflict with the word `retry_with` if others write to
/// the partition all the time, and overloaded if too many wait for their turn.
Task<Expected<Committed>> run_optimistically(std::shared_ptr<Database> database, DocumentTarget target, bool in_turn,
                                             std::function<Expected<Verdict>(OptimisticTransaction&)> attempt);

/// The word of the error if no attempt could be committed.
inline constexpr std::string_view word_retry_with = "retry_with";

}  // namespace octavo::partitioning
