// Regular expressions: their dialects, and that each match is bounded.

#include "query/selector/internal/regex.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/test_files.h"

using namespace octavo;
using namespace octavo::query;

namespace {

using Outcome = CompiledRegex::Outcome;

Outcome search(std::string_view pattern, std::string_view text, RegexDialect dialect = RegexDialect::bytes,
               RegexModifiers modifiers = {}) {
  const auto regex = CompiledRegex::compile(pattern, dialect, modifiers);
  REQUIRE(regex);
  return (*regex)->search(text);
}

bool is_found(std::string_view pattern, std::string_view text, RegexDialect dialect) {
  return search(pattern, text, dialect) == Outcome::found;
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

double processor_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

std::string unescaped(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes += text[i];
      continue;
    }
    unsigned value = 0;
    std::from_chars(text.data() + i + 2, text.data() + i + 4, value, 16);
    bytes += static_cast<char>(value);
    i += 3;
  }
  return bytes;
}

/// What regex_oracle.escript recorded.
struct Oracle {
  struct Row {
    std::string pattern;
    std::string outcome;  ///< `1` or `0` for each subject, or `refused`
  };
  std::vector<std::string> subjects;
  std::vector<Row> rows;

  Oracle() {
    std::ifstream file(octavo::tests::files() / "unit/query/selector/regex_oracle.txt");
    REQUIRE(file);
    for (std::string line; std::getline(file, line);) {
      const std::size_t tab = line.find('\t');
      if (line.starts_with("subject\t")) {
        subjects.push_back(unescaped(line.substr(tab + 1)));
      } else {
        rows.push_back({line.substr(tab + 1), line.substr(0, tab)});
      }
    }
  }

  std::string outcome_here(const std::string& pattern) const {
    const auto regex = CompiledRegex::compile(pattern, RegexDialect::bytes);
    if (!regex) return "refused";
    std::string outcome;
    for (const std::string& subject : subjects) outcome += (*regex)->matches(subject) ? '1' : '0';
    return outcome;
  }

  /// Erlang's classes take the bytes over 127 for letters of Latin-1, PCRE2's take them for none: where a pattern has
  /// classes, only the subjects of ASCII are compared.
  std::string comparable(const std::string& pattern, std::string outcome) const {
    if (outcome == "refused" || !has_classes(pattern)) return outcome;
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      if (std::ranges::any_of(subjects[i], [](unsigned char byte) { return byte > 127; })) outcome[i] = '-';
    }
    return outcome;
  }
  static bool has_classes(const std::string& pattern) {
    for (const char* part : {"[:", "\\w", "\\W", "\\b", "\\B", "\\s", "\\S", "\\d", "\\D", "\\h", "\\H", "(?i"}) {
      if (pattern.find(part) != std::string::npos) return true;
    }
    return false;
  }
};

/// Where PCRE2 differs from Erlang's PCRE 8 and has no option for it (docs/indexing.md).
const std::vector<std::string> differing = {
    "(?0)", "(?R)?a", "(?^)a", "[[:digit:]-z]", "[\\d-z]", "[\\B]", "[\\R]", "[\\X]", "\\8", "\\9", "\\F",
};

}  // namespace

TEST_CASE("Mango's dialect is that of Erlang's re on bytes, as recorded") {
  const Oracle oracle;
  REQUIRE(oracle.rows.size() > 500);
  for (const Oracle::Row& row : oracle.rows) {
    INFO(row.pattern);
    if (std::ranges::find(differing, row.pattern) != differing.end()) {
      CHECK(oracle.outcome_here(row.pattern) != row.outcome);
    } else {
      CHECK(oracle.comparable(row.pattern, oracle.outcome_here(row.pattern)) ==
            oracle.comparable(row.pattern, row.outcome));
    }
  }
}

TEST_CASE("a dot is a byte in Mango and a character elsewhere") {
  CHECK_FALSE(is_found("^.$", "é", RegexDialect::bytes));
  CHECK(is_found("^..$", "é", RegexDialect::bytes));
  CHECK(is_found("^.$", "é", RegexDialect::characters));
}

TEST_CASE("classes and case are Unicode's in the dialect of characters") {
  CHECK(is_found("^\\w$", "é", RegexDialect::characters));
  CHECK(is_found("^\\d$", "٣", RegexDialect::characters));
  CHECK(search("É", "é", RegexDialect::characters, {.ignore_case = true}) == Outcome::found);
  CHECK(search("É", "é", RegexDialect::bytes, {.ignore_case = true}) == Outcome::not_found);
}

TEST_CASE("a pattern over its size is refused, with its size and the limit") {
  for (const RegexDialect dialect : {RegexDialect::bytes, RegexDialect::characters}) {
    const auto regex = CompiledRegex::compile(std::string(8193, 'a'), dialect);
    REQUIRE_FALSE(regex);
    CHECK(regex.error().code == ErrorCode::too_large);
    CHECK(regex.error().reason == "The regular expression has 8193 bytes; at most 8192 are allowed.");
  }
}

TEST_CASE("a pattern that compiles to too much is refused") {
  const auto regex = CompiledRegex::compile("((((a{1,9}b){1,99}){1,99}){1,99}){1,99}", RegexDialect::bytes);
  REQUIRE_FALSE(regex);
  CHECK(regex.error().code == ErrorCode::too_large);
}

TEST_CASE("a long text is searched within the limit when the pattern is simple") {
  const std::string text = std::string(7'000'000, 'a') + "needle";
  CHECK(search("needle$", text) == Outcome::found);
  CHECK(search("(?i)NEEDLE", text) == Outcome::found);
  CHECK(search("^a+needle$", text) == Outcome::found);
  CHECK(search("zz", text) == Outcome::not_found);
}

TEST_CASE("no match takes long, whatever the pattern") {
  const std::string letters(7'000'000, 'a');
  const std::string long_literal(8'000, 'a');
  const std::vector<std::string> patterns = {
      long_literal + "b",
      long_literal + "[bc]",
      "(?i)" + long_literal + "b",
      "[ab]" + long_literal + "b",
      "^(a+)+$b",
      "^(a|aa)+[bc]",
      "(a*)*[bc]",
      "(?:a*){40}[bc]",
      "(a+)\\1[bc]",
      "(a*)\\1\\1\\1[bc]",
      "(?i)(a*)\\1[bc]",
      "(a{30000})\\1*[bc]",
      repeated("(a*)", 900) + "\\900[bc]",
      repeated("()", 3'000) + "a*[bc]",
      "[^b]*[bc]",
      "[^b]*+[bc]",
      "a{60000}[bc]",
      "[ab]{60000}[cd]",
      "(?:[ab]{60000}|[ac]{60000}|a{60000}){1,3}[de]",
      "(?<=" + std::string(5'000, 'a') + ")[bc]",
      "(?<!" + std::string(5'000, 'b') + ")[bc]",
      repeated("(?=.*[bc])", 300),
      repeated("(?=[ab]*)", 500) + "[cd]",
      "(?R)?[bc]|a(?R)*[bc]",
      "(a(?1)?)[bc]",
      "^(?:(?=(a+))a)*\\1[bc]",
      "a.*a.*a.*a.*[bc]",
      repeated("a?", 2'000) + "[bc]",
      repeated(".*?", 1'000) + "[bc]",
      repeated("(a|b|ab)*", 300) + "[cd]",
      "(?>a+|b)+[cd]",
      "(*NO_START_OPT)(*NO_AUTO_POSSESS)[ab]*c",
      "\\X*[bc]",
      "(?(?=a*[bc])a|a)+[bc]",
  };
  const std::string hole = repeated(std::string(59'000, 'a') + "-", 118);
  for (const std::string& pattern : patterns) {
    for (const RegexDialect dialect : {RegexDialect::bytes, RegexDialect::characters}) {
      INFO(pattern.substr(0, 100));
      const auto regex = CompiledRegex::compile(pattern, dialect);
      REQUIRE(regex);
      for (const std::string* text : {&letters, &hole}) {
        const double begun = processor_milliseconds();
        CHECK((*regex)->search(*text) != Outcome::found);
        const double taken = processor_milliseconds() - begun;
        if (taken > 40) WARN(pattern.substr(0, 60) << ": " << taken << " ms");
        CHECK(taken < 200);  // the limit is 20 ms; sanitizers and busy machines are slower between two looks
      }
    }
  }
}

TEST_CASE("a match that reaches its limit says so") {
  const std::string text(5'000, 'a');
  CHECK(search("^(a+)+$", text + "b") == Outcome::limit_reached);
  CHECK(search("(" + std::string(4'000, 'a') + "[bc])", std::string(1'000'000, 'a')) == Outcome::limit_reached);
  CHECK_FALSE((*CompiledRegex::compile("^(a+)+$", RegexDialect::bytes))->matches(text + "b"));
}
