#include "query/javascript/internal/json_text.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <js/Array.h>
#include <js/Conversions.h>
#include <js/JSON.h>
#include <js/String.h>
#include <new>
#include <span>

#include "base/json_writer.h"
#include "query/javascript/internal/runtime.h"

namespace octavo::query::javascript {

namespace {

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";  // U+FFFD

bool is_ascii(std::string_view text) {
  std::size_t i = 0;
  for (; i + 32 <= text.size(); i += 32) {
    std::array<std::uint64_t, 4> words;
    std::memcpy(words.data(), text.data() + i, sizeof words);
    if (((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080U) != 0) return false;
  }
  for (; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) >= 0x80) return false;
  }
  return true;
}

void append_code_point(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xC0U | (c >> 6)));
    out.push_back(static_cast<char>(0x80U | (c & 0x3FU)));
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xE0U | (c >> 12)));
    out.push_back(static_cast<char>(0x80U | ((c >> 6) & 0x3FU)));
    out.push_back(static_cast<char>(0x80U | (c & 0x3FU)));
  } else {
    out.push_back(static_cast<char>(0xF0U | (c >> 18)));
    out.push_back(static_cast<char>(0x80U | ((c >> 12) & 0x3FU)));
    out.push_back(static_cast<char>(0x80U | ((c >> 6) & 0x3FU)));
    out.push_back(static_cast<char>(0x80U | (c & 0x3FU)));
  }
}

template <class Unit>
bool is_plain(Unit c) {
  return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

// The length of the run of characters that need no escape in JSON and take one byte each.
template <class Unit>
std::size_t plain_run(std::span<const Unit> units, std::size_t from) {
  std::size_t i = from;
  while (i < units.size() && is_plain(units[i])) ++i;
  return i;
}

void append_narrow(std::string& out, std::span<const JS::Latin1Char> units) {
  out.append(reinterpret_cast<const char*>(units.data()), units.size());
}

void append_narrow(std::string& out, std::span<const char16_t> units) {
  const auto begin = out.size();
  out.resize(begin + units.size());
  char* to = out.data() + begin;
  for (std::size_t i = 0; i < units.size(); ++i) to[i] = static_cast<char>(units[i]);
}

// The code point at `i`. Moves `i` to its last unit.
std::uint32_t code_point(std::span<const JS::Latin1Char> units, std::size_t& i) {
  return units[i];
}
std::uint32_t code_point(std::span<const char16_t> units, std::size_t& i) {
  const std::uint32_t c = units[i];
  if (c < 0xD800 || c > 0xDFFF) return c;
  if (c < 0xDC00 && i + 1 < units.size() && units[i + 1] >= 0xDC00 && units[i + 1] <= 0xDFFF) {
    ++i;
    return 0x10000 + ((c - 0xD800) << 10) + (static_cast<std::uint32_t>(units[i]) - 0xDC00);
  }
  return 0xFFFD;
}

template <class Unit>
void append_quoted(std::string& out, std::span<const Unit> units) {
  out.push_back('"');
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto end = plain_run(units, i);
    append_narrow(out, units.subspan(i, end - i));
    i = end;
    if (i == units.size()) break;
    const auto c = code_point(units, i);
    if (c >= 0x80) {
      append_code_point(out, c);
    } else {  // one that JSON escapes
      const char one = static_cast<char>(c);
      std::string escaped;
      append_json_string(escaped, std::string_view(&one, 1));
      out.append(escaped, 1, escaped.size() - 2);
    }
  }
  out.push_back('"');
}

template <class Unit>
void append_plainly(std::string& out, std::span<const Unit> units) {
  for (std::size_t i = 0; i < units.size(); ++i) append_code_point(out, code_point(units, i));
}

// Calls `append` with the characters, of either width.
template <class Append>
bool with_characters(JSContext* context, JS::HandleString string, Append append) {
  JSLinearString* linear = JS_EnsureLinearString(context, string);
  if (linear == nullptr) return false;
  const JS::AutoCheckCannotGC no_gc;
  const std::size_t size = JS::GetLinearStringLength(linear);
  if (JS::LinearStringHasLatin1Chars(linear)) {
    append(std::span(JS::GetLatin1LinearStringChars(no_gc, linear), size));
  } else {
    append(std::span(JS::GetTwoByteLinearStringChars(no_gc, linear), size));
  }
  return true;
}

// JSON.stringify writes lone surrogates as \udXXX, the only escapes that begin with \ud. UTF-8 cannot represent them.
bool is_escaped_surrogate(std::span<const char16_t> units, std::size_t i) {
  return i + 6 <= units.size() && units[i + 1] == 'u' && units[i + 2] == 'd' && units[i + 3] >= '8';
}

// Appends text that is already JSON.
void append_json_units(std::string& out, std::span<const char16_t> units) {
  constexpr std::size_t block_units = 16;
  for (std::size_t i = 0; i < units.size();) {
    if (i + block_units <= units.size()) {
      char16_t all = 0;
      bool escapes = false;
      for (std::size_t k = 0; k < block_units; ++k) {
        all |= units[i + k];
        escapes |= units[i + k] == '\\';
      }
      if (all < 0x80 && !escapes) {
        append_narrow(out, units.subspan(i, block_units));
        i += block_units;
        continue;
      }
    }
    if (units[i] == '\\') {
      if (is_escaped_surrogate(units, i)) {
        out += replacement_character;
        i += 6;
      } else {
        out.push_back('\\');
        append_code_point(out, units[i + 1]);
        i += 2;
      }
      continue;
    }
    append_code_point(out, code_point(units, i));
    ++i;
  }
}

// Called by SpiderMonkey, so no exception may leave it.
bool write_json(const char16_t* units, std::uint32_t size, void* out) {
  try {
    append_json_units(*static_cast<std::string*>(out), std::span(units, size));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void append_number(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  char digits[JS::MaximumNumberToStringLength];
  JS::NumberToString(number, digits);
  out += digits;
}

}  // namespace

bool parse_json(JSContext* context, std::string_view text, JS::MutableHandleValue value) {
  // ASCII is passed to the parser with one byte per character.
  JS::RootedString string(context, is_ascii(text)
                                       ? JS_NewStringCopyN(context, text.data(), text.size())
                                       : JS_NewStringCopyUTF8N(context, JS::UTF8Chars(text.data(), text.size())));
  return string && JS_ParseJSON(context, string, value);
}

bool append_json(JSContext* context, JS::HandleValue value, std::string& out) {
  if (value.isString()) {
    const JS::RootedString string(context, value.toString());
    return with_characters(context, string, [&](auto units) { append_quoted(out, units); });
  }
  if (value.isInt32()) {
    append_json_number(out, value.toInt32());
    return true;
  }
  if (value.isDouble()) {
    append_number(out, value.toDouble());
    return true;
  }
  if (value.isBoolean()) {
    append_json_bool(out, value.toBoolean());
    return true;
  }
  if (value.isNullOrUndefined() || value.isSymbol()) {
    out += "null";
    return true;
  }
  JS::RootedValue copy(context, value);
  if (JS_Stringify(context, &copy, nullptr, JS::UndefinedHandleValue, write_json, &out)) return true;
  if (!JS_IsExceptionPending(context) && !Runtime::of(context).stopped()) JS_ReportOutOfMemory(context);
  return false;
}

bool append_characters(JSContext* context, JS::HandleString string, std::string& out) {
  return with_characters(context, string, [&](auto units) { append_plainly(out, units); });
}

}  // namespace octavo::query::javascript
