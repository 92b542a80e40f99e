#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "config/settings.h"
#include "query/project/row_program.h"
#include "query/project/target/target_writer.h"
#include "storage/lmdb/store.h"

namespace octavo::query::project {

/// A document of the source, as of the batch, and what it gives.
struct SourceChange {
  std::string id;
  ProjectedDocument result;  ///< without a row for one that is gone
};

/// What a projection knows, in a store of its own: which source document gives which row, which rows the target has,
/// how far the source's feed was read, and the writes that the last batch decided.
///
/// The feed shows only the newest state of a document, so a batch cannot be repeated exactly after a crash. Therefore
/// the writes are stored together with what was decided (the outbox) before the first of them is made, and the next
/// batch replaces them when they are durable in the target.
///
/// Of several source documents that give a row of one id, the one with the least id counts, whatever came first. With
/// `newest`, rows have ranks, and those beyond the first n of their partition key are not written, but known.
///
/// One thread at a time, except the numbers.
class ProjectionState {
 public:
  struct Options {
    std::filesystem::path folder;
    config::Durability durability = config::Durability::commit;
    storage::FaultInjector* faults = nullptr;
    std::uint32_t newest = 0;  ///< 0: all rows are written
    std::size_t joins = 0;
  };
  explicit ProjectionState(Options options);

  /// The numbers that are stored with each batch.
  struct Numbers {
    storage::Sequence checkpoint = 0;       ///< the source's feed was read up to here
    std::uint64_t purge_count = 0;          ///< of the source
    storage::Sequence target_sequence = 0;  ///< of the target, when the writes of the batch before were durable
    std::uint64_t epoch = 0;                ///< rows of an earlier one are written again: the target may differ
    std::uint64_t outbox_rows = 0;
    std::uint64_t rows = 0;        ///< written and not deleted
    std::uint64_t candidates = 0;  ///< ids for which some document gives a row
    std::uint64_t collisions = 0;  ///< rows that another one with their id hides
    std::uint64_t without_key = 0;
    std::uint64_t errors = 0;
    std::uint64_t occupied = 0;  ///< rows that the target refuses: their id is taken, or a unique key
    std::uint64_t fan_outs = 0;  ///< changes of joined documents whose rows are still to be made again
  };
  /// How far the feed of a joined database was read.
  struct Input {
    storage::Sequence checkpoint = 0;
    std::uint64_t purge_count = 0;
  };
  /// A document of a joined database that a join counts. `key` nullopt: it does not count any more.
  struct Member {
    std::size_t join = 0;
    std::string id;
    std::optional<std::string> key;
  };
  /// Documents whose rows are to be made again, as what they are joined with has changed. Without sources: the end.
  struct FanOutStep {
    std::size_t join = 0;
    std::string key;
    std::uint64_t visited = 0;  ///< documents before these
    std::vector<std::string> sources;
  };

  /// Opens or creates the store. Errors: those of the disk. A damaged store is an error, corrupted: what the target has
  /// is not known then.
  Expected<void> open();
  /// The numbers that the last commit has stored. Thread-safe.
  Numbers numbers() const;
  /// While it is hidden, which rows there are becomes known, but none is written. At first it is not.
  void set_hidden(bool hidden) { is_hidden_.store(hidden, std::memory_order_release); }
  /// Thread-safe.
  bool is_hidden() const { return is_hidden_.load(std::memory_order_acquire); }

  struct Batch {
    std::vector<SourceChange> changes;  ///< each document once
    std::vector<std::string> again;     ///< ids of rows to write even if they are known to be there
    std::vector<std::string> refused;   ///< ids of rows that the target refused since the last batch
    storage::Sequence checkpoint = 0;
    std::uint64_t purge_count = 0;
    storage::Sequence target_sequence = 0;
    bool begins_again = false;  ///< begins a new epoch
    std::vector<Member> members;
    std::vector<std::pair<std::size_t, std::string>> fan_outs;  ///< join and key of what was looked up and has changed
    std::optional<FanOutStep> step;
    std::optional<std::pair<std::size_t, Input>> input;  ///< of this join
    std::vector<std::string> former;                     ///< ids of rows that a former state may have written
    /// Rows up to this id are as this state says, whatever a former one has written; empty: all are.
    std::optional<std::string> switched_through;
  };
  /// What a source document gives at present, for rows that are not of the batch.
  using Evaluate = FunctionRef<Expected<ProjectedDocument>(std::string_view source_id)>;
  /// Stores the batch and its writes. `make_durable` is called when nothing more will be evaluated: what rows are made
  /// of must not be lost after them. Precondition: the writes of the batch before are durable in the target.
  Expected<std::vector<RowWrite>> commit(const Batch& batch, Evaluate evaluate,
                                         FunctionRef<Expected<void>()> make_durable);
  /// Whether the changes would alter anything but the numbers.
  Expected<bool> has_effect(std::span<const SourceChange> changes);
  /// The writes of the last batch, which may have been made or not.
  Expected<std::vector<RowWrite>> outbox();
  /// At most `count_max` ids of refused rows, after `after`.
  Expected<std::vector<std::string>> refused_after(std::string_view after, std::size_t count_max);
  /// At most `count_max` ids of rows that the target may have, after `after`.
  Expected<std::vector<std::string>> rows_after(std::string_view after, std::size_t count_max);
  Input input(std::size_t join) const;
  /// How many documents the join counts at this key.
  Expected<std::uint64_t> count(std::size_t join, std::string_view key);
  /// Whether a change at one of these keys may alter rows.
  Expected<bool> has_referrers(std::size_t join, std::string_view key);
  Expected<bool> has_member(std::size_t join, std::string_view id);
  /// The next documents whose rows are to be made again. nullopt: there are none.
  Expected<std::optional<FanOutStep>> next_step(std::size_t count_max);
  /// At most `count_max` ids after `after` of documents that the join has looked up (or looked for), or counts.
  Expected<std::vector<std::string>> joined_after(std::size_t join, bool is_count, std::string_view after,
                                                  std::size_t count_max);
  /// The same of all rows that documents give, written or not.
  Expected<std::vector<std::string>> candidates_after(std::string_view after, std::size_t count_max);
  /// Batch::switched_through of the last batch that had it; nullopt: none had, or it was the end.
  Expected<std::optional<std::string>> switched_through();
  /// Whether the target may have a row of this id that this projection wrote.
  Expected<bool> has_row(std::string_view id);

  storage::Store& store() { return store_; }
  storage::Tree sources() const;
  const std::filesystem::path& folder() const { return options_.folder; }
  /// Removes the files. The store must not be in use.
  void remove_files();

 private:
  Expected<Numbers> read_numbers(const storage::Transaction& transaction) const;

  Expected<std::vector<std::string>> ids_after(std::string_view after, std::size_t count_max, bool with_unwritten);

  const Options options_;
  storage::Store store_;
  std::atomic<bool> is_hidden_{false};
  mutable std::mutex mutex_;  ///< guards the members below
  Numbers numbers_;
  std::vector<Input> inputs_;  ///< by join
};

}  // namespace octavo::query::project
