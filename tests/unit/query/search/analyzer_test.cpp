#include "query/search/analysis/analyzer.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace octavo::query::search {
namespace {

namespace json = boost::json;

std::vector<std::string> terms_of(const json::value& definition, std::string_view text, std::string_view field = "f") {
  const auto analyzers = make_analyzers(definition);
  REQUIRE(analyzers);
  TokenList tokens;
  (*analyzers)->of(field).analyze(text, tokens);
  std::vector<std::string> terms;
  for (std::size_t i = 0; i < tokens.size(); ++i) terms.emplace_back(tokens.term(i));
  return terms;
}

using Terms = std::vector<std::string>;

TEST_CASE("the standard analyzer cuts at spaces and punctuation, writes small and leaves out stop words") {
  CHECK(terms_of("standard", "The Quick-Brown fox, and the lazy DOG.") ==
        Terms{"quick", "brown", "fox", "lazy", "dog"});
  CHECK(terms_of("standard", "it's O'Neil's 3.14 1,000 a.b x_y") ==
        Terms{"it's", "o'neil's", "3.14", "1,000", "a.b", "x_y"});
}

TEST_CASE("the standard analyzer knows letters of other scripts") {
  CHECK(terms_of("standard", "Küche & Straße ÉCOLE Ελλάδα МОСКВА") ==
        Terms{"küche", "straße", "école", "ελλάδα", "москва"});
  CHECK(terms_of("standard", "日本語 テスト") == Terms{"日", "本", "語", "テスト"});
}

TEST_CASE("positions of stop words stay empty") {
  const auto analyzers = make_analyzers("standard");
  REQUIRE(analyzers);
  TokenList tokens;
  (*analyzers)->of("f").analyze("salt and pepper", tokens);
  REQUIRE(tokens.size() == 2);
  CHECK(tokens[0].increment == 1);
  CHECK(tokens[1].increment == 2);
  CHECK(tokens[1].start == 9);
  CHECK(tokens[1].end == 15);
}

TEST_CASE("keyword, simple and whitespace differ in what a word is") {
  CHECK(terms_of("keyword", "Mixed Case-Text 7") == Terms{"Mixed Case-Text 7"});
  CHECK(terms_of("simple", "Mixed Case-Text 7") == Terms{"mixed", "case", "text"});
  CHECK(terms_of("whitespace", "Mixed Case-Text 7") == Terms{"Mixed", "Case-Text", "7"});
  CHECK(terms_of("simple_asciifolding", "Ærøskøbing Müller") == Terms{"aeroskobing", "muller"});
}

TEST_CASE("classic keeps host names, e-mail addresses and companies whole, and acronyms without dots") {
  CHECK(terms_of("classic", "AT&T of the U.S.A. wrote to bob@example.com about www.example.com") ==
        Terms{"at&t", "usa", "wrote", "bob@example.com", "about", "www.example.com"});
}

TEST_CASE("email keeps addresses and URLs whole") {
  CHECK(terms_of("email", "Mail me@example.com, see https://example.com/a?b=c#d!") ==
        Terms{"mail", "me@example.com", "see", "https://example.com/a?b=c#d"});
}

TEST_CASE("english finds the stem") {
  CHECK(terms_of("english", "Kitchen scales' weighing, the dog's runs") ==
        Terms{"kitchen", "scale", "weigh", "dog", "run"});
}

TEST_CASE("languages of Snowball find their stems") {
  CHECK(terms_of("german", "Die Häuser der Küchen") == terms_of("german", "das Haus der Küche"));
  CHECK(terms_of("french", "l'école nationale") == terms_of("french", "les écoles nationales"));
  CHECK(terms_of("spanish", "los niños cantando") == terms_of("spanish", "el niño cantar"));
  CHECK(terms_of("russian", "книги") == terms_of("russian", "книга"));
}

TEST_CASE("languages that Snowball lacks lose their commonest endings") {
  CHECK(terms_of("polish", "książkami") == terms_of("polish", "książka"));
  CHECK(terms_of("czech", "knihami") == terms_of("czech", "kniha"));
}

TEST_CASE("Chinese, Japanese and Korean are cut into pairs, Thai by a dictionary") {
  CHECK(terms_of("cjk", "日本語 abc") == Terms{"日本", "本語", "abc"});
  CHECK(terms_of("thai", "ภาษาไทย").size() >= 2);
}

TEST_CASE("turkish has small letters of its own") {
  CHECK(terms_of("turkish", "IĞDIR") == terms_of("turkish", "ığdır"));
}

TEST_CASE("every named analyzer can be made and survives odd text") {
  for (const std::string_view name : analyzer_names()) {
    INFO(name);
    for (const std::string& text :
         {std::string(), std::string("\0\x01\xFF\xC3", 4), std::string(100'000, 'a'), std::string("’'’s l'' ´"),
          std::string(2'000, '\''), std::string(5'000, '@'), std::string("日本語ภาษาไทยعربيहिन्दी")}) {
      static_cast<void>(terms_of(json::value(name), text));
    }
    CHECK_FALSE(terms_of(json::value(name), "kitchen").empty());
  }
}

TEST_CASE("words longer than 255 bytes are left out, save for keyword") {
  CHECK(terms_of("standard", std::string(256, 'x') + " y") == Terms{"y"});
  CHECK(terms_of("keyword", std::string(256, 'x')).size() == 1);
}

TEST_CASE("stop words can be given") {
  const json::value definition = json::parse(R"({"name":"standard","stopwords":["fox"]})");
  CHECK(terms_of(definition, "the fox runs") == Terms{"the", "runs"});
}

TEST_CASE("perfield has an analyzer for each field and a default") {
  const json::value definition =
      json::parse(R"({"name":"perfield","default":"english","fields":{"sku":"keyword","note":{"name":"simple"}}})");
  CHECK(terms_of(definition, "Red SCALES", "sku") == Terms{"Red SCALES"});
  CHECK(terms_of(definition, "the scales", "note") == Terms{"the", "scales"});
  CHECK(terms_of(definition, "the scales", "other") == Terms{"scale"});
}

TEST_CASE("an unknown analyzer is an error, inside perfield it is the default") {
  CHECK(make_analyzers("klingon").error().word == "no_such_analyzer");
  CHECK(make_analyzers(json::parse(R"({"name":"klingon"})")).error().code == ErrorCode::bad_request);
  CHECK(make_analyzers(json::value(7)).error().code == ErrorCode::bad_request);
  CHECK(terms_of(json::parse(R"({"name":"perfield","fields":{"f":"klingon"}})"), "The Fox") == Terms{"fox"});
}

}  // namespace
}  // namespace octavo::query::search
