#include "query/database/index_check.h"

#include <array>
#include <chrono>

#include <fmt/format.h>

#include "base/byte_codec.h"
#include "partitioning/keys/partition_key.h"
#include "partitioning/scan.h"
#include "query/database/automatic_check.h"
#include "query/index/index_entry.h"
#include "query/index/local/local_indexes.h"
#include "query/search/search_index.h"
#include "query/search/search_kind.h"
#include "query/view/view_check.h"

namespace octavo::query {
namespace {

constexpr std::chrono::minutes catch_up_max{60};

std::string label_of(const IndexDefinition& definition) {
  return fmt::format("index '{}' of {}", definition.name, definition.design_document);
}

/// Walks all live documents and passes each expected entry to `has_entry`, which tells whether the index contains it.
Expected<std::uint64_t> compare_entries(
    partitioning::Database& database, const IndexDefinition& definition, storage::CheckReport& report,
    FunctionRef<Expected<bool>(const storage::DocumentView&, const storage::Snapshot&, std::string_view key,
                               std::string_view value)>
        has_entry) {
  std::uint64_t expected = 0;
  DocumentParser parser;
  storage::BodyBuffer buffer;
  Expected<void> failure;
  partitioning::DocumentRange all;
  all.as_stored = true;
  partitioning::DocumentScan scan(database, std::move(all));
  auto state = partitioning::ScanState::more;
  while (state == partitioning::ScanState::more && failure) {
    const auto visit = [&](const storage::DocumentRecord& record, const storage::Snapshot& snapshot) {
      if (record.deleted || record.id.starts_with("_design/")) return partitioning::Visit::next;
      const auto opened = storage::open_document(record, buffer);
      if (!opened) return partitioning::Visit::next;  // the check of the documents reports it
      const storage::DocumentView& document = *opened;
      const auto body = parser.parse(document.body);
      if (!body) {
        report.add(fmt::format("documents '{}': {}", document.id, body.error().reason));
        return partitioning::Visit::next;
      }
      std::string key;
      std::string value;
      if (!append_index_entry(definition, {*body, document.body, document.id, document.revision}, key, value)) {
        return partitioning::Visit::next;
      }
      ++expected;
      const auto present = has_entry(document, snapshot, key, value);
      if (!present) {
        failure = std::unexpected(present.error());
        return partitioning::Visit::stop;
      }
      if (!*present) report.add(fmt::format("{}: no entry for document '{}'", label_of(definition), document.id));
      return partitioning::Visit::next;
    };
    OCTAVO_TRY(state, scan.run_records(partitioning::ScanBudget::worker_slice(), visit));
  }
  OCTAVO_TRY_VOID(failure);
  return expected;
}

void compare_count(const IndexDefinition& definition, std::uint64_t rows, std::uint64_t expected,
                   storage::CheckReport& report) {
  if (rows != expected) {
    report.add(fmt::format("{}: {} entries for {} documents", label_of(definition), rows, expected));
  }
}

Expected<void> check_local(partitioning::Database& database, const IndexView& index, storage::CheckReport& report) {
  for (const std::size_t partition_id : database.partition_ids()) {
    if (!index.ready(partition_id)) return {};  // still being built, so it need not be complete
  }
  OCTAVO_TRY(const std::uint64_t expected,
             compare_entries(database, *index.definition, report,
                             [&](const storage::DocumentView& document, const storage::Snapshot& snapshot,
                                 std::string_view key, std::string_view value) -> Expected<bool> {
                               const std::uint32_t number = index.numbers[database.locate_document(document.id)];
                               const auto partition_key = partitioning::partition_key_of(document.id, true);
                               OCTAVO_TRY(const auto row,
                                          snapshot.index_entry(LocalIndexes::entry_prefix(number, partition_key) +
                                                               std::string(key)));
                               return row && *row == value;
                             }));
  std::uint64_t rows = 0;
  for (const std::size_t partition_id : database.partition_ids()) {
    OCTAVO_TRY(const storage::Snapshot snapshot, database.snapshot(partition_id));
    std::string prefix;
    const std::uint32_t number = index.numbers[partition_id];
    for (int shift = 24; shift >= 0; shift -= 8) prefix.push_back(static_cast<char>(number >> shift));
    auto cursor = snapshot.index_entries();
    for (auto row = cursor.seek(prefix); row && row->key.starts_with(prefix); row = cursor.next()) ++rows;
  }
  compare_count(*index.definition, rows, expected, report);
  return {};
}

Expected<void> check_global(partitioning::Database& database, const IndexView& index, storage::CheckReport& report) {
  OCTAVO_TRY(const storage::ReadTransaction transaction, index.global->read());
  OCTAVO_TRY(const std::uint64_t expected,
             compare_entries(database, *index.definition, report,
                             [&](const storage::DocumentView&, const storage::Snapshot&, std::string_view key,
                                 std::string_view value) -> Expected<bool> {
                               OCTAVO_TRY(const auto row,
                                          storage::long_key::get(transaction, index.global->entries(), key));
                               return row && *row == value;
                             }));
  const std::uint64_t rows = storage::long_key::count(transaction, index.global->entries());
  compare_count(*index.definition, rows, expected, report);
  OCTAVO_TRY(const std::uint64_t counted, index.global->entry_count(transaction));
  if (counted != rows) {
    report.add(fmt::format("{}: says {} entries and has {}", label_of(*index.definition), counted, rows));
  }
  const std::array trees{index.global->entries(), index.global->by_document()};
  if (const auto problem = storage::long_key::find_damaged_levels(transaction, trees)) {
    report.add(fmt::format("{}: {}", label_of(*index.definition), *problem));
  }
  return {};
}

// The entries of search indexes could only be checked by running the functions on each document; this checks that the
// files can be read and contain no state unknown to the database.
Task<Expected<void>> check_search_indexes(partitioning::Database& database, FeedIndexes& indexes,
                                          storage::CheckReport& report,
                                          std::chrono::steady_clock::time_point deadline) {
  OCTAVO_CO_TRY(const std::shared_ptr<const FeedIndexCatalog> at_start, indexes.catalog());
  for (const FeedIndexView& view : at_start->indexes) {
    if (view.kind != search::search_kind_name) continue;
    const std::string label =
        fmt::format("search index '{}' of {}", view.definition.name, view.definition.design_document);
    const auto index = std::dynamic_pointer_cast<search::SearchIndex>(view.index);
    if (!index) {
      report.add(fmt::format("{}: cannot be opened: {}", label, view.failure ? reason_of(*view.failure) : ""));
      continue;
    }
    auto current = co_await indexes.wait_until_current(index, database.watermark(), deadline);
    if (!current) {
      report.add(fmt::format("{}: cannot be brought up to date: {}", label, reason_of(current.error())));
      continue;
    }
    const auto info = index->info();
    if (!info) {
      report.add(fmt::format("{}: {}", label, reason_of(info.error())));
    } else if (info->committed_sequence > database.committed_sequence()) {
      report.add(fmt::format("{}: knows changes up to {}, the database has {}", label, info->committed_sequence,
                             database.committed_sequence()));
    }
  }
  co_return Expected<void>{};
}

}  // namespace

Task<Expected<void>> check_indexes(DatabaseServices& services, storage::CheckReport& report) {
  partitioning::Database& database = services.database();
  MangoIndexes& indexes = services.indexes();
  OCTAVO_CO_TRY(const std::shared_ptr<const IndexCatalog> at_start, indexes.catalog());
  const auto deadline = std::chrono::steady_clock::now() + catch_up_max;
  for (const IndexView& index : at_start->indexes) {
    Expected<void> checked;
    if (index.is_local()) {
      checked = check_local(database, index, report);
    } else {
      OCTAVO_CO_TRY_VOID(co_await indexes.wait_until_ready(index.definition->identity, 0, deadline));
      OCTAVO_CO_TRY_VOID(co_await indexes.wait_until_current(index.global, database.watermark(), deadline));
      checked = check_global(database, index, report);
    }
    if (!checked) co_return checked;
  }
  if (at_start->automatic) {
    auto checked = check_automatic_index(database, *at_start->automatic, report);
    if (!checked) co_return checked;
  }
  for (const IndexView& absence : at_start->absences) {
    auto checked = check_automatic_index(database, absence, report);
    if (!checked) co_return checked;
  }
  FeedIndexes& followers = services.feed_indexes();
  OCTAVO_CO_TRY(const auto followed, followers.catalog());
  for (const FeedIndexView& followed_index : followed->indexes) {
    const auto group = std::dynamic_pointer_cast<views::ViewGroup>(followed_index.index);
    if (!group) continue;
    auto current = co_await followers.wait_until_current(group, database.watermark(), deadline);
    // A function that cannot be run tells nothing about the files.
    if (!current &&
        (current.error().code == ErrorCode::function_failed || current.error().code == ErrorCode::function_stopped)) {
      continue;
    }
    if (!current) co_return current;
    const std::string label = fmt::format("views of {}", followed_index.definition.design_document);
    auto checked = views::check_view_group(database, *group, label, report);
    if (!checked) co_return checked;
  }
  co_return co_await check_search_indexes(database, followers, report, deadline);
}

}  // namespace octavo::query
