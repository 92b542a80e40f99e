#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "query/follow/feed_index.h"
#include "query/follow/feed_index_kind.h"
#include "query/follow/purge_scan.h"
#include "query/index/index_definition.h"
#include "query/javascript/program.h"
#include "query/view/reducer.h"
#include "query/view/summaries.h"
#include "query/view/view_definition.h"
#include "storage/lmdb/store.h"

namespace octavo::query::views {

/// The index of all views of a design document, in its own store. A document is parsed and mapped once for
/// all views.
///
/// Format (trees of a view group):
///   rows         row key          → row value                                  (view_key.h)
///   by_document  document id      → (size:varint row key)*    all rows of the document
///   summaries    level, start     → counts and reductions                      (summaries.h)
///   meta         "state"          → version:u8 checkpoint:u64 purge_count:u64
///   long         rows of long keys of the other trees (long_key_tree)
///
/// Partitioned views follow the feed as well: run inside the transactions of documents, a slow function would delay all
/// writers. The delay is not visible to clients, because a query waits until the index contains all writes acknowledged
/// before it.
///
/// Durability is `relaxed` at most, for the reasons given at GlobalIndex.
class ViewGroup final : public FeedIndex {
 public:
  /// Errors: bad_request if `definition.content` is invalid.
  static Expected<std::unique_ptr<FeedIndex>> make(const FeedIndexDefinition& definition, FeedIndexOptions options);
  ~ViewGroup() override;

  const std::string& identity() const override { return identity_; }
  Expected<void> open(storage::Sequence last_sequence) override;
  storage::Sequence checkpoint() const override { return checkpoint_.load(std::memory_order_acquire); }
  storage::Sequence complete_through() const override { return complete_through_.load(std::memory_order_acquire); }
  std::uint64_t purge_count() const override { return purge_count_.load(std::memory_order_acquire); }
  storage::Sequence knows_deletions_through() const override {
    return std::max(checkpoint(), purge_scan_.scanned_through());
  }
  Expected<std::size_t> apply(const FeedChanges& changes) override;
  Expected<bool> remove_known(const KnownPurges& purges) override;
  Expected<bool> remove_purged(const GoneDocuments& gone, std::size_t documents_max) override;
  std::size_t open_store_count() const override { return store_.is_open() ? 1 : 0; }
  std::uint64_t last_used_ms() const override { return store_.last_used_ms(); }
  std::size_t close_idle(std::uint64_t last_used_before_ms) override;
  storage::Store* store() override { return &store_; }
  void remove_files() override;

  const ViewGroupDefinition& definition() const { return definition_; }
  Expected<storage::ReadTransaction> read() { return store_.read(); }
  Expected<storage::Store::Sizes> sizes() { return store_.sizes(); }
  SummaryTrees trees() const { return {store_.tree(0), store_.tree(2)}; }
  storage::Tree by_document() const { return store_.tree(1); }
  /// nullptr for a view without a reduce function.
  const Reducer* reducer(std::size_t view) const {
    OCTAVO_ASSERT(view < reducers_.size());
    return reducers_[view].get();
  }

  /// The rows that a document should have, sorted by key. Runs the map functions, which may take long. For apply() and
  /// for checks.
  struct Row {
    std::string key;
    std::string value;
  };
  Expected<std::vector<Row>> rows_of(const FeedDocument& document) const;

 private:
  ViewGroup(std::string identity, ViewGroupDefinition definition, FeedIndexOptions options);
  Expected<void> prepare();
  static std::size_t bytes_of(const std::vector<Row>& rows);
  struct Change;
  Expected<void> write(std::vector<Change>& changes, storage::Sequence checkpoint, std::uint64_t purge_count);
  Expected<void> remove(std::vector<std::string> gone, std::uint64_t purge_count);
  Expected<void> put_changes(storage::WriteTransaction& transaction, const std::vector<Change>& changes) const;
  Expected<void> put_state(storage::WriteTransaction& transaction, storage::Sequence checkpoint,
                           std::uint64_t purge_count) const;
  Expected<bool> has_effect(const std::vector<Change>& changes);

  const std::string identity_;
  const ViewGroupDefinition definition_;
  const FeedIndexOptions options_;
  storage::Store store_;
  javascript::ProgramPtr maps_;
  std::vector<IndexDefinition> indexes_;  ///< in place of the functions, if the maps are those of Mango indexes
  std::vector<std::unique_ptr<Reducer>> reducers_;  ///< by view
  std::atomic<storage::Sequence> checkpoint_{0};
  std::atomic<storage::Sequence> complete_through_{0};
  std::atomic<std::uint64_t> purge_count_{0};
  storage::Sequence stored_checkpoint_ = 0;  ///< on disk; checkpoint_ is ahead of it after changes without effect
  PurgeScan purge_scan_;
};

/// For feed_index_kinds(). Indexes of this kind have no name, because one serves all views of a design document.
FeedIndexKind view_kind();

}  // namespace octavo::query::views
