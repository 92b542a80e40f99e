#include "storage/document/document_record.h"

#include <limits>

#include "base/assert.h"
#include "base/byte_codec.h"

namespace octavo::storage {
namespace {

constexpr std::uint8_t format_1_version = 1;
constexpr std::uint8_t head_mark = 0x80;  ///< in the first byte of a record; the others are flags
constexpr std::uint8_t deleted_flag = 1;
constexpr std::uint8_t has_ancestry_flag = 2;
constexpr std::uint8_t has_tree_row_flag = 2;  ///< in records of format 1
constexpr std::uint8_t has_conflicts_flag = 4;
constexpr std::uint8_t text_hash_flag = 8;
constexpr std::uint8_t half_hash_flag = 16;
constexpr std::uint8_t packed_body_flag = 32;
constexpr std::uint8_t has_owner_flag = 64;
constexpr std::uint8_t head_known = head_mark | deleted_flag | has_ancestry_flag | has_conflicts_flag | text_hash_flag |
                                    half_hash_flag | packed_body_flag | has_owner_flag;
constexpr std::uint64_t modified_s_max = (std::uint64_t{1} << 48) - 1;
/// No database gets there; a damaged row beyond it would leave no sequences for further changes.
constexpr Sequence last_sequence_max = std::numeric_limits<std::int64_t>::max();

std::unexpected<Error> damaged(std::string_view what) {
  return fail(ErrorCode::corrupted, "A stored " + std::string(what) + " is damaged.");
}

std::uint8_t flags_of(HashForm form) {
  switch (form) {
    case HashForm::half:
      return half_hash_flag;
    case HashForm::digest:
      return 0;
    case HashForm::text:
      return text_hash_flag;
  }
  return 0;
}

HashForm form_in(std::uint8_t flags) {
  if (flags & text_hash_flag) return HashForm::text;
  return flags & half_hash_flag ? HashForm::half : HashForm::digest;
}

void write_revision(ByteWriter& writer, const Revision& revision, HashForm form) {
  writer.varint(revision.generation);
  write_hash(writer, revision.hash, form);
}

bool read_revision(ByteReader& reader, HashForm form, Revision& revision) {
  revision.generation = reader.varint();
  return reader.ok() && read_hash(reader, form, revision.hash);
}

}  // namespace

void write_revision(ByteWriter& writer, const Revision& revision) {
  write_revision(writer, revision, revision.hash.is_digest() ? HashForm::digest : HashForm::text);
}

bool read_revision(ByteReader& reader, bool text_hash, Revision& revision) {
  return read_revision(reader, text_hash ? HashForm::text : HashForm::digest, revision);
}

void encode_document(std::string& out, const DocumentRecord& document) {
  OCTAVO_ASSERT(!document.has_tree_row);
  ByteWriter writer(out);
  const HashForm form = form_of(document.revision.hash);
  auto head = static_cast<std::uint8_t>(head_mark | flags_of(form));
  if (document.deleted) head |= deleted_flag;
  if (!document.ancestry.empty()) head |= has_ancestry_flag;
  if (document.has_conflicts) head |= has_conflicts_flag;
  if (document.body.is_packed()) head |= packed_body_flag;
  if (document.owner != 0) head |= has_owner_flag;
  writer.u8(head);
  writer.varint(document.sequence);
  writer.varint(static_cast<std::uint64_t>(document.modified_s) & modified_s_max);
  write_revision(writer, document.revision, form);
  if (document.owner != 0) writer.varint(document.owner);
  if (!document.ancestry.empty()) writer.sized_bytes(document.ancestry);
  // A damaged packed body can have the same bytes.
  if (document.body.is_packed() || document.body.bytes() != "{}") writer.bytes(document.body.bytes());
}

Expected<DocumentRecord> decode_document(std::string_view id, std::string_view record) {
  ByteReader reader(record);
  DocumentRecord document;
  document.id = id;
  std::uint8_t flags = reader.u8();
  const bool packed = (flags & head_mark) && (flags & packed_body_flag);
  if (flags & head_mark) {
    if (flags & ~head_known) return damaged("document");
    document.sequence = reader.varint();
    const std::uint64_t modified_s = reader.varint();
    if (modified_s > modified_s_max || !read_revision(reader, form_in(flags), document.revision)) {
      return damaged("document");
    }
    document.modified_s = static_cast<std::int64_t>(modified_s);
    if (flags & has_owner_flag) {
      const std::uint64_t owner = reader.varint();
      if (owner == 0 || owner > std::numeric_limits<std::uint32_t>::max()) return damaged("document");
      document.owner = static_cast<std::uint32_t>(owner);
    }
    if (flags & has_ancestry_flag) {
      document.ancestry = reader.sized_bytes();
      if (document.ancestry.empty()) return damaged("document");
    }
  } else {
    if (flags != format_1_version) return damaged("document");
    flags = reader.u8();
    document.sequence = reader.u64();
    document.modified_s = static_cast<std::int64_t>(reader.u48());
    if (!read_revision(reader, (flags & text_hash_flag) != 0, document.revision)) return damaged("document");
    document.has_tree_row = flags & has_tree_row_flag;
  }
  document.deleted = flags & deleted_flag;
  document.has_conflicts = flags & has_conflicts_flag;
  if (packed) {
    OCTAVO_TRY(document.body, StoredBody::of_packed(reader.rest()));
  } else if (!reader.rest().empty()) {
    document.body = StoredBody::of_json(reader.rest());
  }
  return document;
}

bool is_record_of_format_1(std::string_view record) {
  return !record.empty() && static_cast<std::uint8_t>(record.front()) == format_1_version;
}

void encode_feed_row(std::string& out, const FeedRow& row) {
  ByteWriter writer(out);
  const HashForm form = form_of(row.revision.hash);
  std::uint8_t flags = flags_of(form);
  if (row.deleted) flags |= deleted_flag;
  if (row.has_conflicts) flags |= has_conflicts_flag;
  writer.u8(flags);
  write_revision(writer, row.revision, form);
  writer.bytes(row.id);
}

Expected<FeedRow> decode_feed_row(std::string_view key, std::string_view record) {
  if (key.size() != sizeof(Sequence)) return damaged("feed row");
  ByteReader reader(record);
  const std::uint8_t flags = reader.u8();
  FeedRow row;
  row.sequence = read_key_u64(key);
  if (!read_revision(reader, form_in(flags), row.revision)) return damaged("feed row");
  row.deleted = flags & deleted_flag;
  row.has_conflicts = flags & has_conflicts_flag;
  row.id = reader.rest();
  return row;
}

void encode_statistics(std::string& out, const DocumentStatistics& statistics) {
  ByteWriter writer(out);
  writer.varint(statistics.document_count);
  writer.varint(statistics.deleted_count);
  writer.varint(statistics.external_bytes);
}

Expected<DocumentStatistics> decode_statistics(std::string_view record) {
  ByteReader reader(record);
  const DocumentStatistics statistics = read_statistics(reader);
  if (!reader.ok()) return damaged("statistics row");
  return statistics;
}

DocumentStatistics read_statistics(ByteReader& reader) {
  DocumentStatistics statistics;
  statistics.document_count = reader.varint();
  statistics.deleted_count = reader.varint();
  statistics.external_bytes = reader.varint();
  return statistics;
}

void encode_counters(std::string& out, const PartitionCounters& counters) {
  ByteWriter writer(out);
  writer.u64(counters.last_sequence);
  writer.u64(counters.purge_count);
  encode_statistics(out, counters.documents);
  if (counters.dropped_through != 0) writer.u64(counters.dropped_through);
}

Expected<PartitionCounters> decode_counters(std::string_view record) {
  ByteReader reader(record);
  PartitionCounters counters;
  counters.last_sequence = reader.u64();
  counters.purge_count = reader.u64();
  if (!reader.ok() || counters.last_sequence > last_sequence_max) return damaged("counters row");
  counters.documents = read_statistics(reader);
  if (reader.ok() && !reader.rest().empty()) counters.dropped_through = reader.u64();
  if (!reader.ok() || counters.dropped_through > counters.last_sequence) return damaged("counters row");
  return counters;
}

std::string leaf_key(std::string_view document_id, const Revision& revision) {
  std::string key(document_id);
  key.push_back('\0');
  append_key_u64(key, revision.generation);
  key.append(revision.hash.bytes());
  return key;
}

bool in_logical_partition(std::string_view document_id, std::string_view partition_key) {
  return document_id.size() > partition_key.size() && document_id[partition_key.size()] == ':' &&
         document_id.starts_with(partition_key);
}

}  // namespace octavo::storage
