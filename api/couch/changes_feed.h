#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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

  /// Everything up to here was sent, or need not be.
  storage::Sequence position() const { return scan_->position(); }
  const ChangesQuery& query() const { return query_; }
  /// Rows are tested by their documents: a slice costs more than its rows.
  bool tests_documents() const { return filter_.needs_documents(); }
  partitioning::Database& database() const { return *database_; }

 private:
  struct Row {
    const storage::FeedRow& change;
    const storage::Snapshot& snapshot;
  };

  Expected<bool> scan(std::string& out, partitioning::ScanBudget budget);
  void turn_forward();
  Expected<void> send_named_documents(std::string& out);
  Expected<void> append_row(std::string& out, const Row& row);
  Expected<void> collect_passing(const Row& row, const std::optional<storage::DocumentView>& document);
  void append_row_text(std::string& out, const Row& row);
  void append_sequence(std::string& out, storage::Sequence sequence) const;
  Expected<std::uint64_t> count_pending() const;
  bool limit_reached() const { return emitted_ >= query_.limit; }

  std::shared_ptr<partitioning::Database> database_;
  ChangesQuery query_;
  storage::Sequence since_;
  ChangesFilter filter_;
  std::optional<std::string> partition_key_;
  std::optional<partitioning::FeedScan> scan_;
  storage::Sequence newest_at_start_ = 0;
  storage::Sequence last_sent_;  ///< sequence of the last row looked at
  std::uint64_t seen_ = 0;       ///< rows looked at
  std::uint64_t emitted_ = 0;
  std::vector<storage::Revision> passing_;  ///< of the row at hand; kept for its memory
  bool started_ = false;
  bool caught_up_ = false;                ///< at the last call nothing was left
  bool named_documents_pending_ = false;  ///< `_doc_ids`: the first round looks the documents up instead of scanning
};

}  // namespace octavo::api::couch
