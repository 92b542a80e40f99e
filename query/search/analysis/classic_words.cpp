#include "query/search/analysis/classic_words.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <lucene++/LuceneHeaders.h>
#include <lucene++/OffsetAttribute.h>
#include <lucene++/StandardTokenizer.h>
#include <lucene++/StringReader.h>
#include <lucene++/TermAttribute.h>
#include <lucene++/TypeAttribute.h>
#include <string>
#include <vector>

#include "query/search/analysis/word_breaks.h"
#include "query/search/lucene/lucene_text.h"
#include "query/search/lucene/lucene_values.h"

namespace octavo::query::search {

void break_classic(std::string_view text, TokenList& tokens) {
  tokens.clear();
  try {
    make_lucene_values();
    const Lucene::String wide = to_wide(text);
    // Lucene's offsets are in code points, ours in bytes.
    std::vector<std::uint32_t> offsets;
    offsets.reserve(wide.size() + 1);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if ((text[i] & 0xC0) != 0x80) offsets.push_back(static_cast<std::uint32_t>(i));
    }
    offsets.push_back(static_cast<std::uint32_t>(text.size()));
    const auto offset_of = [&](int32_t letter) { return offsets[std::min<std::size_t>(letter, offsets.size() - 1)]; };
    const auto tokenizer = Lucene::newLucene<Lucene::StandardTokenizer>(Lucene::LuceneVersion::LUCENE_30,
                                                                        Lucene::newLucene<Lucene::StringReader>(wide));
    const auto term = tokenizer->addAttribute<Lucene::TermAttribute>();
    const auto offset = tokenizer->addAttribute<Lucene::OffsetAttribute>();
    const auto type = tokenizer->addAttribute<Lucene::TypeAttribute>();
    while (tokenizer->incrementToken()) {
      std::string word = to_utf8({term->termBufferArray(), static_cast<std::size_t>(term->termLength())});
      // Removes a possessive s, and the dots of acronyms, as Lucene's ClassicFilter does.
      if (type->type() == L"<APOSTROPHE>" && (word.ends_with("'s") || word.ends_with("'S"))) {
        word.resize(word.size() - 2);
      } else if (type->type() == L"<ACRONYM>") {
        std::erase(word, '.');
      }
      if (word.size() <= word_bytes_max)
        tokens.add(word, offset_of(offset->startOffset()), offset_of(offset->endOffset()));
    }
  } catch (const std::exception&) {
    tokens.clear();
    break_words(text, false, tokens);
  }
}

}  // namespace octavo::query::search
