#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo::query::sql {

/// Part of a query's text. In an error it is in characters as clients count them (UTF-16 units), in the syntax tree in
/// bytes.
struct Location {
  std::size_t start = 0;
  std::size_t end = 0;

  bool operator==(const Location&) const = default;
};

/// Why a query text is rejected: Azure Cosmos DB's code and message, and the position in the text.
///
/// The Azure Cosmos DB API returns it as
/// `{"errors":[{"severity":"Error","location":{"start":…,"end":…},"code":…,"message":…}]}`.
struct SqlError {
  Location location;
  std::string_view code;  ///< a literal: `SC1001`, …
  std::string message;

  /// For APIs without a format for positions: bad_request, word `invalid_sql`, "… (SC1001 at 7..10)".
  Error to_error() const;
  /// The `errors` document above, without the API's envelope.
  std::string to_json() const;
};

namespace codes {
inline constexpr std::string_view syntax = "SC1001";
inline constexpr std::string_view invalid_token = "SC1010";
inline constexpr std::string_view invalid_number = "SC1011";
inline constexpr std::string_view invalid_string = "SC1012";
inline constexpr std::string_view unresolved = "SC2001";
inline constexpr std::string_view duplicate_alias = "SC2002";
inline constexpr std::string_view unknown_function = "SC2005";
inline constexpr std::string_view arguments = "SC2007";
inline constexpr std::string_view arguments_of_range = "SC2050";
inline constexpr std::string_view star_many_sources = "SC2040";
inline constexpr std::string_view star_grouped = "SC2041";
inline constexpr std::string_view top_count = "SC2060";
inline constexpr std::string_view offset_count = "SC2062";
inline constexpr std::string_view limit_count = "SC2061";
inline constexpr std::string_view not_grouped = "SC2102";
inline constexpr std::string_view aggregate_place = "SC2103";
inline constexpr std::string_view nested_aggregate = "SC2101";
inline constexpr std::string_view parameter = "SC2201";
inline constexpr std::string_view limit_exceeded = "SC3001";
inline constexpr std::string_view unsupported = "SC3002";
}  // namespace codes

}  // namespace octavo::query::sql
