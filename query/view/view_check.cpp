#include "query/view/view_check.h"

#include <array>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/byte_codec.h"
#include "partitioning/scan.h"
#include "query/follow/feed_document.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::query::views {

namespace {

/// Checks that one document has exactly the rows that its functions emit, with their values, and that by_document lists
/// them. Returns their number.
Expected<std::size_t> check_document(const ViewGroup& group, const storage::ReadTransaction& transaction,
                                     const FeedDocument& document, std::string_view label,
                                     storage::CheckReport& report) {
  OCTAVO_TRY(const auto expected, group.rows_of(document));
  std::string noted;
  ByteWriter writer(noted);
  for (const auto& row : expected) {
    writer.sized_bytes(row.key);
    OCTAVO_TRY(const auto stored, storage::long_key::get(transaction, group.trees().rows, row.key));
    if (!stored || *stored != row.value) report.add(fmt::format("{}: no row of document '{}'", label, document.id));
  }
  OCTAVO_TRY(const auto stored, storage::long_key::get(transaction, group.by_document(), document.id));
  if (stored.value_or(std::string_view()) != noted) {
    report.add(fmt::format("{}: other rows are noted at document '{}' than it has", label, document.id));
  }
  return expected.size();
}

}  // namespace

Expected<void> check_view_group(partitioning::Database& database, ViewGroup& group, std::string_view label,
                                storage::CheckReport& report) {
  OCTAVO_TRY(const storage::ReadTransaction transaction, group.read());
  std::uint64_t rows = 0;
  std::uint64_t documents = 0;
  std::optional<Error> failure;
  storage::BodyBuffer buffer;
  partitioning::DocumentRange all;
  all.as_stored = true;
  partitioning::DocumentScan scan(database, std::move(all));
  auto state = partitioning::ScanState::more;
  while (state == partitioning::ScanState::more && !failure) {
    const auto visit = [&](const storage::DocumentRecord& record, const storage::Snapshot& snapshot) {
      if (record.deleted) return partitioning::Visit::next;
      const auto found = storage::open_document(record, buffer);
      if (!found) return partitioning::Visit::next;  // the check of the documents reports it
      const auto document = read_feed_document(*found, snapshot, database.partitioned());
      auto count = document ? check_document(group, transaction, *document, label, report)
                            : Expected<std::size_t>(std::unexpected(document.error()));
      if (!count) {
        failure = std::move(count).error();
        return partitioning::Visit::stop;
      }
      rows += *count;
      documents += *count > 0 ? 1 : 0;
      return partitioning::Visit::next;
    };
    OCTAVO_TRY(state, scan.run_records(partitioning::ScanBudget::worker_slice(), visit));
  }
  if (failure) return std::unexpected(*std::move(failure));
  if (const auto stored = storage::long_key::count(transaction, group.trees().rows); stored != rows) {
    report.add(fmt::format("{}: {} rows of {}", label, stored, rows));
  }
  if (const auto noted = storage::long_key::count(transaction, group.by_document()); noted != documents) {
    report.add(fmt::format("{}: rows of {} documents, and {} have some", label, noted, documents));
  }
  const std::array trees{group.trees().rows, group.by_document(), group.trees().summaries};
  if (const auto problem = storage::long_key::find_damaged_levels(transaction, trees)) {
    report.add(fmt::format("{}: {}", label, *problem));
  }
  for (std::size_t view = 0; view < group.definition().views.size(); ++view) {
    OCTAVO_TRY(const auto problem, check_summaries(transaction, group.trees(), view, group.reducer(view)));
    if (problem) report.add(fmt::format("{}: view '{}': {}", label, group.definition().views[view].name, *problem));
  }
  return {};
}

}  // namespace octavo::query::views
