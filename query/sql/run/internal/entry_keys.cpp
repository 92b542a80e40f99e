#include "query/sql/run/internal/entry_keys.h"

#include "query/sql/evaluate/value.h"

namespace octavo::query::sql {

void append_entry(std::string& key, std::string_view entry, bool down) {
  if (down) {
    append_order_key_descending(key, Value::of(entry));
  } else {
    append_order_key(key, Value::of(entry));
  }
}

void append_positions(std::string& key, std::span<const std::uint64_t> positions) {
  for (const std::uint64_t position : positions) append_order_key(key, Value::of(static_cast<double>(position)));
}

void append_position_behind(std::string& key, std::string_view entry, std::span<const std::uint64_t> positions,
                            bool down) {
  constexpr char after_positions = '\xFF';
  append_entry(key, entry, down);
  append_positions(key, positions);
  if (positions.empty()) key += after_positions;
}

}  // namespace octavo::query::sql
