#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <simdjson.h>

/// What DocumentParser adds to simdjson's tape. The first word of the tape (the root) says where the tape ends; the
/// last word (the root again) has 56 bits that nothing reads. If a document has integers beyond 64 bits, which are read
/// as doubles, these bits are the address of a list of them:
///
///   list  := count:u64 entry* digits*
///   entry := index:u64 offset:u32 size:u32    position on the tape, position and size of the digits in the list
///
/// in the order of the tape; numbers are in the machine's byte order.
namespace octavo::query::tape {

/// An integer beyond 64 bits; `index` counts all numbers of the text.
struct LargeInteger {
  std::size_t index = 0;
  std::string digits;
};

struct Entry {
  std::uint64_t index;
  std::uint32_t offset;
  std::uint32_t size;
};

inline constexpr int type_shift = 56;
inline constexpr std::uint64_t payload_mask = (std::uint64_t{1} << type_shift) - 1;

/// The last word of the tape.
inline std::uint64_t& last_word(const simdjson::dom::document& document) {
  return document.tape[(document.tape[0] & payload_mask) - 1];
}

/// Writes the list. `integers`: in the order of the text.
inline std::string list_of(const simdjson::dom::document& document, const std::vector<LargeInteger>& integers) {
  const std::uint64_t count = integers.size();
  std::string list(sizeof count + count * sizeof(Entry), '\0');
  std::memcpy(list.data(), &count, sizeof count);
  auto next = integers.begin();
  std::size_t at = sizeof count;
  const std::size_t end = (document.tape[0] & payload_mask) - 1;
  std::size_t number = 0;
  for (std::size_t i = 1; i < end && next != integers.end(); ++i) {
    const auto type = static_cast<char>(document.tape[i] >> type_shift);
    if (type != 'd' && type != 'l' && type != 'u') continue;
    if (next->index == number++) {
      const Entry entry{i, static_cast<std::uint32_t>(list.size()), static_cast<std::uint32_t>(next->digits.size())};
      std::memcpy(list.data() + at, &entry, sizeof entry);
      at += sizeof entry;
      list += next->digits;
      ++next;
    }
    ++i;  // the value
  }
  return list;
}

/// The list must not move as long as the document is read.
inline void attach(const simdjson::dom::document& document, const std::string& list) {
  last_word(document) |= reinterpret_cast<std::uintptr_t>(list.data());
}

/// The layout of an element: the document and the position on its tape.
struct ElementLayout {
  const simdjson::dom::document* document;
  std::size_t index;
};
static_assert(sizeof(ElementLayout) == sizeof(simdjson::dom::element));
static_assert(std::is_trivially_copyable_v<simdjson::dom::element>);

/// The digits of a number; empty unless it is an integer beyond 64 bits. Logarithmic in the number of these.
inline std::string_view digits_of(const simdjson::dom::element& number) {
  const auto layout = std::bit_cast<ElementLayout>(number);
  const std::uint64_t address = last_word(*layout.document) & payload_mask;
  if (address == 0) return {};
  const auto* list = reinterpret_cast<const char*>(static_cast<std::uintptr_t>(address));
  std::uint64_t high = 0;
  std::memcpy(&high, list, sizeof high);
  for (std::uint64_t low = 0; low < high;) {
    const std::uint64_t middle = low + (high - low) / 2;
    Entry entry;
    std::memcpy(&entry, list + sizeof high + middle * sizeof entry, sizeof entry);
    if (entry.index == layout.index) return {list + entry.offset, entry.size};
    if (entry.index < layout.index) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {};
}

}  // namespace octavo::query::tape
