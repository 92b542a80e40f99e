#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "storage/document/document.h"
#include "storage/document/sequence_allocator.h"

namespace octavo::storage {

/// What is stored for a logical partition: one record with its statistics and the newest sequences of its feed, chunks
/// with the older sequences, and unique keys. The rows are adjacent, and the record comes first.
///
/// Format (rows of a logical partition):
///   name                   → logical partition record
///   name 01 first:u64be    → feed chunk: none of its sequences is below `first`, all are below the next row's
///   name 02 digest[16]     → document id       a unique key (UniqueKeys)
///   name := key ':'                            a partition key of at most 400 bytes; no key contains ':'
///         | key[0..400) FF digest[16] ':'      a longer one; FF is not in UTF-8, `digest` begins the key's SHA-256
///
///   logical partition record := statistics record [key:sized] sequences      key: only in the rows of longer keys
///   feed chunk := sequences
///   sequences  := difference:varint*           ascending; the first one's difference from 0, or from `first`
struct LogicalRecord {
  DocumentStatistics statistics;
  std::vector<Sequence> newest;  ///< ascending; all are above those in chunks
};

struct FeedChunk {
  Sequence first = 0;               ///< of the row's key: a lower bound
  std::vector<Sequence> sequences;  ///< ascending
};

void encode_logical_record(std::string& out, std::string_view partition_key, const LogicalRecord& record);
Expected<LogicalRecord> decode_logical_record(std::string_view name, std::string_view bytes);
/// The partition key of the record with this name; a part of one of the arguments.
Expected<std::string_view> key_of_logical_record(std::string_view name, std::string_view bytes);

void encode_feed_chunk(std::string& out, const FeedChunk& chunk);
Expected<FeedChunk> decode_feed_chunk(Sequence first, std::string_view bytes);

inline constexpr std::size_t unique_digest_bytes = 16;

/// The key of the record, with which the keys of the other rows begin.
std::string logical_name(std::string_view partition_key);
std::string feed_chunk_key(std::string_view name, Sequence first);
/// `digest` has unique_digest_bytes.
std::string unique_key_row(std::string_view name, std::string_view digest);

/// A key of the tree, in parts.
struct LogicalRowKey {
  enum class Kind : std::uint8_t { record, chunk, unique_key };
  Kind kind = Kind::record;
  std::string_view name;
  Sequence first = 0;  ///< of a chunk
};
/// nullopt: the key is damaged.
std::optional<LogicalRowKey> parse_logical_row_key(std::string_view key);

// Keys of the rows that format 1 had in the tree `partitions` instead.

/// Key of a logical partition's statistics.
std::string partition_statistics_key(std::string_view partition_key);
/// The logical partition whose statistics have this key; nullopt: it is another kind of row.
std::optional<std::string_view> partition_of_statistics(std::string_view key);
/// Key of the row that names the document with these unique values of a logical partition; `digest` has
/// unique_digest_bytes.
std::string partition_unique_key(std::string_view partition_key, std::string_view digest);
bool is_partition_unique_key(std::string_view key);
/// Common prefix of the keys of a logical partition's feed; a sequence follows it. Two logical partitions may share it,
/// and the rows name no partition, so readers must check the id in the feed row.
std::string partition_feed_prefix(std::string_view partition_key);

}  // namespace octavo::storage
