#include "storage/document/logical_rows.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "base/read_failure.h"
#include "storage/document/document_record.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::storage::logical_rows {
namespace {

/// How many sequences a new chunk has. There is room for some more, and as many as this leave the record at a time.
constexpr std::size_t chunk_filled = 48;
static_assert(chunk_filled <= chunk_max && chunk_filled < newest_max);
/// Chunks up to this size are merged with a neighbour if both have at most `chunk_filled`.
constexpr std::size_t chunk_small = chunk_filled / 2;
constexpr std::size_t former_rows_in_window = 64;

/// The chunk in `row`; nullopt: it is another kind of row, or of another logical partition.
Expected<std::optional<FeedChunk>> chunk_in(const std::optional<KeyValue>& row, std::string_view name) {
  if (!row) return std::nullopt;
  const auto key = parse_logical_row_key(row->key);
  if (!key || key->kind != LogicalRowKey::Kind::chunk || key->name != name) return std::nullopt;
  OCTAVO_TRY(FeedChunk chunk, decode_feed_chunk(key->first, row->value));
  return chunk;
}

/// The last chunk whose row begins at or below `sequence`.
Expected<std::optional<FeedChunk>> chunk_at(const Transaction& transaction, Tree logical, std::string_view name,
                                            Sequence sequence) {
  Cursor cursor(transaction, logical);
  return chunk_in(cursor.seek_back(feed_chunk_key(name, sequence)), name);
}

/// The first chunk whose row begins above `sequence`.
Expected<std::optional<FeedChunk>> chunk_above(const Transaction& transaction, Tree logical, std::string_view name,
                                               Sequence sequence) {
  Cursor cursor(transaction, logical);
  return chunk_in(cursor.seek(feed_chunk_key(name, sequence + 1)), name);
}

Expected<void> put_chunk(WriteTransaction& transaction, Tree logical, std::string_view name, const FeedChunk& chunk) {
  OCTAVO_ASSERT(!chunk.sequences.empty() && chunk.sequences.size() <= chunk_max);
  std::string bytes;
  encode_feed_chunk(bytes, chunk);
  return transaction.put(logical, feed_chunk_key(name, chunk.first), bytes);
}

Expected<void> erase_chunk(WriteTransaction& transaction, Tree logical, std::string_view name, Sequence first) {
  OCTAVO_TRY_VOID(transaction.erase(logical, feed_chunk_key(name, first)));
  return {};
}

void append_to(std::vector<Sequence>& sequences, const std::vector<Sequence>& more) {
  sequences.insert(sequences.end(), more.begin(), more.end());
}

/// Stores a chunk that has lost a sequence.
Expected<void> shrink_chunk(WriteTransaction& transaction, Tree logical, std::string_view name, FeedChunk chunk) {
  if (chunk.sequences.empty()) return erase_chunk(transaction, logical, name, chunk.first);
  const auto fits = [&](const std::optional<FeedChunk>& neighbour) {
    return neighbour && neighbour->sequences.size() + chunk.sequences.size() <= chunk_filled;
  };
  if (chunk.sequences.size() <= chunk_small) {
    std::optional<FeedChunk> neighbour;
    if (chunk.first > 0) {
      OCTAVO_TRY(neighbour, chunk_at(transaction, logical, name, chunk.first - 1));
    }
    if (fits(neighbour)) {
      OCTAVO_TRY_VOID(erase_chunk(transaction, logical, name, chunk.first));
      append_to(neighbour->sequences, chunk.sequences);
      return put_chunk(transaction, logical, name, *neighbour);
    }
    OCTAVO_TRY(neighbour, chunk_above(transaction, logical, name, chunk.first));
    if (fits(neighbour)) {
      OCTAVO_TRY_VOID(erase_chunk(transaction, logical, name, neighbour->first));
      append_to(chunk.sequences, neighbour->sequences);
    }
  }
  return put_chunk(transaction, logical, name, chunk);
}

/// Moves the oldest sequences into a chunk while there are too many for the record.
Expected<void> spill(WriteTransaction& transaction, Tree logical, std::string_view name,
                     std::vector<Sequence>& newest) {
  auto begin = newest.begin();
  while (static_cast<std::size_t>(newest.end() - begin) > newest_max) {
    const auto end = begin + static_cast<std::ptrdiff_t>(chunk_filled);
    OCTAVO_TRY_VOID(put_chunk(transaction, logical, name, FeedChunk{*begin, {begin, end}}));
    begin = end;
  }
  newest.erase(newest.begin(), begin);
  return {};
}

std::string sequence_key(Sequence sequence) {
  std::string key;
  append_key_u64(key, sequence);
  return key;
}

/// The sequence in a row of format 1 that has this prefix.
std::optional<Sequence> former_sequence(const std::optional<KeyValue>& row, std::string_view prefix) {
  if (!row || row->key.size() != prefix.size() + sizeof(Sequence) || !row->key.starts_with(prefix)) return std::nullopt;
  return read_key_u64(row->key.substr(prefix.size()));
}

/// The first sequence in `logical`. All that the logical partition has in format 1 are below it; rows at or above it
/// belong to others with the same prefix.
Expected<Sequence> former_end(const Transaction& transaction, const Trees& trees, std::string_view name,
                              const std::vector<Sequence>& newest) {
  OCTAVO_TRY(const auto chunk, chunk_above(transaction, trees.logical, name, 0));
  if (chunk && !chunk->sequences.empty()) return chunk->sequences.front();
  return newest.empty() ? std::numeric_limits<Sequence>::max() : newest.front();
}

/// The newest sequences in rows of format 1, descending.
Expected<std::vector<Sequence>> newest_former(const Transaction& transaction, const Trees& trees, std::string_view key,
                                              const std::vector<Sequence>& newest, std::size_t& rows_left) {
  std::vector<Sequence> found;
  const std::string prefix = partition_feed_prefix(key);
  Cursor cursor(transaction, trees.partitions);
  const auto last = cursor.seek_back(prefix + sequence_key(std::numeric_limits<Sequence>::max()));
  if (!former_sequence(last, prefix)) return found;
  OCTAVO_TRY(const Sequence end, former_end(transaction, trees, logical_name(key), newest));
  if (end == 0) return found;
  const auto row = cursor.seek_back(prefix + sequence_key(end - 1));
  for (auto sequence = former_sequence(row, prefix); sequence && rows_left > 0;
       sequence = former_sequence(cursor.previous(), prefix)) {
    --rows_left;
    const std::string feed_key = sequence_key(*sequence);
    OCTAVO_TRY(const auto record, transaction.get(trees.feed, feed_key));
    if (!record) continue;
    const auto change = decode_feed_row(feed_key, *record);
    if (change && in_logical_partition(change->id, key)) found.push_back(*sequence);
  }
  return found;
}

/// Moves the newest rows of format 1, which are below all sequences in `logical`.
Expected<void> move_former(WriteTransaction& transaction, const Trees& trees, std::string_view key,
                           std::vector<Sequence>& newest, std::size_t& rows_left) {
  if (rows_left == 0) return {};
  OCTAVO_TRY(std::vector<Sequence> moved, newest_former(transaction, trees, key, newest, rows_left));
  if (moved.empty()) return {};
  const std::string prefix = partition_feed_prefix(key);
  for (const Sequence sequence : moved) {
    OCTAVO_TRY_VOID(transaction.erase(trees.partitions, prefix + sequence_key(sequence)));
  }
  std::ranges::reverse(moved);
  const std::string name = logical_name(key);
  OCTAVO_TRY(const auto chunk, chunk_above(transaction, trees.logical, name, 0));
  if (!chunk) {
    append_to(moved, newest);
    newest = std::move(moved);
    return spill(transaction, trees.logical, name, newest);
  }
  for (auto begin = moved.begin(); begin != moved.end();) {
    const auto end = begin + std::min<std::ptrdiff_t>(moved.end() - begin, chunk_filled);
    OCTAVO_TRY_VOID(put_chunk(transaction, trees.logical, name, FeedChunk{*begin, {begin, end}}));
    begin = end;
  }
  return {};
}

/// The owner of a unique key as format 1 stored it. Another logical partition may have the same row.
Expected<std::optional<std::string_view>> former_owner(const Transaction& transaction, const Trees& trees,
                                                       std::string_view key, std::string_view digest) {
  OCTAVO_TRY(const auto owner, transaction.get(trees.partitions, partition_unique_key(key, digest)));
  if (!owner || !in_logical_partition(*owner, key)) return std::nullopt;
  return owner;
}

}  // namespace

Expected<DocumentStatistics> statistics(const Transaction& transaction, const Trees& trees, std::string_view key) {
  OCTAVO_TRY(const Partition partition, load(transaction, trees, key));
  return partition.record.statistics;
}

Expected<Sequence> last_change(const Transaction& transaction, const Trees& trees, std::string_view key) {
  OCTAVO_TRY(const Partition partition, load(transaction, trees, key));
  return last_change(transaction, trees, key, partition);
}

Expected<Sequence> last_change(const Transaction& transaction, const Trees& trees, std::string_view key,
                               const Partition& partition) {
  if (!partition.record.newest.empty()) return partition.record.newest.back();
  Feed older(transaction, trees, key, {});
  return older.seek_back(std::numeric_limits<Sequence>::max()).value_or(0);
}

Expected<std::optional<std::string_view>> unique_owner(const Transaction& transaction, const Trees& trees,
                                                       std::string_view key, std::string_view digest) {
  OCTAVO_TRY(const auto owner, transaction.get(trees.logical, unique_key_row(logical_name(key), digest)));
  if (owner) return owner;
  return former_owner(transaction, trees, key, digest);
}

Expected<void> for_each(const Transaction& transaction, const Trees& trees,
                        FunctionRef<void(std::string_view key, const DocumentStatistics&)> visit) {
  Cursor cursor(transaction, trees.logical);
  for (auto row = cursor.first(); row;) {
    const auto row_key = parse_logical_row_key(row->key);
    if (!row_key) return fail(ErrorCode::corrupted, "A stored logical partition is damaged.");
    if (row_key->kind == LogicalRowKey::Kind::record) {
      OCTAVO_TRY(const LogicalRecord record, decode_logical_record(row_key->name, row->value));
      OCTAVO_TRY(const std::string_view key, key_of_logical_record(row_key->name, row->value));
      visit(key, record.statistics);
      row = cursor.next();
    } else {
      // Skips the chunks and unique keys: these are the greatest rows of a logical partition.
      row = cursor.seek(unique_key_row(row_key->name, std::string(16, '\xFF')) + '\0');
    }
  }
  LongKeyCursor former(transaction, trees.partitions);
  for (auto row = former.seek({}); row;) {
    if (const auto key = partition_of_statistics(row->key)) {
      OCTAVO_TRY(const DocumentStatistics statistics, decode_statistics(row->value));
      visit(*key, statistics);
      row = former.next();
    } else {
      // Skips the feed and the unique keys of the logical partitions with this hash.
      std::string next(row->key.substr(0, sizeof(std::uint64_t)));
      next.push_back('\xFF');
      row = former.seek(next);
    }
  }
  return {};
}

// --- Feed ---

Feed::Feed(const Transaction& transaction, const Trees& trees, std::string_view key)
    : transaction_(&transaction), trees_(trees), name_(logical_name(key)), former_prefix_(partition_feed_prefix(key)) {}

Feed::Feed(const Transaction& transaction, const Trees& trees, std::string_view key, std::vector<Sequence> newest)
    : Feed(transaction, trees, key) {
  newest_ = std::move(newest);
}

namespace {

/// Errors as a cursor reports them.
template <class Value>
Value value_or_throw(Expected<Value> value) {
  if (!value) throw ReadFailure(std::move(value).error());
  return *std::move(value);
}

/// The position of the first sequence that is not below `at_least`.
std::size_t position_from(const std::vector<Sequence>& sequences, Sequence at_least) {
  return static_cast<std::size_t>(std::ranges::lower_bound(sequences, at_least) - sequences.begin());
}

/// How many sequences are not above `at_most`.
std::size_t count_to(const std::vector<Sequence>& sequences, Sequence at_most) {
  return static_cast<std::size_t>(std::ranges::upper_bound(sequences, at_most) - sequences.begin());
}

}  // namespace

const std::vector<Sequence>& Feed::newest() {
  if (!newest_) {
    const auto stored = value_or_throw(transaction_->get(trees_.logical, name_));
    newest_ = stored ? value_or_throw(decode_logical_record(name_, *stored)).newest : std::vector<Sequence>();
  }
  return *newest_;
}

// The four functions fill the window with a part of the feed that has the sequence nearest to the one given, and go to
// its position; false: there is no such sequence.

bool Feed::open_former(Sequence at_least) {
  Cursor cursor(*transaction_, trees_.partitions);
  auto sequence = former_sequence(cursor.seek(former_prefix_ + sequence_key(at_least)), former_prefix_);
  if (!sequence) return false;
  const Sequence end = value_or_throw(former_end(*transaction_, trees_, name_, newest()));
  window_.clear();
  for (; sequence && *sequence < end && window_.size() < former_rows_in_window;
       sequence = former_sequence(cursor.next(), former_prefix_)) {
    window_.push_back(*sequence);
  }
  position_ = 0;
  return !window_.empty();
}

bool Feed::open_former_back(Sequence at_most) {
  Cursor cursor(*transaction_, trees_.partitions);
  auto sequence = former_sequence(cursor.seek_back(former_prefix_ + sequence_key(at_most)), former_prefix_);
  if (!sequence) return false;
  const Sequence end = value_or_throw(former_end(*transaction_, trees_, name_, newest()));
  if (end == 0) return false;
  if (*sequence >= end) {
    sequence = former_sequence(cursor.seek_back(former_prefix_ + sequence_key(end - 1)), former_prefix_);
  }
  window_.clear();
  for (; sequence && window_.size() < former_rows_in_window;
       sequence = former_sequence(cursor.previous(), former_prefix_)) {
    window_.push_back(*sequence);
  }
  if (window_.empty()) return false;
  std::ranges::reverse(window_);
  position_ = window_.size() - 1;
  return true;
}

bool Feed::open_chunk(Sequence at_least) {
  Cursor cursor(*transaction_, trees_.logical);
  const std::string key = feed_chunk_key(name_, at_least);
  auto chunk = value_or_throw(chunk_in(cursor.seek_back(key), name_));
  if (!chunk || chunk->sequences.empty() || chunk->sequences.back() < at_least) {
    chunk = value_or_throw(chunk_in(cursor.seek(key), name_));
  }
  if (!chunk) return false;
  window_ = std::move(chunk->sequences);
  position_ = position_from(window_, at_least);
  return position_ < window_.size();
}

bool Feed::open_chunk_back(Sequence at_most) {
  Cursor cursor(*transaction_, trees_.logical);
  auto chunk = value_or_throw(chunk_in(cursor.seek_back(feed_chunk_key(name_, at_most)), name_));
  if (chunk && (chunk->sequences.empty() || chunk->sequences.front() > at_most)) {
    chunk = value_or_throw(chunk_in(cursor.previous(), name_));
  }
  if (!chunk) return false;
  window_ = std::move(chunk->sequences);
  const std::size_t count = count_to(window_, at_most);
  if (count == 0) return false;
  position_ = count - 1;
  return true;
}

std::optional<Sequence> Feed::seek(Sequence at_least) {
  const std::vector<Sequence>& last = newest();
  const bool older = last.empty() || at_least < last.front();
  if (!older || (!open_former(at_least) && !open_chunk(at_least))) {
    window_ = last;
    position_ = position_from(window_, at_least);
    if (position_ == window_.size()) window_.clear();
  }
  return window_.empty() ? std::nullopt : std::optional(window_[position_]);
}

std::optional<Sequence> Feed::seek_back(Sequence at_most) {
  const std::vector<Sequence>& last = newest();
  if (!last.empty() && last.front() <= at_most) {
    window_ = last;
    position_ = count_to(window_, at_most) - 1;
  } else if (!open_chunk_back(at_most) && !open_former_back(at_most)) {
    window_.clear();
  }
  return window_.empty() ? std::nullopt : std::optional(window_[position_]);
}

std::optional<Sequence> Feed::next() {
  if (window_.empty()) return std::nullopt;
  if (position_ + 1 < window_.size()) return window_[++position_];
  const Sequence here = window_.back();
  if (here < std::numeric_limits<Sequence>::max()) return seek(here + 1);
  window_.clear();
  return std::nullopt;
}

std::optional<Sequence> Feed::previous() {
  if (window_.empty()) return std::nullopt;
  if (position_ > 0) return window_[--position_];
  const Sequence here = window_.front();
  if (here > 0) return seek_back(here - 1);
  window_.clear();
  return std::nullopt;
}

// --- writing ---

Expected<Partition> load(const Transaction& transaction, const Trees& trees, std::string_view key) {
  Partition partition;
  const std::string name = logical_name(key);
  OCTAVO_TRY(const auto stored, transaction.get(trees.logical, name));
  if (stored) {
    OCTAVO_TRY(partition.record, decode_logical_record(name, *stored));
    return partition;
  }
  OCTAVO_TRY(const auto former, long_key::get(transaction, trees.partitions, partition_statistics_key(key)));
  if (former) {
    OCTAVO_TRY(partition.record.statistics, decode_statistics(*former));
    partition.in_format_1 = true;
  }
  return partition;
}

Expected<void> add(WriteTransaction& transaction, const Trees& trees, std::string_view key, Partition& partition,
                   Sequence sequence) {
  std::vector<Sequence>& newest = partition.record.newest;
  OCTAVO_ASSERT(newest.empty() || newest.back() < sequence);
  partition.changed = true;
  newest.push_back(sequence);
  if (newest.size() <= newest_max) return {};
  return spill(transaction, trees.logical, logical_name(key), newest);
}

Expected<void> insert(WriteTransaction& transaction, const Trees& trees, std::string_view key, Partition& partition,
                      Sequence sequence) {
  std::vector<Sequence>& newest = partition.record.newest;
  const std::string name = logical_name(key);
  partition.changed = true;
  std::optional<FeedChunk> chunk;
  if (newest.empty() || sequence < newest.front()) {
    OCTAVO_TRY(chunk, chunk_at(transaction, trees.logical, name, sequence));
    if (!chunk) {
      OCTAVO_TRY(chunk, chunk_above(transaction, trees.logical, name, sequence));
    }
  }
  if (!chunk) {
    newest.insert(std::ranges::lower_bound(newest, sequence), sequence);
    return spill(transaction, trees.logical, name, newest);
  }
  if (sequence < chunk->first) {
    OCTAVO_TRY_VOID(erase_chunk(transaction, trees.logical, name, chunk->first));
    chunk->first = sequence;
  }
  std::vector<Sequence>& sequences = chunk->sequences;
  sequences.insert(std::ranges::lower_bound(sequences, sequence), sequence);
  if (sequences.size() > chunk_max) {
    const auto middle = sequences.begin() + static_cast<std::ptrdiff_t>(sequences.size() / 2);
    OCTAVO_TRY_VOID(put_chunk(transaction, trees.logical, name, FeedChunk{*middle, {middle, sequences.end()}}));
    sequences.erase(middle, sequences.end());
  }
  return put_chunk(transaction, trees.logical, name, *chunk);
}

Expected<void> remove(WriteTransaction& transaction, const Trees& trees, std::string_view key, Partition& partition,
                      Sequence sequence) {
  const auto erase_from = [sequence](std::vector<Sequence>& sequences) {
    const auto found = std::ranges::lower_bound(sequences, sequence);
    if (found == sequences.end() || *found != sequence) return false;
    sequences.erase(found);
    return true;
  };
  partition.changed = true;
  if (erase_from(partition.record.newest)) return {};
  const std::string name = logical_name(key);
  OCTAVO_TRY(auto chunk, chunk_at(transaction, trees.logical, name, sequence));
  if (chunk && erase_from(chunk->sequences)) {
    return shrink_chunk(transaction, trees.logical, name, *std::move(chunk));
  }
  OCTAVO_TRY_VOID(transaction.erase(trees.partitions, partition_feed_prefix(key) + sequence_key(sequence)));
  return {};
}

Expected<void> store(WriteTransaction& transaction, const Trees& trees, std::string_view key, Partition& partition,
                     std::size_t& former_rows_left) {
  if (!partition.changed) return {};
  if (partition.in_format_1) {
    OCTAVO_TRY_VOID(long_key::erase(transaction, trees.partitions, partition_statistics_key(key)));
  }
  LogicalRecord& record = partition.record;
  const std::string name = logical_name(key);
  if (record.statistics.document_count == 0 && record.statistics.deleted_count == 0) {
    OCTAVO_TRY_VOID(transaction.erase(trees.logical, name));
    return {};
  }
  OCTAVO_TRY_VOID(move_former(transaction, trees, key, record.newest, former_rows_left));
  std::string bytes;
  encode_logical_record(bytes, key, record);
  return transaction.put(trees.logical, name, bytes);
}

Expected<void> take_unique(WriteTransaction& transaction, const Trees& trees, std::string_view key,
                           std::string_view digest, std::string_view id) {
  OCTAVO_TRY_VOID(transaction.put(trees.logical, unique_key_row(logical_name(key), digest), id));
  OCTAVO_TRY(const auto former, former_owner(transaction, trees, key, digest));
  if (former) OCTAVO_TRY_VOID(transaction.erase(trees.partitions, partition_unique_key(key, digest)));
  return {};
}

Expected<void> release_unique(WriteTransaction& transaction, const Trees& trees, std::string_view key,
                              std::string_view digest, std::string_view id) {
  const std::string row = unique_key_row(logical_name(key), digest);
  OCTAVO_TRY(const auto owner, transaction.get(trees.logical, row));
  if (owner) {
    if (*owner == id) OCTAVO_TRY_VOID(transaction.erase(trees.logical, row));
    return {};
  }
  OCTAVO_TRY(const auto former, former_owner(transaction, trees, key, digest));
  if (former && *former == id) {
    OCTAVO_TRY_VOID(transaction.erase(trees.partitions, partition_unique_key(key, digest)));
  }
  return {};
}

}  // namespace octavo::storage::logical_rows
