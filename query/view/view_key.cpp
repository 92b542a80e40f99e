#include "query/view/view_key.h"

#include "base/assert.h"
#include "base/byte_codec.h"
#include "query/collation/sort_key.h"

namespace octavo::query::views {

std::string view_prefix(std::size_t view) {
  return {static_cast<char>(view >> 8), static_cast<char>(view)};
}

std::string view_prefix(std::size_t view, std::string_view partition) {
  std::string prefix = view_prefix(view);
  append_key_text(prefix, partition);
  return prefix;
}

std::string after_prefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xFF') prefix.pop_back();
  OCTAVO_ASSERT(!prefix.empty());
  if (!prefix.empty()) prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

std::string_view group_prefix(std::string_view sort_keys, std::size_t level, StringOrder order) {
  if (!is_array_sort_key(sort_keys, order)) return {};
  std::size_t size = 1;
  for (std::size_t element = 0; element < level; ++element) {
    if (size >= sort_keys.size() || sort_keys[size] == 0) return {};
    const auto length = sort_key_length(sort_keys.substr(size), false, order);
    if (length == 0) return {};
    size += length;
  }
  return sort_keys.substr(0, size);
}

std::string ViewRow::id() const {
  OCTAVO_ASSERT(escaped_id.size() >= 2);
  std::string id(escaped_id.substr(0, escaped_id.size() - 2));
  for (auto zero = id.find('\0'); zero != std::string::npos; zero = id.find('\0', zero + 1)) id.erase(zero + 1, 1);
  return id;
}

std::optional<ViewRow> read_row(std::string_view row_key, std::string_view row_value) {
  ByteReader reader(row_value);
  const std::size_t id_bytes = reader.varint();
  ViewRow row;
  row.key = reader.sized_bytes();
  row.value = reader.rest();
  if (!reader.ok() || id_bytes < 2 || row_key.size() < id_bytes + ordinal_bytes) return std::nullopt;
  row.row_key = row_key;
  row.escaped_id = row_key.substr(row_key.size() - ordinal_bytes - id_bytes, id_bytes);
  return row;
}

void append_row_value(std::string& out, std::size_t escaped_id_bytes, std::string_view key, std::string_view value) {
  OCTAVO_ASSERT(escaped_id_bytes >= 2);  // a reader takes such a row for damaged
  ByteWriter writer(out);
  writer.varint(escaped_id_bytes);
  writer.sized_bytes(key);
  writer.bytes(value);
}

}  // namespace octavo::query::views
