#include "query/search/run/highlighter.h"

#include <algorithm>
#include <set>
#include <vector>

#include <simdjson.h>

#include "base/json_writer.h"
#include "query/json/parsed_document.h"

namespace octavo::query::search {

namespace {

constexpr std::size_t text_bytes_max = 50 * 1024;  // as in Lucene; later text is ignored

struct Fragment {
  std::string text;
  std::set<std::string, std::less<>> words;  ///< found in this fragment
};

std::string_view without_cut_letter(std::string_view text) {
  if (text.size() <= text_bytes_max) return text;
  text = text.substr(0, text_bytes_max);
  while (!text.empty() && (text.back() & 0xC0) == 0x80) text.remove_suffix(1);
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0) text.remove_suffix(1);
  return text;
}

}  // namespace

void Highlighter::mark_text(std::string_view field, std::string_view text, std::string& out, bool& first) const {
  text = without_cut_letter(text);
  TokenList tokens;
  analyzers_.of(field).analyze(text, tokens);
  std::vector<Fragment> fragments(1);
  std::size_t done = 0;
  std::size_t fragment_end = options_.fragment_size;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto& token = tokens[i];
    if (token.start < done) continue;  // overlaps the previous token
    if (token.end >= fragment_end && i > 0) {
      // A new fragment begins with the word that does not fit.
      fragments.back().text.append(text, done, token.start - done);
      done = token.start;
      fragments.emplace_back();
      fragment_end += options_.fragment_size;
      while (fragment_end <= token.start) fragment_end += options_.fragment_size;
    }
    budget_.step();
    if (!words_.matches(tokens.term(i), budget_)) continue;
    Fragment& fragment = fragments.back();
    fragment.text.append(text, done, token.start - done);
    fragment.text += options_.before;
    fragment.text.append(text, token.start, token.end - token.start);
    fragment.text += options_.after;
    fragment.words.emplace(tokens.term(i));
    done = token.end;
  }
  fragments.back().text.append(text, done);
  std::erase_if(fragments, [](const Fragment& fragment) { return fragment.words.empty(); });
  std::ranges::stable_sort(fragments, std::greater<>{}, [](const Fragment& fragment) { return fragment.words.size(); });
  if (fragments.size() > options_.fragments) fragments.resize(options_.fragments);
  for (const Fragment& fragment : fragments) {
    if (!first) out += ',';
    first = false;
    append_json_string(out, fragment.text);
  }
}

std::string Highlighter::mark(std::string_view stored_fields) const {
  DocumentParser parser;
  const auto root = parser.parse(stored_fields.empty() ? "{}" : stored_fields);
  std::string out = "{";
  for (const std::string& field : options_.fields) {
    append_json_key(out, field);
    out += '[';
    bool first = true;
    simdjson::dom::element value;
    if (root && root->at_key(field).get(value) == simdjson::SUCCESS) {
      if (value.is_string()) {
        mark_text(field, value.get_string().value_unsafe(), out, first);
      } else if (value.is_array()) {
        const simdjson::dom::array elements = value.get_array().value_unsafe();
        for (const auto element : elements) {
          if (element.is_string()) mark_text(field, element.get_string().value_unsafe(), out, first);
        }
      }
    }
    out += ']';
  }
  out += '}';
  return out;
}

}  // namespace octavo::query::search
