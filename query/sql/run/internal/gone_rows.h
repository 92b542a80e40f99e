#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "partitioning/database.h"
#include "partitioning/keys/partition_key.h"
#include "query/json/parsed_document.h"
#include "query/sql/evaluate/evaluation.h"
#include "query/sql/run/internal/combinations.h"
#include "query/sql/run/sql_preparation.h"
#include "storage/document/document.h"

namespace octavo::query::sql {

/// The order of the rows of a query whose previous pages were read by an index that no longer exists, or whose next
/// pages will be read by one that is being built: they are sorted like its entries, so the position in it says which of
/// them are left. If the index was read for a part of the rows, those of later parts follow in the order of their ids.
class GoneRows {
 public:
  /// All must outlive this. Null: the documents are not in a database. Precondition: `prepared` has a gone_index.
  GoneRows(const PreparedSql& prepared, const partitioning::Database* database, Evaluation& evaluation,
           const Combinations& combinations, DocumentParser& parser);

  /// The key of the current row, until the next call. Null: the row is not one of those that are left, or the
  /// evaluation failed.
  const std::string* make_key();
  /// The entry that the index would have for the row of the last key. Precondition: the index is not a part.
  const std::string& entry() const { return entry_; }
  /// What sorts behind the rows of an entry up to the combination at `positions`; none: behind all of them.
  std::string key_behind(std::string_view entry, std::span<const std::uint64_t> positions) const;
  /// Whether the previous page read the physical partition of the document. Also false if the evaluation failed.
  bool was_in_partition(std::string_view id);

 private:
  enum class Part : std::uint8_t { before, within, after };

  std::optional<Part> part_of(const storage::DocumentView& document, simdjson::dom::element root);
  std::optional<Part> part_by_partition(std::string_view id);
  std::optional<Part> part_by_side(const storage::DocumentView& document, simdjson::dom::element root);
  bool find_range();

  const PreparedSql& prepared_;
  const GoneIndex& index_;
  const partitioning::Database* database_;
  Evaluation& evaluation_;
  const Combinations& combinations_;
  DocumentParser& parser_;
  bool down_;
  /// Hash positions of the physical partition that the previous page read.
  std::optional<std::pair<partitioning::HashPosition, partitioning::HashPosition>> range_;
  std::string key_;
  std::string entry_;
};

}  // namespace octavo::query::sql
