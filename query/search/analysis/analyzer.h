#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "base/assert.h"
#include "base/error.h"

namespace octavo::query::search {

/// The result of an analyzer: terms in order, each with its position in the text. Reused for the next text, so that
/// analysis allocates nothing in the long run.
class TokenList {
 public:
  struct Token {
    std::uint32_t begin = 0;      ///< of the term, in bytes_
    std::uint32_t size = 0;       ///< of the term, in bytes
    std::uint32_t start = 0;      ///< first byte in the text
    std::uint32_t end = 0;        ///< byte after the last in the text
    std::uint32_t increment = 1;  ///< positions since the previous token: more than 1 after removed stop words
  };

  void clear() {
    tokens_.clear();
    bytes_.clear();
  }
  void add(std::string_view term, std::size_t start, std::size_t end) {
    tokens_.push_back({static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(term.size()),
                       static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(end), 1});
    bytes_.append(term);
  }
  /// Replaces the term of token `i`.
  void replace(std::size_t i, std::string_view term) {
    OCTAVO_ASSERT(i < tokens_.size());
    Token& token = tokens_[i];
    if (term.size() > token.size) {
      token.begin = static_cast<std::uint32_t>(bytes_.size());
      bytes_.append(term);
    } else {
      bytes_.replace(token.begin, term.size(), term);
    }
    token.size = static_cast<std::uint32_t>(term.size());
  }
  /// Keeps the tokens for which `keep(i)` is true; the positions of the others stay empty.
  template <class Keep>
  void filter(Keep keep) {
    std::size_t kept = 0;
    std::uint32_t gap = 0;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (!keep(i)) {
        gap += tokens_[i].increment;
        continue;
      }
      tokens_[kept] = tokens_[i];
      tokens_[kept].increment += gap;
      gap = 0;
      ++kept;
    }
    tokens_.resize(kept);
  }

  std::size_t size() const { return tokens_.size(); }
  bool empty() const { return tokens_.empty(); }
  const Token& operator[](std::size_t i) const { return tokens_[i]; }
  std::string_view term(std::size_t i) const {
    return std::string_view(bytes_).substr(tokens_[i].begin, tokens_[i].size);
  }
  /// The bytes of the term, for filters that change letters in place.
  char* letters(std::size_t i) { return bytes_.data() + tokens_[i].begin; }

 private:
  std::vector<Token> tokens_;
  std::string bytes_;
};

/// Turns a text into terms, both for indexing and for searching. Immutable, thread-safe.
class Analyzer {
 public:
  virtual ~Analyzer() = default;
  /// Replaces `tokens`. `text` is UTF-8; invalid bytes separate words. Linear.
  virtual void analyze(std::string_view text, TokenList& tokens) const = 0;
};

using AnalyzerPtr = std::shared_ptr<const Analyzer>;

/// The analyzers of one index: one per field that has its own, and one for all other fields.
class FieldAnalyzers {
 public:
  FieldAnalyzers(AnalyzerPtr fallback, std::vector<std::pair<std::string, AnalyzerPtr>> fields);
  const Analyzer& of(std::string_view field) const;

 private:
  AnalyzerPtr fallback_;
  std::vector<std::pair<std::string, AnalyzerPtr>> fields_;  ///< sorted by name
};

/// Reads `"english"`, `{"name":"german","stopwords":["die"]}` or `{"name":"perfield","default":…,"fields":{…}}`. Names
/// are Cloudant's, and those of Snowball's other languages. As in Cloudant, an unknown name inside `perfield` is the
/// default analyzer. Errors: bad_request no_such_analyzer.
Expected<std::shared_ptr<const FieldAnalyzers>> make_analyzers(const boost::json::value& definition);

/// The names that make_analyzers() knows, except `perfield`; for documentation and tests.
std::vector<std::string_view> analyzer_names();

}  // namespace octavo::query::search
