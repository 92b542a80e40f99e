#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/document/document_record.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

/// Which documents of a physical partition were purged, in its tree `meta`. A purged document leaves no trace in the
/// feed: without this log an index would have to look for it among all documents that it contains.
///
/// Format (log of purges):
///   'p' sequence:u64be → id of a document that was purged completely
///   "purges"           → since:u64 count:u64 rows:u64
///
/// The log has every such document above `since`, as long as `count` is the partition's purge count. If it is not,
/// there were purges without the log (an older program, a split), and it begins again.
namespace purge_log {

/// The most documents that are kept.
constexpr std::uint64_t rows_max = 10'000;

/// Must be called for each group of writes before its first row.
Expected<void> begin_group(WriteTransaction& transaction, Tree meta, const PartitionCounters& counters);
/// Logs the purge that has made the purge count what it is in `counters`. `sequence`: that of the purge; `id`: empty if
/// the document still has revisions, and has therefore moved in the feed.
Expected<void> append(WriteTransaction& transaction, Tree meta, const PartitionCounters& counters, Sequence sequence,
                      std::string_view id);
/// Every document that was purged completely above the result is in the log.
Expected<Sequence> complete_since(const Transaction& transaction, Tree meta, const PartitionCounters& counters);
/// Appends the documents that were purged after `sequence`.
void append_purged(const Transaction& transaction, Tree meta, Sequence sequence, std::vector<std::string>& ids);

}  // namespace purge_log
}  // namespace octavo::storage
