#pragma once

#include <string_view>

#include "query/search/analysis/analyzer.h"

/// Splits text into words. Terms are unchanged parts of the text; filters convert them to lower case and the like.
namespace octavo::query::search {

/// Longer words are skipped, as in Lucene: they are data, not words.
inline constexpr std::size_t word_bytes_max = 255;

/// Finds words by Unicode's text segmentation (UAX #29), as Lucene's StandardTokenizer does: each ideograph or Hiragana
/// is a word. With `dictionary`, ICU's dictionaries split languages that are written without spaces.
void break_words(std::string_view text, bool dictionary, TokenList& tokens);
/// Does the same as break_words(), but e-mail addresses and URLs are one word each.
void break_words_and_addresses(std::string_view text, TokenList& tokens);
/// Finds runs of letters.
void break_letters(std::string_view text, TokenList& tokens);
/// Splits at white space.
void break_spaces(std::string_view text, TokenList& tokens);
/// Makes overlapping pairs of Chinese, Japanese and Korean characters, and words of other scripts.
void break_pairs(std::string_view text, TokenList& tokens);

}  // namespace octavo::query::search
