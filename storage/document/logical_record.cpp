#include "storage/document/logical_record.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "base/digest.h"
#include "base/fnv.h"
#include "storage/document/document_record.h"

namespace octavo::storage {
namespace {

constexpr std::size_t key_in_name_bytes_max = 400;
constexpr char long_name_mark = '\xFF';
constexpr std::size_t name_digest_bytes = 16;
constexpr std::size_t long_name_bytes = key_in_name_bytes_max + 1 + name_digest_bytes + 1;
constexpr char chunk_row = '\1';
constexpr char unique_key_mark = '\2';
constexpr Sequence stored_sequence_max = std::numeric_limits<std::int64_t>::max();

// Kinds of rows in format 1.
constexpr char former_statistics_row = '\0';
constexpr char former_feed_row = '\1';
constexpr char former_unique_row = '\2';

std::unexpected<Error> damaged_record(std::string_view what) {
  return fail(ErrorCode::corrupted, "A stored " + std::string(what) + " is damaged.");
}

bool is_long_name(std::string_view name) {
  return name.size() > key_in_name_bytes_max + 1;
}

void encode_sequences(ByteWriter& writer, Sequence base, std::span<const Sequence> sequences) {
  for (const Sequence sequence : sequences) {
    OCTAVO_ASSERT(sequence >= base);
    writer.varint(sequence - base);
    base = sequence;
  }
}

bool decode_sequences(ByteReader& reader, Sequence base, std::vector<Sequence>& sequences) {
  if (base > stored_sequence_max) return false;
  sequences.reserve(std::min<std::size_t>(reader.rest().size(), 64));
  while (!reader.rest().empty()) {
    const std::uint64_t difference = reader.varint();
    if (!reader.ok() || difference > stored_sequence_max - base) return false;
    if (difference == 0 && !sequences.empty()) return false;
    base += difference;
    sequences.push_back(base);
  }
  return true;
}

/// Only spreads partitions over prefixes; it never decides where a document is stored.
std::string former_prefix(std::string_view partition_key) {
  std::string prefix;
  append_key_u64(prefix, fnv1a_64(partition_key));
  return prefix;
}

}  // namespace

void encode_logical_record(std::string& out, std::string_view partition_key, const LogicalRecord& record) {
  encode_statistics(out, record.statistics);
  ByteWriter writer(out);
  if (partition_key.size() > key_in_name_bytes_max) writer.sized_bytes(partition_key);
  encode_sequences(writer, 0, record.newest);
}

Expected<LogicalRecord> decode_logical_record(std::string_view name, std::string_view bytes) {
  ByteReader reader(bytes);
  LogicalRecord record;
  record.statistics = read_statistics(reader);
  if (is_long_name(name)) reader.sized_bytes();
  if (!reader.ok() || !decode_sequences(reader, 0, record.newest)) return damaged_record("logical partition");
  return record;
}

Expected<std::string_view> key_of_logical_record(std::string_view name, std::string_view bytes) {
  OCTAVO_ASSERT(!name.empty() && name.back() == ':');
  if (!is_long_name(name)) return name.substr(0, name.size() - 1);
  ByteReader reader(bytes);
  read_statistics(reader);
  const std::string_view key = reader.sized_bytes();
  if (key.size() <= key_in_name_bytes_max) return damaged_record("logical partition");
  return key;
}

void encode_feed_chunk(std::string& out, const FeedChunk& chunk) {
  OCTAVO_ASSERT(!chunk.sequences.empty());
  ByteWriter writer(out);
  encode_sequences(writer, chunk.first, chunk.sequences);
}

Expected<FeedChunk> decode_feed_chunk(Sequence first, std::string_view bytes) {
  ByteReader reader(bytes);
  FeedChunk chunk;
  chunk.first = first;
  if (!decode_sequences(reader, first, chunk.sequences)) return damaged_record("feed chunk");
  return chunk;
}

std::string logical_name(std::string_view partition_key) {
  std::string name(partition_key.substr(0, key_in_name_bytes_max));
  if (partition_key.size() > key_in_name_bytes_max) {
    const auto digest = crypto::sha256(partition_key);
    name.push_back(long_name_mark);
    name.append(digest.data(), name_digest_bytes);
  }
  name.push_back(':');
  return name;
}

std::string feed_chunk_key(std::string_view name, Sequence first) {
  std::string key(name);
  key.push_back(chunk_row);
  append_key_u64(key, first);
  return key;
}

std::string unique_key_row(std::string_view name, std::string_view digest) {
  OCTAVO_ASSERT(digest.size() == unique_digest_bytes);
  std::string key(name);
  key.push_back(unique_key_mark);
  key.append(digest);
  return key;
}

std::optional<LogicalRowKey> parse_logical_row_key(std::string_view key) {
  std::size_t colon = key.substr(0, key_in_name_bytes_max + 1).find(':');
  if (colon == 0) return std::nullopt;
  if (colon == std::string_view::npos) {
    // The digest may contain the byte ':'.
    colon = long_name_bytes - 1;
    if (key.size() <= colon || key[key_in_name_bytes_max] != long_name_mark || key[colon] != ':') return std::nullopt;
  }
  LogicalRowKey parsed;
  parsed.name = key.substr(0, colon + 1);
  const std::string_view rest = key.substr(colon + 1);
  if (rest.empty()) return parsed;
  if (rest.front() == chunk_row && rest.size() == 1 + sizeof(Sequence)) {
    parsed.kind = LogicalRowKey::Kind::chunk;
    parsed.first = read_key_u64(rest.substr(1));
    return parsed;
  }
  if (rest.front() != unique_key_mark || rest.size() != 1 + unique_digest_bytes) return std::nullopt;
  parsed.kind = LogicalRowKey::Kind::unique_key;
  return parsed;
}

std::string partition_statistics_key(std::string_view partition_key) {
  std::string key = former_prefix(partition_key);
  key.push_back(former_statistics_row);
  key.append(partition_key);
  return key;
}

std::optional<std::string_view> partition_of_statistics(std::string_view key) {
  if (key.size() <= sizeof(std::uint64_t) || key[sizeof(std::uint64_t)] != former_statistics_row) return std::nullopt;
  return key.substr(sizeof(std::uint64_t) + 1);
}

std::string partition_feed_prefix(std::string_view partition_key) {
  std::string prefix = former_prefix(partition_key);
  prefix.push_back(former_feed_row);
  return prefix;
}

std::string partition_unique_key(std::string_view partition_key, std::string_view digest) {
  OCTAVO_ASSERT(digest.size() == unique_digest_bytes);
  std::string key = former_prefix(partition_key);
  key.push_back(former_unique_row);
  key.append(digest);
  return key;
}

bool is_partition_unique_key(std::string_view key) {
  return key.size() > sizeof(std::uint64_t) && key[sizeof(std::uint64_t)] == former_unique_row;
}

}  // namespace octavo::storage
