#pragma once

#include <lucene++/LuceneHeaders.h>
#include <string>
#include <string_view>

namespace octavo::query::search {

/// Conversions of text: Lucene++ uses wide characters, one per code point. Invalid UTF-8 becomes U+FFFD.
void append_wide(Lucene::String& out, std::string_view utf8);
void append_utf8(std::string& out, std::wstring_view wide);

inline Lucene::String to_wide(std::string_view utf8) {
  Lucene::String out;
  append_wide(out, utf8);
  return out;
}
inline std::string to_utf8(std::wstring_view wide) {
  std::string out;
  append_utf8(out, wide);
  return out;
}

/// Names of Lucene fields. Our own fields begin with a character with which no name in a query begins by accident.
///
/// Format (Lucene fields):
///   name              words of a text, or "true", "false"; `name` comes from the index function
///   01 "n" name       a number (number_terms.h)
///   01 "f" name       a text as one term, for facets
///   01 "id"           the document's id
///   01 "partition"    the partition key, if there is one
///   01 "stored"       the stored document (document_builder.h)
inline const Lucene::String id_field = L"\x01id";
inline const Lucene::String partition_field = L"\x01partition";
inline const Lucene::String stored_field = L"\x01stored";
inline Lucene::String number_field(std::string_view name) {
  return L"\x01n" + to_wide(name);
}
inline Lucene::String facet_field(std::string_view name) {
  return L"\x01f" + to_wide(name);
}

}  // namespace octavo::query::search
