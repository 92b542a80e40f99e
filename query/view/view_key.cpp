#include "query/view/view_key.h"

#include <algorithm>

#include "query/collation/collation.h"
#include "query/collation/sort_key.h"
#include "storage/byte_codec.h"

namespace octavo::query::views {

namespace {

// First bytes of raw sort keys, in the order of the types; below them all the end of an array or object.
enum RawTag : std::uint8_t {
  raw_end = 0x00,
  raw_number = 0x06,  // and the rest of the key as in sort_key.h
  raw_false = 0x10,
  raw_null = 0x11,
  raw_true = 0x12,
  raw_object = 0x13,
  raw_array = 0x14,
  raw_string = 0x15,
};
constexpr char kArrayTag = 0x08;  // sort_key.h

void push(std::string& out, std::uint8_t byte) {
  out.push_back(static_cast<char>(byte));
}

void append_raw_string(std::string& out, std::string_view text) {
  push(out, raw_string);
  append_key_text(out, text);
}

void append_raw_sort_key(std::string& out, const simdjson::dom::element& key) {
  switch (key.type()) {
    case simdjson::dom::element_type::NULL_VALUE:
      return push(out, raw_null);
    case simdjson::dom::element_type::BOOL:
      return push(out, key.get_bool().value_unsafe() ? raw_true : raw_false);
    case simdjson::dom::element_type::STRING:
      return append_raw_string(out, key.get_string().value_unsafe());
    case simdjson::dom::element_type::ARRAY:
      push(out, raw_array);
      for (const auto element : array_of(key)) append_raw_sort_key(out, element);
      return push(out, raw_end);
    case simdjson::dom::element_type::OBJECT:
      push(out, raw_object);
      for (const auto member : object_of(key)) {
        append_raw_string(out, member.key);
        append_raw_sort_key(out, member.value);
      }
      return push(out, raw_end);
    default:
      return append_sort_key(out, key);
  }
}

std::size_t raw_text_length(std::string_view text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != 0) continue;
    if (text[i + 1] == 0) return i + 2;
    ++i;
  }
  return 0;
}

std::size_t raw_sort_key_length(std::string_view keys) {
  std::size_t depth = 0;
  std::size_t at = 0;
  while (at < keys.size()) {
    const auto tag = static_cast<std::uint8_t>(keys[at]);
    std::size_t size = 1;
    if (tag == raw_end) {
      if (depth == 0) return 0;
      --depth;
    } else if (tag == raw_number) {
      size = sort_key_length(keys.substr(at));
      if (size == 0) return 0;
    } else if (tag == raw_string) {
      size = raw_text_length(keys.substr(at + 1));
      if (size == 0) return 0;
      ++size;
    } else if (tag == raw_array || tag == raw_object) {
      ++depth;
    } else if (tag < raw_false || tag > raw_true) {
      return 0;
    }
    at += size;
    if (depth == 0) return at;
  }
  return 0;
}

}  // namespace

void append_view_sort_key(std::string& out, const simdjson::dom::element& key, bool raw) {
  if (raw) {
    append_raw_sort_key(out, key);
  } else {
    append_sort_key(out, key);
  }
}

void append_key_text(std::string& out, std::string_view text) {
  for (auto zero = text.find('\0'); zero != std::string_view::npos; zero = text.find('\0')) {
    out.append(text.substr(0, zero + 1));
    out.push_back('\xFF');
    text.remove_prefix(zero + 1);
  }
  out.append(text);
  out.append(2, '\0');
}

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
  if (!prefix.empty()) prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

std::size_t view_sort_key_length(std::string_view sort_keys, bool raw) {
  return raw ? raw_sort_key_length(sort_keys) : sort_key_length(sort_keys);
}

std::string_view group_prefix(std::string_view sort_keys, std::size_t level, bool raw) {
  if (sort_keys.empty() || sort_keys[0] != (raw ? static_cast<char>(raw_array) : kArrayTag)) return {};
  std::size_t size = 1;
  for (std::size_t element = 0; element < level; ++element) {
    if (size >= sort_keys.size() || sort_keys[size] == 0) return {};
    const auto length = view_sort_key_length(sort_keys.substr(size), raw);
    if (length == 0) return {};
    size += length;
  }
  return sort_keys.substr(0, size);
}

std::string ViewRow::id() const {
  std::string id(escaped_id.substr(0, escaped_id.size() - 2));
  for (auto zero = id.find('\0'); zero != std::string::npos; zero = id.find('\0', zero + 1)) id.erase(zero + 1, 1);
  return id;
}

std::optional<ViewRow> read_row(std::string_view row_key, std::string_view row_value) {
  storage::ByteReader reader(row_value);
  const std::size_t id_bytes = reader.varint();
  ViewRow row;
  row.key = reader.sized_bytes();
  row.value = reader.rest();
  if (!reader.ok() || id_bytes < 2 || row_key.size() < id_bytes + kOrdinalBytes) return std::nullopt;
  row.row_key = row_key;
  row.escaped_id = row_key.substr(row_key.size() - kOrdinalBytes - id_bytes, id_bytes);
  return row;
}

void append_row_value(std::string& out, std::size_t escaped_id_bytes, std::string_view key, std::string_view value) {
  storage::ByteWriter writer(out);
  writer.varint(escaped_id_bytes);
  writer.sized_bytes(key);
  writer.bytes(value);
}

}  // namespace octavo::query::views
