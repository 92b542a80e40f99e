#include <algorithm>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "query/search/analysis/code_points.h"
#include "query/search/analysis/languages.h"

/// Folding of letters and removal of endings, for languages that Snowball does not support.
namespace octavo::query::search {

namespace {

constexpr UChar32 dropped_character = -1;

UChar32 fold_arabic(UChar32 c, bool persian) {
  switch (c) {
    case 0x622:  // alef with madda, hamza above, below
    case 0x623:
    case 0x625:
      return 0x627;
    case 0x649:
    case 0x64A:
      return persian ? 0x6CC : 0x64A;
    case 0x6D2:
      return persian ? 0x6CC : c;
    case 0x643:
      return persian ? 0x6A9 : c;
    case 0x6C0:
    case 0x6C1:
    case 0x629:  // teh marbuta
      return 0x647;
    case 0x640:  // tatweel
    case 0x654:
      return dropped_character;
    default:
      return c >= 0x64B && c <= 0x652 ? dropped_character : c;
  }
}

UChar32 fold_greek(UChar32 c) {
  switch (c) {
    case 0x3AC:
    case 0x386:
      return 0x3B1;
    case 0x3AD:
    case 0x388:
      return 0x3B5;
    case 0x3AE:
    case 0x389:
      return 0x3B7;
    case 0x3AF:
    case 0x3CA:
    case 0x390:
    case 0x38A:
      return 0x3B9;
    case 0x3CC:
    case 0x38C:
      return 0x3BF;
    case 0x3CD:
    case 0x3CB:
    case 0x3B0:
    case 0x38E:
      return 0x3C5;
    case 0x3CE:
    case 0x38F:
      return 0x3C9;
    case 0x3C2:
      return 0x3C3;
    default:
      return c;
  }
}

UChar32 fold(Language::Script script, UChar32 c) {
  switch (script) {
    case Language::Script::arabic:
      return fold_arabic(c, false);
    case Language::Script::persian:
      return fold_arabic(c, true);
    case Language::Script::greek:
      return fold_greek(c);
    case Language::Script::devanagari:
      if (c == 0x93C || c == 0x200C || c == 0x200D) return dropped_character;
      return c == 0x901 ? 0x902 : c;
    default:
      return c;
  }
}

}  // namespace

void fold_script(Language::Script script, std::string& term) {
  if (script == Language::Script::plain || script == Language::Script::turkish) return;
  if (std::ranges::all_of(term, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return;
  std::string folded;
  for (std::size_t at = 0; at < term.size();) {
    const UChar32 letter = next_code_point(term, at);
    if (letter < 0) continue;
    const UChar32 c = fold(script, letter);
    if (c == dropped_character) continue;
    std::uint8_t bytes[4];
    std::size_t size = 0;
    U8_APPEND_UNSAFE(bytes, size, c);
    folded.append(reinterpret_cast<const char*>(bytes), size);
  }
  term = std::move(folded);
}

std::string_view cut_ending(std::string_view term, std::string_view endings) {
  constexpr std::ptrdiff_t letters_min = 3;
  while (!endings.empty()) {
    const std::size_t space = std::min(endings.find(' '), endings.size());
    const std::string_view ending = endings.substr(0, space);
    endings.remove_prefix(std::min(space + 1, endings.size()));
    if (ending.empty() || !term.ends_with(ending)) continue;
    const std::string_view stem = term.substr(0, term.size() - ending.size());
    const auto letters = std::ranges::count_if(stem, [](char c) { return (c & 0xC0) != 0x80; });
    if (letters >= letters_min) return stem;
  }
  return term;
}

}  // namespace octavo::query::search
