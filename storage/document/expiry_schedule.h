#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/document/expiry.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

/// When the documents of a physical partition expire, so that they need not all be read to find out. Kept in its tree
/// `meta`, in the transaction of the documents, while the database has a time to live.
///
/// Format (expiry schedule):
///   'e' expiration_s:u64be sequence:u64be → id of the live document that has this sequence
///   "ends"                                → rule:u64 last:u64 stage:u8 id   stage: 1 clearing, 2 filling, 3 whole
///
/// `rule` is the rule's identity, `last` the partition's last sequence at that time, `id` the last document read while
/// the schedule is being built. If the partition has changed without it, or by another rule, the schedule is invalid
/// and is built again.
class ExpirySchedule {
 public:
  struct Row {
    std::int64_t expiration_s = 0;
    Sequence sequence = 0;
    std::string_view id;
  };

  ExpirySchedule(const Transaction& transaction, Tree meta) : transaction_(transaction), meta_(meta) {}

  /// Whether it contains every document that expires. `last_sequence`: the partition's.
  Expected<bool> is_whole(const TimeToLive& rule, Sequence last_sequence) const;

  /// Whether it contains this document, which expires at `expiration_s`.
  Expected<bool> has(std::int64_t expiration_s, const DocumentHead& document) const;

  class Cursor {
   public:
    /// In the order of expiration times, from the first one on. A damaged row ends the walk, as the end does.
    std::optional<Row> first();
    std::optional<Row> next();

   private:
    friend class ExpirySchedule;
    Cursor(const Transaction& transaction, Tree meta) : cursor_(transaction, meta) {}
    static std::optional<Row> read(const std::optional<KeyValue>& row);
    storage::Cursor cursor_;
  };
  Cursor rows() const { return {transaction_, meta_}; }

  /// Must be called for each group of writes: before its first change, with the partition's last sequence until then,
  /// and after its last change.
  static Expected<void> begin_group(WriteTransaction& transaction, Tree meta, const TimeToLive& rule,
                                    Sequence last_sequence);
  static Expected<void> end_group(WriteTransaction& transaction, Tree meta, Sequence last_sequence);
  /// Replaces the entry of one document by that of its new state; null: it does not exist.
  static Expected<void> move(WriteTransaction& transaction, Tree meta, const TimeToLive& rule,
                             const DocumentView* before, const DocumentView* after);
  /// Builds the schedule in parts: reads at most `rows_max` rows, fewer if they are large. True: there is more to do.
  static Expected<bool> make(WriteTransaction& transaction, Tree meta, Tree documents, const TimeToLive& rule,
                             Sequence last_sequence, std::size_t rows_max);

 private:
  const Transaction& transaction_;
  Tree meta_;
};

}  // namespace octavo::storage
