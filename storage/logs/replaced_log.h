#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/document/document.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

/// How long and how much of replaced revisions a physical partition keeps.
struct ReplacedLimits {
  std::uint32_t kept_s = 0;         ///< 0: none are kept
  std::uint32_t share_percent = 0;  ///< of the bytes of the documents; less than 1 MiB is always kept
};

/// The bodies of winners that were replaced by a later edit, until they are too old or too many: what CouchDB keeps
/// until a compaction. For readers only. No feed, index or other partition depends on it.
///
/// Format (log of replaced revisions):
///   replaced   first sequence:u64be → version:u8 time_s:u48 total:u64 entry*
///   entry := bytes:varint sequence:varint previous:varint flags:u8 [body: revision id:sized body]
///   flags := 1 body: the revision that the edit with this sequence replaced; absent if the document moved in the feed
///              and kept its winner
///            2 its hash is text, 4 the body is packed
///
/// A row has the entries of one group of writes, in ascending order, or a part of them: LMDB appends and removes one
/// large row at less cost than many small ones. `bytes` is the size of the rest of the entry. `previous` is the
/// document's sequence before the edit, at which an older entry may be, so that the entries of a document are a list
/// that begins at its present sequence. `total` sums the bytes of all rows so far, so that the difference of the last
/// and the first row tells how many bytes the log has.
namespace replaced_log {

struct Entry {
  Sequence sequence = 0;
  Sequence previous = 0;
  std::optional<Revision> revision;  ///< nullopt: the winner was not replaced
  std::string_view id;
  StoredBody body;
};

/// A row as stored.
struct Row {
  std::int64_t time_s = 0;  ///< of the group
  std::uint64_t total = 0;
  std::string_view entries;
};
Expected<Row> decode(std::string_view record);
/// Takes the first entry off `entries`, which is not empty.
Expected<Entry> next_entry(std::string_view& entries);

/// Adds the entries of a group of writes, and removes the oldest rows. Writes to the store in finish() alone.
class Writer {
 public:
  Writer(WriteTransaction& transaction, Tree log) : transaction_(transaction), log_(log) {}

  /// Sequences ascend.
  void append(const Entry& entry);
  std::size_t entries() const { return ends_.size(); }
  /// Takes back the entries from number `count` on, of edits that were undone.
  void cut(std::size_t count);
  /// Removes the bodies of a document that is purged; `sequence`: its last one. Not for edits that may be undone.
  Expected<void> erase_of(Sequence sequence, std::string_view id, std::int64_t now_s);
  /// Must be the last call. Removes rows beyond the limits, but not much more than was added, so that no group has to
  /// wait for a long clean-up.
  Expected<void> finish(const ReplacedLimits& limits, std::int64_t now_s, std::uint64_t document_bytes);

 private:
  /// Returns the `total` of the last row; 0 if nothing was pending.
  Expected<std::uint64_t> put_rows(std::int64_t now_s);

  WriteTransaction& transaction_;
  Tree log_;
  std::string pending_;              ///< encoded entries
  std::vector<std::size_t> ends_;    ///< of each in pending_
  std::vector<Sequence> sequences_;  ///< of each
};

/// Removes the oldest rows, at most `rows_max`. True: there are more.
Expected<bool> erase_oldest(WriteTransaction& transaction, Tree log, std::size_t rows_max);

/// The body of a revision that `winner`'s document had as its winner before; lives as long as the transaction. nullopt:
/// it is not kept. O(log n) for each edit since then.
Expected<std::optional<StoredBody>> find(const Transaction& transaction, Tree log, const DocumentHead& winner,
                                         const Revision& revision);
/// All revisions that find() would find, in ascending order.
Expected<std::vector<Revision>> revisions_of(const Transaction& transaction, Tree log, const DocumentHead& winner);

}  // namespace replaced_log
}  // namespace octavo::storage
