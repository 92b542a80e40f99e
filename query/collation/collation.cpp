#include "query/collation/collation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <unicode/uchar.h>
#include <unicode/ucol.h>
#include <unicode/uset.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>
#include <unicode/uversion.h>

#include "query/collation/internal/collator.h"
#include "query/collation/internal/json_access.h"

namespace octavo::query {

namespace {

namespace access = json_access;

struct CollatorCloser {
  void operator()(UCollator* collator) const { ucol_close(collator); }
};
using CollatorPointer = std::unique_ptr<UCollator, CollatorCloser>;

CollatorPointer open_collator() {
  UErrorCode status = U_ZERO_ERROR;
  CollatorPointer collator(ucol_open("", &status));
  // The root tables are part of the library; without them the process cannot order anything.
  if (U_FAILURE(status)) std::abort();
  return collator;
}

int sign(std::strong_ordering order) {
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}
int sign(std::partial_ordering order) {
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

/// How ICU weighs the ASCII characters, read from ICU itself so that both always agree.
struct AsciiWeights {
  /// 0: ignorable at all levels; else the rank among the ASCII characters at the primary level.
  std::array<std::uint8_t, 128> primary{};
  /// The rank among characters of one primary weight (`a` before `A`).
  std::array<std::uint8_t, 128> tertiary{};

  AsciiWeights() {
    const UCollator* collator = thread_collator();
    struct Levels {
      std::string primary, rest;
    };
    std::array<Levels, 128> levels;
    std::vector<std::string> primaries, rests;
    for (UChar c = 0; c < 128; ++c) {
      std::array<std::uint8_t, 64> key{};
      const int32_t size = ucol_getSortKey(collator, &c, 1, key.data(), key.size());
      const std::string_view bytes(reinterpret_cast<const char*>(key.data()), static_cast<std::size_t>(size - 1));
      const std::size_t end = bytes.find('\x01');  // levels are separated by 01
      levels[c] = {std::string(bytes.substr(0, end)), std::string(bytes.substr(end))};
      if (!levels[c].primary.empty()) primaries.push_back(levels[c].primary);
      rests.push_back(levels[c].rest);
    }
    const auto unique = [](std::vector<std::string>& list) {
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
    };
    unique(primaries);
    unique(rests);
    const auto index_in = [](const std::vector<std::string>& list, const std::string& key) {
      return static_cast<std::uint8_t>(std::ranges::lower_bound(list, key) - list.begin());
    };
    for (std::size_t c = 0; c < 128; ++c) {
      if (levels[c].primary.empty()) continue;
      primary[c] = static_cast<std::uint8_t>(index_in(primaries, levels[c].primary) + 1);
      tertiary[c] = index_in(rests, levels[c].rest);
    }
  }
};

const AsciiWeights& ascii_weights() {
  static const AsciiWeights weights;
  return weights;
}

int compare_strings_by_icu(std::string_view a, std::string_view b) {
  UErrorCode status = U_ZERO_ERROR;
  return ucol_strcollUTF8(thread_collator(), a.data(), static_cast<int32_t>(a.size()), b.data(),
                          static_cast<int32_t>(b.size()), &status);
}

/// The order of compare().
struct CollationOrder {
  static int rank(TypeRank type) { return static_cast<int>(type); }
  static int strings(std::string_view a, std::string_view b) { return compare_strings(a, b); }
};

/// The order of compare_raw().
struct RawOrder {
  static int rank(TypeRank type) {
    switch (type) {
      case TypeRank::number:
        return 0;
      case TypeRank::boolean_false:
        return 1;
      case TypeRank::null:
        return 2;
      case TypeRank::boolean_true:
        return 3;
      case TypeRank::object:
        return 4;
      case TypeRank::array:
        return 5;
      case TypeRank::string:
        return 6;
    }
    return 0;
  }
  static int strings(std::string_view a, std::string_view b) { return sign(a <=> b); }
};

template <class Order, class A, class B>
int compare_values(const A& a, const B& b) {
  const TypeRank rank_a = access::rank(a);
  const TypeRank rank_b = access::rank(b);
  if (rank_a != rank_b) return Order::rank(rank_a) < Order::rank(rank_b) ? -1 : 1;
  switch (rank_a) {
    case TypeRank::null:
    case TypeRank::boolean_false:
    case TypeRank::boolean_true:
      return 0;
    case TypeRank::number:
      return sign(access::number(a) <=> access::number(b));
    case TypeRank::string:
      return Order::strings(access::string(a), access::string(b));
    case TypeRank::array: {
      const auto& left = access::array(a);
      const auto& right = access::array(b);
      auto l = left.begin();
      auto r = right.begin();
      for (; l != left.end() && r != right.end(); ++l, ++r) {
        if (const int order = compare_values<Order>(*l, *r); order != 0) return order;
      }
      return l != left.end() ? 1 : r != right.end() ? -1 : 0;
    }
    case TypeRank::object: {
      const auto& left = access::object(a);
      const auto& right = access::object(b);
      auto l = left.begin();
      auto r = right.begin();
      for (; l != left.end() && r != right.end(); ++l, ++r) {
        const auto& left_member = *l;
        const auto& right_member = *r;
        if (const int order = Order::strings(access::member_name(left_member), access::member_name(right_member));
            order != 0) {
          return order;
        }
        if (const int order =
                compare_values<Order>(access::member_value(left_member), access::member_value(right_member));
            order != 0) {
          return order;
        }
      }
      return l != left.end() ? 1 : r != right.end() ? -1 : 0;
    }
  }
  return 0;
}

/// Characters whose neighbours change how they sort (contractions and scripts written in another order).
class ContextCharacters {
 public:
  ContextCharacters() : set_(uset_openEmpty()) {
    UErrorCode status = U_ZERO_ERROR;
    USet* contractions = uset_openEmpty();
    ucol_getContractionsAndExpansions(thread_collator(), contractions, nullptr, true, &status);
    const int32_t items = uset_getItemCount(contractions);
    for (int32_t i = 0; i < items; ++i) {
      std::array<UChar, 64> text{};
      UChar32 start = 0, end = 0;
      UErrorCode item_status = U_ZERO_ERROR;
      const int32_t length =
          uset_getItem(contractions, i, &start, &end, text.data(), static_cast<int32_t>(text.size()), &item_status);
      if (U_FAILURE(item_status)) continue;
      if (length < 2) {
        uset_addRange(set_, start, end);
        continue;
      }
      for (int32_t at = 0; at < length;) {
        UChar32 point = 0;
        U16_NEXT(text.data(), at, length, point);
        uset_add(set_, point);
      }
    }
    uset_close(contractions);
    uset_freeze(set_);
  }
  ContextCharacters(const ContextCharacters&) = delete;
  ContextCharacters& operator=(const ContextCharacters&) = delete;
  ~ContextCharacters() { uset_close(set_); }

  bool contains(UChar32 point) const { return uset_contains(set_, point) || u_getCombiningClass(point) != 0; }

 private:
  USet* set_;
};

}  // namespace

const UCollator* thread_collator() {
  thread_local const CollatorPointer collator = open_collator();
  return collator.get();
}

int compare_strings(std::string_view a, std::string_view b) {
  if (a == b) return 0;
  const AsciiWeights& weights = ascii_weights();
  std::size_t i = 0, k = 0;
  int tertiary = 0;
  for (;;) {
    unsigned left = 0, right = 0;  // primary weights; 0 is the end of the string
    std::size_t left_at = 0, right_at = 0;
    while (left == 0 && i < a.size()) {
      const auto c = static_cast<unsigned char>(a[left_at = i++]);
      if (c >= 0x80) return compare_strings_by_icu(a, b);
      left = weights.primary[c];
    }
    while (right == 0 && k < b.size()) {
      const auto c = static_cast<unsigned char>(b[right_at = k++]);
      if (c >= 0x80) return compare_strings_by_icu(a, b);
      right = weights.primary[c];
    }
    if (left != right) {
      // A character beyond ASCII directly after this one could combine with it.
      const bool is_followed = (i < a.size() && static_cast<unsigned char>(a[i]) >= 0x80) ||
                               (k < b.size() && static_cast<unsigned char>(b[k]) >= 0x80);
      if (is_followed) return compare_strings_by_icu(a, b);
      return left < right ? -1 : 1;
    }
    if (left == 0) return tertiary;
    if (tertiary == 0) {
      const int difference = weights.tertiary[static_cast<unsigned char>(a[left_at])] -
                             weights.tertiary[static_cast<unsigned char>(b[right_at])];
      tertiary = difference < 0 ? -1 : difference > 0 ? 1 : 0;
    }
  }
}

int compare(const simdjson::dom::element& a, const simdjson::dom::element& b) {
  return compare_values<CollationOrder>(a, b);
}
int compare(const simdjson::dom::element& a, const boost::json::value& b) {
  return compare_values<CollationOrder>(a, b);
}
int compare(const boost::json::value& a, const boost::json::value& b) {
  return compare_values<CollationOrder>(a, b);
}

int compare_raw(const simdjson::dom::element& a, const boost::json::value& b) {
  return compare_values<RawOrder>(a, b);
}
int compare_raw(const boost::json::value& a, const boost::json::value& b) {
  return compare_values<RawOrder>(a, b);
}

TypeRank type_rank(const simdjson::dom::element& value) {
  return access::rank(value);
}
TypeRank type_rank(const boost::json::value& value) {
  return access::rank(value);
}

std::string collation_version() {
  UVersionInfo collator{}, uca{};
  ucol_getVersion(thread_collator(), collator);
  ucol_getUCAVersion(thread_collator(), uca);
  return fmt::format("icu {} collator {}.{}.{}.{} uca {}.{}", U_ICU_VERSION, collator[0], collator[1], collator[2],
                     collator[3], uca[0], uca[1]);
}

std::string_view collation_safe_prefix(std::string_view prefix) {
  static const ContextCharacters context;
  auto size = static_cast<int32_t>(prefix.size());
  while (size > 0) {
    if (static_cast<unsigned char>(prefix[static_cast<std::size_t>(size) - 1]) < 0x80) break;
    int32_t before = size;
    UChar32 point = 0;
    U8_PREV(prefix.data(), 0, before, point);
    if (!context.contains(point)) break;
    size = before;
  }
  return prefix.substr(0, static_cast<std::size_t>(size));
}

}  // namespace octavo::query
