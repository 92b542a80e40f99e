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
#include "query/search/syntax/query_syntax.h"
#include "storage/document/document.h"

namespace octavo::query::search {

/// One element of `sort`: `"price<number>"`, `"-name<string>"`, `"<score>"`, `"-<doc>"`, or the distance to a point:
/// `"<distance,lon,lat,-2.15,57.15,km>"`.
struct SortKey {
  enum class Kind : std::uint8_t { score, document, number, string, distance };
  struct Origin {
    double longitude = 0;     ///< degrees
    double latitude = 0;      ///< degrees
    double earth_radius = 0;  ///< in the unit of the distance: kilometers or miles
    bool operator==(const Origin&) const = default;
  };
  Kind kind = Kind::score;
  std::string field;  ///< of a distance: the field with the longitude
  bool descending = false;
  std::string latitude_field = {};  ///< of a distance
  Origin origin = {};               ///< of a distance

  bool operator==(const SortKey&) const = default;
};
/// Errors: bad_request with Cloudant's words.
Expected<SortKey> parse_sort_key(std::string_view text);

/// A value by which a hit was sorted; monostate if the document has no such field.
using OrderValue = std::variant<std::monostate, double, std::string>;

/// The end of a page of results. Clients see a token (base/token.h). A modified bookmark is rejected, or means another
/// position in results that the client may read anyway.
///
/// Format (bookmark of a search):
///   bookmark := version:u8 sort:varint ordinal:u64 count:varint value*
///   value    := 00 | 01 double:u64 | 02 text:sized
///
/// The last row's `ordinal` decides between rows with equal sort values. Documents stay in the index in the order in
/// which they were added, through all merges, so pages neither repeat nor skip an unchanged row.
struct SearchBookmark {
  std::uint32_t sort = 0;  ///< checksum of the sort keys: a bookmark is valid for one order only
  std::uint64_t ordinal = 0;
  std::vector<OrderValue> order;

  std::string encode() const;
  /// nullopt unless `text` was made by encode().
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
  std::size_t fragments = 1;        ///< the most per value
  std::size_t fragment_size = 100;  ///< in letters, approximate
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
  std::size_t limit = 25;                ///< per group, if there are groups
  std::size_t skip = 0;
  std::vector<SortKey> sort;  ///< empty: by relevance
  std::optional<SearchBookmark> bookmark;
  std::optional<std::vector<std::string>> include_fields;  ///< nullopt: all stored fields
  std::vector<std::string> counts;
  std::vector<std::pair<std::string, std::vector<FacetRange>>> ranges;
  std::vector<std::vector<std::string>> drilldown;  ///< a field and its allowed values; all conditions must hold
  std::optional<Highlighting> highlighting;
  std::optional<Grouping> grouping;
  storage::Sequence at_least = 0;  ///< the index must include changes up to this one; 0: any state is accepted
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

struct SearchHit {
  std::string id;
  std::vector<OrderValue> order;
  std::string fields;      ///< JSON object
  std::string highlights;  ///< JSON object; empty: not requested
  std::uint64_t ordinal = 0;
};

struct SearchGroup {
  std::optional<std::string> by;  ///< nullopt: documents without the field
  std::uint64_t total_rows = 0;
  std::vector<SearchHit> hits;
};

/// Facet values and the number of found documents with each, most frequent first.
using FacetCounts = std::vector<std::pair<std::string, std::uint64_t>>;

struct SearchResult {
  std::uint64_t total_rows = 0;
  std::uint64_t total_grouped_rows = 0;
  std::vector<SearchHit> hits;
  std::vector<SearchGroup> groups;
  SearchBookmark bookmark;  ///< after the last hit; that of the request if there is no hit
  std::vector<std::pair<std::string, FacetCounts>> counts;
  std::vector<std::pair<std::string, FacetCounts>> ranges;
};

/// Limits on one request.
inline constexpr std::size_t search_sort_keys_max = 16;
inline constexpr std::size_t search_facets_max = 100;
inline constexpr std::size_t search_bookmark_bytes_max = 64 * 1024;

}  // namespace octavo::query::search
