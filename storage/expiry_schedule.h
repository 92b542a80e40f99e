#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/environment.h"
#include "storage/expiry.h"

namespace octavo::storage {

/// Which documents of a physical partition end when, so that nobody has to look at all of them. Kept in its tree
/// `meta`, in the transaction of the documents, for as long as they have a time to live:
///   'e' end_s:u64be sequence:u64be → id of the live document that has this sequence
///   "ends" → rule:u64 last:u64 stage:u8 id: the rule's identity; the partition's last sequence at that time; and while
///            the schedule is being made, the last document that was looked at
/// Where the partition has gone on without it, or by another rule, it says nothing any more, and is made anew.
class ExpirySchedule {
 public:
  struct Row {
    std::int64_t end_s = 0;
    Sequence sequence = 0;
    std::string_view id;
  };

  ExpirySchedule(const Transaction& transaction, Tree meta) : transaction_(transaction), meta_(meta) {}

  /// Whether it has every document that ends. `last_sequence`: the partition's.
  Expected<bool> is_whole(const TimeToLive& rule, Sequence last_sequence) const;

  /// Whether it knows when this document ends, which has such an end.
  Expected<bool> has(std::int64_t end_s, const DocumentView& document) const;

  class Cursor {
   public:
    /// In the order of the ends, from the first one on. A damaged row ends the walk, as the end does.
    std::optional<Row> first();
    std::optional<Row> next();

   private:
    friend class ExpirySchedule;
    Cursor(const Transaction& transaction, Tree meta) : cursor_(transaction, meta) {}
    static std::optional<Row> read(const std::optional<KeyValue>& row);
    storage::Cursor cursor_;
  };
  Cursor rows() const { return {transaction_, meta_}; }

  /// To be called with each group of writes: before its first change, with the partition's last sequence until then,
  /// and after its last one.
  static Expected<void> begin_group(WriteTransaction& transaction, Tree meta, const TimeToLive& rule,
                                    Sequence last_sequence);
  static Expected<void> end_group(WriteTransaction& transaction, Tree meta, Sequence last_sequence);
  /// What one document was and is now; null: not there.
  static Expected<void> move(WriteTransaction& transaction, Tree meta, const TimeToLive& rule,
                             const DocumentView* before, const DocumentView* after);
  /// Makes it, a part at a time: looks at `rows_max` rows, or fewer if they are large. True: there is more to do.
  static Expected<bool> make(WriteTransaction& transaction, Tree meta, Tree documents, const TimeToLive& rule,
                             Sequence last_sequence, std::size_t rows_max);

 private:
  const Transaction& transaction_;
  Tree meta_;
};

}  // namespace octavo::storage
