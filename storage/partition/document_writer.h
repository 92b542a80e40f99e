#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "storage/document/document.h"
#include "storage/document/document_record.h"
#include "storage/document/document_rows.h"
#include "storage/document/expiry.h"
#include "storage/document/history.h"
#include "storage/document/large_partitions.h"
#include "storage/document/logical_rows.h"
#include "storage/document/revision_tree.h"
#include "storage/document/sequence_allocator.h"
#include "storage/lmdb/store.h"
#include "storage/logs/replaced_log.h"
#include "storage/partition/document_copy.h"
#include "storage/partition/document_observer.h"
#include "storage/partition/unique_keys.h"

namespace octavo::storage {

/// Applies edits inside one write transaction: checks preconditions, and keeps document, revision tree, conflicting
/// leaves, feed, counters and local indexes in step. Lives as long as one attempt of one group.
///
/// After an error the group must be abandoned: it concerns the transaction (disk full, map full, corruption). What
/// concerns a single edit is in the value, an EditOutcome or a Refusal, and leaves the transaction unchanged.
class DocumentWriter {
 public:
  /// What it needs of its partition. All that the references and pointers refer to must outlive it.
  struct Environment {
    const Store& trees;
    SequenceAllocator& sequences;
    std::size_t partition_id = 0;
    DocumentObserver* observer = nullptr;     ///< null: no derived data
    const UniqueKeys* unique_keys = nullptr;  ///< null: none
    const DocumentOwners* owners = nullptr;   ///< null: none
    std::uint32_t revs_limit = 1000;
    std::uint64_t logical_partition_bytes_max = 20ULL << 30;
    LargePartitions* large_partitions = nullptr;  ///< null: they are not noted
    std::int64_t now_s = 0;                       ///< stamped on the edits; copies keep their own time
    Expiry expiry = {};
    bool keeps_versions = false;
    ReplacedLimits replaced = {};
    config::Compression compression = config::Compression::none;
  };

  DocumentWriter(WriteTransaction& transaction, Environment environment)
      : transaction_(transaction),
        environment_(std::move(environment)),
        rows_(transaction, environment_.trees),
        replaced_(transaction, tree(PartitionTree::replaced)) {}
  DocumentWriter(const DocumentWriter&) = delete;
  DocumentWriter& operator=(const DocumentWriter&) = delete;

  /// Reads the counters, and asks the observer. Must be the first call.
  Expected<void> begin();
  /// Changes nothing. An edit that it accepts may still be refused by apply(), whose result counts.
  Expected<Refusal> check(const DocumentWrite& write);
  Expected<EditOutcome> apply(const DocumentWrite& write);
  /// The winner as this transaction sees it, including its own edits. Views live until the next edit or find().
  Expected<std::optional<DocumentView>> find(std::string_view id);
  /// Does the same as find(), but opens the body only if a time to live asks for it.
  Expected<std::optional<DocumentRecord>> find_record(std::string_view id);
  std::int64_t now_s() const { return environment_.now_s; }
  /// See logical_rows::last_change. Throws as Cursor does.
  Expected<Sequence> last_change(std::string_view partition_key) const;
  std::uint64_t purge_count() const { return counters_.purge_count; }
  Sequence dropped_through() const { return counters_.dropped_through; }
  /// Runs `body`; unless it returns true, all its edits are undone and the writer is in its former state.
  Expected<void> all_or_nothing(FunctionRef<Expected<bool>()> body);
  /// Returns the number of the edit; 0 after a deletion.
  Expected<std::uint64_t> apply_local(const LocalDocumentWrite& write);
  Expected<std::vector<Revision>> purge(const PurgeRequest& request);
  /// Removes the tombstone without a trace; does nothing if its document was written again. Tombstones must be dropped
  /// in the order of the feed, see TombstoneWalk.
  Expected<void> drop(const Tombstone& tombstone);
  /// Replaces the document by its copy from another partition, with the copy's sequence, or removes it if the copy says
  /// that it does not exist. Neither allocates a sequence nor logs a version.
  Expected<void> adopt(const DocumentCopy& copy);
  /// Does the same for a document of another database: with a new sequence, unless it is there already as the copy
  /// says. Refuses a copy that exceeds the size of a logical partition or violates a unique key, and changes nothing
  /// then.
  Expected<Refusal> adopt_as_new(const DocumentCopy& copy);
  /// Takes over the counters of the other partition, whose feed is adopted completely.
  void adopt_counters(Sequence last_sequence, std::uint64_t purge_count, Sequence dropped_through);
  /// Writes counters and records of logical partitions. Must be the last call before the commit.
  Expected<void> finish();

  bool design_documents_changed() const { return design_documents_changed_; }

 private:
  /// The stored state before the edit, copied out of the map.
  struct Before {
    bool exists = false;
    bool live = false;  ///< neither deleted nor expired
    std::optional<FormerRow> row;
    DocumentRecord document;  ///< points not into the map, but to the caller's id, old_body_ and old_ancestry_
    std::optional<std::string_view> json;  ///< of its body, once open_body() has opened it
    std::optional<RevisionTree> tree;      ///< once read_tree() has read it
  };
  /// The body of a revision that is to be stored.
  struct NewBody {
    StoredBody stored;
    std::optional<std::string_view> json;  ///< nullopt: not opened yet
    std::uint32_t owner = 0;               ///< as DocumentHead::owner
  };

  Tree tree(PartitionTree name) const { return environment_.trees.tree(static_cast<std::size_t>(name)); }
  history::Trees history_trees() const { return {tree(PartitionTree::histories), tree(PartitionTree::revisions)}; }
  logical_rows::Trees logical_trees() const {
    return {tree(PartitionTree::logical), tree(PartitionTree::feed), tree(PartitionTree::partitions)};
  }
  Expected<Before> load(std::string_view id);
  Expected<std::string_view> open_body(Before& before);
  Expected<std::string_view> open_body(const NewBody& body);
  Expected<NewBody> body_of(const DocumentWrite& write);
  /// Its cost grows with the length of the history: for edits that do more than extend the winner.
  Expected<void> read_tree(Before& before) const;
  /// The parent of an interactive edit, or the error that explains why it has none.
  Expected<Expected<std::optional<Revision>>> resolve_parent(const DocumentWrite& write, Before& before) const;
  Expected<Refusal> check_quota(std::string_view partition_key, std::size_t body_bytes, const Before& before);
  Expected<Refusal> check_unique(std::string_view id, std::string_view partition_key, std::string_view json);
  Expected<void> take_over(const DocumentCopy& copy, Sequence sequence, Before before);
  /// Refuses a change of what belongs to another: see DocumentWrite::owner.
  Refusal check_owner(const DocumentWrite& write, const Before& before) const;
  /// Whether a projection's edit has nothing to do.
  Expected<bool> is_written_already(const DocumentWrite& write, Before& before);
  /// `expired`: the document had expired, so others may have taken, and given back, its former values.
  Expected<void> move_unique(const DocumentChange& change, bool expired);
  Expected<logical_rows::Partition*> logical_partition(std::string_view partition_key);
  /// Writes the rows of the history; leaves what belongs into the document's record in ancestry_.
  Expected<void> store_history(std::string_view id, const Before& before, const RevisionTree& after,
                               std::span<const Revision> growth);
  /// `growth`: not empty if the winner has got those descendants (history::growth); then `after` is the new winner
  /// alone.
  Expected<Sequence> store(std::string_view id, std::string_view partition_key, Before& before,
                           const RevisionTree& after, std::span<const Revision> growth,
                           const std::optional<Revision>& new_revision, const NewBody& new_body);
  /// Returns the winner's body.
  Expected<NewBody> place_leaf_bodies(std::string_view id, const Before& before, const RevisionTree& after,
                                      const Revision& winner, const std::optional<Revision>& new_revision,
                                      const NewBody& new_body);
  Expected<void> put_leaf(std::string_view id, const Revision& revision, const StoredBody& body);
  Expected<void> remove_all(std::string_view id, const Before& before);
  Expected<void> move_in_feed(std::string_view partition_key, const Before& before, const FeedRow* row);
  Expected<void> count(std::string_view id, std::string_view partition_key, const Before& before,
                       const DocumentRecord* after);
  // These two read bodies: both must have been opened.
  Expected<void> schedule_expiration(const Before& before, const DocumentView* after);
  Expected<void> log_versions(std::string_view id, const Before& before, const std::optional<DocumentView>& after,
                              Sequence sequence, Sequence expired_at);
  /// Keeps the winner before an edit, which has this sequence, if the edit made it an inner node of the revision tree.
  void keep_replaced(const Before& before, const RevisionTree& after, Sequence sequence);
  Sequence next_sequence();

  WriteTransaction& transaction_;
  Environment environment_;
  DocumentRows rows_;
  replaced_log::Writer replaced_;
  PartitionCounters counters_;
  using PartitionsByKey = std::map<std::string, logical_rows::Partition, std::less<>>;
  PartitionsByKey partitions_;
  PartitionsByKey::iterator last_partition_ = partitions_.end();  ///< the one found last: an edit asks several times
  /// Inside all_or_nothing: the former state of the logical partitions that it has touched.
  std::optional<PartitionsByKey> former_partitions_;
  bool design_documents_changed_ = false;
  bool is_observed_ = false;      ///< the observer has something to do
  bool reads_bodies_ = false;     ///< of each document before and after an edit
  std::string record_;            ///< scratch, reused
  std::string ancestry_;          ///< scratch, reused
  std::uint32_t index_rows_ = 0;  ///< put or erased by the last store()
  OwnedBody old_body_;            ///< copy of the winner's body before the edit: puts may invalidate views
  std::string old_ancestry_;      ///< as old_body_
  OwnedBody promoted_body_;       ///< body of a leaf that becomes the winner
  std::string packed_;            ///< body of an edit that came unpacked
  BodyBuffer old_json_;           ///< of old_body_
  BodyBuffer new_json_;           ///< of the winner's body after the edit
  BodyBuffer found_json_;         ///< of the document that was found last
};

}  // namespace octavo::storage
