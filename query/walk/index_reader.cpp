#include "query/walk/index_reader.h"

#include "base/assert.h"
#include "base/byte_codec.h"
#include "query/index/automatic_index.h"
#include "query/index/automatic_rows.h"
#include "query/index/local/local_indexes.h"

namespace octavo::query {

namespace {

// The number in the snapshot: a split creates partitions that the view used for planning does not have.
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
    source->cursor.emplace(*source->transaction, index.global->entries());
    source->tree = index.global->entries();
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

Expected<void> IndexReader::add_local(partitioning::Database& database, const IndexView& index,
                                      std::size_t partition_id, std::string_view partition_key) {
  std::uint32_t number = partition_id < index.numbers.size() ? index.numbers[partition_id] : 0;
  OCTAVO_TRY(auto snapshot, database.snapshot(partition_id));
  OCTAVO_TRY(bool ready, LocalIndexes::is_ready(snapshot, number));
  if (!ready) {
    number = number_in(snapshot, *index.definition);
    ready = number != 0;
  }
  if (!ready) {
    return fail(ErrorCode::no_usable_index,
                "The index " + index.definition->name + " was deleted; send the query again.");
  }
  auto source = std::make_unique<Source>();
  if (index.definition->automatic_path) {
    bool scoped = false;
    if (!partition_key.empty()) {
      OCTAVO_TRY(const auto mark, snapshot.index_entry(AutomaticRows::scoped_mark(number, partition_key)));
      scoped = mark.has_value();
      if (!scoped) among_others_.assign(partition_key).append(1, ':');
    }
    source->prefix =
        scoped ? AutomaticRows::scoped_prefix(number, partition_key) : AutomaticRows::everything_prefix(number);
    append_key_u64(source->prefix, *index.definition->automatic_path);
  } else {
    source->prefix = LocalIndexes::entry_prefix(number, partition_key);
  }
  source->snapshot.emplace(std::move(snapshot));
  source->cursor.emplace(source->snapshot->index_entries());
  sources_.push_back(std::move(source));
  return {};
}

std::optional<storage::KeyValue> IndexReader::Source::strip(std::optional<storage::KeyValue> found) const {
  if (!found || !found->key.starts_with(prefix)) return std::nullopt;
  found->key.remove_prefix(prefix.size());
  return found;
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
  for (const auto& source : sources_) {
    sought_.assign(source->prefix).append(key);
    source->row = source->strip(source->cursor->seek(sought_));
  }
  return choose(false);
}

std::optional<storage::KeyValue> IndexReader::seek_before(std::string_view key) {
  for (const auto& source : sources_) {
    sought_.assign(source->prefix).append(key);
    auto row = source->cursor->seek_back(sought_);
    if (row && row->key == sought_) row = source->cursor->previous();
    source->row = source->strip(row);
  }
  return choose(true);
}

std::optional<storage::KeyValue> IndexReader::step(bool down) {
  if (sources_.empty()) return std::nullopt;
  OCTAVO_ASSERT(current_ < sources_.size());
  Source& source = *sources_[current_];
  source.row = source.strip(down ? source.cursor->previous() : source.cursor->next());
  return sources_.size() == 1 ? source.row : choose(down);
}

Expected<bool> IndexReader::has_entry(std::uint64_t path, std::string_view key, std::string_view document_id) const {
  OCTAVO_ASSERT(current_ < sources_.size());
  const Source& source = *sources_[current_];
  OCTAVO_ASSERT(source.snapshot && source.prefix.size() >= sizeof path);
  const std::string_view rows = std::string_view(source.prefix).substr(0, source.prefix.size() - sizeof path);
  std::string row;
  row.reserve(source.prefix.size() + key.size() + document_id.size());
  row.append(rows);
  append_key_u64(row, path);
  row.append(key).append(document_id);
  OCTAVO_TRY(const auto found, source.snapshot->index_entry(row));
  return found.has_value();
}

std::optional<storage::RowsEstimate> IndexReader::range_size(std::string_view begin, std::string_view end,
                                                             storage::Closeness closeness) const {
  storage::RowsEstimate sum{.rows = 0, .exact = true};
  for (const auto& source : sources_) {
    const std::string low = source->prefix + std::string(begin);
    const std::string high = source->prefix + std::string(end);
    const auto size = source->snapshot ? source->snapshot->index_entries_estimate(low, high, closeness)
                                       : source->transaction->rows_estimate(source->tree, low, high, closeness);
    if (!size) return std::nullopt;
    sum.rows += size->rows;
    sum.exact = sum.exact && size->exact;
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
