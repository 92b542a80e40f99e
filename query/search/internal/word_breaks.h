#pragma once

#include <string_view>

#include "query/search/analyzer.h"

/// Where words begin and end. Terms come as they stand in the text; lower case and the rest is for filters.
namespace octavo::query::search {

/// Longer words are left out, as in Lucene: they are data, not words.
inline constexpr std::size_t word_bytes_max = 255;

/// Words by Unicode's text segmentation (UAX #29), as Lucene's StandardTokenizer: ideographs and Hiragana one by one.
/// With `dictionary`, languages written without spaces are cut into words by ICU's dictionaries.
void break_words(std::string_view text, bool dictionary, TokenList& tokens);
/// As break_words, but whole e-mail addresses and URLs.
void break_words_and_addresses(std::string_view text, TokenList& tokens);
/// Runs of letters.
void break_letters(std::string_view text, TokenList& tokens);
/// What stands between spaces.
void break_spaces(std::string_view text, TokenList& tokens);
/// Lucene's first grammar for European languages: host names, acronyms, companies (AT&T), product numbers.
void break_classic(std::string_view text, TokenList& tokens);
/// Overlapping pairs of Chinese, Japanese and Korean characters; words of other scripts.
void break_pairs(std::string_view text, TokenList& tokens);

}  // namespace octavo::query::search
