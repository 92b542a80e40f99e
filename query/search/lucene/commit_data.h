#pragma once

#include <lucene++/LuceneHeaders.h>
#include <map>
#include <string>
#include <string_view>

namespace octavo::query::search {

/// Converts the data stored with a commit to Lucene++'s maps and back. These are Boost's hash tables with the memory
/// layout of the Boost version that Debian built Lucene++ with, which differs from ours. The library itself therefore
/// makes them from bytes and writes them to bytes. Throws what Lucene++ throws.
Lucene::MapStringString make_commit_data(const std::map<std::string, std::string>& data);
std::map<std::string, std::string> read_commit_data(const Lucene::MapStringString& data);

}  // namespace octavo::query::search
