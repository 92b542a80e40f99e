#include <algorithm>
#include <bitset>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>
#include <unordered_set>

#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include "query/index/raw_field.h"
#include "query/json/internal/scan.h"
#include "query/json/normalize.h"
#include "query/json/number.h"
#include "query/selector/internal/regex.h"
#include "query/sql/evaluate/utf8.h"
#include "query/sql/functions/function_table.h"
#include "query/sql/syntax/syntax_text.h"

namespace octavo::query::sql {

namespace {

using Arguments = std::span<const Value>;

bool is_ascii_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool all_strings(Arguments arguments) {
  return std::ranges::all_of(arguments, &Value::is_string);
}

// Unicode's tables take about ten times as long as a search.
constexpr std::size_t casing_work = 16;

// Converts character by character, like Azure Cosmos DB: "ß" has no capital. The micro sign stays, although a Greek
// capital mu would be its own.
icu::UnicodeString in_capitals(const icu::UnicodeString& text) {
  constexpr UChar32 micro_sign = 0xB5;
  icu::UnicodeString result;
  for (int32_t at = 0; at < text.length(); at = text.moveIndex32(at, 1)) {
    const UChar32 character = text.char32At(at);
    result.append(character == micro_sign ? character : u_toupper(character));
  }
  return result;
}

enum class Casing : std::uint8_t { lower, upper, fold };

std::string with_case(Evaluation& evaluation, std::string_view text, Casing casing) {
  std::string result;
  if (is_ascii_text(text)) {
    result = text;
    for (char& c : result) {
      if (casing == Casing::upper ? (c >= 'a' && c <= 'z') : (c >= 'A' && c <= 'Z')) c = static_cast<char>(c ^ 0x20);
    }
    return result;
  }
  if (!evaluation.work(text.size() * casing_work)) return result;
  auto utf16 = icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
  switch (casing) {
    case Casing::lower:
      utf16.toLower(icu::Locale::getRoot());
      break;
    case Casing::upper:
      utf16 = in_capitals(utf16);
      break;
    case Casing::fold:
      utf16.foldCase();
      break;
  }
  utf16.toUTF8String(result);
  return result;
}

template <Casing casing>
Value change_case(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_string()) return {};
  return evaluation.text(with_case(evaluation, arguments[0].string(), casing));
}

Value concat(Evaluation& evaluation, Arguments arguments) {
  if (!all_strings(arguments)) return {};
  std::size_t size = 0;
  for (const Value& argument : arguments) size += argument.string().size();
  char* buffer = evaluation.text_space(size);
  if (!buffer) return {};
  char* at = buffer;
  for (const Value& argument : arguments) at = std::ranges::copy(argument.string(), at).out;
  return Value::of(std::string_view(buffer, size));
}

// Like std::string_view::find, but always linear.
std::size_t find_text(std::string_view text, std::string_view part, std::size_t from = 0) {
  if (part.empty()) return std::min(from, text.size());
  if (from >= text.size()) return std::string_view::npos;
  const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) : std::string_view::npos;
}

bool contains_text(std::string_view text, std::string_view part) {
  return find_text(text, part) != std::string_view::npos;
}
bool starts_with_text(std::string_view text, std::string_view part) {
  return text.starts_with(part);
}
bool ends_with_text(std::string_view text, std::string_view part) {
  return text.ends_with(part);
}
bool equals_text(std::string_view text, std::string_view part) {
  return text == part;
}

// CONTAINS, STARTSWITH, ENDSWITH, StringEquals: the third argument says whether to ignore case.
template <auto test>
Value compare_text(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_string() || !arguments[1].is_string()) return {};
  if (arguments.size() == 3) {
    if (!arguments[2].is_boolean()) return {};
    if (arguments[2].boolean()) {
      const std::string text = with_case(evaluation, arguments[0].string(), Casing::fold);
      return Value::of(test(text, with_case(evaluation, arguments[1].string(), Casing::fold)));
    }
  }
  return Value::of(test(arguments[0].string(), arguments[1].string()));
}

// CONTAINS_ANY_… and CONTAINS_ALL_…: like CONTAINS for each part, joined by OR or by AND.
template <bool any, bool ignores_case>
Value contains_parts(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_string()) return {};
  const auto comparable = [&evaluation](std::string_view text) {
    return ignores_case ? with_case(evaluation, text, Casing::fold) : std::string(text);
  };
  const std::string text = comparable(arguments[0].string());
  bool unknown = false;
  for (const Value& part : arguments.subspan(1)) {
    if (!evaluation.work(text.size())) return {};
    if (!part.is_string()) {
      unknown = true;
    } else if (contains_text(text, comparable(part.string())) == any) {
      return Value::of(any);
    }
  }
  return unknown ? Value() : Value::of(!any);
}

Value index_of(Evaluation&, Arguments arguments) {
  if (!arguments[0].is_string() || !arguments[1].is_string()) return {};
  std::size_t from = 0;
  if (arguments.size() == 3) {
    const auto start = arguments[2].integer();
    if (!start) return {};
    from = *start < 0 ? 0 : utf8::offset(arguments[0].string(), static_cast<std::size_t>(*start));
  }
  const std::string_view text = arguments[0].string();
  const std::size_t found = find_text(text, arguments[1].string(), from);
  if (found == std::string_view::npos) return Value::of(-1.0);
  return Value::of(static_cast<double>(utf8::length(text.substr(0, found))));
}

// The bytes in reverse order, in the arena; empty if the evaluation failed.
std::string_view reversed_bytes(Evaluation& evaluation, std::string_view text) {
  char* buffer = evaluation.text_space(text.size());
  if (!buffer) return {};
  std::ranges::reverse_copy(text, buffer);
  return {buffer, text.size()};
}

Value last_index_of(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_string() || !arguments[1].is_string()) return {};
  std::string_view text = arguments[0].string();
  const std::string_view part = arguments[1].string();
  if (arguments.size() == 3) {
    // The third argument is the position of the last character that the part may cover.
    const auto last = arguments[2].integer();
    if (!last) return {};
    text = text.substr(0, *last < 0 ? 0 : utf8::offset(text, static_cast<std::size_t>(*last) + 1));
  }
  // Searches from the end like rfind, but linear.
  const std::size_t found = find_text(reversed_bytes(evaluation, text), reversed_bytes(evaluation, part));
  if (evaluation.failed()) return {};
  if (found == std::string_view::npos) return Value::of(-1.0);
  return Value::of(static_cast<double>(utf8::length(text.substr(0, text.size() - found - part.size()))));
}

Value length(Evaluation&, Arguments arguments) {
  if (!arguments[0].is_string()) return {};
  return Value::of(static_cast<double>(utf8::length(arguments[0].string())));
}

Value left(Evaluation&, Arguments arguments) {
  const auto count = arguments[1].integer();
  if (!arguments[0].is_string() || !count) return {};
  const std::string_view text = arguments[0].string();
  return Value::of(*count <= 0 ? text.substr(0, 0)
                               : text.substr(0, utf8::offset(text, static_cast<std::size_t>(*count))));
}

Value right(Evaluation&, Arguments arguments) {
  const auto count = arguments[1].integer();
  if (!arguments[0].is_string() || !count) return {};
  const std::string_view text = arguments[0].string();
  if (*count <= 0) return Value::of(text.substr(0, 0));
  const std::size_t characters = utf8::length(text);
  if (static_cast<std::uint64_t>(*count) >= characters) return arguments[0];
  return Value::of(text.substr(utf8::offset(text, characters - static_cast<std::size_t>(*count))));
}

Value substring(Evaluation&, Arguments arguments) {
  const auto start = arguments[1].integer();
  if (!arguments[0].is_string() || !start) return {};
  std::string_view text = arguments[0].string();
  std::size_t count = text.size();
  if (arguments.size() == 3) {
    const auto wanted = arguments[2].integer();
    if (!wanted) return {};
    count = *wanted <= 0 ? 0 : static_cast<std::size_t>(*wanted);
  }
  if (*start < 0) return Value::of(text.substr(0, 0));
  text.remove_prefix(utf8::offset(text, static_cast<std::size_t>(*start)));
  return Value::of(text.substr(0, count == 0 ? 0 : utf8::offset(text, count)));
}

// --- trim ---

constexpr std::string_view white_space = " \t\n\v\f\r";

/// The characters of a text.
class CharacterSet {
 public:
  explicit CharacterSet(std::string_view characters) {
    for (std::size_t i = 0; i < characters.size();) {
      const std::size_t size = utf8::character_size(characters, i);
      if (size == 1) {
        bytes_.set(static_cast<unsigned char>(characters[i]));
      } else {
        others_.insert(characters.substr(i, size));
      }
      i += size;
    }
  }
  bool contains(std::string_view character) const {
    if (character.size() == 1) return bytes_.test(static_cast<unsigned char>(character[0]));
    return others_.contains(character);
  }

 private:
  std::bitset<256> bytes_;
  std::unordered_set<std::string_view> others_;
};

template <bool front, bool back>
Value trim(Evaluation& evaluation, Arguments arguments) {
  if (!all_strings(arguments)) return {};
  std::string_view text = arguments[0].string();
  const std::string_view characters = arguments.size() == 2 ? arguments[1].string() : white_space;
  HeldBytes held(evaluation);
  if (!evaluation.work(characters.size() * casing_work) || !held.add(characters.size() * casing_work)) return {};
  const CharacterSet set(characters);
  if constexpr (front) {
    while (!text.empty()) {
      const std::size_t size = utf8::character_size(text, 0);
      if (!set.contains(text.substr(0, size))) break;
      text.remove_prefix(size);
    }
  }
  if constexpr (back) {
    while (!text.empty()) {
      std::size_t at = text.size() - 1;
      while (at > 0 && utf8::is_continuation(text[at])) --at;
      if (!set.contains(text.substr(at))) break;
      text = text.substr(0, at);
    }
  }
  return Value::of(text);
}

Value replace(Evaluation& evaluation, Arguments arguments) {
  if (!all_strings(arguments) || arguments[1].string().empty()) return {};
  const std::string_view text = arguments[0].string();
  const std::string_view part = arguments[1].string();
  const std::string_view replacement = arguments[2].string();
  std::size_t count = 0;
  for (std::size_t at = find_text(text, part); at != std::string_view::npos;
       at = find_text(text, part, at + part.size()))
    ++count;
  if (count == 0) return arguments[0];
  char* buffer = evaluation.text_space(text.size() - count * part.size() + count * replacement.size());
  if (!buffer) return {};
  char* out = buffer;
  std::size_t run = 0;
  for (std::size_t at = find_text(text, part); at != std::string_view::npos; at = find_text(text, part, run)) {
    out = std::ranges::copy(text.substr(run, at - run), out).out;
    out = std::ranges::copy(replacement, out).out;
    run = at + part.size();
  }
  out = std::ranges::copy(text.substr(run), out).out;
  return Value::of(std::string_view(buffer, static_cast<std::size_t>(out - buffer)));
}

Value replicate(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_string() || !arguments[1].is_number() || !(arguments[1].number() >= 0)) return {};
  const std::string_view text = arguments[0].string();
  const double count = std::floor(arguments[1].number());
  if (count * static_cast<double>(text.size()) > static_cast<double>(sql_replicate_bytes_max)) return {};
  const std::size_t times = text.empty() ? 0 : static_cast<std::size_t>(count);
  char* buffer = evaluation.text_space(text.size() * times);
  if (!buffer) return {};
  for (std::size_t i = 0; i < times; ++i) std::memcpy(buffer + i * text.size(), text.data(), text.size());
  return Value::of(std::string_view(buffer, text.size() * times));
}

Value reverse(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_string()) return {};
  const std::string_view text = arguments[0].string();
  char* buffer = evaluation.text_space(text.size());
  if (!buffer) return {};
  char* out = buffer + text.size();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = utf8::character_size(text, at);
    out -= size;
    std::memcpy(out, text.data() + at, size);
    at += size;
  }
  return Value::of(std::string_view(buffer, text.size()));
}

Value string_join(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_array() || !arguments[1].is_string()) return {};
  std::string joined;
  HeldBytes held(evaluation);
  bool first = true;
  Elements elements(arguments[0]);
  for (Value element; elements.next(element, evaluation.arena); first = false) {
    if (!evaluation.step() || !element.is_string()) return {};
    const std::string_view between = first ? std::string_view() : arguments[1].string();
    const std::size_t size = between.size() + element.string().size();
    if (!held.add(size) || !evaluation.work(size)) return {};
    joined.append(between).append(element.string());
  }
  return evaluation.text(joined);
}

Value string_split(Evaluation& evaluation, Arguments arguments) {
  if (!all_strings(arguments)) return {};
  const std::string_view text = arguments[0].string();
  const std::string_view separator = arguments[1].string();
  ValueList parts(evaluation);
  std::size_t run = 0;
  if (!separator.empty()) {
    for (std::size_t at = find_text(text, separator); at != std::string_view::npos;
         at = find_text(text, separator, run)) {
      if (!evaluation.step() || !parts.push(Value::of(text.substr(run, at - run)))) return {};
      run = at + separator.size();
    }
  }
  if (!parts.push(Value::of(text.substr(run)))) return {};
  return parts.to_array();
}

Value regex_match(Evaluation& evaluation, Arguments arguments) {
  if (!all_strings(arguments)) return {};
  const std::string_view modifiers = arguments.size() == 3 ? arguments[2].string() : std::string_view();
  if (modifiers.find_first_not_of("msix") != std::string_view::npos) return {};
  const CompiledRegex* regex = evaluation.regex(arguments[1].string(), modifiers);
  if (!regex) return {};
  const CompiledRegex::Outcome outcome = regex->search(arguments[0].string());
  if (outcome == CompiledRegex::Outcome::limit_reached) {
    evaluation.fail({ErrorCode::too_large,
                     "REGEXMATCH takes too much time for one text; use a simpler expression, or shorter texts.",
                     "resource_limit"});
  }
  return evaluation.look() ? Value::of(outcome == CompiledRegex::Outcome::found) : Value();
}

// --- conversions ---

// The JSON text with its numbers written like computed ones, whatever their spelling.
std::string with_computed_numbers(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    const bool is_number = scan::is_digit(json[at]) || json[at] == '-';
    const bool is_string = json[at] == '"';
    const std::size_t end = is_number || is_string ? skip_raw_value(json, at) : at + 1;
    if (is_number) {
      append_number_text(out, nearest_double(json.substr(at, end - at)));
    } else {
      out += json.substr(at, end - at);
    }
    at = end;
  }
  return out;
}

// The text of the value, not of its spelling: equal numbers have one text.
Value to_string(Evaluation& evaluation, Arguments arguments) {
  if (arguments[0].is_string()) return arguments[0];
  std::string text;
  if (arguments[0].is_number()) {
    append_number_text(text, arguments[0].number());
    return evaluation.text(text);
  }
  if (!evaluation.append_json(arguments[0], text) || !evaluation.work(text.size())) return {};
  return evaluation.text(with_computed_numbers(text));
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && scan::is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && scan::is_space(text.back())) text.remove_suffix(1);
  return text;
}

Value string_to_boolean(Evaluation&, Arguments arguments) {
  if (!arguments[0].is_string()) return {};
  const std::string_view text = without_blanks(arguments[0].string());
  if (text == "true") return Value::of(true);
  if (text == "false") return Value::of(false);
  return {};
}

Value string_to_null(Evaluation&, Arguments arguments) {
  if (!arguments[0].is_string() || without_blanks(arguments[0].string()) != "null") return {};
  return Value::null();
}

Value string_to_number(Evaluation&, Arguments arguments) {
  if (!arguments[0].is_string()) return {};
  const std::string_view text = without_blanks(arguments[0].string());
  const char* end = scan::number(text.data(), text.data() + text.size());
  if (text.empty() || end != text.data() + text.size()) return {};
  double number = 0;
  if (std::from_chars(text.data(), end, number).ec != std::errc()) return {};
  return Value::of(number);
}

template <Type type>
Value string_to_container(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_string()) return {};
  std::string json;
  if (!normalize_value(arguments[0].string(), json)) return {};
  const Value text = evaluation.text(json);
  if (text.is_undefined()) return {};
  const Value value = Value::read(text.string(), evaluation.arena);
  return value.type() == type ? value : Value();
}

constexpr Function string_function_table[] = {
    {"CONCAT", 2, any_number, concat},
    {"CONTAINS", 2, 3, compare_text<contains_text>},
    {"CONTAINS_ALL_CI", 2, any_number, contains_parts<false, true>, true},
    {"CONTAINS_ALL_CS", 2, any_number, contains_parts<false, false>, true},
    {"CONTAINS_ANY_CI", 2, any_number, contains_parts<true, true>, true},
    {"CONTAINS_ANY_CS", 2, any_number, contains_parts<true, false>, true},
    {"ENDSWITH", 2, 3, compare_text<ends_with_text>},
    {"INDEX_OF", 2, 3, index_of},
    {"LASTINDEXOF", 2, 3, last_index_of},
    {"LEFT", 2, 2, left},
    {"LENGTH", 1, 1, length},
    {"LOWER", 1, 1, change_case<Casing::lower>},
    {"LTRIM", 1, 2, trim<true, false>},
    {"REGEXMATCH", 2, 3, regex_match},
    {"REPLACE", 3, 3, replace},
    {"REPLICATE", 2, 2, replicate},
    {"REVERSE", 1, 1, reverse},
    {"RIGHT", 2, 2, right},
    {"RTRIM", 1, 2, trim<false, true>},
    {"STARTSWITH", 2, 3, compare_text<starts_with_text>},
    {"STRINGEQUALS", 2, 3, compare_text<equals_text>},
    {"STRINGJOIN", 2, 2, string_join},
    {"STRINGSPLIT", 2, 2, string_split},
    {"STRINGTOARRAY", 1, 1, string_to_container<Type::array>},
    {"STRINGTOBOOLEAN", 1, 1, string_to_boolean},
    {"STRINGTONULL", 1, 1, string_to_null},
    {"STRINGTONUMBER", 1, 1, string_to_number},
    {"STRINGTOOBJECT", 1, 1, string_to_container<Type::object>},
    {"SUBSTRING", 2, 3, substring},
    {"TOSTRING", 1, 1, to_string},
    {"TRIM", 1, 2, trim<true, true>},
    {"UPPER", 1, 1, change_case<Casing::upper>},
};

}  // namespace

std::span<const Function> string_functions() {
  return string_function_table;
}

}  // namespace octavo::query::sql
