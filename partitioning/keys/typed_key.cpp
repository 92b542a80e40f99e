#include "partitioning/keys/typed_key.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "base/assert.h"
#include "base/encoding.h"
#include "base/murmur3.h"

namespace octavo::partitioning {
namespace {

using storage::KeyScheme;

// Type bytes of Azure Cosmos DB's typed encoding.
constexpr char missing_byte = '\x00';
constexpr char null_byte = '\x01';
constexpr char false_byte = '\x02';
constexpr char true_byte = '\x03';
constexpr char number_byte = '\x05';
constexpr char string_byte = '\x08';
constexpr std::size_t version1_characters_max = 100;
constexpr int version1_shift = 30;  // 32 bits of hash, 62 bits of position
constexpr double whole_max = 9007199254740992.0;

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};

void append_u64(std::string& out, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

void append_escaped(std::string& out, std::string_view text, bool hierarchical) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool escape = c == ':' || c == '%' || (hierarchical && c == ',') || (i == 0 && (c == '_' || c == '!'));
    if (escape) {
      crypto::append_percent_encoded(out, c);
    } else {
      out.push_back(c);
    }
  }
}

std::unexpected<Error> no_key() {
  return fail(ErrorCode::bad_request, "This text is no partition key.");
}

Expected<KeyValue> decode_value(std::string_view text, bool hierarchical) {
  if (text.empty()) return no_key();
  if (text.front() != '!') {
    std::string value;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        value.push_back(text[i]);
        continue;
      }
      if (i + 2 >= text.size()) return no_key();
      const int high = crypto::hex_value(text[i + 1]);
      const int low = crypto::hex_value(text[i + 2]);
      if (high < 0 || low < 0) return no_key();
      value.push_back(static_cast<char>(high << 4 | low));
      i += 2;
    }
    // Accepts only texts made by encode(), whose digits are upper case: two texts must not name one key.
    std::string again;
    append_escaped(again, value, hierarchical);
    if (again != text) return no_key();
    return value;
  }
  text.remove_prefix(1);
  if (text == "none") return MissingValue{};
  if (text == "null") return NullValue{};
  if (text == "true") return true;
  if (text == "false") return false;
  if (text == "\"\"") return std::string();
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) return no_key();
  std::string again;
  append_key_number(again, number);
  if (again != text) return no_key();
  return number;
}

void append_little_endian(std::string& out, double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number == 0 ? 0.0 : number);
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(bits >> shift));
}

// Appends the bytes that are hashed. `string_end`: 0xFF in version 2, 0x00 in version 1.
void append_typed(std::string& out, const KeyValue& value, char string_end) {
  std::visit(
      Overloaded{[&](MissingValue) { out.push_back(missing_byte); }, [&](NullValue) { out.push_back(null_byte); },
                 [&](bool truth) { out.push_back(truth ? true_byte : false_byte); },
                 [&](double number) {
                   out.push_back(number_byte);
                   append_little_endian(out, number);
                 },
                 [&](const std::string& text) {
                   out.push_back(string_byte);
                   out.append(text);
                   out.push_back(string_end);
                 }},
      value);
}

Hash128 hash_v2(const KeyValue& value) {
  std::string typed;
  append_typed(typed, value, '\xFF');
  return murmur3_x64_128(typed);
}

// The first 100 UTF-16 units, as clients count them.
std::string_view first_characters(std::string_view text) {
  std::size_t units = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c & 0xC0) == 0x80) continue;
    const std::size_t width = c >= 0xF0 ? 2 : 1;
    if (units + width > version1_characters_max) return text.substr(0, i);
    units += width;
  }
  return text;
}

std::uint32_t hash_v1(const KeyValue& value) {
  std::string typed;
  if (const auto* text = std::get_if<std::string>(&value)) {
    append_typed(typed, std::string(first_characters(*text)), '\0');
  } else {
    append_typed(typed, value, '\0');
  }
  return murmur3_x86_32(typed);
}

// Encodes a number so that bytes sort as numbers do: eight bits, then seven at a time with a mark that more follow.
// Zero bytes are omitted, as in Microsoft's clients.
void append_ordered_number(std::string& out, double number) {
  constexpr std::uint64_t sign_bit = 1ULL << 63;
  const auto bits = std::bit_cast<std::uint64_t>(number);
  std::uint64_t payload = bits < sign_bit ? bits ^ sign_bit : ~bits + 1;
  out.push_back(number_byte);
  out.push_back(static_cast<char>(payload >> 56));
  payload <<= 8;
  unsigned next = 0;
  bool first = true;
  do {
    if (!first && next != 0) out.push_back(static_cast<char>(next));
    first = false;
    next = static_cast<unsigned>(payload >> 56) | 1U;
    payload <<= 7;
  } while (payload != 0);
  if ((next & 0xFEU) != 0) out.push_back(static_cast<char>(next & 0xFEU));
}

void append_ordered(std::string& out, const KeyValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return append_ordered_number(out, *number);
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return append_typed(out, value, '\0');
  const std::string_view shown = first_characters(*text);
  out.push_back(string_byte);
  for (const char c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(static_cast<char>(byte < 0xFF ? byte + 1 : byte));
  }
  out.push_back('\0');
}

}  // namespace

void append_key_number(std::string& out, double number) {
  char digits[32];
  // One text per number: 42, 42.0 and 4.2e1 are the same key.
  const bool whole = number == std::floor(number) && std::abs(number) <= whole_max;
  const auto end = whole ? std::to_chars(digits, digits + sizeof digits, static_cast<std::int64_t>(number)).ptr
                         : std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

Expected<TypedKey> TypedKey::decode(std::string_view text, bool hierarchical) {
  TypedKey key;
  key.hierarchical_ = hierarchical;
  while (true) {
    const std::size_t comma = hierarchical ? text.find(',') : std::string_view::npos;
    OCTAVO_TRY(KeyValue value, decode_value(text.substr(0, comma), hierarchical));
    key.values_.push_back(std::move(value));
    if (comma == std::string_view::npos) return key;
    text.remove_prefix(comma + 1);
  }
}

std::string TypedKey::encode() const {
  std::string text;
  for (const KeyValue& value : values_) {
    if (&value != &values_.front()) text.push_back(',');
    std::visit(Overloaded{[&](MissingValue) { text += "!none"; }, [&](NullValue) { text += "!null"; },
                          [&](bool truth) { text += truth ? "!true" : "!false"; },
                          [&](double number) {
                            text.push_back('!');
                            append_key_number(text, number);
                          },
                          [&](const std::string& string) {
                            if (string.empty()) {
                              text += "!\"\"";
                            } else {
                              append_escaped(text, string, hierarchical_);
                            }
                          }},
               value);
  }
  return text;
}

std::string TypedKey::effective(KeyScheme scheme) const {
  std::string bytes;
  if (scheme == KeyScheme::hash_v1) {
    OCTAVO_ASSERT(!values_.empty());
    append_ordered_number(bytes, hash_v1(values_.front()));
    append_ordered(bytes, values_.front());
    return bytes;
  }
  for (const KeyValue& value : values_) {
    const Hash128 hash = hash_v2(value);
    append_u64(bytes, hash.high & (hash_space_end - 1));
    append_u64(bytes, hash.low);
  }
  return bytes;
}

HashPosition TypedKey::position(KeyScheme scheme) const {
  if (values_.empty()) return 0;
  if (scheme == KeyScheme::hash_v1) return HashPosition{hash_v1(values_.front())} << version1_shift;
  return hash_v2(values_.front()).high & (hash_space_end - 1);
}

std::string effective_bound(HashPosition first, KeyScheme scheme) {
  std::string bytes;
  if (first == 0) return bytes;
  if (scheme == KeyScheme::hash_v1) {
    append_ordered_number(bytes, std::ceil(static_cast<double>(first) / static_cast<double>(1ULL << version1_shift)));
  } else {
    append_u64(bytes, first);
    bytes.append(8, '\0');
  }
  return bytes;
}

bool EffectiveRange::holds(std::string_view document_id, KeyScheme scheme) const {
  const auto key = TypedKey::decode(partition_key_of(document_id, true), scheme == KeyScheme::multi_hash);
  if (!key) return false;
  const std::string effective = key->effective(scheme);
  return effective >= min && (max.empty() || effective < max);
}

HashPosition position_of_bound(std::string_view bytes, KeyScheme scheme) {
  if (scheme == KeyScheme::hash_v1) {
    // The lowest hash whose encoding is >= `bytes`.
    std::uint64_t low = 0;
    std::uint64_t high = 1ULL << 32;
    while (low < high) {
      const std::uint64_t middle = (low + high) / 2;
      std::string encoded;
      append_ordered_number(encoded, static_cast<double>(middle));
      if (encoded < bytes.substr(0, encoded.size())) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return std::min(low << version1_shift, hash_space_end);
  }
  HashPosition position = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    position = position << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U);
  }
  return std::min(position, hash_space_end);
}

}  // namespace octavo::partitioning
