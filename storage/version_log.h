#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/document.h"
#include "storage/environment.h"

namespace octavo::storage {

/// What a row of the log of versions tells of its document.
enum class VersionOperation : std::uint8_t {
  created = 1,
  replaced = 2,
  removed = 3,  ///< deleted or purged
  expired = 4,  ///< came to the end of its time to live
};

/// One version of one document: a change of its winner. Edits that lose to a conflicting revision are none.
struct VersionRow {
  Sequence sequence = 0;
  VersionOperation operation = VersionOperation::created;
  Sequence previous_sequence = 0;  ///< of the version before; 0: there was none, or an edit that lost came between
  std::string_view id;
  Revision revision;             ///< that the change made; of an expiry: that which ended
  std::int64_t time_s = 0;       ///< of the change
  std::string_view body;         ///< the document after the change; after removed and expired: the document before
  Revision body_revision;        ///< of `body`
  std::int64_t body_time_s = 0;  ///< when `body` was written

  bool removes() const { return operation == VersionOperation::removed || operation == VersionOperation::expired; }
};

/// The log of versions of a physical partition, kept in its tree `meta` in the transaction of the documents:
///   'v' sequence:u64be → version:u8 operation:u8 flags:u8 (1 hash, 2 body's hash is text) time_s:u48
///                        previous_sequence:varint revision id:sized [removes: body_time_s:u48 revision] body
///   revision := generation:varint hash: size:varint bytes if text, else 16 bytes
///   "versions" → since:u64 last:u64: it has every change above `since`, up to `last`, the partition's last sequence at
///                that time. Where the partition has gone on without it, it says nothing any more, and begins anew.
class VersionLog {
 public:
  VersionLog(const Transaction& transaction, Tree meta) : transaction_(transaction), meta_(meta) {}

  /// Every change above is in the log. `last_sequence`: the partition's.
  Expected<Sequence> complete_since(Sequence last_sequence) const;

  class Cursor {
   public:
    /// The first version at or above; nullopt: none. A damaged row ends the walk, as the end does.
    std::optional<VersionRow> seek(Sequence at_least);
    std::optional<VersionRow> next();

   private:
    friend class VersionLog;
    Cursor(const Transaction& transaction, Tree meta) : cursor_(transaction, meta) {}
    static std::optional<VersionRow> read(const std::optional<KeyValue>& row);
    storage::Cursor cursor_;
  };
  Cursor rows() const { return {transaction_, meta_}; }

  static Expected<void> append(WriteTransaction& transaction, Tree meta, const VersionRow& row);
  /// To be called with each group of writes: before its first row, with the partition's last sequence until then, and
  /// after its last one.
  static Expected<void> begin_group(WriteTransaction& transaction, Tree meta, Sequence last_sequence);
  static Expected<void> end_group(WriteTransaction& transaction, Tree meta, Sequence last_sequence);
  /// For a log that goes on with the rows of another partition's: it has every change above `since`, up to `last`.
  static Expected<void> take_over(WriteTransaction& transaction, Tree meta, Sequence since, Sequence last);
  /// Forgets versions from before `before_s`, and those that are of no use; at most `rows_max`. True: there may be
  /// more.
  static Expected<bool> trim(WriteTransaction& transaction, Tree meta, std::int64_t before_s, std::size_t rows_max);

 private:
  const Transaction& transaction_;
  Tree meta_;
};

Expected<VersionRow> decode_version(std::string_view key, std::string_view record);
std::string version_key(Sequence sequence);
bool is_version_key(std::string_view key);

}  // namespace octavo::storage
