#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json.hpp>
#include <simdjson.h>

namespace octavo::query {

/// CouchDB's view collation over JSON values:
///
///   null < false < true < numbers < strings < arrays < objects
///
/// Numbers by value (0 == -0 == 0.0), integers of any size exactly (query/json/large_integer.h). Strings by ICU's root
/// collation at tertiary strength (`a < A < b`), so two different strings may compare equal. Arrays element by element,
/// objects member by member in the order they are written (name, then value); a prefix comes first.
///
/// All functions are thread-safe and never fail; each thread opens its collator once. Recursion is bounded by
/// `json_depth_max`, which no parsed value exceeds. Result: negative, zero or positive.
int compare(const simdjson::dom::element& a, const simdjson::dom::element& b);
int compare(const simdjson::dom::element& a, const boost::json::value& b);
int compare(const boost::json::value& a, const boost::json::value& b);

/// The string part of the collation, for valid UTF-8. ASCII is compared without ICU, with the same result.
int compare_strings(std::string_view a, std::string_view b);

/// The order Mango uses for `_id`: strings by their bytes, and above every other type
/// (numbers < false < null < true < objects < arrays < strings).
int compare_raw(const simdjson::dom::element& a, const boost::json::value& b);
int compare_raw(const boost::json::value& a, const boost::json::value& b);

/// The rank of a type in the collation; the order of these values is the order of the types.
enum class TypeRank : std::uint8_t { null, boolean_false, boolean_true, number, string, array, object };
TypeRank type_rank(const simdjson::dom::element& value);
TypeRank type_rank(const boost::json::value& value);

/// Names the collation tables in use (ICU and UCA version). Sort keys (sort_key.h) of different versions must not be
/// mixed: an index on disk records this string and is rebuilt when it changes.
std::string collation_version();

/// The longest prefix P of `prefix` such that every string that begins with `prefix` sorts between P and P + U+FFFF.
/// (In some scripts the next letter changes how the one before it sorts; those letters are cut off.) May be empty.
std::string_view collation_safe_prefix(std::string_view prefix);

}  // namespace octavo::query
