#include "query/search/syntax/search_request.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/byte_codec.h"
#include "base/encoding.h"
#include "base/fnv.h"
#include "base/token.h"

namespace octavo::query::search {

namespace {

// Differs from the versions of other queries' bookmarks.
constexpr std::uint8_t bookmark_version = 0x81;
constexpr std::size_t order_values_max = search_sort_keys_max + 1;

bool is_field_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

bool is_field(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, is_field_letter);
}

// Degrees between -`most` and `most`, as Cloudant writes them: without an exponent.
std::optional<double> parse_degrees(std::string_view text, double most) {
  if (text.starts_with("+-")) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (parsed.ec != std::errc() || parsed.ptr != end || !(std::abs(value) <= most)) return std::nullopt;
  return value;
}

// `text` follows `<distance,`: `lon,lat,-2.15,57.15,km>`.
std::optional<SortKey> parse_distance(std::string_view text, bool descending) {
  // The radius at the equator, and the factor for miles, are those of the library that Cloudant uses.
  constexpr double earth_radius_km = 6378.137;
  constexpr double miles_of_kilometer = 0.621371192;
  constexpr double longitude_max = 180;
  constexpr double latitude_max = 90;
  constexpr std::size_t part_count = 5;
  if (!text.ends_with('>')) return std::nullopt;
  text.remove_suffix(1);
  std::vector<std::string_view> parts;
  while (parts.size() < part_count) {
    const auto comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (parts.size() == part_count) return std::nullopt;
  }
  if (parts.size() != part_count || !is_field(parts[0]) || !is_field(parts[1])) return std::nullopt;
  const auto longitude = parse_degrees(parts[2], longitude_max);
  const auto latitude = parse_degrees(parts[3], latitude_max);
  const bool miles = parts[4] == "mi";
  if (!longitude || !latitude || (!miles && parts[4] != "km")) return std::nullopt;
  SortKey key;
  key.kind = SortKey::Kind::distance;
  key.field = parts[0];
  key.descending = descending;
  key.latitude_field = parts[1];
  key.origin = {*longitude, *latitude, miles ? earth_radius_km * miles_of_kilometer : earth_radius_km};
  return key;
}

}  // namespace

Expected<SortKey> parse_sort_key(std::string_view text) {
  SortKey key;
  std::string_view rest = text;
  const auto unrecognized = [&] {
    return fail(ErrorCode::bad_request, fmt::format("Unrecognized sort parameter: {}", text));
  };
  if (rest.starts_with('-') || rest.starts_with('+')) {
    key.descending = rest.front() == '-';
    rest.remove_prefix(1);
  }
  if (rest == "<score>") {
    key.kind = SortKey::Kind::score;
    // Without a sign, the best hit comes last, as in Cloudant.
    return key;
  }
  if (rest == "<doc>") {
    key.kind = SortKey::Kind::document;
    return key;
  }
  if (constexpr std::string_view distance = "<distance,"; rest.starts_with(distance)) {
    auto parsed = parse_distance(rest.substr(distance.size()), key.descending);
    if (!parsed) return unrecognized();
    return *std::move(parsed);
  }
  std::size_t end = 0;
  while (end < rest.size() && is_field_letter(rest[end])) ++end;
  key.field = rest.substr(0, end);
  rest.remove_prefix(end);
  if (key.field.empty()) return unrecognized();
  key.kind = SortKey::Kind::number;
  if (rest.empty()) return key;
  if (!rest.starts_with('<') || !rest.ends_with('>')) return unrecognized();
  const std::string_view type = rest.substr(1, rest.size() - 2);
  if (type == "string") {
    key.kind = SortKey::Kind::string;
  } else if (type != "number") {
    return fail(ErrorCode::bad_request, fmt::format("Unrecognized type: {}", type));
  }
  return key;
}

std::uint32_t sort_checksum(const std::vector<SortKey>& sort) {
  std::string text;
  for (const SortKey& key : sort) {
    text.push_back(static_cast<char>('0' + static_cast<int>(key.kind)));
    text.push_back(key.descending ? '-' : '+');
    text += key.field;
    text.push_back('\0');
    if (key.kind != SortKey::Kind::distance) continue;
    text += fmt::format("{} {} {} {}", key.latitude_field, key.origin.longitude, key.origin.latitude,
                        key.origin.earth_radius);
    text.push_back('\0');
  }
  return fnv1a_32(text);
}

std::string SearchBookmark::encode() const {
  std::string bytes;
  ByteWriter writer(bytes);
  writer.u8(bookmark_version);
  writer.varint(sort);
  writer.u64(ordinal);
  writer.varint(order.size());
  for (const OrderValue& value : order) {
    writer.u8(static_cast<std::uint8_t>(value.index()));
    if (const auto* number = std::get_if<double>(&value)) writer.u64(std::bit_cast<std::uint64_t>(*number));
    if (const auto* text = std::get_if<std::string>(&value)) writer.sized_bytes(*text);
  }
  return seal_token(std::move(bytes));
}

std::optional<SearchBookmark> SearchBookmark::decode(std::string_view text) {
  if (text.size() > search_bookmark_bytes_max) return std::nullopt;
  const auto bytes = open_token(text);
  if (!bytes) return std::nullopt;
  ByteReader reader(*bytes);
  if (reader.u8() != bookmark_version) return std::nullopt;
  SearchBookmark bookmark;
  const std::uint64_t sort = reader.varint();
  bookmark.sort = static_cast<std::uint32_t>(sort);
  bookmark.ordinal = reader.u64();
  const std::uint64_t count = reader.varint();
  if (!reader.ok() || sort > UINT32_MAX || count > order_values_max) return std::nullopt;
  for (std::uint64_t i = 0; i < count; ++i) {
    switch (reader.u8()) {
      case 0:
        bookmark.order.emplace_back(std::monostate{});
        break;
      case 1:
        bookmark.order.emplace_back(std::bit_cast<double>(reader.u64()));
        break;
      case 2:
        bookmark.order.emplace_back(std::string(reader.sized_bytes()));
        break;
      default:
        return std::nullopt;
    }
  }
  if (!reader.ok() || !reader.rest().empty()) return std::nullopt;
  return bookmark;
}

Expected<FacetRange> parse_facet_range(std::string_view label, std::string_view text) {
  const auto malformed = [&] {
    return fail(ErrorCode::bad_request, fmt::format("{} was not a well-formed range specification", text));
  };
  auto query = parse_query(text);
  if (!query) return std::unexpected(std::move(query).error());
  if (query->kind != QueryNode::Kind::range) return malformed();
  const auto lower = parse_query_number(query->lower.value_or("-Infinity"));
  const auto upper = parse_query_number(query->upper.value_or("Infinity"));
  if (!lower || !upper) return malformed();
  return FacetRange{.label = std::string(label),
                    .lower = *lower,
                    .upper = *upper,
                    .lower_inclusive = query->lower_inclusive,
                    .upper_inclusive = query->upper_inclusive};
}

}  // namespace octavo::query::search
