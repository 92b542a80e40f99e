#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/couch/changes/changes_filter.h"
#include "api/couch/changes/changes_query.h"
#include "partitioning/database.h"
#include "partitioning/scan.h"

namespace octavo::api::couch {

/// One reader of the change feed of a database or of one logical partition: renders the rows in the feed's mode. Holds
/// no snapshot between calls. Used by one thread at a time.
///
/// A feed that ends must end also while others write, and must show every document that existed all the time, though
/// each write moves the row of its document to the end. It reads up to the newest change at its beginning, then what
/// has changed meanwhile, and that is all unless documents were written again before it reached them. It goes after
/// these in a few short rounds; a feed from the beginning then looks up those that are left.
class ChangesFeed {
 public:
  /// `since` is the parsed value of the query.
  ChangesFeed(std::shared_ptr<partitioning::Database> database, ChangesQuery query,
              const partitioning::FeedPosition& since, ChangesFilter filter, std::optional<std::string> partition_key);

  enum class Step : std::uint8_t {
    more,  ///< call again
    wait,  ///< all available rows were sent; call again after a change
    end    ///< complete, including the last line
  };

  /// Appends the next rows, at most one slice. Errors: also bad_request (`tombstones_gone`), see
  /// partitioning::FeedScan.
  Expected<Step> advance(std::string& out, partitioning::ScanBudget budget);
  /// Appends a heartbeat.
  void heartbeat(std::string& out) const;
  /// Appends the last line, `last_seq` and `pending`, in the form of the mode. The feed is complete then.
  Expected<void> finish(std::string& out);

  /// The feed can continue once the database's watermark is beyond this. Everything up to here was sent or need not be.
  /// Before the start it is the position before the last acknowledged write, because a feed that ends must contain
  /// every write acknowledged before the request.
  storage::Sequence position() const { return started_ ? scan_->position() : acknowledged_ - 1; }
  /// True if the feed waits only for documents that are being written; it may end without them.
  bool settles() const { return !unsettled_.empty(); }
  void end_settling() { settle_rounds_ = settle_rounds_max; }
  const ChangesQuery& query() const { return query_; }
  /// True if the filter may take long for one document, and must not do so on an I/O thread.
  bool tests_costly() const { return filter_.is_costly(); }
  /// True if the filter reads the document of each row: a slice then costs more than its rows.
  bool tests_documents() const { return filter_.needs_documents(); }
  /// True if every slice must run on a worker.
  bool runs_functions() const { return filter_.runs_functions(); }
  partitioning::Database& database() const { return *database_; }

 private:
  // The feed stops following documents that were written again in this many rounds, or over this many changes.
  static constexpr int settle_rounds_max = 8;
  static constexpr storage::Sequence settle_changes_max = 10'000;

  struct Row {
    const storage::FeedRow& change;
    const storage::Snapshot& snapshot;
  };

  /// A row whose revisions a function must still test, with copies of everything that the function and the row need.
  struct Candidate {
    struct Leaf {
      storage::Revision revision;
      bool deleted = false;
      std::string body;
    };
    storage::Sequence sequence = 0;
    std::string id;
    bool deleted = false;
    std::vector<Leaf> leaves;
    std::string document;  ///< with `include_docs`
  };

  Expected<bool> scan(std::string& out, partitioning::ScanBudget budget);
  Expected<bool> scan_by_function(std::string& out, partitioning::ScanBudget budget);
  Expected<bool> collect_candidates(partitioning::ScanBudget budget);
  Expected<Candidate> candidate_of(const Row& row) const;
  Expected<void> append_candidate(std::string& out, const Candidate& candidate);
  /// All rows up to this sequence were examined.
  storage::Sequence looked_at() const { return candidates_.empty() ? scan_->position() : last_sent_; }
  void append_head(std::string& out);
  bool ends() const;
  partitioning::FeedRange range_after(storage::Sequence since, bool descending) const;
  Step step_at_end();
  bool must_settle();
  void turn_forward();
  Expected<void> send_named_documents(std::string& out);
  Expected<bool> send_unsettled(std::string& out, partitioning::ScanBudget budget);
  Expected<void> send_as_it_is(std::string& out, std::string_view id, storage::Sequence watermark);
  Expected<void> append_row(std::string& out, const Row& row);
  Expected<void> collect_passing(const Row& row, const std::optional<storage::DocumentView>& document);
  void begin_row(std::string& out, storage::Sequence sequence, std::string_view id, bool deleted);
  void end_row(std::string& out, storage::Sequence sequence);
  void append_sequence(std::string& out, storage::Sequence sequence) const;
  Expected<std::uint64_t> count_pending() const;
  bool limit_reached() const { return emitted_ >= query_.limit; }

  std::shared_ptr<partitioning::Database> database_;
  ChangesQuery query_;
  storage::Sequence since_;
  storage::Sequence floor_;  ///< FeedPosition::floor, which the sequences that it sends repeat
  ChangesFilter filter_;
  std::optional<std::string> partition_key_;
  std::optional<partitioning::FeedScan> scan_;
  storage::Sequence acknowledged_;  ///< every write acknowledged before the request is at or below it
  storage::Sequence newest_at_start_ = 0;
  storage::Sequence last_sent_;  ///< sequence of the last row examined
  std::uint64_t seen_ = 0;       ///< number of rows examined
  std::uint64_t emitted_ = 0;
  std::vector<storage::Revision> passing_;  ///< for the current row; a member to reuse its memory
  /// Documents that the feed may not have shown yet because they were written before it reached them.
  std::set<std::string, std::less<>> unsettled_;
  std::deque<Candidate> candidates_;
  bool collected_all_ = false;  ///< the scan has reached the end; some rows may still be candidates
  bool needs_end_ = true;       ///< the scan stops at the watermark of its next slice
  bool has_caught_up_ = false;  ///< also what changed while the feed was read was sent
  bool looks_up_ = false;       ///< only the lookups of unsettled_ are left
  int settle_rounds_ = 0;
  storage::Sequence settle_begin_ = 0;
  bool started_ = false;                  ///< the head was sent, if the mode has one
  bool caught_up_ = false;                ///< no rows were left at the last call
  bool named_documents_pending_ = false;  ///< `_doc_ids`: the first round looks the documents up instead of scanning
};

}  // namespace octavo::api::couch
