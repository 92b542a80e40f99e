#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "query/search/query_syntax.h"
#include "storage/document.h"

namespace octavo::query::search {

/// One member of a `sort`: `"price<number>"`, `"-name<string>"`, `"<score>"`, `"-<doc>"`.
struct SortKey {
  enum class Kind : std::uint8_t { score, document, number, string };
  Kind kind = Kind::score;
  std::string field;
  bool descending = false;

  bool operator==(const SortKey&) const = default;
};
/// Errors: bad_request with Cloudant's words.
Expected<SortKey> parse_sort_key(std::string_view text);

/// What a hit was sorted by: null where the document has no such field.
using OrderValue = std::variant<std::monostate, double, std::string>;

/// Where a page of results ended. Clients see opaque base64url text; a changed one is refused or names another place in
/// what the client may read anyway.
///
///   bookmark := version:u8 sort:varint ordinal:u64 count:varint value…  checksum:u32
///   value    := 0 | 1 double:u64 | 2 size:varint bytes
///
/// The last row's `ordinal` decides between rows that sort alike: documents stand in the index in the order in which it
/// met them, through all merges, so pages neither repeat nor leave out a row that nobody touched.
struct SearchBookmark {
  std::uint32_t sort = 0;  ///< checksum of the sort keys: a bookmark is of one order
  std::uint64_t ordinal = 0;
  std::vector<OrderValue> order;

  std::string encode() const;
  /// nullopt for anything that encode() did not make.
  static std::optional<SearchBookmark> decode(std::string_view text);
  bool operator==(const SearchBookmark&) const = default;
};
std::uint32_t sort_checksum(const std::vector<SortKey>& sort);

struct FacetRange {
  std::string label;
  double lower = 0, upper = 0;
  bool lower_inclusive = true, upper_inclusive = true;
};
/// `[0 TO 100}`. Errors: bad_request "… was not a well-formed range specification".
Expected<FacetRange> parse_facet_range(std::string_view label, std::string_view text);

struct Highlighting {
  std::vector<std::string> fields;
  std::string before = "<em>";
  std::string after = "</em>";
  std::size_t fragments = 1;        ///< of each value at most
  std::size_t fragment_size = 100;  ///< letters, about
};

struct Grouping {
  std::string field;
  std::vector<SortKey> sort;  ///< of the groups; empty: by relevance
  std::size_t limit = 10;
};

/// One search. A value.
struct SearchRequest {
  QueryNode query;
  std::optional<std::string> partition;  ///< only documents of this logical partition
  std::size_t limit = 25;                ///< of each group, when there are groups
  std::size_t skip = 0;
  std::vector<SortKey> sort;  ///< empty: by relevance
  std::optional<SearchBookmark> bookmark;
  std::optional<std::vector<std::string>> include_fields;  ///< absent: all that are stored
  std::vector<std::string> counts;
  std::vector<std::pair<std::string, std::vector<FacetRange>>> ranges;
  std::vector<std::vector<std::string>> drilldown;  ///< field and the values of which it has one; all have to hold
  std::optional<Highlighting> highlighting;
  std::optional<Grouping> grouping;
  storage::Sequence at_least = 0;  ///< what the index must have seen; 0: any state of it will do
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

struct SearchHit {
  std::string id;
  std::vector<OrderValue> order;
  std::string fields;      ///< JSON object
  std::string highlights;  ///< JSON object; empty: not asked for
  std::uint64_t ordinal = 0;
};

struct SearchGroup {
  std::optional<std::string> by;  ///< nullopt: documents without the field
  std::uint64_t total_rows = 0;
  std::vector<SearchHit> hits;
};

/// Facet values and how many of the found documents have each, most frequent first.
using FacetCounts = std::vector<std::pair<std::string, std::uint64_t>>;

struct SearchResult {
  std::uint64_t total_rows = 0;
  std::uint64_t total_grouped_rows = 0;
  std::vector<SearchHit> hits;
  std::vector<SearchGroup> groups;
  SearchBookmark bookmark;  ///< after the last hit, or as it came when there was none
  std::vector<std::pair<std::string, FacetCounts>> counts;
  std::vector<std::pair<std::string, FacetCounts>> ranges;
};

/// Limits on one request.
inline constexpr std::size_t search_sort_keys_max = 16;
inline constexpr std::size_t search_facets_max = 100;
inline constexpr std::size_t search_bookmark_bytes_max = 64 * 1024;

}  // namespace octavo::query::search
