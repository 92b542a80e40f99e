#include "query/collation/collation.h"

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "query/collation/sort_key.h"
#include "query/json/parsed_document.h"
#include "support/random.h"

using namespace octavo;
using namespace octavo::query;
using octavo::tests::below;
using octavo::tests::Random;
namespace json = boost::json;

namespace {

int sign(int value) {
  return value < 0 ? -1 : value > 0 ? 1 : 0;
}

std::string key(const json::value& value, StringOrder order = StringOrder::icu) {
  std::string out;
  append_sort_key(out, value, order);
  return out;
}

std::string key_descending(const json::value& value) {
  std::string out;
  append_sort_key_descending(out, value);
  return out;
}

}  // namespace

TEST_CASE("values stand in the order of CouchDB's collation table") {
  // From the view collation page of CouchDB's documentation.
  const json::array table = json::parse(R"([
    null, false, true,
    1, 2, 3.0, 4,
    "a", "A", "aa", "b", "B", "ba", "bb",
    ["a"], ["b"], ["b", "c"], ["b", "c", "a"], ["b", "d"], ["b", "d", "e"],
    {"a": 1}, {"a": 2}, {"b": 1}, {"b": 2}, {"b": 2, "a": 1}, {"b": 2, "c": 2}
  ])")
                                .as_array();
  DocumentParser left_parser, right_parser;
  for (std::size_t i = 0; i < table.size(); ++i) {
    for (std::size_t k = 0; k < table.size(); ++k) {
      const int expected = i < k ? -1 : i > k ? 1 : 0;
      INFO(json::serialize(table[i]) << " and " << json::serialize(table[k]));
      CHECK(compare(table[i], table[k]) == expected);
      const auto left = left_parser.parse(json::serialize(table[i]));
      const auto right = right_parser.parse(json::serialize(table[k]));
      CHECK(compare(*left, table[k]) == expected);
      CHECK(compare(*left, *right) == expected);
      CHECK(sign(key(table[i]).compare(key(table[k]))) == expected);
      CHECK(sign(key_descending(table[i]).compare(key_descending(table[k]))) == -expected);
    }
  }
}

TEST_CASE("ASCII characters stand in ICU's order") {
  const std::string order = "`^_-,;:!?.'\"()[]{}@*/\\&#%+<=>|~$0123456789aAbBcCdDzZ";
  // The documentation's table is ICU's; whatever the version, the fast path must agree with ICU's own sort keys.
  for (const char a : order) {
    for (const char b : order) {
      const std::string left(1, a), right(1, b);
      INFO(left << " and " << right);
      CHECK(compare_strings(left, right) == sign(key(json::value(left)).compare(key(json::value(right)))));
    }
  }
  CHECK(compare_strings("a", "A") < 0);
  CHECK(compare_strings("A", "aa") < 0);
  CHECK(compare_strings("_", "a") < 0);
  CHECK(compare_strings("9", "a") < 0);
}

TEST_CASE("numbers compare by value across their spellings") {
  CHECK(compare(json::parse("0"), json::parse("-0.0")) == 0);
  CHECK(compare(json::parse("1"), json::parse("1.0")) == 0);
  CHECK(key(json::parse("0")) == key(json::parse("-0.0")));
  CHECK(key(json::parse("1")) == key(json::parse("1.0")));
  CHECK(compare(json::parse("-1"), json::parse("-0.5")) < 0);
}

TEST_CASE("64-bit integers keep their exact order beyond 2^53") {
  const char* ascending[] = {"-9223372036854775808", "-9223372036854775807",
                             "-9007199254740993",    "-9007199254740992",
                             "9007199254740991",     "9007199254740992",
                             "9007199254740993",     "9007199254740994",
                             "9223372036854775806",  "9223372036854775807",
                             "9223372036854775808",  "18446744073709551614",
                             "18446744073709551615", "1e300"};
  DocumentParser parser;
  for (std::size_t i = 0; i + 1 < std::size(ascending); ++i) {
    const auto low = json::parse(ascending[i]);
    const auto high = json::parse(ascending[i + 1]);
    INFO(ascending[i]);
    CHECK(compare(low, high) < 0);
    CHECK(key(low) < key(high));
    CHECK(key_descending(low) > key_descending(high));
    CHECK(compare(*parser.parse(ascending[i]), low) == 0);
  }
}

TEST_CASE("`_id` order is by bytes and strings stand above all") {
  CHECK(compare_raw(json::value("B"), json::value("a")) < 0);
  CHECK(compare_raw(json::value("a"), json::value(json::object())) > 0);
  CHECK(compare_raw(json::value(nullptr), json::value(5)) > 0);
  CHECK(compare_raw(json::value(nullptr), json::value(false)) > 0);
  CHECK(compare_raw(json::value(json::array()), json::value(json::object())) > 0);
}

namespace {

std::string random_string(Random& random) {
  static const std::vector<std::string> pieces = {"a",
                                                  "A",
                                                  "b",
                                                  "B",
                                                  "z",
                                                  "0",
                                                  "9",
                                                  " ",
                                                  "-",
                                                  "_",
                                                  "é",
                                                  "e\xCC\x81",
                                                  "ß",
                                                  "ü",
                                                  "и",
                                                  "й",
                                                  "и\xCC\x86",
                                                  "ก",
                                                  "เ",
                                                  "中",
                                                  "漢",
                                                  "\x01",
                                                  "\t",
                                                  "\xEF\xBF\xBF",
                                                  "😀",
                                                  "ñ",
                                                  "n\xCC\x83",
                                                  "l",
                                                  "·",
                                                  "가",
                                                  std::string(1, '\0'),
                                                  "Ａ",
                                                  "ﬁ"};
  std::string text;
  for (std::size_t i = below(random, 6); i > 0; --i) text += pieces[below(random, pieces.size())];
  return text;
}

std::string random_ascii(Random& random) {
  std::string text;
  for (std::size_t i = below(random, 12); i > 0; --i) {
    text += below(random, 3) == 0 ? static_cast<char>(below(random, 128)) : "aAbB 1-"[below(random, 7)];
  }
  return text;
}

json::value random_value(Random& random, int depth) {
  switch (below(random, depth > 2 ? 6 : 8)) {
    case 0:
      return nullptr;
    case 1:
      return below(random, 2) == 0;
    case 2:
      return static_cast<std::int64_t>(below(random, 7)) - 3;
    case 3:
      return (static_cast<double>(below(random, 9)) - 4) / 2;
    case 4:
      return json::value(random_string(random));
    case 5:
      return json::value(random_ascii(random));
    case 6: {
      json::array array;
      for (std::size_t i = below(random, 4); i > 0; --i) array.push_back(random_value(random, depth + 1));
      return array;
    }
    default: {
      json::object object;
      for (std::size_t i = below(random, 4); i > 0; --i) {
        object[std::string(1, static_cast<char>('a' + below(random, 3)))] = random_value(random, depth + 1);
      }
      return object;
    }
  }
}

}  // namespace

TEST_CASE("the fast comparison of ASCII agrees with ICU") {
  Random random(3);
  for (int round = 0; round < 20'000; ++round) {
    const std::string a = random_ascii(random);
    const std::string b = below(random, 4) == 0 ? random_string(random) : random_ascii(random);
    REQUIRE(compare_strings(a, b) == sign(key(json::value(a)).compare(key(json::value(b)))));
  }
}

TEST_CASE("sort keys order random values as the comparison does, both ways, and none is a prefix of another") {
  Random random(5);
  for (int round = 0; round < 20'000; ++round) {
    const json::value a = random_value(random, 0);
    const json::value b = random_value(random, 0);
    const int expected = compare(a, b);
    const std::string key_a = key(a), key_b = key(b);
    INFO(json::serialize(a) << " and " << json::serialize(b));
    REQUIRE(sign(key_a.compare(key_b)) == expected);
    REQUIRE(sign(key_descending(a).compare(key_descending(b))) == -expected);
    if (expected != 0) {
      REQUIRE_FALSE(key_b.starts_with(key_a));
      REQUIRE_FALSE(key_a.starts_with(key_b));
    }
    REQUIRE(compare(b, a) == -expected);
  }
}

TEST_CASE("raw sort keys order random values as raw collation does") {
  Random random(15);
  for (int round = 0; round < 20'000; ++round) {
    const json::value a = random_value(random, 0);
    const json::value b = random_value(random, 0);
    INFO(json::serialize(a) << " and " << json::serialize(b));
    REQUIRE(sign(key(a, StringOrder::raw).compare(key(b, StringOrder::raw))) == sign(compare_raw(a, b)));
  }
}

TEST_CASE("joined keys are taken apart again") {
  Random random(9);
  for (int round = 0; round < 2000; ++round) {
    const json::value a = random_value(random, 0);
    const json::value b = random_value(random, 0);
    for (const StringOrder order : {StringOrder::icu, StringOrder::bytes, StringOrder::raw}) {
      const std::string first = key(a, order);
      REQUIRE(sort_key_length(first + key(b, order), false, order) == first.size());
      REQUIRE(sort_key_length(first.substr(0, first.size() - 1), false, order) == 0);
    }
    const std::string first = key_descending(a);
    REQUIRE(sort_key_length(first + key_descending(b), true) == first.size());
  }
}

TEST_CASE("the byte order of strings is that of their UTF-8") {
  Random random(13);
  for (int round = 0; round < 5000; ++round) {
    const std::string a = random_string(random), b = random_string(random);
    const std::string key_a = key(json::value(a), StringOrder::bytes), key_b = key(json::value(b), StringOrder::bytes);
    REQUIRE(sign(key_a.compare(key_b)) == sign(a.compare(b)));
    if (a != b) REQUIRE_FALSE(key_b.starts_with(key_a));
  }
}

TEST_CASE("sentinels stand around all values, missing below null") {
  std::string lowest, missing, highest;
  append_sort_key(lowest, SortSentinel::lowest);
  append_sort_key(missing, SortSentinel::missing);
  append_sort_key(highest, SortSentinel::highest);
  CHECK(lowest < missing);
  CHECK(missing < key(nullptr));
  CHECK(key(json::parse(R"({"z":{"z":"zzz"}})")) < highest);
  CHECK(is_missing_sort_key(missing + key(1)));
  CHECK_FALSE(is_missing_sort_key(key(nullptr)));
  std::string missing_descending;
  append_sort_key(missing_descending, SortSentinel::missing, true);
  CHECK(is_missing_sort_key(missing_descending, true));
  CHECK(missing_descending > key_descending(nullptr));
}

TEST_CASE("strings that begin with a prefix stay within its collation bounds") {
  Random random(17);
  for (int round = 0; round < 20'000; ++round) {
    const std::string prefix = random_string(random);
    const std::string text = prefix + random_string(random);
    if (text.find("\xEF\xBF\xBF") != std::string::npos) continue;  // U+FFFF itself is the bound
    const std::string safe(collation_safe_prefix(prefix));
    REQUIRE(prefix.starts_with(safe));
    INFO(json::serialize(json::value(prefix)) << " " << json::serialize(json::value(text)));
    REQUIRE(compare_strings(safe, text) <= 0);
    REQUIRE(compare_strings(text, safe + "\xEF\xBF\xBF") <= 0);
  }
}

TEST_CASE("most prefixes are safe as they are") {
  CHECK(collation_safe_prefix("user-1/") == "user-1/");
  CHECK(collation_safe_prefix("Größe") == "Größe");
  CHECK(collation_safe_prefix("中文") == "中文");
}

TEST_CASE("the collation names its version") {
  CHECK(collation_version().starts_with("icu "));
}

TEST_CASE("strings of printable ASCII sort alike only when they are the same") {
  std::map<std::string, std::string> by_key;
  const auto add = [&](const std::string& text) {
    const auto [found, is_new] = by_key.emplace(key(json::string(text)), text);
    INFO(found->second << " and " << text);
    CHECK(is_new);
  };
  add("");
  for (char a = ' '; a < '\x7f'; ++a) {
    add(std::string(1, a));
    for (char b = ' '; b < '\x7f'; ++b) add({a, b});
  }
}

TEST_CASE("the beginning of the key of a long string is that of its whole key") {
  // Latin letters, contractions and marks; Thai, where vowels change places; Chinese; a character of 18 weights;
  // characters that are ignored.
  const std::vector<std::vector<std::string>> alphabets{
      {"a", "b", "l", "L", "z", " ", "7", "\u00b7", "\u0387", "\u0301", "\u0327", "\u00e9"},
      {"\u0e01", "\u0e02", "\u0e19", "\u0e40", "\u0e41", "\u0e44", "\u0e48", "\u0e34"},
      {"\u4e2d", "\u6587", "\u5b57", "a"},
      {"\ufdfa", "a"},
      {"\u200b", "\x01"},
      {"\u0301", "\u0323", "\u0345"},
      {"\u0430", "\u0431", "\u0f71", "\u0f80", "\u0fb2", "\uac00", "\u1100", "\u1161", "\U0001f600", "\u200d"}};
  constexpr std::size_t bytes = 256;
  const auto beginning_of = [&](std::string_view text, StringOrder order) {
    std::string beginning = "before";
    append_beginning_of_sort_key(beginning, text, order, bytes);
    return beginning.substr(6);
  };
  const auto check = [&](std::string_view text) {
    for (const StringOrder order : {StringOrder::icu, StringOrder::bytes}) {
      std::string whole;
      append_sort_key_of_string(whole, text, order);
      const std::string beginning = beginning_of(text, order);
      CHECK((beginning.size() > bytes) == (whole.size() > bytes));
      CHECK(beginning.substr(0, bytes) == whole.substr(0, bytes));
      if (whole.size() <= bytes) CHECK(beginning == whole);
    }
  };
  Random random(7);
  for (const auto& first : alphabets) {
    for (const auto& second : alphabets) {
      for (int round = 0; round < 4; ++round) {
        const std::size_t size = below(random, 2) == 0 ? below(random, 400) : 3'000 + below(random, 20'000);
        std::string text;
        while (text.size() < size) {
          const auto& alphabet = text.size() < size / 2 ? first : second;
          text += alphabet[below(random, alphabet.size())];
        }
        check(text);
      }
    }
  }
  // Most of a long text is not looked at.
  CHECK(beginning_of(std::string(1'000'000, 'a'), StringOrder::icu).size() < 20'000);
}
