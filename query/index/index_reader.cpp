#include "query/index/index_reader.h"

#include "query/index/local_indexes.h"

namespace octavo::query {

Expected<IndexReader> IndexReader::open(partitioning::Database& database, const IndexView& index,
                                        std::string_view partition_key) {
  IndexReader reader;
  if (index.global) {
    OCTAVO_TRY(auto transaction, index.global->read());
    reader.transaction_.emplace(std::move(transaction));
    reader.cursor_.emplace(*reader.transaction_, index.global->entries());
    return reader;
  }
  const std::size_t place = database.locate_partition_key(partition_key);
  const std::uint32_t number = place < index.numbers.size() ? index.numbers[place] : 0;
  OCTAVO_TRY(auto snapshot, database.snapshot(place));
  OCTAVO_TRY(const bool ready, LocalIndexes::is_ready(snapshot, number));
  if (!ready) {
    return fail(ErrorCode::no_usable_index,
                "The index " + index.definition->name + " was deleted; send the query again.");
  }
  reader.snapshot_.emplace(std::move(snapshot));
  reader.prefix_ = LocalIndexes::entry_prefix(number, partition_key);
  reader.cursor_.emplace(reader.snapshot_->index_entries());
  return reader;
}

std::optional<storage::KeyValue> IndexReader::strip(std::optional<storage::KeyValue> row) const {
  if (!row || !row->key.starts_with(prefix_)) return std::nullopt;
  row->key.remove_prefix(prefix_.size());
  return row;
}

std::optional<storage::KeyValue> IndexReader::seek(std::string_view key) {
  sought_.assign(prefix_).append(key);
  return strip(cursor_->seek(sought_));
}

std::optional<storage::KeyValue> IndexReader::seek_before(std::string_view key) {
  sought_.assign(prefix_).append(key);
  auto row = cursor_->seek_back(sought_);
  if (row && row->key == sought_) row = cursor_->previous();
  return strip(row);
}

}  // namespace octavo::query
