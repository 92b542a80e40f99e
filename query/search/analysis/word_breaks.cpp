#include "query/search/analysis/word_breaks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include <unicode/brkiter.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utext.h>

#include "query/search/analysis/code_points.h"

namespace octavo::query::search {

namespace {

struct Letter {
  UChar32 c = 0;
  std::size_t end = 0;
};

// Invalid bytes become U+FFFD.
Letter letter_at(std::string_view text, std::size_t at) {
  const auto byte = static_cast<std::uint8_t>(text[at]);
  if (byte < 0x80) return {byte, at + 1};
  std::size_t end = at;
  const UChar32 c = next_code_point(text, end);
  return {c < 0 ? 0xFFFD : c, end};
}

void add_word(std::string_view text, std::size_t from, std::size_t to, TokenList& tokens) {
  if (to > from && to - from <= word_bytes_max) tokens.add(text.substr(from, to - from), from, to);
}

bool is_single(UChar32 c) {
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(c, &status);
  return script == USCRIPT_HAN || script == USCRIPT_HIRAGANA;
}

icu::BreakIterator* word_iterator() {
  thread_local const std::unique_ptr<icu::BreakIterator> iterator = [] {
    UErrorCode status = U_ZERO_ERROR;
    std::unique_ptr<icu::BreakIterator> made(icu::BreakIterator::createWordInstance(icu::Locale::getRoot(), status));
    if (U_FAILURE(status)) made.reset();
    return made;
  }();
  return iterator.get();
}

// UAX #29 begins and ends no word inside a run of connectors such as `_`, but such a run alone is no word.
bool is_connectors_only(std::string_view word) {
  for (std::size_t at = 0; at < word.size();) {
    const Letter letter = letter_at(word, at);
    if (u_getIntPropertyValue(letter.c, UCHAR_WORD_BREAK) != U_WB_EXTENDNUMLET) return false;
    at = letter.end;
  }
  return true;
}

// Without `dictionary`, each ideograph and Hiragana of the word at [from, to) becomes a word.
void add_icu_word(std::string_view text, std::size_t from, std::size_t to, bool as_whole, TokenList& tokens) {
  if (is_connectors_only(text.substr(from, to - from))) return;
  if (as_whole) return add_word(text, from, to, tokens);
  std::size_t run = from;
  for (std::size_t at = from; at < to;) {
    const Letter letter = letter_at(text, at);
    if (is_single(letter.c)) {
      add_word(text, run, at, tokens);
      add_word(text, at, letter.end, tokens);
      run = letter.end;
    }
    at = letter.end;
  }
  add_word(text, run, to, tokens);
}

// The part of `text` at [from, to).
void break_part_by_icu(icu::BreakIterator& iterator, std::string_view text, std::size_t from, std::size_t to,
                       bool dictionary, TokenList& tokens) {
  UErrorCode status = U_ZERO_ERROR;
  UText source = UTEXT_INITIALIZER;
  utext_openUTF8(&source, text.data() + from, static_cast<std::int64_t>(to - from), &status);
  iterator.setText(&source, status);
  if (U_SUCCESS(status)) {
    std::int32_t begin = iterator.first();
    for (std::int32_t end = iterator.next(); end != icu::BreakIterator::DONE; begin = end, end = iterator.next()) {
      const std::int32_t rule = iterator.getRuleStatus();
      if (rule < UBRK_WORD_NONE_LIMIT) continue;
      const bool as_whole = dictionary || rule < UBRK_WORD_KANA;
      add_icu_word(text, from + static_cast<std::size_t>(begin), from + static_cast<std::size_t>(end), as_whole,
                   tokens);
    }
  }
  utext_close(&source);
}

bool is_paired(UChar32 c) {
  UErrorCode status = U_ZERO_ERROR;
  switch (uscript_getScript(c, &status)) {
    case USCRIPT_HAN:
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
    case USCRIPT_HANGUL:
      return true;
    default:
      return c == 0x30FC;  // the long vowel mark belongs to no script
  }
}

bool is_address_byte(char c) {
  return u_isalnum(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80 ||
         std::string_view("!#$%&'*+/=?^_`{|}~-.").find(c) != std::string_view::npos;
}
bool is_host_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

// The address around the `@` at `at`, or an empty range.
std::pair<std::size_t, std::size_t> address_around(std::string_view text, std::size_t from, std::size_t at) {
  std::size_t begin = at;
  while (begin > from && is_address_byte(text[begin - 1])) --begin;
  while (begin < at && text[begin] == '.') ++begin;
  std::size_t end = at + 1;
  while (end < text.size() && is_host_byte(text[end])) ++end;
  while (end > at + 1 && (text[end - 1] == '.' || text[end - 1] == '-')) --end;
  const bool is_address =
      begin < at && text.substr(at + 1, end - at - 1).find('.') != std::string_view::npos && text[at + 1] != '.';
  return is_address ? std::pair(begin, end) : std::pair(at, at);
}

// The URL whose "://" is at `at`, or an empty range.
std::pair<std::size_t, std::size_t> url_around(std::string_view text, std::size_t from, std::size_t at) {
  std::size_t begin = at;
  while (begin > from && u_isalpha(static_cast<unsigned char>(text[begin - 1])) != 0) --begin;
  if (begin == at) return {at, at};
  std::size_t end = at + 3;
  while (end < text.size() && static_cast<unsigned char>(text[end]) > ' ' &&
         std::string_view("<>\"\\^`{|}").find(text[end]) == std::string_view::npos) {
    ++end;
  }
  while (end > at + 3 && std::string_view(".,;:!?)'").find(text[end - 1]) != std::string_view::npos) --end;
  return end > at + 3 ? std::pair(begin, end) : std::pair(at, at);
}

void break_part(std::string_view text, std::size_t from, std::size_t to, TokenList& tokens) {
  TokenList part;
  break_words(text.substr(from, to - from), false, part);
  for (std::size_t i = 0; i < part.size(); ++i) {
    tokens.add(part.term(i), from + part[i].start, from + part[i].end);
  }
}

}  // namespace

void break_words(std::string_view text, bool dictionary, TokenList& tokens) {
  tokens.clear();
  icu::BreakIterator* iterator = word_iterator();
  if (iterator == nullptr) return break_spaces(text, tokens);
  // ICU 72 takes `@` for a letter, which UAX #29 does not.
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t to = std::min(text.find('@', from), text.size());
    if (to > from) break_part_by_icu(*iterator, text, from, to, dictionary, tokens);
    from = to + 1;
  }
}

void break_words_and_addresses(std::string_view text, TokenList& tokens) {
  tokens.clear();
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::pair<std::size_t, std::size_t> found{at, at};
    if (text[at] == '@') {
      found = address_around(text, done, at);
    } else if (text.substr(at).starts_with("://")) {
      found = url_around(text, done, at);
    }
    if (found.first == found.second) continue;
    if (found.first > done) break_part(text, done, found.first, tokens);
    add_word(text, found.first, found.second, tokens);
    done = found.second;
    at = done - 1;
  }
  if (done < text.size()) break_part(text, done, text.size(), tokens);
}

void break_letters(std::string_view text, TokenList& tokens) {
  tokens.clear();
  std::size_t run = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Letter letter = letter_at(text, at);
    if (u_isalpha(letter.c) == 0) {
      add_word(text, run, at, tokens);
      run = letter.end;
    }
    at = letter.end;
  }
  add_word(text, run, text.size(), tokens);
}

void break_spaces(std::string_view text, TokenList& tokens) {
  tokens.clear();
  std::size_t run = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Letter letter = letter_at(text, at);
    if (u_isWhitespace(letter.c) != 0) {
      add_word(text, run, at, tokens);
      run = letter.end;
    }
    at = letter.end;
  }
  add_word(text, run, text.size(), tokens);
}

void break_pairs(std::string_view text, TokenList& tokens) {
  tokens.clear();
  std::size_t plain = 0;  // start of the current text in other scripts
  std::size_t at = 0;
  while (at < text.size()) {
    Letter letter = letter_at(text, at);
    if (!is_paired(letter.c)) {
      at = letter.end;
      continue;
    }
    if (at > plain) break_part(text, plain, at, tokens);
    std::size_t first = at;
    std::size_t second = letter.end;
    bool alone = true;
    while (second < text.size()) {
      letter = letter_at(text, second);
      if (!is_paired(letter.c)) break;
      add_word(text, first, letter.end, tokens);
      alone = false;
      first = second;
      second = letter.end;
    }
    if (alone) add_word(text, first, second, tokens);
    plain = at = second;
  }
  if (plain < text.size()) break_part(text, plain, text.size(), tokens);
}

}  // namespace octavo::query::search
