#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "query/search/analysis/analyzer.h"

namespace octavo::query::search {

/// The rules by which words of a language become terms.
struct Language {
  std::string_view name;        ///< as in `analyzer`
  std::string_view stemmer{};   ///< Snowball's name for it; empty: `endings` are used, if any
  std::string_view stop_words;  ///< separated by spaces: stop_words/german.txt
  std::string_view endings{};   ///< removed by the light stemmer; longest first, separated by spaces
  std::string_view elisions{};  ///< removed, with the apostrophe, from the start of a word: "l d qu"
  enum class Script : std::uint8_t {
    plain,
    arabic,      ///< hamza forms, tatweel and vowel signs are dropped
    persian,     ///< as arabic, and Persian letters become Arabic ones
    greek,       ///< accents are dropped
    turkish,     ///< I and İ have their own lower-case letters
    devanagari,  ///< nukta and chandrabindu are dropped
    dictionary,  ///< written without spaces
    pairs,       ///< Chinese, Japanese, Korean: overlapping pairs
  } script = Script::plain;
};

std::span<const Language> languages();
const Language* find_language(std::string_view name);

/// Replaces letters that a script treats as equal by one of them, in place.
void fold_script(Language::Script script, std::string& term);
/// Removes the first of `endings` that matches and leaves at least three letters.
std::string_view cut_ending(std::string_view term, std::string_view endings);

}  // namespace octavo::query::search
