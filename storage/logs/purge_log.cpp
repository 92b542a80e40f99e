#include "storage/logs/purge_log.h"

#include <algorithm>
#include <optional>

#include "base/assert.h"
#include "base/byte_codec.h"

namespace octavo::storage::purge_log {
namespace {

constexpr char purge_prefix = 'p';
constexpr std::string_view purge_extent_key = "purges";  // shorter than the rows' keys

struct PurgeExtent {
  Sequence since = 0;
  std::uint64_t count = 0;
  std::uint64_t rows = 0;
};

std::string purge_key(Sequence sequence) {
  std::string key(1, purge_prefix);
  append_key_u64(key, sequence);
  return key;
}

bool is_purge_key(std::string_view key) {
  return key.size() == 1 + sizeof(Sequence) && key.front() == purge_prefix;
}

Expected<std::optional<PurgeExtent>> read_purge_extent(const Transaction& transaction, Tree meta) {
  OCTAVO_TRY(const auto record, transaction.get(meta, purge_extent_key));
  if (!record) return std::nullopt;
  ByteReader reader(*record);
  PurgeExtent extent;
  extent.since = reader.u64();
  extent.count = reader.u64();
  extent.rows = reader.u64();
  if (!reader.ok()) return fail(ErrorCode::corrupted, "The extent of a log of purges is damaged.");
  return extent;
}

Expected<void> write_purge_extent(WriteTransaction& transaction, Tree meta, const PurgeExtent& extent) {
  std::string record;
  ByteWriter writer(record);
  writer.u64(extent.since);
  writer.u64(extent.count);
  writer.u64(extent.rows);
  return transaction.put(meta, purge_extent_key, record);
}

}  // namespace

Expected<void> begin_group(WriteTransaction& transaction, Tree meta, const PartitionCounters& counters) {
  if (counters.purge_count == 0) return {};
  OCTAVO_TRY(const auto extent, read_purge_extent(transaction, meta));
  if (extent && extent->count == counters.purge_count) return {};
  return write_purge_extent(transaction, meta,
                            {counters.last_sequence, counters.purge_count, extent ? extent->rows : 0});
}

Expected<void> append(WriteTransaction& transaction, Tree meta, const PartitionCounters& counters, Sequence sequence,
                      std::string_view id) {
  OCTAVO_ASSERT(sequence != 0 && counters.purge_count != 0);
  OCTAVO_TRY(const auto known, read_purge_extent(transaction, meta));
  PurgeExtent extent = known.value_or(PurgeExtent{});
  if (extent.count + 1 != counters.purge_count) extent.since = sequence - 1;
  extent.count = counters.purge_count;
  if (!id.empty()) {
    OCTAVO_TRY_VOID(transaction.put(meta, purge_key(sequence), id));
    ++extent.rows;
  }
  if (extent.rows > rows_max) {
    std::string oldest;
    {
      Cursor cursor(transaction, meta);
      if (const auto row = cursor.seek(purge_key(0)); row && is_purge_key(row->key)) oldest = row->key;
    }
    if (!oldest.empty()) {
      OCTAVO_TRY_VOID(transaction.erase(meta, oldest));
      extent.since = std::max(extent.since, read_key_u64(std::string_view(oldest).substr(1)));
      --extent.rows;
    }
  }
  return write_purge_extent(transaction, meta, extent);
}

Expected<Sequence> complete_since(const Transaction& transaction, Tree meta, const PartitionCounters& counters) {
  if (counters.purge_count == 0) return Sequence{0};
  OCTAVO_TRY(const auto extent, read_purge_extent(transaction, meta));
  return extent && extent->count == counters.purge_count ? extent->since : counters.last_sequence;
}

void append_purged(const Transaction& transaction, Tree meta, Sequence sequence, std::vector<std::string>& ids) {
  Cursor cursor(transaction, meta);
  auto row = cursor.seek(purge_key(sequence));
  if (row && row->key == purge_key(sequence)) row = cursor.next();
  for (; row && is_purge_key(row->key); row = cursor.next()) ids.emplace_back(row->value);
}

}  // namespace octavo::storage::purge_log
