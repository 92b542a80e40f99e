#include "query/walk/entry_filter.h"

namespace octavo::query {

namespace {

// After looks_to_learn lookups, filtering continues only if one lookup in spared_min has avoided loading a document.
constexpr std::uint64_t looks_to_learn = 32;
constexpr std::uint64_t spared_min = 3;

}  // namespace

Expected<bool> EntryFilter::passes(const IndexReader& reader, std::string_view document_id,
                                   std::uint64_t& keys_examined) {
  if (filters_.empty() || (looked_ >= looks_to_learn && spared_ * spared_min < looked_)) return true;
  ++looked_;
  for (const EntryCondition& condition : filters_) {
    OCTAVO_TRY(const bool has, has_one(reader, condition, document_id, keys_examined));
    if (has) continue;
    ++spared_;
    return false;
  }
  return true;
}

Expected<bool> EntryFilter::has_one(const IndexReader& reader, const EntryCondition& condition,
                                    std::string_view document_id, std::uint64_t& keys_examined) {
  for (const std::string& key : condition.keys) {
    ++keys_examined;
    OCTAVO_TRY(const bool has, reader.has_entry(condition.path, key, document_id));
    if (has) return true;
  }
  return false;
}

}  // namespace octavo::query
