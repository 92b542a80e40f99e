#include "storage/document/expiry_schedule.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "storage/document/document_record.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::storage {

namespace {

constexpr char row_prefix = 'e';
constexpr std::size_t row_key_bytes = 1 + 2 * sizeof(std::uint64_t);
constexpr std::string_view extent_key = "ends";  // shorter than the rows' keys
/// Most bytes of bodies to read while all other writes wait.
constexpr std::size_t looked_at_bytes_max = 8 << 20;

enum class Stage : std::uint8_t {
  clearing = 1,  ///< rows of another rule, or from before a gap, still exist
  filling = 2,
  whole = 3
};

struct Extent {
  std::int64_t rule = 0;
  Sequence last = 0;
  Stage stage = Stage::clearing;
  std::string id;  ///< filling: the last document read
};

Expected<std::optional<Extent>> read_extent(const Transaction& transaction, Tree meta) {
  OCTAVO_TRY(const auto record, transaction.get(meta, extent_key));
  if (!record) return std::nullopt;
  ByteReader reader(*record);
  Extent extent;
  extent.rule = static_cast<std::int64_t>(reader.u64());
  extent.last = reader.u64();
  const std::uint8_t stage = reader.u8();
  extent.stage = static_cast<Stage>(stage);
  extent.id = reader.rest();
  if (!reader.ok() || stage < 1 || stage > 3) return fail(ErrorCode::corrupted, "A schedule of ends is damaged.");
  return extent;
}

Expected<void> write_extent(WriteTransaction& transaction, Tree meta, const Extent& extent) {
  std::string record;
  ByteWriter writer(record);
  writer.u64(static_cast<std::uint64_t>(extent.rule));
  writer.u64(extent.last);
  writer.u8(static_cast<std::uint8_t>(extent.stage));
  writer.bytes(extent.id);
  return transaction.put(meta, extent_key, record);
}

bool goes_on(const std::optional<Extent>& stored, const TimeToLive& rule, Sequence last_sequence) {
  return stored && stored->rule == rule.identity() && stored->last == last_sequence;
}

/// The extent that replaces the stored one. An empty partition has no documents to read.
Extent fresh_extent(const std::optional<Extent>& stored, const TimeToLive& rule, Sequence last_sequence) {
  const bool nothing_yet = !stored && last_sequence == 0;
  return Extent{rule.identity(), last_sequence, nothing_yet ? Stage::whole : Stage::clearing, {}};
}

Extent extent_after(std::optional<Extent> stored, const TimeToLive& rule, Sequence last_sequence) {
  return goes_on(stored, rule, last_sequence) ? *std::move(stored) : fresh_extent(stored, rule, last_sequence);
}

std::string row_key(std::int64_t expiration_s, Sequence sequence) {
  std::string key(1, row_prefix);
  append_key_u64(key, static_cast<std::uint64_t>(expiration_s));
  append_key_u64(key, sequence);
  return key;
}

bool is_row_key(std::string_view key) {
  return key.size() == row_key_bytes && key.front() == row_prefix;
}

std::optional<std::int64_t> expiration_of(const TimeToLive& rule, const DocumentView& document) {
  return document.deleted ? std::nullopt : rule.expires_s(document);
}

/// True: there are more.
Expected<bool> clear_rows(WriteTransaction& transaction, Tree meta, std::size_t rows_max) {
  std::vector<std::string> keys;
  {
    Cursor cursor(transaction, meta);
    for (auto row = cursor.seek(std::string_view(&row_prefix, 1));
         row && row->key.front() == row_prefix && keys.size() < rows_max; row = cursor.next()) {
      if (is_row_key(row->key)) keys.emplace_back(row->key);
    }
  }
  for (const auto& key : keys) OCTAVO_TRY_VOID(transaction.erase(meta, key));
  return keys.size() == rows_max;
}

/// True: there are more.
Expected<bool> fill_rows(WriteTransaction& transaction, Tree meta, Tree documents, const TimeToLive& rule,
                         Extent& extent, std::size_t rows_max) {
  std::vector<std::pair<std::string, std::string>> rows;
  bool more = false;
  {
    LongKeyCursor cursor(transaction, documents);
    auto row = cursor.seek(extent.id);
    if (row && row->key == extent.id) row = cursor.next();
    std::size_t looked_at = 0;
    std::size_t bytes = 0;
    std::string last;
    BodyBuffer buffer;
    for (; row && looked_at < rows_max && bytes < looked_at_bytes_max; row = cursor.next(), ++looked_at) {
      bytes += row->value.size();
      last = row->key;
      const auto record = decode_document(row->key, row->value);
      // A damaged document never expires; `octavo check` reports it.
      if (!record) continue;
      if (record->body.is_packed()) bytes += record->body.size();
      const auto document = open_document(*record, buffer);
      if (!document) continue;
      if (const auto expiration = expiration_of(rule, *document)) {
        rows.emplace_back(row_key(*expiration, document->sequence), row->key);
      }
    }
    more = row.has_value();
    extent.id = std::move(last);
  }
  std::ranges::sort(rows);                     // by page
  OCTAVO_ASSERT(!more || !extent.id.empty());  // the next part continues after it
  for (const auto& [key, id] : rows) OCTAVO_TRY_VOID(transaction.put(meta, key, id));
  return more;
}

}  // namespace

Expected<bool> ExpirySchedule::is_whole(const TimeToLive& rule, Sequence last_sequence) const {
  OCTAVO_TRY(auto stored, read_extent(transaction_, meta_));
  return extent_after(std::move(stored), rule, last_sequence).stage == Stage::whole;
}

Expected<bool> ExpirySchedule::has(std::int64_t expiration_s, const DocumentHead& document) const {
  OCTAVO_TRY(const auto id, transaction_.get(meta_, row_key(expiration_s, document.sequence)));
  return id && *id == document.id;
}

std::optional<ExpirySchedule::Row> ExpirySchedule::Cursor::read(const std::optional<KeyValue>& row) {
  if (!row || !is_row_key(row->key)) return std::nullopt;
  return Row{static_cast<std::int64_t>(read_key_u64(row->key.substr(1))),
             read_key_u64(row->key.substr(1 + sizeof(std::uint64_t))), row->value};
}
std::optional<ExpirySchedule::Row> ExpirySchedule::Cursor::first() {
  return read(cursor_.seek(row_key(0, 0)));
}
std::optional<ExpirySchedule::Row> ExpirySchedule::Cursor::next() {
  return read(cursor_.next());
}

Expected<void> ExpirySchedule::begin_group(WriteTransaction& transaction, Tree meta, const TimeToLive& rule,
                                           Sequence last_sequence) {
  OCTAVO_TRY(const auto stored, read_extent(transaction, meta));
  if (goes_on(stored, rule, last_sequence)) return {};
  return write_extent(transaction, meta, fresh_extent(stored, rule, last_sequence));
}

Expected<void> ExpirySchedule::end_group(WriteTransaction& transaction, Tree meta, Sequence last_sequence) {
  OCTAVO_TRY(auto extent, read_extent(transaction, meta));
  if (!extent) return fail(ErrorCode::internal, "A schedule of ends ends that has not begun.");
  if (extent->last == last_sequence) return {};
  extent->last = last_sequence;
  return write_extent(transaction, meta, *extent);
}

Expected<void> ExpirySchedule::move(WriteTransaction& transaction, Tree meta, const TimeToLive& rule,
                                    const DocumentView* before, const DocumentView* after) {
  if (before != nullptr) {
    if (const auto expiration = expiration_of(rule, *before)) {
      OCTAVO_TRY_VOID(transaction.erase(meta, row_key(*expiration, before->sequence)));
    }
  }
  if (after == nullptr) return {};
  OCTAVO_ASSERT(!after->id.empty());
  const auto expiration = expiration_of(rule, *after);
  return expiration ? transaction.put(meta, row_key(*expiration, after->sequence), after->id) : Expected<void>{};
}

Expected<bool> ExpirySchedule::make(WriteTransaction& transaction, Tree meta, Tree documents, const TimeToLive& rule,
                                    Sequence last_sequence, std::size_t rows_max) {
  OCTAVO_TRY(auto stored, read_extent(transaction, meta));
  Extent extent = extent_after(std::move(stored), rule, last_sequence);
  if (extent.stage == Stage::clearing) {
    OCTAVO_TRY(const bool more, clear_rows(transaction, meta, rows_max));
    if (!more) extent.stage = Stage::filling;
  } else if (extent.stage == Stage::filling) {
    OCTAVO_TRY(const bool more, fill_rows(transaction, meta, documents, rule, extent, rows_max));
    if (!more) {
      extent.stage = Stage::whole;
      extent.id.clear();
    }
  }
  OCTAVO_TRY_VOID(write_extent(transaction, meta, extent));
  return extent.stage != Stage::whole;
}

}  // namespace octavo::storage
