#include "query/index/automatic_rows.h"

#include "base/assert.h"
#include "base/byte_codec.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::query {

namespace {

std::string rows_prefix(std::uint32_t number, char kind) {
  std::string prefix;
  prefix.reserve(64);
  for (int shift = 24; shift >= 0; shift -= 8) prefix.push_back(static_cast<char>(number >> shift));
  prefix += kind;
  return prefix;
}

}  // namespace

std::string AutomaticRows::everything_prefix(std::uint32_t number) {
  return rows_prefix(number, '\x01');
}

std::string AutomaticRows::scoped_prefix(std::uint32_t number, std::string_view partition_key) {
  std::string prefix = rows_prefix(number, '\x02');
  prefix += partition_key;
  prefix += ':';
  return prefix;
}

std::string AutomaticRows::scoped_mark(std::uint32_t number, std::string_view partition_key) {
  return rows_prefix(number, '\x03').append(partition_key);
}

std::string automatic_row_value(std::string_view id) {
  std::string value;
  ByteWriter(value).varint(id.size());
  return value;
}

Expected<bool> AutomaticRows::is_scoped(std::string_view partition_key) const {
  if (partition_key.empty()) return false;
  OCTAVO_TRY(const auto mark, storage::long_key::get(transaction_, tree_, scoped_mark(number_, partition_key)));
  return mark.has_value();
}

Expected<void> AutomaticRows::mark_scoped(std::string_view partition_key) {
  OCTAVO_ASSERT(!partition_key.empty());
  return storage::long_key::put(transaction_, tree_, scoped_mark(number_, partition_key), {});
}

Expected<void> AutomaticRows::put(const std::string& prefix, std::string_view entry, std::string_view id) {
  key_.assign(prefix).append(entry).append(id);
  return storage::long_key::put(transaction_, tree_, key_, automatic_row_value(id));
}

Expected<void> AutomaticRows::erase(const std::string& prefix, std::string_view entry, std::string_view id) {
  key_.assign(prefix).append(entry).append(id);
  OCTAVO_TRY_VOID(storage::long_key::erase(transaction_, tree_, key_));
  return {};
}

Expected<std::uint32_t> AutomaticRows::change(std::string_view id, std::string_view partition_key,
                                              const AutomaticIndex::Entries& before,
                                              const AutomaticIndex::Entries& after, bool scoped, bool rewrite) {
  OCTAVO_ASSERT(!scoped || !partition_key.empty());
  const auto walk = [&](const std::string& prefix) -> Expected<std::uint32_t> {
    std::uint32_t changed = 0;
    std::size_t old = 0;
    std::size_t next = 0;
    while (old < before.size() || next < after.size()) {
      // Both are in order, each entry once.
      OCTAVO_ASSERT(old == 0 || old >= before.size() || before[old - 1] < before[old]);
      OCTAVO_ASSERT(next == 0 || next >= after.size() || after[next - 1] < after[next]);
      const int order = old == before.size() ? 1 : next == after.size() ? -1 : before[old].compare(after[next]);
      if (order != 0 && !AutomaticIndex::is_unplain(order < 0 ? before[old] : after[next])) ++changed;
      if (order < 0) {
        OCTAVO_TRY_VOID(erase(prefix, before[old++], id));
      } else {
        if (order > 0 || rewrite) OCTAVO_TRY_VOID(put(prefix, after[next], id));
        ++next;
        if (order == 0) ++old;
      }
    }
    return changed;
  };
  if (scoped) {
    OCTAVO_TRY(const std::uint32_t again, walk(scoped_prefix(number_, partition_key)));
    static_cast<void>(again);  // the same rows in another order
  }
  return walk(everything_prefix(number_));
}

Expected<void> AutomaticRows::put_scoped(std::string_view id, std::string_view partition_key,
                                         const AutomaticIndex::Entries& entries) {
  OCTAVO_ASSERT(!partition_key.empty());
  const std::string prefix = scoped_prefix(number_, partition_key);
  for (std::size_t i = 0; i < entries.size(); ++i) OCTAVO_TRY_VOID(put(prefix, entries[i], id));
  return {};
}

}  // namespace octavo::query
