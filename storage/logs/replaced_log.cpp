#include "storage/logs/replaced_log.h"

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "base/function_ref.h"
#include "storage/document/document_record.h"

namespace octavo::storage::replaced_log {
namespace {

constexpr std::uint8_t row_version = 1;
constexpr std::uint8_t has_body = 1;
constexpr std::uint8_t body_hash_text = 2;
constexpr std::uint64_t always_kept_bytes = 1ULL << 20;
// A list ends at a row that was removed, but a damaged one may have a cycle.
constexpr std::size_t steps_max = 10'000;
constexpr std::size_t unwanted_rows_per_group = 100;

std::string row_key(Sequence sequence) {
  std::string key;
  append_key_u64(key, sequence);
  return key;
}

// nullopt: there is no such row, or it is another document's.
Expected<std::optional<Row>> row_at(const Transaction& transaction, Tree log, Sequence sequence) {
  const std::string key = row_key(sequence);
  OCTAVO_TRY(const auto record, transaction.get(log, key));
  if (!record) return std::nullopt;
  OCTAVO_TRY(const Row row, decode(key, *record));
  return row;
}

// Visits the rows with a body, from the newest on, until `visit` returns false.
Expected<void> walk(const Transaction& transaction, Tree log, const DocumentView& winner,
                    FunctionRef<bool(const Row&)> visit) {
  Sequence sequence = winner.sequence;
  for (std::size_t steps = 0; steps < steps_max; ++steps) {
    OCTAVO_TRY(const auto row, row_at(transaction, log, sequence));
    if (!row || (row->revision && row->id != winner.id)) return {};
    if (row->revision && !visit(*row)) return {};
    sequence = row->previous;
  }
  return {};
}

}  // namespace

Expected<Row> decode(std::string_view key, std::string_view record) {
  const auto damaged = [] { return fail(ErrorCode::corrupted, "A replaced revision is damaged."); };
  if (key.size() != sizeof(Sequence)) return damaged();
  ByteReader reader(record);
  if (reader.u8() != row_version) return damaged();
  Row row;
  row.sequence = read_key_u64(key);
  const std::uint8_t flags = reader.u8();
  row.time_s = static_cast<std::int64_t>(reader.u48());
  row.previous = reader.varint();
  row.total = reader.varint();
  if (flags & has_body) {
    if (!read_revision(reader, flags & body_hash_text, row.revision.emplace())) return damaged();
    row.id = reader.sized_bytes();
    row.body = reader.rest();
  }
  if (!reader.ok() || row.previous >= row.sequence) return damaged();
  return row;
}

Expected<void> Writer::append(Row row) {
  OCTAVO_ASSERT(row.previous < row.sequence);
  if (!total_) {
    Cursor cursor(transaction_, log_);
    total_ = 0;
    if (const auto last = cursor.last()) {
      OCTAVO_TRY(const Row known, decode(last->key, last->value));
      total_ = known.total;
    }
  }
  *total_ += sizeof(Sequence) + row.id.size() + row.body.size();
  std::string record;
  record.reserve(row.id.size() + row.body.size() + 64);
  ByteWriter writer(record);
  writer.u8(row_version);
  std::uint8_t flags = 0;
  if (row.revision) {
    flags = static_cast<std::uint8_t>(has_body | (row.revision->hash.is_digest() ? 0 : body_hash_text));
  }
  writer.u8(flags);
  writer.u48(static_cast<std::uint64_t>(row.time_s));
  writer.varint(row.previous);
  writer.varint(*total_);
  if (row.revision) {
    write_revision(writer, *row.revision);
    writer.sized_bytes(row.id);
    writer.bytes(row.body);
  }
  ++appended_;
  return transaction_.append(log_, row_key(row.sequence), record);
}

Expected<void> Writer::erase_of(Sequence sequence, std::string_view id) {
  for (std::size_t steps = 0; steps < steps_max; ++steps) {
    OCTAVO_TRY(const auto row, row_at(transaction_, log_, sequence));
    if (!row || (row->revision && row->id != id)) return {};
    const Sequence previous = row->previous;
    OCTAVO_TRY_VOID(transaction_.erase(log_, row_key(sequence)));
    sequence = previous;
  }
  return {};
}

Expected<void> Writer::trim(const ReplacedLimits& limits, std::int64_t now_s, std::uint64_t document_bytes) {
  // Nothing is kept any more: the rows go with the next groups.
  const std::size_t rows_max = limits.kept_s == 0 ? unwanted_rows_per_group : 2 * appended_;
  const std::uint64_t bytes_max = std::max(always_kept_bytes, document_bytes / 100 * limits.share_percent);
  std::size_t rows = 0;
  if (rows_max > 0) {
    Cursor cursor(transaction_, log_);
    auto found = cursor.first();
    for (; found && rows < rows_max; found = cursor.next(), ++rows) {
      if (limits.kept_s == 0) continue;
      OCTAVO_TRY(const Row row, decode(found->key, found->value));
      if (row.time_s >= now_s - std::int64_t{limits.kept_s} && *total_ - std::min(*total_, row.total) < bytes_max)
        break;
    }
  }
  if (rows == 0) return {};
  OCTAVO_TRY_VOID(erase_oldest(transaction_, log_, rows));
  return {};
}

Expected<bool> erase_oldest(WriteTransaction& transaction, Tree log, std::size_t rows_max) {
  std::vector<std::string> keys;
  bool more = false;
  {
    Cursor cursor(transaction, log);
    for (auto row = cursor.first(); row && !more; row = cursor.next()) {
      more = keys.size() == rows_max;
      if (!more) keys.emplace_back(row->key);
    }
  }
  for (const auto& key : keys) OCTAVO_TRY_VOID(transaction.erase(log, key));
  return more;
}

Expected<std::optional<std::string_view>> find(const Transaction& transaction, Tree log, const DocumentView& winner,
                                               const Revision& revision) {
  std::optional<std::string_view> body;
  OCTAVO_TRY_VOID(walk(transaction, log, winner, [&](const Row& row) {
    if (*row.revision == revision) body = row.body;
    return !body;
  }));
  return body;
}

Expected<std::vector<Revision>> revisions_of(const Transaction& transaction, Tree log, const DocumentView& winner) {
  std::vector<Revision> revisions;
  OCTAVO_TRY_VOID(walk(transaction, log, winner, [&](const Row& row) {
    revisions.push_back(*row.revision);
    return true;
  }));
  std::ranges::sort(revisions);
  return revisions;
}

}  // namespace octavo::storage::replaced_log
