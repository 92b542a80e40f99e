#include "query/search/analysis/analyzer.h"

#include <algorithm>
#include <array>
#include <functional>
#include <libstemmer.h>
#include <map>
#include <set>

#include <fmt/format.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include "base/ascii_case.h"
#include "query/search/analysis/classic_words.h"
#include "query/search/analysis/code_points.h"
#include "query/search/analysis/languages.h"
#include "query/search/analysis/word_breaks.h"

namespace octavo::query::search {

namespace {

namespace json = boost::json;

using StopWords = std::set<std::string, std::less<>>;

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

void append_letter(std::string& out, UChar32 c) {
  std::uint8_t bytes[U8_MAX_LENGTH];
  std::size_t size = 0;
  U8_APPEND_UNSAFE(bytes, size, c);
  out.append(reinterpret_cast<const char*>(bytes), size);
}

UChar32 lower(UChar32 c, bool turkish) {
  if (turkish && c == 'I') return 0x131;
  if (turkish && c == 0x130) return 'i';
  return u_tolower(c);
}

void lower_token(TokenList& tokens, std::size_t i, bool turkish, std::string& scratch) {
  const std::string_view term = tokens.term(i);
  bool plain = true;
  bool upper = false;
  for (const char c : term) {
    plain = plain && static_cast<unsigned char>(c) < 0x80;
    upper = upper || (c >= 'A' && c <= 'Z');
  }
  if (plain && !upper) return;
  if (plain && !turkish) {
    char* letters = tokens.letters(i);
    for (std::size_t k = 0; k < term.size(); ++k) letters[k] = to_lower(letters[k]);
    return;
  }
  scratch.clear();
  for (std::size_t at = 0; at < term.size();) {
    const UChar32 c = next_code_point(term, at);
    append_letter(scratch, c < 0 ? 0xFFFD : lower(c, turkish));
  }
  tokens.replace(i, scratch);
}

void lower_all(TokenList& tokens, bool turkish) {
  thread_local std::string scratch;
  for (std::size_t i = 0; i < tokens.size(); ++i) lower_token(tokens, i, turkish, scratch);
}

void remove_stop_words(TokenList& tokens, const StopWords& words) {
  if (words.empty()) return;
  tokens.filter([&](std::size_t i) { return !words.contains(tokens.term(i)); });
}

StopWords split_words(std::string_view text) {
  StopWords words;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    if (space > 0) words.emplace(text.substr(0, space));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return words;
}

// A Snowball stemmer has state, so each thread has its own.
std::string_view stem(std::string_view algorithm, std::string_view term) {
  struct Deleter {
    void operator()(sb_stemmer* stemmer) const { sb_stemmer_delete(stemmer); }
  };
  thread_local std::map<std::string, std::unique_ptr<sb_stemmer, Deleter>, std::less<>> stemmers;
  auto found = stemmers.find(algorithm);
  if (found == stemmers.end()) {
    const std::string name(algorithm);
    found = stemmers.emplace(name, sb_stemmer_new(name.c_str(), "UTF_8")).first;
  }
  if (!found->second) return term;
  const sb_symbol* stemmed = sb_stemmer_stem(found->second.get(), reinterpret_cast<const sb_symbol*>(term.data()),
                                             static_cast<int>(term.size()));
  if (stemmed == nullptr) return term;
  return {reinterpret_cast<const char*>(stemmed), static_cast<std::size_t>(sb_stemmer_length(found->second.get()))};
}

class KeywordAnalyzer final : public Analyzer {
 public:
  void analyze(std::string_view text, TokenList& tokens) const override {
    tokens.clear();
    tokens.add(text, 0, text.size());
  }
};

class WhitespaceAnalyzer final : public Analyzer {
 public:
  void analyze(std::string_view text, TokenList& tokens) const override { break_spaces(text, tokens); }
};

class SimpleAnalyzer final : public Analyzer {
 public:
  explicit SimpleAnalyzer(bool fold_accents) : fold_accents_(fold_accents) {}
  void analyze(std::string_view text, TokenList& tokens) const override {
    break_letters(text, tokens);
    lower_all(tokens, false);
    if (!fold_accents_) return;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!is_ascii(tokens.term(i))) tokens.replace(i, without_accents(tokens.term(i)));
    }
  }

 private:
  static std::string without_accents(std::string_view term) {
    UErrorCode status = U_ZERO_ERROR;
    const auto* normalizer = icu::Normalizer2::getNFKDInstance(status);
    if (U_FAILURE(status)) return std::string(term);
    const auto source =
        icu::UnicodeString::fromUTF8(icu::StringPiece(term.data(), static_cast<std::int32_t>(term.size())));
    const icu::UnicodeString apart = normalizer->normalize(source, status);
    if (U_FAILURE(status)) return std::string(term);
    std::string folded;
    for (std::int32_t at = 0; at < apart.length(); at = apart.moveIndex32(at, 1)) {
      const UChar32 c = apart.char32At(at);
      if (u_charType(c) == U_NON_SPACING_MARK) continue;
      switch (c) {
        case 0xDF:
          folded += "ss";
          break;
        case 0xE6:
          folded += "ae";
          break;
        case 0x153:
          folded += "oe";
          break;
        case 0xF8:
          folded += 'o';
          break;
        case 0xF0:
        case 0x111:
          folded += 'd';
          break;
        case 0xFE:
          folded += "th";
          break;
        case 0x142:
          folded += 'l';
          break;
        case 0x131:
          folded += 'i';
          break;
        default:
          append_letter(folded, c);
      }
    }
    return folded;
  }

  bool fold_accents_;
};

/// Words in lower case without stop words. The analyzers standard, classic and email differ in their breaker.
class WordAnalyzer final : public Analyzer {
 public:
  using Breaker = void (*)(std::string_view, TokenList&);
  WordAnalyzer(Breaker breaker, StopWords stop_words) : breaker_(breaker), stop_words_(std::move(stop_words)) {}
  void analyze(std::string_view text, TokenList& tokens) const override {
    breaker_(text, tokens);
    lower_all(tokens, false);
    remove_stop_words(tokens, stop_words_);
  }

 private:
  Breaker breaker_;
  StopWords stop_words_;
};

class LanguageAnalyzer final : public Analyzer {
 public:
  LanguageAnalyzer(const Language& language, StopWords stop_words)
      : language_(language),
        stop_words_(std::move(stop_words)),
        elisions_(split_words(language.elisions)),
        english_(language.name == "english") {}

  void analyze(std::string_view text, TokenList& tokens) const override {
    if (language_.script == Language::Script::pairs) {
      break_pairs(text, tokens);
    } else {
      break_words(text, language_.script == Language::Script::dictionary, tokens);
    }
    lower_all(tokens, language_.script == Language::Script::turkish);
    thread_local std::string term;
    for (std::size_t i = 0; i < tokens.size(); ++i) before_stop_words(tokens, i, term);
    remove_stop_words(tokens, stop_words_);
    tokens.filter([&](std::size_t i) { return !tokens.term(i).empty(); });
    if (!language_.stemmer.empty()) {
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        term = stem(language_.stemmer, tokens.term(i));
        if (term != tokens.term(i) && !term.empty()) tokens.replace(i, term);
      }
    } else if (!language_.endings.empty()) {
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        term = cut_ending(tokens.term(i), language_.endings);
        if (term.size() != tokens.term(i).size()) tokens.replace(i, term);
      }
    }
  }

 private:
  void before_stop_words(TokenList& tokens, std::size_t i, std::string& term) const {
    const std::string_view now = tokens.term(i);
    const bool fold = language_.script != Language::Script::plain && !is_ascii(now);
    const bool apostrophe = now.find('\'') != std::string_view::npos || now.find("’") != std::string_view::npos;
    if (!fold && !apostrophe) return;
    term = now;
    if (fold) fold_script(language_.script, term);
    if (apostrophe) cut_apostrophe(term);
    if (term != now) tokens.replace(i, term);
  }

  void cut_apostrophe(std::string& term) const {
    std::size_t width = 1;
    std::size_t at = term.find('\'');
    if (at == std::string::npos) {
      at = term.find("’");
      width = 3;
    }
    if (at == std::string::npos) return;
    const std::string_view before = std::string_view(term).substr(0, at);
    const std::string_view after = std::string_view(term).substr(at + width);
    if (elisions_.contains(before)) {
      term.erase(0, at + width);
    } else if ((english_ && after == "s") || language_.script == Language::Script::turkish) {
      term.resize(at);
    }
  }

  const Language& language_;
  StopWords stop_words_;
  StopWords elisions_;
  bool english_;
};

void break_standard(std::string_view text, TokenList& tokens) {
  break_words(text, false, tokens);
}

std::optional<StopWords> stop_words_of(const json::object& options) {
  const auto* given = options.if_contains("stopwords");
  if (given == nullptr || !given->is_array()) return std::nullopt;
  StopWords words;
  for (const auto& word : given->get_array()) {
    if (word.is_string()) words.emplace(word.get_string());
  }
  return words;
}

constexpr std::array<std::string_view, 7> plain_names{
    "standard", "keyword", "simple", "whitespace", "classic", "email", "simple_asciifolding"};

// nullptr if there is no such analyzer.
AnalyzerPtr make_analyzer(const json::object& options) {
  const auto* name = options.if_contains("name");
  if (name == nullptr || !name->is_string()) return nullptr;
  const std::string_view wanted = name->get_string();
  const auto custom = stop_words_of(options);
  const auto words = [&](std::string_view usual) { return custom ? *custom : split_words(usual); };
  const std::string_view english = find_language("english")->stop_words;
  if (wanted == "keyword") return std::make_shared<KeywordAnalyzer>();
  if (wanted == "whitespace") return std::make_shared<WhitespaceAnalyzer>();
  if (wanted == "simple") return std::make_shared<SimpleAnalyzer>(false);
  if (wanted == "simple_asciifolding") return std::make_shared<SimpleAnalyzer>(true);
  if (wanted == "standard") return std::make_shared<WordAnalyzer>(break_standard, words(english));
  if (wanted == "classic") return std::make_shared<WordAnalyzer>(break_classic, words(english));
  if (wanted == "email") return std::make_shared<WordAnalyzer>(break_words_and_addresses, words(english));
  const Language* language = find_language(wanted);
  if (language == nullptr) return nullptr;
  return std::make_shared<LanguageAnalyzer>(*language, words(language->stop_words));
}

AnalyzerPtr make_analyzer(const json::value& definition) {
  if (definition.is_string()) return make_analyzer(json::object{{"name", definition.get_string()}});
  return definition.is_object() ? make_analyzer(definition.get_object()) : nullptr;
}

AnalyzerPtr standard_analyzer() {
  return make_analyzer(json::object{{"name", "standard"}});
}

}  // namespace

FieldAnalyzers::FieldAnalyzers(AnalyzerPtr fallback, std::vector<std::pair<std::string, AnalyzerPtr>> fields)
    : fallback_(std::move(fallback)), fields_(std::move(fields)) {
  std::ranges::sort(fields_, {}, &std::pair<std::string, AnalyzerPtr>::first);
}

const Analyzer& FieldAnalyzers::of(std::string_view field) const {
  if (fields_.empty()) return *fallback_;
  const auto found = std::ranges::lower_bound(fields_, field, std::less<>{},
                                              [](const auto& entry) -> std::string_view { return entry.first; });
  return found != fields_.end() && found->first == field ? *found->second : *fallback_;
}

Expected<std::shared_ptr<const FieldAnalyzers>> make_analyzers(const json::value& definition) {
  std::vector<std::pair<std::string, AnalyzerPtr>> fields;
  const auto* options = definition.if_object();
  const auto* name = options ? options->if_contains("name") : nullptr;
  if ((name != nullptr && *name == "perfield") || definition == "perfield") {
    AnalyzerPtr fallback;
    if (const auto* given = options ? options->if_contains("default") : nullptr) fallback = make_analyzer(*given);
    if (!fallback) fallback = standard_analyzer();
    const auto* given = options ? options->if_contains("fields") : nullptr;
    if (given != nullptr && given->is_object()) {
      for (const auto& field : given->get_object()) {
        AnalyzerPtr analyzer = make_analyzer(field.value());
        fields.emplace_back(std::string(field.key()), analyzer ? std::move(analyzer) : fallback);
      }
    }
    return std::make_shared<const FieldAnalyzers>(std::move(fallback), std::move(fields));
  }
  AnalyzerPtr analyzer = make_analyzer(definition);
  if (!analyzer) {
    return fail(ErrorCode::bad_request, "There is no analyzer " + json::serialize(definition) + ".",
                "no_such_analyzer");
  }
  return std::make_shared<const FieldAnalyzers>(std::move(analyzer), std::move(fields));
}

std::vector<std::string_view> analyzer_names() {
  std::vector<std::string_view> names(plain_names.begin(), plain_names.end());
  for (const Language& language : languages()) names.push_back(language.name);
  return names;
}

}  // namespace octavo::query::search
