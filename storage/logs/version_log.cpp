#include "storage/logs/version_log.h"

#include <vector>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "storage/document/document_record.h"

namespace octavo::storage {

namespace {

constexpr std::uint8_t record_version = 1;
constexpr std::uint8_t revision_text = 1;
constexpr std::uint8_t body_revision_text = 2;
constexpr char version_prefix = 'v';
constexpr std::string_view log_extent_key = "versions";  // a byte shorter than the rows' keys, and sorts after them

struct LogExtent {
  Sequence since = 0;
  Sequence last = 0;
};

Expected<std::optional<LogExtent>> read_log_extent(const Transaction& transaction, Tree meta) {
  OCTAVO_TRY(const auto record, transaction.get(meta, log_extent_key));
  if (!record) return std::nullopt;
  ByteReader reader(*record);
  LogExtent extent;
  extent.since = reader.u64();
  extent.last = reader.u64();
  if (!reader.ok()) return fail(ErrorCode::corrupted, "The extent of a log of versions is damaged.");
  return extent;
}

Expected<void> write_log_extent(WriteTransaction& transaction, Tree meta, const LogExtent& extent) {
  std::string record;
  ByteWriter writer(record);
  writer.u64(extent.since);
  writer.u64(extent.last);
  return transaction.put(meta, log_extent_key, record);
}

}  // namespace

std::string version_key(Sequence sequence) {
  std::string key(1, version_prefix);
  append_key_u64(key, sequence);
  return key;
}

bool is_version_key(std::string_view key) {
  return key.size() == 1 + sizeof(Sequence) && key.front() == version_prefix;
}

Expected<VersionRow> decode_version(std::string_view key, std::string_view record) {
  OCTAVO_ASSERT(is_version_key(key));
  const auto damaged = [] { return fail(ErrorCode::corrupted, "A stored version is damaged."); };
  ByteReader reader(record);
  if (reader.u8() != record_version) return damaged();
  VersionRow row;
  row.sequence = read_key_u64(key.substr(1));
  const std::uint8_t operation = reader.u8();
  row.operation = static_cast<VersionOperation>(operation);
  const std::uint8_t flags = reader.u8();
  row.time_s = static_cast<std::int64_t>(reader.u48());
  row.previous_sequence = reader.varint();
  if (operation < 1 || operation > 4 || !read_revision(reader, flags & revision_text, row.revision)) return damaged();
  row.id = reader.sized_bytes();
  row.body_revision = row.revision;
  row.body_time_s = row.time_s;
  if (row.removes()) {
    row.body_time_s = static_cast<std::int64_t>(reader.u48());
    if (!read_revision(reader, flags & body_revision_text, row.body_revision)) return damaged();
  }
  if (!reader.ok() || row.id.empty()) return damaged();
  row.body = reader.rest();
  return row;
}

Expected<Sequence> VersionLog::complete_since(Sequence last_sequence) const {
  OCTAVO_TRY(const auto extent, read_log_extent(transaction_, meta_));
  return extent && extent->last == last_sequence ? extent->since : last_sequence;
}

std::optional<VersionRow> VersionLog::Cursor::read(const std::optional<KeyValue>& row) {
  if (!row || !is_version_key(row->key)) return std::nullopt;
  auto version = decode_version(row->key, row->value);
  return version ? std::optional(*version) : std::nullopt;
}
std::optional<VersionRow> VersionLog::Cursor::seek(Sequence at_least) {
  return read(cursor_.seek(version_key(at_least)));
}
std::optional<VersionRow> VersionLog::Cursor::next() {
  return read(cursor_.next());
}

Expected<void> VersionLog::append(WriteTransaction& transaction, Tree meta, const VersionRow& row) {
  OCTAVO_ASSERT(row.sequence != 0);
  OCTAVO_ASSERT(!row.id.empty());  // a reader takes such a row for damaged
  std::string record;
  record.reserve(row.body.size() + row.id.size() + 80);
  ByteWriter writer(record);
  writer.u8(record_version);
  writer.u8(static_cast<std::uint8_t>(row.operation));
  writer.u8(static_cast<std::uint8_t>((row.revision.hash.is_digest() ? 0 : revision_text) |
                                      (row.body_revision.hash.is_digest() ? 0 : body_revision_text)));
  writer.u48(static_cast<std::uint64_t>(row.time_s));
  writer.varint(row.previous_sequence);
  write_revision(writer, row.revision);
  writer.sized_bytes(row.id);
  if (row.removes()) {
    writer.u48(static_cast<std::uint64_t>(row.body_time_s));
    write_revision(writer, row.body_revision);
  }
  writer.bytes(row.body);
  return transaction.put(meta, version_key(row.sequence), record);
}

Expected<void> VersionLog::begin_group(WriteTransaction& transaction, Tree meta, Sequence last_sequence) {
  OCTAVO_TRY(const auto extent, read_log_extent(transaction, meta));
  if (extent && extent->last == last_sequence) return {};
  return write_log_extent(transaction, meta, {last_sequence, last_sequence});
}

Expected<void> VersionLog::end_group(WriteTransaction& transaction, Tree meta, Sequence last_sequence) {
  OCTAVO_TRY(const auto extent, read_log_extent(transaction, meta));
  if (!extent) return fail(ErrorCode::internal, "A log of versions ends that has not begun.");
  return write_log_extent(transaction, meta, {extent->since, last_sequence});
}

Expected<void> VersionLog::take_over(WriteTransaction& transaction, Tree meta, Sequence since, Sequence last) {
  return write_log_extent(transaction, meta, {since, last});
}

std::int64_t VersionLog::Times::of(const VersionRow& row) {
  if (row.time_s <= now_s_) return row.time_s;
  if (row.sequence >= later_sequence_) find_later(row.sequence);
  return row.sequence < later_sequence_ ? later_time_s_ : row.time_s;
}

// Looks for the first version after `sequence` that is not stamped ahead: at doubling distances, then between the last
// two. Finds a later one, or none, if the clock was ahead several times; all that are found are right.
void VersionLog::Times::find_later(Sequence sequence) {
  Cursor cursor = VersionLog(transaction_, meta_).rows();
  later_sequence_ = 0;
  const auto is_ahead = [&](const std::optional<VersionRow>& row) { return row && row->time_s > now_s_; };
  const auto note = [&](const std::optional<VersionRow>& row) {
    if (!row) return;
    later_sequence_ = row->sequence;
    later_time_s_ = row->time_s;
  };
  constexpr Sequence any_sequence = ~Sequence{0} / 4;  // a damaged key may state a greater one
  Sequence ahead = sequence;
  Sequence distance = 1;
  while (ahead < any_sequence && distance < any_sequence) {
    const auto row = cursor.seek(ahead + distance);
    if (!is_ahead(row)) {
      note(row);
      break;
    }
    ahead = row->sequence;
    distance *= 2;
  }
  for (Sequence end = ahead + distance; end - ahead > 1;) {
    const Sequence middle = ahead + (end - ahead) / 2;
    const auto row = cursor.seek(middle);
    if (is_ahead(row) && row->sequence < end) {
      ahead = row->sequence;
      continue;
    }
    end = middle;
    if (!is_ahead(row)) note(row);
  }
}

Expected<bool> VersionLog::trim(WriteTransaction& transaction, Tree meta, std::int64_t before_s, std::int64_t now_s,
                                std::size_t rows_max) {
  OCTAVO_TRY(auto extent, read_log_extent(transaction, meta));
  std::vector<std::string> keys;
  Sequence trimmed = 0;
  {
    storage::Cursor cursor(transaction, meta);
    Times written(transaction, meta, now_s);
    for (auto row = cursor.seek(version_key(0)); row && is_version_key(row->key) && keys.size() < rows_max;
         row = cursor.next()) {
      const Sequence sequence = read_key_u64(row->key.substr(1));
      const auto version = decode_version(row->key, row->value);
      const bool useless = !version || !extent || sequence <= extent->since;
      if (!useless && version->time_s >= before_s && written.of(*version) >= before_s) break;
      keys.emplace_back(row->key);
      trimmed = sequence;
    }
  }
  if (keys.empty()) return false;
  for (const auto& key : keys) OCTAVO_TRY_VOID(transaction.erase(meta, key));
  if (extent && trimmed > extent->since) {
    extent->since = trimmed;
    OCTAVO_TRY_VOID(write_log_extent(transaction, meta, *extent));
  }
  return keys.size() == rows_max;
}

}  // namespace octavo::storage
