#include "query/walk/index_reader.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "query/collation/sort_key.h"
#include "query/index/automatic_index.h"
#include "query/index/automatic_rows.h"
#include "query/index/local/local_indexes.h"

namespace octavo::query {

namespace {

// The keys of all values, which come after `missing`.
constexpr std::string_view first_value{"\x03"};

std::uint32_t number_in(const storage::Snapshot& snapshot, const IndexDefinition& index) {
  // A path uses the entries of its policy's index only.
  return LocalIndexes::find_ready(
      snapshot, index.automatic_path ? automatic_definition(index.automatic)->identity : index.identity);
}

}  // namespace

Expected<IndexReader> IndexReader::open(partitioning::Database& database, const IndexView& index,
                                        const IndexScope& scope) {
  IndexReader reader;
  if (index.global) {
    // Before the transaction begins, which then has at least what this promises.
    reader.exact_through_ = index.global->complete_through();
    OCTAVO_TRY(auto transaction, index.global->read());
    auto source = std::make_unique<Source>();
    source->transaction.emplace(std::move(transaction));
    source->tree = index.global->entries();
    source->entries.emplace(std::string(), storage::LongKeyCursor(*source->transaction, source->tree));
    reader.sources_.push_back(std::move(source));
    return reader;
  }
  if (!scope.partition_key.empty()) {
    OCTAVO_TRY_VOID(
        reader.add_local(database, index, database.locate_partition_key(scope.partition_key), scope.partition_key));
    return reader;
  }
  if (scope.partition_id) {
    OCTAVO_TRY_VOID(reader.add_local(database, index, *scope.partition_id, {}));
    return reader;
  }
  for (const std::size_t partition_id : database.partition_ids()) {
    OCTAVO_TRY_VOID(reader.add_local(database, index, partition_id, {}));
  }
  return reader;
}

// The number of an index that is ready. A split creates partitions that the view used for planning does not have.
Expected<std::uint32_t> IndexReader::find_number(const storage::Snapshot& snapshot,
                                                 std::span<const std::uint32_t> numbers, std::size_t partition_id,
                                                 const IndexDefinition& index) {
  const std::uint32_t known = partition_id < numbers.size() ? numbers[partition_id] : 0;
  OCTAVO_TRY(const bool ready, LocalIndexes::is_ready(snapshot, known));
  const std::uint32_t number = ready ? known : number_in(snapshot, index);
  if (number != 0) return number;
  return fail(ErrorCode::no_usable_index, "The index " + index.name + " was deleted; send the query again.");
}

// Ids begin with their partition key, so those of one logical partition are adjacent.
EntryRange IndexReader::absences_in(const storage::Snapshot& snapshot, std::uint32_t number, std::uint64_t path,
                                    std::string_view partition_key) {
  std::string prefix = AutomaticRows::everything_prefix(number);
  append_key_u64(prefix, path);
  if (partition_key.empty()) return {std::move(prefix), snapshot.index_entries()};
  std::string begin;
  append_sort_key(begin, SortSentinel::missing);
  begin += partition_key;
  std::string end = begin + static_cast<char>(':' + 1);
  begin += ':';
  return {std::move(prefix), snapshot.index_entries(), std::move(begin), std::move(end)};
}

Expected<void> IndexReader::add_local(partitioning::Database& database, const IndexView& index,
                                      std::size_t partition_id, std::string_view partition_key) {
  const IndexDefinition& definition = *index.definition;
  OCTAVO_TRY(auto snapshot, database.snapshot(partition_id));
  OCTAVO_TRY(const std::uint32_t number, find_number(snapshot, index.numbers, partition_id, definition));
  std::string prefix;
  if (definition.automatic_path) {
    bool scoped = false;
    if (!partition_key.empty()) {
      OCTAVO_TRY(const auto mark, snapshot.index_entry(AutomaticRows::scoped_mark(number, partition_key)));
      scoped = mark.has_value();
      if (!scoped) among_others_.assign(partition_key).append(1, ':');
    }
    prefix = scoped ? AutomaticRows::scoped_prefix(number, partition_key) : AutomaticRows::everything_prefix(number);
    append_key_u64(prefix, *definition.automatic_path);
  } else {
    prefix = LocalIndexes::entry_prefix(number, partition_key);
  }
  auto source = std::make_unique<Source>();
  source->snapshot.emplace(std::move(snapshot));
  source->entries.emplace(std::move(prefix), source->snapshot->index_entries());
  if (definition.absence) {
    OCTAVO_TRY(const std::uint32_t absences,
               find_number(*source->snapshot, index.absence_numbers, partition_id, *definition.absence));
    source->absences = absences_in(*source->snapshot, absences, *definition.automatic_path, partition_key);
  }
  sources_.push_back(std::move(source));
  return {};
}

void IndexReader::Source::seek(std::string_view key) {
  row = absences ? absences->seek(key) : std::nullopt;
  is_absent = row.has_value();
  if (!row) row = entries->seek(key);
}

void IndexReader::Source::seek_before(std::string_view key) {
  row = entries->seek_before(key);
  is_absent = !row && absences;
  if (is_absent) row = absences->seek_before(key);
}

void IndexReader::Source::step(bool down) {
  if (down) {
    row = is_absent ? absences->previous() : entries->previous();
    if (row || is_absent || !absences) return;
    is_absent = true;
    row = absences->seek_before(first_value);
  } else {
    row = is_absent ? absences->next() : entries->next();
    if (row || !is_absent) return;
    is_absent = false;
    row = entries->seek({});
  }
}

// The next entry among the present entries of all sources.
std::optional<storage::KeyValue> IndexReader::choose(bool down) {
  std::optional<storage::KeyValue> best;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const auto& row = sources_[i]->row;
    if (!row || (best && (down ? row->key <= best->key : row->key >= best->key))) continue;
    best = row;
    current_ = i;
  }
  return best;
}

std::optional<storage::KeyValue> IndexReader::seek(std::string_view key) {
  for (const auto& source : sources_) source->seek(key);
  return choose(false);
}

std::optional<storage::KeyValue> IndexReader::seek_before(std::string_view key) {
  for (const auto& source : sources_) source->seek_before(key);
  return choose(true);
}

std::optional<storage::KeyValue> IndexReader::step(bool down) {
  if (sources_.empty()) return std::nullopt;
  OCTAVO_ASSERT(current_ < sources_.size());
  Source& source = *sources_[current_];
  source.step(down);
  return sources_.size() == 1 ? source.row : choose(down);
}

Expected<bool> IndexReader::has_entry(std::uint64_t path, std::string_view key, std::string_view document_id) const {
  OCTAVO_ASSERT(current_ < sources_.size());
  const Source& source = *sources_[current_];
  const std::string& prefix = source.entries->prefix();
  OCTAVO_ASSERT(source.snapshot && prefix.size() >= sizeof path);
  const std::string_view rows = std::string_view(prefix).substr(0, prefix.size() - sizeof path);
  std::string row;
  row.reserve(prefix.size() + key.size() + document_id.size());
  row.append(rows);
  append_key_u64(row, path);
  row.append(key).append(document_id);
  OCTAVO_TRY(const auto found, source.snapshot->index_entry(row));
  return found.has_value();
}

std::optional<storage::RowsEstimate> IndexReader::range_size(std::string_view begin, std::string_view end,
                                                             storage::Closeness closeness) const {
  storage::RowsEstimate sum{.rows = 0, .exact = true};
  const auto add = [&](const Source& source, const KeyRange& rows) {
    const auto size = source.snapshot ? source.snapshot->index_entries_estimate(rows.begin, rows.end, closeness)
                                      : source.transaction->rows_estimate(source.tree, rows.begin, rows.end, closeness);
    if (!size) return false;
    sum.rows += size->rows;
    sum.exact = sum.exact && size->exact;
    return true;
  };
  for (const auto& source : sources_) {
    if (!add(*source, source->entries->rows(begin, end))) return std::nullopt;
    if (!source->absences || begin >= first_value) continue;
    if (!add(*source, source->absences->rows(begin, std::min(end, first_value)))) return std::nullopt;
  }
  return sum;
}

std::optional<std::string> IndexReader::beyond_others(const storage::KeyValue& entry, bool down) const {
  if (among_others_.empty()) return std::nullopt;
  ByteReader value(entry.value);
  const std::uint64_t id_size = value.varint();
  if (!value.ok() || id_size > entry.key.size()) return std::nullopt;
  const std::string_view id = entry.key.substr(entry.key.size() - id_size);
  if (id.starts_with(among_others_)) return std::nullopt;
  std::string target(entry.key.substr(0, entry.key.size() - id_size));
  const bool passed = down ? id < among_others_ : id > among_others_;
  if (down) {
    // If the query's ids of this value are below, continue with them; if they would be above, leave this value.
    if (!passed) target.append(among_others_, 0, among_others_.size() - 1).append(1, ':' + 1);
  } else if (passed) {
    target += '\xFF';
  } else {
    target += among_others_;
  }
  return target;
}

}  // namespace octavo::query
