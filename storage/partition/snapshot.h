#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "storage/document/document.h"
#include "storage/document/document_record.h"
#include "storage/document/expiry.h"
#include "storage/document/logical_rows.h"
#include "storage/document/revision_tree.h"
#include "storage/lmdb/long_key_tree.h"
#include "storage/lmdb/store.h"
#include "storage/logs/version_log.h"

namespace octavo::storage {

/// Read view of one physical partition. Must be used and destroyed on the thread that took it; never across a co_await.
/// The JSON of packed bodies is kept until then: readers of many documents use cursors, which keep one body.
class Snapshot {
 public:
  Snapshot(Snapshot&&) = default;

  /// Winning revision, even if it is a tombstone (`deleted`). nullopt: never written. O(log n), copies nothing but
  /// packed bodies.
  Expected<std::optional<DocumentView>> find(std::string_view id) const;
  /// Does the same as find(), but opens the body only if a time to live asks for it.
  Expected<std::optional<DocumentRecord>> find_record(std::string_view id) const;
  /// The document of a record that was read from this snapshot. Error corrupted: its body is damaged.
  Expected<DocumentView> open(const DocumentRecord& record) const;
  /// Does the same as find_record(), but shows expired documents as live until they are deleted: for indexes, as a
  /// longer time to live may restore them. Opens no body.
  Expected<std::optional<DocumentRecord>> find_stored_record(std::string_view id) const;
  /// The tree of a document returned by find(). Reads no row if the history is short and without conflicts.
  Expected<RevisionTree> revision_tree(const DocumentHead& document) const;
  /// A tree with the same leaves, without ancestors of the winner: cheap, however long the history is.
  Expected<RevisionTree> revision_branches(const DocumentHead& document) const;
  /// Body of a leaf (winner or conflict). nullopt if `revision` is not a leaf.
  Expected<std::optional<std::string_view>> leaf_body(const DocumentView& document, const Revision& revision) const;
  /// Body of a revision in the document's tree: a leaf, or a former winner as long as it is kept. nullopt: neither.
  Expected<std::optional<std::string_view>> body_of(const DocumentView& document, const RevisionTree::Node& node) const;
  /// The former winners that are kept, in ascending order.
  Expected<std::vector<Revision>> replaced_revisions(const DocumentHead& document) const;
  Expected<std::optional<LocalDocumentView>> find_local(std::string_view id) const;

  /// Documents in byte order of their ids, as find_record() returns them. Deleted ones are expired ones, or were stored
  /// by format 1 of the data folder. Cursors return nullopt at the end. If there is a time to live, a body lives until
  /// the next call. Throws as Cursor does, also for a damaged body that a time to live asks for.
  class RecordCursor {
   public:
    /// Does the same as Snapshot::find_record, but only for what the cursor walks. Cheaper for a document near the one
    /// found before: the cursor keeps its position.
    Expected<std::optional<DocumentRecord>> find(std::string_view id);
    std::optional<DocumentRecord> seek(std::string_view id);
    std::optional<DocumentRecord> seek_back(std::string_view id);
    std::optional<DocumentRecord> last();
    std::optional<DocumentRecord> next();
    std::optional<DocumentRecord> previous();

   private:
    friend class Snapshot;
    RecordCursor(LongKeyCursor cursor, Expiry expiry) : cursor_(std::move(cursor)), expiry_(std::move(expiry)) {}
    std::optional<DocumentRecord> seen(const std::optional<KeyValue>& row);
    LongKeyCursor cursor_;
    Expiry expiry_;
    BodyBuffer body_;
  };
  RecordCursor records() const;
  RecordCursor stored_records() const;  ///< as find_stored_record()

  /// A RecordCursor that also opens the bodies. A body lives until the next call of its cursor. Throws for a damaged
  /// one.
  class DocumentCursor {
   public:
    Expected<std::optional<DocumentView>> find(std::string_view id);
    std::optional<DocumentView> seek(std::string_view id) { return opened(records_.seek(id)); }
    std::optional<DocumentView> seek_back(std::string_view id) { return opened(records_.seek_back(id)); }
    std::optional<DocumentView> last() { return opened(records_.last()); }
    std::optional<DocumentView> next() { return opened(records_.next()); }
    std::optional<DocumentView> previous() { return opened(records_.previous()); }

   private:
    friend class Snapshot;
    explicit DocumentCursor(RecordCursor records) : records_(std::move(records)) {}
    std::optional<DocumentView> opened(const std::optional<DocumentRecord>& record);
    RecordCursor records_;
    BodyBuffer body_;
  };
  DocumentCursor documents() const { return DocumentCursor(records()); }
  DocumentCursor stored_documents() const { return DocumentCursor(stored_records()); }
  /// Expired documents that are not deleted yet, at most `rows_max`. Reads no other documents.
  struct Expired {
    struct Document {
      std::string id;
      Revision revision;
      std::int64_t expiration_s = 0;
    };
    /// False: the schedule is incomplete (make_expiry_schedule); there may be more.
    bool whole = true;
    std::vector<Document> documents;                ///< by expiration time
    std::optional<std::int64_t> next_expiration_s;  ///< Unix time of the next expiration; nullopt: unknown or none
  };
  Expected<Expired> expired_documents(std::size_t rows_max) const;

  class LocalDocumentCursor {
   public:
    std::optional<LocalDocumentView> seek(std::string_view id);
    std::optional<LocalDocumentView> next();

   private:
    friend class Snapshot;
    explicit LocalDocumentCursor(LongKeyCursor cursor) : cursor_(std::move(cursor)) {}
    LongKeyCursor cursor_;
  };
  LocalDocumentCursor local_documents() const;

  /// The feed in sequence order; the caller must stop at the watermark that it took *before* the snapshot.
  class FeedCursor {
   public:
    std::optional<FeedRow> seek(Sequence at_least);
    std::optional<FeedRow> seek_back(Sequence at_most);
    std::optional<FeedRow> next();
    std::optional<FeedRow> previous();

   private:
    friend class Snapshot;
    explicit FeedCursor(Cursor rows) : rows_(std::move(rows)) {}
    FeedCursor(Cursor rows, logical_rows::Feed sequences, std::string_view partition_key)
        : rows_(std::move(rows)), sequences_(std::move(sequences)), partition_key_(partition_key) {}
    std::optional<FeedRow> accept(std::optional<Sequence> sequence, bool forward);
    Cursor rows_;
    std::optional<logical_rows::Feed> sequences_;  ///< of a logical partition; nullopt: whole feed
    std::string partition_key_;
  };
  FeedCursor feed() const;
  /// The feed of one logical partition; reads no other partition's rows.
  FeedCursor feed_of(std::string_view partition_key) const;

  /// See logical_rows::last_change. Throws as Cursor does.
  Expected<Sequence> last_change(std::string_view partition_key) const;
  /// Id of the live document that has these unique values in its logical partition; see UniqueKeys.
  Expected<std::optional<std::string>> unique_owner(std::string_view partition_key, std::string_view digest) const;

  Expected<PartitionCounters> counters() const;
  Expected<DocumentStatistics> statistics() const;
  Expected<DocumentStatistics> statistics_of(std::string_view partition_key) const;
  /// See logical_rows::for_each.
  Expected<void> for_each_partition(
      FunctionRef<void(std::string_view partition_key, const DocumentStatistics&)> visit) const;
  Expected<Sequence> last_sequence() const;
  /// Logged versions of documents, if versions are kept; the log is complete above versions_since().
  VersionLog versions() const;
  Expected<Sequence> versions_since() const;
  Expected<std::uint64_t> purge_count() const;
  /// Ids of the documents that were purged after `sequence`; nullopt: the log of purges does not reach back so far.
  Expected<std::optional<std::vector<std::string>>> purged_after(Sequence sequence) const;

  /// Rows of local indexes: see DocumentObserver.
  LongKeyCursor index_entries() const;
  Expected<std::optional<std::string_view>> index_entry(std::string_view key) const;

  // Estimates as of ReadTransaction::rows_estimate.
  /// What documents() walks: live documents, including design documents, by their ids.
  std::optional<RowsEstimate> documents_estimate(std::string_view low, std::optional<std::string_view> high,
                                                 Closeness closeness) const;
  std::optional<RowsEstimate> index_entries_estimate(std::string_view low, std::optional<std::string_view> high,
                                                     Closeness closeness) const;
  const ReadTransaction& transaction() const { return transaction_; }

 private:
  friend class PhysicalPartition;
  Snapshot(const Store& store, ReadTransaction transaction, Expiry expiry)
      : store_(&store), transaction_(std::move(transaction)), expiry_(std::move(expiry)) {}
  Expected<std::string_view> open_body(const StoredBody& body) const;
  const Store* store_;
  ReadTransaction transaction_;
  Expiry expiry_;
  mutable std::vector<BodyBuffer> bodies_;  ///< of the packed bodies that were opened
};

}  // namespace octavo::storage
