#include "query/search/run/query_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <lucene++/BooleanQuery.h>
#include <lucene++/MatchAllDocsQuery.h>
#include <lucene++/PhraseQuery.h>
#include <lucene++/Term.h>
#include <lucene++/TermEnum.h>
#include <lucene++/TermQuery.h>
#include <set>
#include <span>

#include <fmt/format.h>
#include <unicode/uchar.h>

#include "query/search/documents/number_terms.h"
#include "query/search/lucene/lucene_text.h"
#include "query/selector/internal/regex.h"

namespace octavo::query::search {

namespace {

using Lucene::BooleanClause;
using Lucene::BooleanQuery;
using Lucene::newLucene;

constexpr std::size_t fuzzy_terms_max = 50;  // Lucene 4.6
constexpr int edits_max = 2;

Lucene::String field_of(std::string_view name) {
  return name == "_id" ? id_field : to_wide(name);
}

Lucene::TermPtr make_term(std::string_view field, std::string_view text) {
  return newLucene<Lucene::Term>(field_of(field), to_wide(text));
}

Lucene::QueryPtr term_query(std::string_view field, std::string_view text) {
  return newLucene<Lucene::TermQuery>(make_term(field, text));
}

Lucene::String lower(Lucene::String text) {
  for (wchar_t& letter : text) letter = static_cast<wchar_t>(u_tolower(static_cast<UChar32>(letter)));
  return text;
}

// The text of a node that is not analyzed.
Lucene::String plain_text(const QueryNode& node) {
  return node.exact ? to_wide(node.text) : lower(to_wide(node.text));
}

// The part of a pattern before its first `*` or `?`, without escapes.
Lucene::String literal_start(std::wstring_view pattern) {
  Lucene::String start;
  for (std::size_t i = 0; i < pattern.size() && pattern[i] != L'*' && pattern[i] != L'?'; ++i) {
    if (pattern[i] == L'\\' && i + 1 < pattern.size()) ++i;
    start.push_back(pattern[i]);
  }
  return start;
}

TermSelection with_prefix(std::string_view field, const Lucene::String& prefix) {
  TermSelection selection;
  selection.field = field_of(field);
  TermSelection::Range range;
  range.first = prefix;
  range.prefix = prefix;
  selection.ranges.push_back(std::move(range));
  return selection;
}

// Compiles a Lucene regular expression with PCRE2. The whole term must match. Lucene's own operators `@`, `#`, `&`, `~`
// and `<1-5>` are treated as literals, because they are rarely meant as operators.
Expected<std::shared_ptr<const CompiledRegex>> compile_regex(std::string_view pattern) {
  std::string whole = "^(?:";
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      if (pattern[i + 1] != '/') whole += '\\';
      whole += pattern[++i];
    } else if (pattern[i] == '#' || pattern[i] == '&' || pattern[i] == '~') {
      whole += '\\';
      whole += pattern[i];
    } else {
      whole += pattern[i];
    }
  }
  whole += ")$";
  return CompiledRegex::compile(whole, RegexDialect::characters);
}

int edits_of(double similarity, std::size_t letters) {
  if (similarity == 0) return 0;  // exact, as in Lucene's FuzzyQuery.floatToEdits
  if (similarity >= 1) return std::min(static_cast<int>(similarity), edits_max);
  return std::min(static_cast<int>((1 - std::max(similarity, 0.0)) * static_cast<double>(letters)), edits_max);
}

}  // namespace

bool matches_wildcard(std::wstring_view pattern, std::wstring_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::wstring_view::npos;  // the last `*`, and where its text ended when it was tried
  std::size_t star_text = 0;
  while (t < text.size()) {
    bool fits = false;
    std::size_t width = 1;
    if (p < pattern.size() && pattern[p] != L'*') {
      if (pattern[p] == L'\\' && p + 1 < pattern.size()) {
        width = 2;
        fits = pattern[p + 1] == text[t];
      } else {
        fits = pattern[p] == L'?' || pattern[p] == text[t];
      }
    }
    if (fits) {
      p += width;
      ++t;
    } else if (p < pattern.size() && pattern[p] == L'*') {
      star = p++;
      star_text = t;
    } else if (star != std::wstring_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == L'*') ++p;
  return p == pattern.size();
}

int edit_distance(std::wstring_view a, std::wstring_view b, int most) {
  const auto difference = static_cast<std::ptrdiff_t>(a.size()) - static_cast<std::ptrdiff_t>(b.size());
  if (std::abs(difference) > most) return most + 1;
  thread_local std::vector<int> before;
  thread_local std::vector<int> above;
  thread_local std::vector<int> row;
  above.resize(b.size() + 1);
  before.assign(b.size() + 1, 0);
  row.assign(b.size() + 1, 0);
  for (std::size_t k = 0; k <= b.size(); ++k) above[k] = static_cast<int>(k);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    int least = row[0];
    for (std::size_t k = 1; k <= b.size(); ++k) {
      const int replaced = above[k - 1] + (a[i - 1] == b[k - 1] ? 0 : 1);
      row[k] = std::min({above[k] + 1, row[k - 1] + 1, replaced});
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1]) row[k] = std::min(row[k], before[k - 2] + 1);
      least = std::min(least, row[k]);
    }
    if (least > most) return most + 1;
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

Expected<Lucene::QueryPtr> QueryBuilder::build(const QueryNode& node) {
  OCTAVO_TRY(auto query, build_unboosted(node));
  if (query && node.boost != 1) query->setBoost(query->getBoost() * node.boost);
  return query;
}

Expected<Lucene::QueryPtr> QueryBuilder::build_unboosted(const QueryNode& node) {
  switch (node.kind) {
    case QueryNode::Kind::everything:
      return newLucene<Lucene::MatchAllDocsQuery>();
    case QueryNode::Kind::words:
      return build_words(node);
    case QueryNode::Kind::phrase:
      return build_phrase(node);
    case QueryNode::Kind::prefix:
      return select(with_prefix(node.field, plain_text(node)));
    case QueryNode::Kind::wildcard:
      return build_wildcard(node);
    case QueryNode::Kind::regex:
      return build_regex(node);
    case QueryNode::Kind::fuzzy:
      return build_fuzzy(node);
    case QueryNode::Kind::range:
      return build_range(node);
    case QueryNode::Kind::clauses:
      return build_clauses(node);
  }
  return Lucene::QueryPtr();
}

Expected<Lucene::QueryPtr> QueryBuilder::build_clauses(const QueryNode& node) {
  const auto joined = newLucene<BooleanQuery>();
  for (const QueryNode::Clause& clause : node.clauses) {
    OCTAVO_TRY(const auto query, build(clause.node));
    // Ignore a clause that has only stop words.
    if (!query) continue;
    const auto occur = clause.occur == QueryNode::Occur::must       ? BooleanClause::MUST
                       : clause.occur == QueryNode::Occur::must_not ? BooleanClause::MUST_NOT
                                                                    : BooleanClause::SHOULD;
    joined->add(query, occur);
  }
  if (joined->getClauses().empty()) return Lucene::QueryPtr();
  return Lucene::QueryPtr(joined);
}

Lucene::QueryPtr QueryBuilder::numbers(std::string_view field, double low, bool low_inclusive, double high,
                                       bool high_inclusive) {
  TermSelection selection;
  selection.field = number_field(field);
  for (auto& part : number_ranges(low, low_inclusive, high, high_inclusive)) {
    TermSelection::Range range;
    range.first = std::move(part.first);
    range.last = std::move(part.last);
    selection.ranges.push_back(std::move(range));
  }
  return select(selection);
}

Lucene::QueryPtr QueryBuilder::build_words(const QueryNode& node) {
  if (node.exact) return term_query(node.field, node.text);
  TokenList tokens;
  if (node.field == "_id") {
    tokens.add(node.text, 0, node.text.size());
  } else {
    analyzers_.of(node.field).analyze(node.text, tokens);
  }
  Lucene::QueryPtr words;
  if (tokens.size() == 1) {
    words = term_query(node.field, tokens.term(0));
  } else if (!tokens.empty()) {
    const auto joined = newLucene<BooleanQuery>();
    const std::size_t count = std::min<std::size_t>(tokens.size(), query_clauses_max);
    for (std::size_t i = 0; i < count; ++i) joined->add(term_query(node.field, tokens.term(i)), BooleanClause::SHOULD);
    words = joined;
  }
  const auto number = parse_query_number(node.text);
  if (!number) return words;
  // The number may have been indexed as a number or in a text, so search both.
  Lucene::QueryPtr equal = numbers(node.field, *number, true, *number, true);
  if (!words) return equal;
  const auto either = newLucene<BooleanQuery>(true);
  either->add(equal, BooleanClause::SHOULD);
  either->add(words, BooleanClause::SHOULD);
  return either;
}

Lucene::QueryPtr QueryBuilder::build_phrase(const QueryNode& node) {
  if (node.exact || node.field == "_id") return term_query(node.field, node.text);
  TokenList tokens;
  analyzers_.of(node.field).analyze(node.text, tokens);
  if (tokens.empty()) return {};
  if (tokens.size() == 1) return term_query(node.field, tokens.term(0));
  const auto phrase = newLucene<Lucene::PhraseQuery>();
  phrase->setSlop(static_cast<int32_t>(node.slop));
  int32_t position = -1;
  const std::size_t count = std::min<std::size_t>(tokens.size(), query_clauses_max);
  for (std::size_t i = 0; i < count; ++i) {
    position += static_cast<int32_t>(tokens[i].increment);
    phrase->add(make_term(node.field, tokens.term(i)), position);
  }
  return phrase;
}

Lucene::QueryPtr QueryBuilder::build_wildcard(const QueryNode& node) {
  const Lucene::String pattern = plain_text(node);
  TermSelection selection = with_prefix(node.field, literal_start(pattern));
  selection.test = [pattern](std::wstring_view text) { return matches_wildcard(pattern, text); };
  return select(selection);
}

Expected<Lucene::QueryPtr> QueryBuilder::build_regex(const QueryNode& node) {
  const auto regex = compile_regex(node.text);
  if (!regex && regex.error().code == ErrorCode::too_large) return fail(ErrorCode::bad_request, regex.error().reason);
  if (!regex) return fail(ErrorCode::bad_request, fmt::format("Not a regular expression: /{}/", node.text));
  // Every match begins with the characters before the first special character.
  const std::size_t special = node.text.find_first_of(".?+*|{}[]()\"\\#@&<>~^$");
  std::string start = node.text.substr(0, special);
  if (special != std::string::npos && !start.empty()) {
    const bool optional = std::string_view("?*{").find(node.text[special]) != std::string_view::npos;
    while (optional && !start.empty() && (start.back() & 0xC0) == 0x80) start.pop_back();
    if (optional && !start.empty()) start.pop_back();
  }
  if (node.text.find('|') != std::string::npos) start.clear();
  TermSelection selection = with_prefix(node.field, to_wide(start));
  selection.test = [regex = *regex](std::wstring_view text) { return regex->matches(to_utf8(text)); };
  return select(selection);
}

Lucene::QueryPtr QueryBuilder::build_fuzzy(const QueryNode& node) {
  const Lucene::String word = plain_text(node);
  const int edits = edits_of(node.similarity, word.size());
  struct Found {
    double similarity = 0;
    Lucene::String text;
  };
  std::vector<Found> found;
  TermSelection all;
  all.field = field_of(node.field);
  all.ranges.emplace_back();
  const auto better = [](const Found& a, const Found& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.text < b.text;
  };
  all.for_each(reader_, *budget_, [&](const Lucene::TermEnumPtr& terms) {
    const Lucene::TermPtr term = terms->term();
    budget_->step_pattern();
    const int distance = edit_distance(word, term->_text, edits);
    if (distance > edits) return true;
    const double shorter = static_cast<double>(std::max<std::size_t>(1, std::min(word.size(), term->_text.size())));
    const double similarity = distance == 0 ? 1.0 : 1.0 - distance / shorter;
    if (similarity <= 0) return true;
    found.push_back({similarity, term->_text});
    std::ranges::push_heap(found, better);
    if (found.size() > fuzzy_terms_max) {
      std::ranges::pop_heap(found, better);
      found.pop_back();
    }
    return true;
  });
  if (found.empty()) return {};
  const auto joined = newLucene<BooleanQuery>(true);
  for (const Found& one : found) {
    auto query = newLucene<Lucene::TermQuery>(newLucene<Lucene::Term>(all.field, one.text));
    query->setBoost(one.similarity);
    joined->add(query, BooleanClause::SHOULD);
  }
  return joined;
}

Lucene::QueryPtr QueryBuilder::build_range(const QueryNode& node) {
  const auto low = node.lower ? parse_query_number(*node.lower) : -std::numeric_limits<double>::infinity();
  const auto high = node.upper ? parse_query_number(*node.upper) : std::numeric_limits<double>::infinity();
  const bool open = !node.lower && !node.upper;
  Lucene::QueryPtr number;
  if (low && high && !(node.exact && !open)) {
    number = numbers(node.field, *low, node.lower_inclusive, *high, node.upper_inclusive);
    if (!open) return number;
  }
  TermSelection selection;
  selection.field = field_of(node.field);
  TermSelection::Range range;
  const auto text = [&](const std::string& end) { return node.exact ? to_wide(end) : lower(to_wide(end)); };
  if (node.lower) range.first = text(*node.lower);
  range.first_included = node.lower_inclusive || !node.lower;
  if (node.upper) range.last = text(*node.upper);
  range.last_included = node.upper_inclusive;
  selection.ranges.push_back(std::move(range));
  Lucene::QueryPtr words = select(selection);
  if (!number) return words;
  const auto either = newLucene<BooleanQuery>(true);
  either->add(number, BooleanClause::SHOULD);
  either->add(words, BooleanClause::SHOULD);
  return either;
}

Lucene::QueryPtr QueryBuilder::any_facet(std::string_view field, std::span<const std::string> values) {
  const auto joined = newLucene<BooleanQuery>(true);
  for (const std::string& value : values) {
    joined->add(newLucene<Lucene::TermQuery>(newLucene<Lucene::Term>(facet_field(field), to_wide(value))),
                BooleanClause::SHOULD);
  }
  // Drilldown restricts the hits without affecting their scores.
  joined->setBoost(0);
  return joined;
}

WordMatcher::WordMatcher(const QueryNode& query, const FieldAnalyzers& analyzers) {
  collect(query, analyzers);
  std::ranges::sort(words_);
}

void WordMatcher::collect(const QueryNode& node, const FieldAnalyzers& analyzers) {
  const auto word = [&] { return plain_text(node); };
  switch (node.kind) {
    case QueryNode::Kind::words:
    case QueryNode::Kind::phrase: {
      TokenList tokens;
      analyzers.of(node.field).analyze(node.text, tokens);
      for (std::size_t i = 0; i < tokens.size(); ++i) words_.emplace_back(tokens.term(i));
      break;
    }
    case QueryNode::Kind::prefix:
      tests_.emplace_back([start = to_utf8(word())](std::string_view term) { return term.starts_with(start); });
      break;
    case QueryNode::Kind::wildcard:
      tests_.emplace_back(
          [pattern = word()](std::string_view term) { return matches_wildcard(pattern, to_wide(term)); });
      break;
    case QueryNode::Kind::regex:
      if (auto regex = compile_regex(node.text)) {
        tests_.emplace_back([regex = *std::move(regex)](std::string_view term) { return regex->matches(term); });
      }
      break;
    case QueryNode::Kind::fuzzy:
      tests_.emplace_back([text = word(), edits = edits_of(node.similarity, word().size())](std::string_view term) {
        return edit_distance(text, to_wide(term), edits) <= edits;
      });
      break;
    case QueryNode::Kind::range:
    case QueryNode::Kind::everything:
      break;
    case QueryNode::Kind::clauses:
      for (const QueryNode::Clause& clause : node.clauses) {
        if (clause.occur != QueryNode::Occur::must_not) collect(clause.node, analyzers);
      }
      break;
  }
}

bool WordMatcher::matches(std::string_view term, SearchBudget& budget) const {
  if (std::ranges::binary_search(words_, term, std::less<>{})) return true;
  return std::ranges::any_of(tests_, [&](const auto& test) {
    budget.step_pattern();
    return test(term);
  });
}

}  // namespace octavo::query::search
