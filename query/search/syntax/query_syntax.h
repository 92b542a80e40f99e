#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octavo::query::search {

/// Limits on a query, so that none can occupy a thread or exhaust the stack.
inline constexpr std::size_t query_bytes_max = 64 * 1024;
inline constexpr std::size_t query_depth_max = 100;
inline constexpr std::size_t query_clauses_max = 1024;  ///< in one pair of parentheses; Lucene's own limit
inline constexpr std::size_t query_nodes_max = 4096;

/// A parsed query, before analysis. A value.
struct QueryNode {
  enum class Kind : std::uint8_t {
    everything,  ///< `*:*`
    words,       ///< text for the field's analyzer; also searched as a number if it is one
    phrase,      ///< words in order
    prefix,      ///< `sal*`
    wildcard,    ///< `s?l*r`; `\` escapes
    regex,       ///< `/sal(t|e)er/`
    fuzzy,       ///< `salter~`
    range,       ///< `[a TO b}`
    clauses,     ///< parentheses
  };
  enum class Occur : std::uint8_t { should, must, must_not };
  struct Clause;

  Kind kind = Kind::everything;
  std::string field;
  std::string text;
  /// Text is compared unchanged: neither analyzed nor converted to lower case. Only for selectors, never set by the
  /// parser.
  bool exact = false;
  std::uint32_t slop = 0;                   ///< phrase: number of positions by which words may be moved
  double similarity = 2;                    ///< fuzzy: 1 and 2 are edits, less is a share of the word
  std::optional<std::string> lower, upper;  ///< range; nullopt: open
  bool lower_inclusive = true;
  bool upper_inclusive = true;
  double boost = 1;
  std::vector<Clause> clauses;
};

struct QueryNode::Clause {
  Occur occur = Occur::should;
  QueryNode node;
};

inline constexpr std::string_view default_field = "default";

/// Parses Lucene's classic query syntax in the version of Lucene 4.6, which Cloudant Search uses: fields, phrases,
/// ranges with either kind of bracket, wildcards (not as the first character), regular expressions, `~`, `^`,
/// `+ - AND OR NOT`. Errors: bad_request with Lucene's message: "Cannot parse '…': Encountered …".
Expected<QueryNode> parse_query(std::string_view text);

/// Parses a number in Java's syntax, including `Infinity`; nullopt for anything else.
std::optional<double> parse_query_number(std::string_view text);

}  // namespace octavo::query::search
