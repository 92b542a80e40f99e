#pragma once

#include <lucene++/LuceneHeaders.h>
#include <map>
#include <string>
#include <string_view>

namespace octavo::query::search {

/// What is stored with a commit, as Lucene++ wants it. Its maps are Boost's hash tables, whose layout in memory is that
/// of the Boost that Debian built Lucene++ with, and not of ours: so the library itself makes them from bytes and
/// writes them to bytes. Throws what Lucene++ throws.
Lucene::MapStringString make_commit_data(const std::map<std::string, std::string>& data);
std::map<std::string, std::string> read_commit_data(const Lucene::MapStringString& data);

}  // namespace octavo::query::search
