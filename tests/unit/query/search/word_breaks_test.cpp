// The word breaks of full-text search beside ICU's, which break_words() replaces by tables for the commonest scripts
// (docs/decisions/0005-word-breaks.md). Each text is given to break_words() and to a BreakIterator of this test's own.
#include "query/search/analysis/word_breaks.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <unicode/brkiter.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

namespace octavo::query::search {
namespace {

using Words = std::vector<std::pair<std::size_t, std::size_t>>;  // first byte, and byte after the last

// No table goes beyond U+2122. Here begin the scripts whose words break_words() splits into characters.
constexpr UChar32 kCodePointsEnd = 0x2E80;

std::string utf8(UChar32 c) {
  std::uint8_t bytes[U8_MAX_LENGTH];
  std::int32_t size = 0;
  U8_APPEND_UNSAFE(bytes, size, c);
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

/// ICU takes two or more underscores alone for a number. Neither Lucene's grammar nor break_words() has such a word.
bool is_connectors_only(std::string_view word) {
  for (std::int32_t at = 0; at < static_cast<std::int32_t>(word.size());) {
    UChar32 c = 0;
    U8_NEXT(word.data(), at, static_cast<std::int32_t>(word.size()), c);
    if (u_getIntPropertyValue(c, UCHAR_WORD_BREAK) != U_WB_EXTENDNUMLET) return false;
  }
  return true;
}

Words words_by_octavo(std::string_view text) {
  TokenList tokens;
  break_words(text, false, tokens);
  Words words;
  for (std::size_t i = 0; i < tokens.size(); ++i) words.emplace_back(tokens[i].start, tokens[i].end);
  return words;
}

void add_words_by_icu(std::string_view text, std::size_t offset, Words& words) {
  static const std::unique_ptr<icu::BreakIterator> iterator = [] {
    UErrorCode status = U_ZERO_ERROR;
    std::unique_ptr<icu::BreakIterator> made(icu::BreakIterator::createWordInstance(icu::Locale::getRoot(), status));
    REQUIRE(U_SUCCESS(status));
    return made;
  }();
  UErrorCode status = U_ZERO_ERROR;
  UText source = UTEXT_INITIALIZER;
  utext_openUTF8(&source, text.data(), static_cast<std::int64_t>(text.size()), &status);
  iterator->setText(&source, status);
  std::int32_t begin = iterator->first();
  for (std::int32_t end = iterator->next(); end != icu::BreakIterator::DONE; begin = end, end = iterator->next()) {
    if (iterator->getRuleStatus() < UBRK_WORD_NONE_LIMIT) continue;
    const auto from = static_cast<std::size_t>(begin);
    const auto to = static_cast<std::size_t>(end);
    if (!is_connectors_only(text.substr(from, to - from))) words.emplace_back(offset + from, offset + to);
  }
  utext_close(&source);
  REQUIRE(U_SUCCESS(status));
}

/// UAX #29 has no rule for `@`, so it belongs to no word. ICU 72 takes it for a letter.
Words words_by_icu(std::string_view text) {
  Words words;
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t to = std::min(text.find('@', from), text.size());
    add_words_by_icu(text.substr(from, to - from), from, words);
    from = to + 1;
  }
  return words;
}

/// Compares the two for many texts, and shows the first ones that differ.
class Comparison {
 public:
  void add(const std::string& text) {
    ++texts_;
    if (words_by_octavo(text) == words_by_icu(text)) return;
    if (++differences_ > kShown) return;
    shown_ += "differs:";
    for (std::int32_t at = 0; at < static_cast<std::int32_t>(text.size());) {
      UChar32 c = 0;
      U8_NEXT(text.data(), at, static_cast<std::int32_t>(text.size()), c);
      char number[16];
      std::snprintf(number, sizeof number, " U+%04X", static_cast<unsigned>(c));
      shown_ += number;
    }
    shown_ += '\n';
  }
  void check() const {
    INFO(texts_ << " texts\n" << shown_);
    CHECK(differences_ == 0);
  }

 private:
  static constexpr std::size_t kShown = 10;
  std::size_t texts_ = 0;
  std::size_t differences_ = 0;
  std::string shown_;
};

/// The first and the last code point of each class of UAX #29, in the blocks that the tables cover and in those that
/// are always given to ICU.
std::vector<std::string> representatives() {
  constexpr UChar32 kTablesEnd = 0x530;
  std::map<std::pair<int, bool>, std::pair<UChar32, UChar32>> classes;
  for (UChar32 c = 0; c < kCodePointsEnd; ++c) {
    const bool in_tables = c < kTablesEnd || (c >= 0x2010 && c <= 0x2027);
    const auto [known, is_new] =
        classes.try_emplace({u_getIntPropertyValue(c, UCHAR_WORD_BREAK), in_tables}, std::pair(c, c));
    if (!is_new) known->second.second = c;
  }
  std::vector<std::string> chosen;
  for (const auto& [key, range] : classes) {
    chosen.push_back(utf8(range.first));
    if (range.second != range.first) chosen.push_back(utf8(range.second));
  }
  // The classes of ASCII, whose first and last members are not the frequent ones.
  for (const char c : std::string_view("aZ09_.':,; -\"@/")) chosen.emplace_back(1, c);
  return chosen;
}

TEST_CASE("every character breaks words as ICU says, between letters, digits and underscores") {
  Comparison comparison;
  for (UChar32 c = 0; c < kCodePointsEnd; ++c) {
    const std::string text = utf8(c);
    comparison.add(text);
    for (const std::string_view before : {"a", "1", "_"}) {
      for (const std::string_view after : {"a", "1", "_", ""}) {
        comparison.add(std::string(before).append(text).append(after));
      }
    }
  }
  comparison.check();
}

TEST_CASE("all pairs and triples of classes break words as ICU says") {
  const auto chosen = representatives();
  Comparison comparison;
  for (const std::string& first : chosen) {
    for (const std::string& second : chosen) {
      comparison.add(first + second);
      for (const std::string& third : chosen) comparison.add(first + second + third);
    }
  }
  comparison.check();
}

TEST_CASE("random texts break words as ICU says") {
  std::mt19937 random(29);
  const auto chosen = representatives();
  const std::vector<std::string> frequent{"a", "b", "Z", "\xC3\xA9", "\xD1\x8F", "\xCE\xB1",     "0",       "7",
                                          "_", ".", "'", ",",        " ",        "\xE2\x80\x99", "\xC2\xB7"};
  Comparison comparison;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    const std::size_t length = 1 + random() % 40;
    // Most texts have only what the tables know: one other character gives the whole text to ICU.
    const bool any = random() % 4 == 0;
    for (std::size_t k = 0; k < length; ++k) {
      const auto& from = any && random() % 8 == 0 ? chosen : frequent;
      text += from[random() % from.size()];
    }
    comparison.add(text);
  }
  comparison.check();
}

}  // namespace
}  // namespace octavo::query::search
