#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/document/document.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

/// What happened to a version's document.
enum class VersionOperation : std::uint8_t {
  created = 1,
  replaced = 2,
  removed = 3,  ///< deleted or purged
  expired = 4,  ///< its time to live was over
};

/// One version of one document: a change of its winner. Edits that lose to a conflicting revision are not versions.
struct VersionRow {
  Sequence sequence = 0;
  VersionOperation operation = VersionOperation::created;
  Sequence previous_sequence = 0;  ///< of the version before; 0: there was none, or a losing edit came between
  std::string_view id;
  Revision revision;             ///< created by the change; for an expiry: the expired revision
  std::int64_t time_s = 0;       ///< of the change
  std::string_view body;         ///< the document after the change; for removed and expired: the document before it
  Revision body_revision;        ///< of `body`
  std::int64_t body_time_s = 0;  ///< when `body` was written

  bool removes() const { return operation == VersionOperation::removed || operation == VersionOperation::expired; }
};

/// The log of versions of a physical partition, kept in its tree `meta` in the transaction of the documents.
///
/// Format (log of versions):
///   'v' sequence:u64be → version:u8 operation:u8 flags:u8 (1 hash, 2 body's hash is text) time_s:u48
///                        previous_sequence:varint revision id:sized [removes: body_time_s:u48 revision] body
///   "versions"         → since:u64 last:u64
///
/// The log has every change above `since`, up to `last`, the partition's last sequence at that time. If the partition
/// has changed without it, the log is invalid and starts again.
class VersionLog {
 public:
  VersionLog(const Transaction& transaction, Tree meta) : transaction_(transaction), meta_(meta) {}

  /// Every change above the result is in the log. `last_sequence`: the partition's.
  Expected<Sequence> complete_since(Sequence last_sequence) const;

  class Cursor {
   public:
    /// The first version with a sequence >= `at_least`; nullopt: none. A damaged row ends the walk, as the end does.
    std::optional<VersionRow> seek(Sequence at_least);
    std::optional<VersionRow> next();

   private:
    friend class VersionLog;
    Cursor(const Transaction& transaction, Tree meta) : cursor_(transaction, meta) {}
    static std::optional<VersionRow> read(const std::optional<KeyValue>& row);
    storage::Cursor cursor_;
  };
  Cursor rows() const { return {transaction_, meta_}; }

  /// When versions were written. If the clock was ahead for a while, some are stamped later than now, and would keep
  /// the versions behind them from being trimmed until that time comes. But a version is at least as old as every later
  /// one, so the time of a later version that is not after now counts instead, if there is one.
  class Times {
   public:
    Times(const Transaction& transaction, Tree meta, std::int64_t now_s)
        : transaction_(transaction), meta_(meta), now_s_(now_s) {}

    /// At the latest. Rows that are asked for in ascending order cost one search for each time that the clock was
    /// ahead, and a search reads O(log n) rows.
    std::int64_t of(const VersionRow& row);

   private:
    void find_later(Sequence sequence);
    const Transaction& transaction_;
    Tree meta_;
    std::int64_t now_s_;
    Sequence later_sequence_ = 0;  ///< of a version whose time counts for those before it; 0: none is known
    std::int64_t later_time_s_ = 0;
  };
  Times times(std::int64_t now_s) const { return {transaction_, meta_, now_s}; }

  static Expected<void> append(WriteTransaction& transaction, Tree meta, const VersionRow& row);
  /// Must be called for each group of writes: before its first row, with the partition's last sequence until then, and
  /// after its last row.
  static Expected<void> begin_group(WriteTransaction& transaction, Tree meta, Sequence last_sequence);
  static Expected<void> end_group(WriteTransaction& transaction, Tree meta, Sequence last_sequence);
  /// For a log continued from another partition's rows: it contains every change above `since`, up to `last`.
  static Expected<void> take_over(WriteTransaction& transaction, Tree meta, Sequence since, Sequence last);
  /// Removes versions older than `before_s` (see Times) and those that are unusable; at most `rows_max`. True: there
  /// may be more.
  static Expected<bool> trim(WriteTransaction& transaction, Tree meta, std::int64_t before_s, std::int64_t now_s,
                             std::size_t rows_max);

 private:
  const Transaction& transaction_;
  Tree meta_;
};

Expected<VersionRow> decode_version(std::string_view key, std::string_view record);
std::string version_key(Sequence sequence);
bool is_version_key(std::string_view key);

}  // namespace octavo::storage
