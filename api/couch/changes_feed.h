#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/couch/changes_filter.h"
#include "api/couch/changes_query.h"
#include "partitioning/database.h"
#include "partitioning/scan.h"

namespace octavo::api::couch {

/// One reader of the change feed of a database or of one logical partition: turns rows into the text of the feed's
/// mode. Holds no snapshot between calls. One thread at a time.
class ChangesFeed {
 public:
  /// `since` has been parsed from the query.
  ChangesFeed(std::shared_ptr<partitioning::Database> database, ChangesQuery query, storage::Sequence since,
              ChangesFilter filter, std::optional<std::string> partition_key);

  enum class Step : std::uint8_t {
    more,  ///< call again
    wait,  ///< all that is there was sent; call again when something grew
    end    ///< complete, its last line included
  };

  /// Appends the next rows, at most one slice of them.
  Expected<Step> advance(std::string& out, partitioning::ScanBudget budget);
  /// Appends a sign of life.
  void heartbeat(std::string& out) const;
  /// Appends the last line: `last_seq` and `pending`, as the mode has them. The feed ends here.
  Expected<void> finish(std::string& out);

  /// The feed can go on once the database's watermark is beyond this: everything up to here was sent or need not be,
  /// or a feed that must end has not begun, because what was acknowledged before it cannot all be sent yet.
  storage::Sequence position() const { return started_ ? scan_->position() : acknowledged_ - 1; }
  /// It waits only for documents that are being written; it may end without them.
  bool settles() const { return !unsettled_.empty(); }
  void end_settling() { settle_rounds_ = kSettleRoundsMax; }
  const ChangesQuery& query() const { return query_; }
  /// Rows are tested by their documents: a slice costs more than its rows.
  bool tests_documents() const { return filter_.needs_documents(); }
  /// Every slice is for a worker.
  bool runs_functions() const { return filter_.runs_functions(); }
  partitioning::Database& database() const { return *database_; }

 private:
  // A document that is written again in each of so many commits is let go.
  static constexpr int kSettleRoundsMax = 8;

  struct Row {
    const storage::FeedRow& change;
    const storage::Snapshot& snapshot;
  };

  /// A row whose revisions a function has yet to see, with copies of all that it and the row need.
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
  /// All rows up to here have been looked at.
  storage::Sequence looked_at() const { return candidates_.empty() ? scan_->position() : last_sent_; }
  void append_head(std::string& out);
  bool must_settle();
  void turn_forward();
  Expected<void> send_named_documents(std::string& out);
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
  ChangesFilter filter_;
  std::optional<std::string> partition_key_;
  std::optional<partitioning::FeedScan> scan_;
  storage::Sequence acknowledged_;  ///< every write acknowledged before the request is at or below it
  storage::Sequence newest_at_start_ = 0;
  storage::Sequence last_sent_;  ///< sequence of the last row looked at
  std::uint64_t seen_ = 0;       ///< rows looked at
  std::uint64_t emitted_ = 0;
  std::vector<storage::Revision> passing_;  ///< of the row at hand; kept for its memory
  /// Documents that a feed which must end has not shown yet, because they were being written when it came to its end.
  std::set<std::string, std::less<>> unsettled_;
  std::deque<Candidate> candidates_;
  bool collected_all_ = false;  ///< at the last call; some may still be among the candidates
  int settle_rounds_ = 0;
  bool started_ = false;                  ///< its head was sent, if it has one
  bool caught_up_ = false;                ///< at the last call nothing was left
  bool named_documents_pending_ = false;  ///< `_doc_ids`: the first round looks the documents up instead of scanning
};

}  // namespace octavo::api::couch
