#include "query/walk/index_walk.h"

namespace octavo::query {

using partitioning::ScanState;

Expected<ScanState> walk_index(IndexReader& reader, std::span<const KeyRange> ranges, bool down,
                               IndexPosition& position, std::size_t& rows_left,
                               std::chrono::steady_clock::time_point until, std::uint64_t& keys_examined,
                               FunctionRef<Expected<WalkStep>(const storage::KeyValue&)> take, Leap* leap) {
  const partitioning::ScanBudget budget{rows_left, until};
  std::size_t rows = 0;
  const auto stop_at = [&](const storage::KeyValue& entry) {
    position.key = std::string(entry.key);
    // The next slice begins with this entry. Walking down, the bound is exclusive: the key followed by the lowest byte.
    if (down) *position.key += '\0';
    return ScanState::more;
  };
  for (; position.range < ranges.size(); ++position.range) {
    const KeyRange& range = ranges[down ? ranges.size() - 1 - position.range : position.range];
    const auto from = [&](const std::optional<std::string>& key) -> std::optional<storage::KeyValue> {
      if (down) {
        const std::string_view bound = key && *key < range.end ? *key : range.end;
        return bound > range.begin ? reader.seek_before(bound) : std::nullopt;
      }
      const std::string_view bound = key && *key > range.begin ? *key : range.begin;
      return bound < range.end ? reader.seek(bound) : std::nullopt;
    };
    for (auto entry = from(position.key); entry && (down ? entry->key >= range.begin : entry->key < range.end);) {
      const bool late = rows > 0 && budget.is_over_after(rows);
      ++rows;
      if (rows_left == 0 || late) return stop_at(*entry);
      if (const auto beyond = reader.beyond_others(*entry, down)) {
        --rows_left;
        ++keys_examined;
        entry = from(beyond);
        continue;
      }
      if (leap != nullptr) {
        const std::string_view id = entry->key.substr(range.begin.size());
        const auto candidate = leap->next(id, keys_examined);
        if (!candidate) {
          ++keys_examined;
          break;  // no more of this range
        }
        if (*candidate != id) {
          --rows_left;
          ++keys_examined;
          entry = from(range.begin + *candidate);
          if (entry && entry->key < range.end && leap->is_over()) return stop_at(*entry);
          continue;
        }
      }
      OCTAVO_TRY(const WalkStep step, take(*entry));
      if (step == WalkStep::stop_before) return stop_at(*entry);
      --rows_left;
      ++keys_examined;
      if (step == WalkStep::finish) return ScanState::done;
      entry = down ? reader.previous() : reader.next();
    }
  }
  return ScanState::done;
}

partitioning::DocumentRange documents_in(const IdRange& range, bool down, const std::optional<std::string>& from) {
  partitioning::DocumentRange documents;
  documents.descending = down;
  documents.start = down ? range.end : range.start;
  documents.end = down ? range.start : range.end;
  documents.end_inclusive = down ? range.start_inclusive : range.end_inclusive;
  if (from && (!documents.start || (down ? *from < *documents.start : *from > *documents.start))) {
    documents.start = from;
  }
  return documents;
}

}  // namespace octavo::query
