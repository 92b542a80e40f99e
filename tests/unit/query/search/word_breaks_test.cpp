// The words of UAX #29, for which ICU is asked (docs/decisions/0005-word-breaks.md).
#include "query/search/analysis/word_breaks.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace octavo::query::search {
namespace {

using Words = std::vector<std::string>;

Words words_of(std::string_view text, bool dictionary = false) {
  TokenList tokens;
  break_words(text, dictionary, tokens);
  Words words;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    CHECK(text.substr(tokens[i].start, tokens[i].end - tokens[i].start) == tokens.term(i));
    words.emplace_back(tokens.term(i));
  }
  return words;
}

}  // namespace

TEST_CASE("dots, apostrophes and commas join letters or digits, but do not begin or end a word") {
  CHECK(words_of("can't e.g. 3,141.5 a,b 'quoted' x.1") ==
        Words{"can't", "e.g", "3,141.5", "a", "b", "quoted", "x", "1"});
  CHECK(words_of("l·l ’tis o’clock") == Words{"l·l", "tis", "o’clock"});
}

TEST_CASE("an at sign belongs to no word, whatever else the text contains") {
  CHECK(words_of("ab@cd") == Words{"ab", "cd"});
  CHECK(words_of("@ab@ \xE4\xBD\xA0 1@_x@") == Words{"ab", "\xE4\xBD\xA0", "1", "_x"});
  CHECK(words_of("@") == Words{});
}

TEST_CASE("underscores join words, but are none alone") {
  CHECK(words_of("a_1 _b_ __ _ \xE2\x98\x83 ___") == Words{"a_1", "_b_"});
}

TEST_CASE("each ideograph and Hiragana is a word, unless a dictionary finds words of several") {
  CHECK(words_of("\xE4\xBD\xA0\xE5\xA5\xBD ok") == Words{"\xE4\xBD\xA0", "\xE5\xA5\xBD", "ok"});
  CHECK(words_of("\xE4\xBD\xA0\xE5\xA5\xBD ok", true) == Words{"\xE4\xBD\xA0\xE5\xA5\xBD", "ok"});
}

TEST_CASE("bytes that are no UTF-8 end a word") {
  CHECK(words_of("ab\xFF"
                 "cd") == Words{"ab", "cd"});
}

}  // namespace octavo::query::search
