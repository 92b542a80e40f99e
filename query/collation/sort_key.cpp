#include "query/collation/sort_key.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include <unicode/ucol.h>
#include <unicode/ustring.h>

#include "query/collation/internal/collator.h"
#include "query/collation/internal/json_access.h"

namespace octavo::query {

namespace {

namespace access = json_access;

enum Tag : std::uint8_t {
  end_tag = 0x00,
  lowest_tag = 0x01,
  missing_tag = 0x02,
  null_tag = 0x03,
  false_tag = 0x04,
  true_tag = 0x05,
  number_tag = 0x06,
  string_tag = 0x07,
  array_tag = 0x08,
  object_tag = 0x09,
  raw_false_tag = 0x10,
  raw_null_tag = 0x11,
  raw_true_tag = 0x12,
  raw_object_tag = 0x13,
  raw_array_tag = 0x14,
  raw_string_tag = 0x15,
  highest_tag = 0xFF,
};

/// The first bytes of keys in an order, and the encoding of their strings.
struct KeyFormat {
  Tag null, false_, true_, string, array, object;
  bool icu;
};
constexpr KeyFormat icu_format{null_tag, false_tag, true_tag, string_tag, array_tag, object_tag, true};
constexpr KeyFormat bytes_format{null_tag, false_tag, true_tag, string_tag, array_tag, object_tag, false};
constexpr KeyFormat raw_format{raw_null_tag,  raw_false_tag,  raw_true_tag, raw_string_tag,
                               raw_array_tag, raw_object_tag, false};

const KeyFormat& format_of(StringOrder order) {
  switch (order) {
    case StringOrder::icu:
      return icu_format;
    case StringOrder::bytes:
      return bytes_format;
    case StringOrder::raw:
      break;
  }
  return raw_format;
}

constexpr std::uint64_t sign_bit = 1ULL << 63;

void push(std::string& out, std::uint8_t byte) {
  out.push_back(static_cast<char>(byte));
}

void append_number(std::string& out, const access::Number& number) {
  push(out, number_tag);
  auto bits = std::bit_cast<std::uint64_t>(number.nearest);
  bits = (bits & sign_bit) != 0 ? ~bits : bits | sign_bit;
  std::array<char, 8> bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(bits >> (56 - 8 * i));
  out.append(bytes.data(), bytes.size());
  if (std::abs(number.nearest) >= access::exact_integers_max) number.append_residual(out);
}

void append_icu_key(std::string& out, std::string_view text) {
  // No character takes more UTF-16 units than UTF-8 bytes.
  std::array<UChar, 256> small;
  std::vector<UChar> large;
  UChar* utf16 = small.data();
  if (text.size() > small.size()) {
    large.resize(text.size());
    utf16 = large.data();
  }
  int32_t units = 0;
  UErrorCode status = U_ZERO_ERROR;
  u_strFromUTF8WithSub(utf16, static_cast<int32_t>(std::max(text.size(), small.size())), &units, text.data(),
                       static_cast<int32_t>(text.size()), 0xFFFD, nullptr, &status);
  const UCollator* collator = thread_collator();
  const std::size_t before = out.size();
  std::size_t room = text.size() * 2 + 32;
  for (;;) {
    std::size_t size = 0;
    out.resize_and_overwrite(before + room, [&](char* data, std::size_t) {
      size = static_cast<std::size_t>(ucol_getSortKey(
          collator, utf16, units, reinterpret_cast<std::uint8_t*>(data + before), static_cast<int32_t>(room)));
      return size <= room ? before + size : before;  // ends with the terminator 00
    });
    if (size <= room) return;
    room = size;
  }
}

void append_string(std::string& out, std::string_view text, const KeyFormat& format) {
  push(out, format.string);
  if (format.icu) {
    append_icu_key(out, text);
  } else {
    append_key_text(out, text);
  }
}

// An ICU key begins with the primary weights of the whole text; the other levels follow, each after a byte 01, which no
// weight contains. So the beginning of the text decides the beginning of the key, up to the last weights: what follows
// can only change those of the characters that it forms a contraction with. These are a few, apart from marks, which
// have no primary weights. It also decides whether the lead byte of the next weight is omitted. `context_bytes` is much
// more than that: a character has at most 18 weights of 4 bytes.
void append_beginning_of_icu_key(std::string& out, std::string_view text, std::size_t bytes) {
  constexpr std::size_t context_bytes = 1'024;
  constexpr std::size_t part_bytes_min = 4'096;
  const std::size_t start = out.size();
  for (std::size_t size = part_bytes_min; size < text.size(); size *= 4) {
    std::size_t end = size;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // inside a character
    append_string(out, text.substr(0, end), icu_format);
    const std::size_t primary = out.find('\x01', start + 1) - start;
    if (primary >= bytes + context_bytes) return;
    out.resize(start);
  }
  append_string(out, text, icu_format);
}

template <class Value>
void append_value(std::string& out, const Value& value, const KeyFormat& format) {
  switch (access::rank(value)) {
    case TypeRank::null:
      push(out, format.null);
      break;
    case TypeRank::boolean_false:
      push(out, format.false_);
      break;
    case TypeRank::boolean_true:
      push(out, format.true_);
      break;
    case TypeRank::number:
      append_number(out, access::number(value));
      break;
    case TypeRank::string:
      append_string(out, access::string(value), format);
      break;
    case TypeRank::array:
      push(out, format.array);
      for (const auto& element : access::array(value)) append_value(out, element, format);
      push(out, end_tag);
      break;
    case TypeRank::object:
      push(out, format.object);
      for (const auto& member : access::object(value)) {
        append_string(out, access::member_name(member), format);
        append_value(out, access::member_value(member), format);
      }
      push(out, end_tag);
      break;
  }
}

template <class Value>
void append_value_descending(std::string& out, const Value& value, StringOrder order) {
  const std::size_t before = out.size();
  append_value(out, value, format_of(order));
  for (std::size_t i = before; i < out.size(); ++i) out[i] = static_cast<char>(~out[i]);
}

/// Reads keys byte by byte, complemented if they are descending.
class KeyReader {
 public:
  KeyReader(std::string_view bytes, bool descending) : bytes_(bytes), flip_(descending ? 0xFF : 0x00) {}

  bool at_end() const { return at_ >= bytes_.size(); }
  std::size_t position() const { return at_; }
  std::uint8_t next() { return static_cast<std::uint8_t>(static_cast<std::uint8_t>(bytes_[at_++]) ^ flip_); }

  bool skip(std::size_t count) {
    if (bytes_.size() - at_ < count) return false;
    at_ += count;
    return true;
  }

  bool skip_number() {
    if (bytes_.size() - at_ < 8) return false;
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | next();
    bits = (bits & sign_bit) != 0 ? bits & ~sign_bit : ~bits;
    if (std::abs(std::bit_cast<double>(bits)) < access::exact_integers_max) return true;
    const std::size_t residual = residual_length(bytes_.substr(at_), flip_);
    return residual != 0 && skip(residual);
  }

  bool skip_string(StringOrder order) {
    while (!at_end()) {
      if (next() != 0x00) continue;
      if (order == StringOrder::icu) return true;
      if (at_end()) return false;
      if (next() == 0x00) return true;
    }
    return false;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::uint8_t flip_;
};

}  // namespace

void append_sort_key(std::string& out, const simdjson::dom::element& value, StringOrder order) {
  append_value(out, value, format_of(order));
}
void append_sort_key(std::string& out, const boost::json::value& value, StringOrder order) {
  append_value(out, value, format_of(order));
}
void append_sort_key_descending(std::string& out, const simdjson::dom::element& value, StringOrder order) {
  append_value_descending(out, value, order);
}
void append_sort_key_descending(std::string& out, const boost::json::value& value, StringOrder order) {
  append_value_descending(out, value, order);
}

void append_sort_key_of_string(std::string& out, std::string_view text, StringOrder order) {
  append_string(out, text, format_of(order));
}

void append_beginning_of_sort_key(std::string& out, std::string_view text, StringOrder order, std::size_t bytes) {
  if (order == StringOrder::icu) {
    append_beginning_of_icu_key(out, text, bytes);
  } else {
    append_string(out, text.substr(0, bytes), format_of(order));
  }
}

void append_key_text(std::string& out, std::string_view text) {
  for (;;) {
    const std::size_t zero = text.find('\0');
    out.append(text.substr(0, zero));
    if (zero == std::string_view::npos) break;
    push(out, 0x00);
    push(out, 0xFF);
    text.remove_prefix(zero + 1);
  }
  push(out, 0x00);
  push(out, 0x00);
}

bool is_array_sort_key(std::string_view keys, StringOrder order) {
  return !keys.empty() && static_cast<std::uint8_t>(keys[0]) == format_of(order).array;
}

std::size_t sort_key_length(std::string_view keys, bool descending, StringOrder order) {
  KeyReader reader(keys, descending);
  std::size_t depth = 0;
  while (!reader.at_end()) {
    switch (reader.next()) {
      case end_tag:
        if (depth == 0) return 0;
        --depth;
        break;
      case lowest_tag:
      case missing_tag:
      case highest_tag:
      case null_tag:
      case raw_null_tag:
      case false_tag:
      case raw_false_tag:
      case true_tag:
      case raw_true_tag:
        break;
      case number_tag:
        if (!reader.skip_number()) return 0;
        break;
      case string_tag:
      case raw_string_tag:
        if (!reader.skip_string(order)) return 0;
        break;
      case array_tag:
      case object_tag:
      case raw_array_tag:
      case raw_object_tag:
        ++depth;
        break;
      default:
        return 0;
    }
    if (depth == 0) return reader.position();
  }
  return 0;
}

}  // namespace octavo::query
