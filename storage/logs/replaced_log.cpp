#include "storage/logs/replaced_log.h"

#include <algorithm>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "base/function_ref.h"
#include "storage/document/document_record.h"

namespace octavo::storage::replaced_log {
namespace {

constexpr std::uint8_t row_version = 1;
constexpr std::uint8_t has_body = 1;
constexpr std::uint8_t body_hash_text = 2;
constexpr std::uint8_t body_packed = 4;
constexpr std::uint64_t always_kept_bytes = 1ULL << 20;
constexpr std::size_t row_bytes_max = 64ULL << 10;  // of several entries: a reader looks through them
// A list ends at an entry that was removed, but a damaged one may have a cycle.
constexpr std::size_t steps_max = 10'000;
constexpr std::size_t rows_erased_min = 2;  // per group, if as many are beyond the limits

std::unexpected<Error> damaged() {
  return fail(ErrorCode::corrupted, "A log of replaced revisions is damaged.");
}

std::string row_key(Sequence sequence) {
  std::string key;
  append_key_u64(key, sequence);
  return key;
}

std::string row_head(std::int64_t time_s, std::uint64_t total) {
  std::string head;
  ByteWriter writer(head);
  writer.u8(row_version);
  writer.u48(static_cast<std::uint64_t>(time_s));
  writer.u64(total);
  return head;
}

// nullopt: there is no such entry.
Expected<std::optional<Entry>> entry_at(const Transaction& transaction, Tree log, Sequence sequence) {
  Cursor cursor(transaction, log);
  const auto found = cursor.seek_back(row_key(sequence));
  if (!found) return std::nullopt;
  OCTAVO_TRY(Row row, decode(found->value));
  while (!row.entries.empty()) {
    OCTAVO_TRY(const Entry entry, next_entry(row.entries));
    if (entry.sequence == sequence) return entry;
    if (entry.sequence > sequence) break;
  }
  return std::nullopt;
}

// Visits the entries with a body, from the newest on, until `visit` returns false.
Expected<void> walk(const Transaction& transaction, Tree log, const DocumentHead& winner,
                    FunctionRef<bool(const Entry&)> visit) {
  Sequence sequence = winner.sequence;
  for (std::size_t steps = 0; steps < steps_max; ++steps) {
    OCTAVO_TRY(const auto entry, entry_at(transaction, log, sequence));
    if (!entry || (entry->revision && entry->id != winner.id)) return {};
    if (entry->revision && !visit(*entry)) return {};
    sequence = entry->previous;
  }
  return {};
}

void append_entry(std::string& out, const Entry& entry) {
  std::string head;
  ByteWriter writer(head);
  writer.varint(entry.sequence);
  writer.varint(entry.previous);
  std::string_view body;
  if (entry.revision) {
    writer.u8(static_cast<std::uint8_t>(has_body | (entry.revision->hash.is_digest() ? 0 : body_hash_text) |
                                        (entry.body.is_packed() ? body_packed : 0)));
    write_revision(writer, *entry.revision);
    writer.sized_bytes(entry.id);
    body = entry.body.bytes();
  } else {
    writer.u8(0);
  }
  ByteWriter whole(out);
  whole.varint(head.size() + body.size());
  whole.bytes(head);
  whole.bytes(body);
}

}  // namespace

Expected<Row> decode(std::string_view record) {
  ByteReader reader(record);
  if (reader.u8() != row_version) return damaged();
  Row row;
  row.time_s = static_cast<std::int64_t>(reader.u48());
  row.total = reader.u64();
  if (!reader.ok()) return damaged();
  row.entries = reader.rest();
  return row;
}

Expected<Entry> next_entry(std::string_view& entries) {
  ByteReader outer(entries);
  const std::string_view bytes = outer.sized_bytes();
  if (!outer.ok()) return damaged();
  ByteReader reader(bytes);
  Entry entry;
  entry.sequence = reader.varint();
  entry.previous = reader.varint();
  const std::uint8_t flags = reader.u8();
  if (flags & has_body) {
    if (!read_revision(reader, flags & body_hash_text, entry.revision.emplace())) return damaged();
    entry.id = reader.sized_bytes();
    if (flags & body_packed) {
      OCTAVO_TRY(entry.body, StoredBody::of_packed(reader.rest()));
    } else {
      entry.body = StoredBody::of_json(reader.rest());
    }
  }
  if (!reader.ok() || entry.previous >= entry.sequence) return damaged();
  entries = outer.rest();
  return entry;
}

void Writer::append(const Entry& entry) {
  OCTAVO_ASSERT(entry.previous < entry.sequence);
  OCTAVO_ASSERT(sequences_.empty() || sequences_.back() < entry.sequence);
  append_entry(pending_, entry);
  ends_.push_back(pending_.size());
  sequences_.push_back(entry.sequence);
}

void Writer::cut(std::size_t count) {
  OCTAVO_ASSERT(count <= ends_.size());
  ends_.resize(count);
  sequences_.resize(count);
  pending_.resize(count == 0 ? 0 : ends_.back());
}

Expected<void> Writer::erase_of(Sequence sequence, std::string_view id, std::int64_t now_s) {
  OCTAVO_TRY_VOID(put_rows(now_s));
  for (std::size_t steps = 0; steps < steps_max; ++steps) {
    std::string key;
    std::string kept;
    std::optional<Sequence> previous;
    {
      Cursor cursor(transaction_, log_);
      const auto found = cursor.seek_back(row_key(sequence));
      if (!found) return {};
      key = found->key;
      OCTAVO_TRY(Row row, decode(found->value));
      kept = row_head(row.time_s, row.total);
      while (!row.entries.empty()) {
        OCTAVO_TRY(Entry entry, next_entry(row.entries));
        if (entry.sequence == sequence) {
          if (entry.revision && entry.id != id) return {};
          previous = entry.previous;
          entry.revision.reset();
          entry.body = {};
        }
        append_entry(kept, entry);
      }
    }
    if (!previous) return {};
    OCTAVO_TRY_VOID(transaction_.put(log_, key, kept));
    sequence = *previous;
  }
  return {};
}

// Entries of one group are one row, or several of at most row_bytes_max.
Expected<std::uint64_t> Writer::put_rows(std::int64_t now_s) {
  std::uint64_t total = 0;
  if (ends_.empty()) return total;
  {
    Cursor cursor(transaction_, log_);
    if (const auto last = cursor.last()) {
      OCTAVO_TRY(const Row row, decode(last->value));
      total = row.total;
    }
  }
  std::size_t begin = 0;
  for (std::size_t first = 0; first < ends_.size();) {
    std::size_t end = first + 1;
    while (end < ends_.size() && ends_[end] - begin <= row_bytes_max) ++end;
    const std::size_t bytes = ends_[end - 1] - begin;
    total += bytes;
    std::string record = row_head(now_s, total);
    record.append(pending_, begin, bytes);
    OCTAVO_TRY_VOID(transaction_.append(log_, row_key(sequences_[first]), record));
    begin = ends_[end - 1];
    first = end;
  }
  cut(0);
  return total;
}

Expected<void> Writer::finish(const ReplacedLimits& limits, std::int64_t now_s, std::uint64_t document_bytes) {
  const std::size_t added = pending_.size();
  OCTAVO_TRY(const std::uint64_t total, put_rows(now_s));
  if (added == 0 && limits.kept_s > 0) return {};
  const std::uint64_t bytes_max = std::max(always_kept_bytes, document_bytes / 100 * limits.share_percent);
  std::size_t rows = 0;
  {
    Cursor cursor(transaction_, log_);
    std::size_t erased = 0;
    for (auto found = cursor.first(); found; found = cursor.next(), ++rows) {
      OCTAVO_TRY(const Row row, decode(found->value));
      const bool wanted = limits.kept_s > 0 && row.time_s >= now_s - std::int64_t{limits.kept_s} &&
                          total - std::min(total, row.total) < bytes_max;
      if (wanted || (rows >= rows_erased_min && erased > 2 * added)) break;
      erased += row.entries.size();
    }
  }
  if (rows > 0) OCTAVO_TRY_VOID(erase_oldest(transaction_, log_, rows));
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

Expected<std::optional<StoredBody>> find(const Transaction& transaction, Tree log, const DocumentHead& winner,
                                         const Revision& revision) {
  std::optional<StoredBody> body;
  OCTAVO_TRY_VOID(walk(transaction, log, winner, [&](const Entry& entry) {
    if (*entry.revision == revision) body = entry.body;
    return !body;
  }));
  return body;
}

Expected<std::vector<Revision>> revisions_of(const Transaction& transaction, Tree log, const DocumentHead& winner) {
  std::vector<Revision> revisions;
  OCTAVO_TRY_VOID(walk(transaction, log, winner, [&](const Entry& entry) {
    revisions.push_back(*entry.revision);
    return true;
  }));
  std::ranges::sort(revisions);
  return revisions;
}

}  // namespace octavo::storage::replaced_log
