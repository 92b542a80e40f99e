#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/byte_codec.h"
#include "storage/document/document.h"
#include "storage/document/hash_codec.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

/// The trees of a physical partition's store, in the order of their handles.
///
/// Format (trees of a physical partition):
///   meta        "counters"                         → counters record
///               "format"                           → mark of the rows' format (format_upgrade)
///               rows of the log of purges (purge_log), and if kept, of the log of versions (VersionLog) and of the
///               expiry schedule (ExpirySchedule)
///   documents   document id                        → document record, of a live document (format 1: of any)
///   feed        sequence:u64be                     → feed record
///   partitions  in format 1 of the data folder only, instead of `logical`:
///               hash:u64be 00 partition key        → statistics record
///               hash:u64be 01 sequence:u64be       → (empty)        the feed of a logical partition
///               hash:u64be 02 digest[16]           → document id    a unique key (UniqueKeys)
///   revisions   document id                        → revision tree, in format 1 of the data folder only
///   leaves      document id 00 generation:u64be hash  → stored body of a leaf that is not the winner
///   local       local document id                  → edit:u64 body
///   index       rows of local indexes; the query layer owns their format
///   tombstones  document id                        → document record, of a deleted document
///   replaced    sequence:u64be                     → body of the revision that the edit replaced (replaced_log)
///   histories   rows of documents' histories (history)
///   logical     rows of logical partitions: statistics, feeds, unique keys (logical_rows)
///   long        rows of long keys of the other trees (long_key_tree)
///
/// `hash` is the partition key's FNV-1a with 64 bits.
enum class PartitionTree : std::size_t {
  meta,
  documents,
  feed,
  partitions,
  revisions,
  leaves,
  local,
  index,
  tombstones,
  replaced,
  histories,
  logical,
  long_keys
};
inline constexpr std::size_t partition_tree_count = 13;
/// The trees' names in the store.
inline constexpr std::array<std::string_view, partition_tree_count> partition_tree_names{
    "meta",  "documents",  "feed",     "partitions", "revisions", "leaves",         "local",
    "index", "tombstones", "replaced", "histories",  "logical",   tree_of_long_keys};

/// Format (revision in a record):
///   revision := generation:varint hash      flags of the record tell the hash's form: text or digest, or half
///                                           where the record has a flag for it
void write_revision(ByteWriter& writer, const Revision& revision);
/// False: the bytes are damaged.
bool read_revision(ByteReader& reader, bool text_hash, Revision& revision);

/// Stored form of a document's winning revision.
///
/// Format (document record):
///   record := head:u8 sequence:varint modified_s:varint revision [owner:varint] [ancestry:sized] body
///   head   := 80 and flags: 1 deleted, 2 has an ancestry, 4 has conflicts, 8 the hash is text, 10 the hash is half,
///             20 the body is packed, 40 has an owner
///   owner  := number of the projection that wrote it
///   body   := minified JSON object without _id, _rev, _deleted; absent stands for {}. Or a packed body
///
///   in format 1: record := 01 flags:u8 sequence:u64 modified_s:u48 revision body
///                flags  := 1 deleted, 2 has a revision tree, 4 has conflicts, 8 the hash is text
void encode_document(std::string& out, const DocumentRecord& document);
Expected<DocumentRecord> decode_document(std::string_view id, std::string_view record);
bool is_record_of_format_1(std::string_view record);

/// Format (feed record):
///   feed record := flags:u8 revision id
///   flags       := 1 deleted, 4 has conflicts, 8 the hash is text, 10 the hash is half
void encode_feed_row(std::string& out, const FeedRow& row);
Expected<FeedRow> decode_feed_row(std::string_view key, std::string_view record);

/// Format (statistics of a logical partition):
///   statistics record := document_count:varint deleted_count:varint external_bytes:varint
void encode_statistics(std::string& out, const DocumentStatistics& statistics);
Expected<DocumentStatistics> decode_statistics(std::string_view record);
/// What follows them is left. The reader tells whether the bytes were damaged.
DocumentStatistics read_statistics(ByteReader& reader);

/// Numbers of a physical partition, in one row that is written with each group.
struct PartitionCounters {
  DocumentStatistics documents;
  Sequence last_sequence = 0;
  std::uint64_t purge_count = 0;
  Sequence dropped_through = 0;  ///< all tombstones up to it were dropped, and no later ones; 0: none ever was
};
/// Format (counters of a physical partition):
///   counters record := last_sequence:u64 purge_count:u64 statistics record [dropped_through:u64]    absent: 0
void encode_counters(std::string& out, const PartitionCounters& counters);
Expected<PartitionCounters> decode_counters(std::string_view record);
inline constexpr std::string_view counters_key = "counters";

std::string leaf_key(std::string_view document_id, const Revision& revision);
bool in_logical_partition(std::string_view document_id, std::string_view partition_key);

}  // namespace octavo::storage
