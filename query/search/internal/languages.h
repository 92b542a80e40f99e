#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "query/search/analyzer.h"

namespace octavo::query::search {

/// How a language's words are made comparable.
struct Language {
  std::string_view name;        ///< as in `analyzer`
  std::string_view stemmer{};   ///< Snowball's name; empty: `endings`, or none
  std::string_view stop_words;  ///< separated by spaces: stop_words/german.txt
  std::string_view endings{};   ///< longest first, separated by spaces: cut off by the light stemmer
  std::string_view elisions{};  ///< what may stand before an apostrophe: "l d qu"
  enum class Script : std::uint8_t {
    plain,
    arabic,      ///< hamza forms, tatweel and vowel signs are dropped
    persian,     ///< as arabic, and Arabic letters for the Persian ones
    greek,       ///< without accents
    turkish,     ///< I and İ have small letters of their own
    devanagari,  ///< nukta and chandrabindu are dropped
    dictionary,  ///< written without spaces
    pairs,       ///< Chinese, Japanese, Korean: overlapping pairs
  } script = Script::plain;
};

std::span<const Language> languages();
const Language* find_language(std::string_view name);

/// Letters that a script treats as equal become one. In place in `term`.
void fold_script(Language::Script script, std::string& term);
/// Cuts the first of `endings` that fits and leaves at least three letters.
std::string_view cut_ending(std::string_view term, std::string_view endings);

}  // namespace octavo::query::search
