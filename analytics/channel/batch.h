#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analytics/table/document_table.h"
#include "base/error.h"

namespace octavo::analytics {

/// What the server sends to the process for a table. Bytes, not JSON: bodies are JSON already, and would have to be
/// escaped or cut out again.
///
/// A batch is `from` and `reached` (u64), `complete` (u8) and the changes: RowChange (u8), `modified_s` (u64), and id,
/// revision and body, each with its length before it. A removal is the purge count (u64), `marks` (u8) and the ids.
class BatchWriter {
 public:
  /// `complete`: after the batch the table has all documents.
  BatchWriter(std::uint64_t from, std::uint64_t reached, bool complete);
  void add(const TableChange& change);
  const std::string& payload() const { return payload_; }

 private:
  std::string payload_;
};

/// Refers to the payload it was read from.
struct Batch {
  std::uint64_t from = 0;
  std::uint64_t reached = 0;
  bool complete = false;
  std::vector<TableChange> changes;
};
/// Error internal: the payload is no batch.
Expected<Batch> read_batch(std::string_view payload);

/// `marks`: the rows stay, as those of deleted documents.
std::string removal_payload(const std::vector<std::string>& ids, std::uint64_t purge_count, bool marks);
struct Removal {
  std::uint64_t purge_count = 0;
  bool marks = false;
  std::vector<std::string_view> ids;
};
Expected<Removal> read_removal(std::string_view payload);

}  // namespace octavo::analytics
