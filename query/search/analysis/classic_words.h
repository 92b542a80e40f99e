#pragma once

#include <string_view>

#include "query/search/analysis/analyzer.h"

namespace octavo::query::search {

/// Splits text into words like break_words() of word_breaks.h, but follows Lucene's first grammar for European
/// languages: host names, acronyms, companies (AT&T), product numbers.
void break_classic(std::string_view text, TokenList& tokens);

}  // namespace octavo::query::search
