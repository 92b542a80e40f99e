#include "query/walk/walked_part.h"

#include <algorithm>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "query/json/field_path.h"

namespace octavo::query {

bool WalkedPart::contains(const IndexedDocument& document, AutomaticIndex::Entries& scratch) const {
  const auto is_behind = [this](std::string_view entry) { return down ? entry >= key : entry < key; };
  if (!index) return down ? document.id >= key : document.id <= key;
  // Some of the entries of an array may lie in other ranges.
  const auto is_walked = [this](std::string_view entry) {
    return !index->automatic || std::ranges::any_of(ranges, [&](const KeyRange& range) {
      return entry >= range.begin && entry < range.end;
    });
  };
  return std::ranges::any_of(entries_in(*index, document, scratch),
                             [&](const std::string& entry) { return is_walked(entry) && is_behind(entry); });
}

std::vector<std::string> entries_in(const IndexDefinition& index, const IndexedDocument& document,
                                    AutomaticIndex::Entries& scratch) {
  std::vector<std::string> entries;
  if (!index.automatic) {
    std::string entry;
    std::string value;
    if (append_index_entry(index, document, entry, value)) entries.push_back(std::move(entry));
    return entries;
  }
  if (!index.elements && index.fields.size() == 1) {  // no need to make the other entries
    const FieldLookup field = find_field(document.body, index.fields[0].path);
    if (!field) return entries;
    entries = index.automatic->keys_of(field.value);
    for (std::string& entry : entries) entry += document.id;
    return entries;
  }
  std::string path;
  OCTAVO_ASSERT(index.automatic_path.has_value());
  append_key_u64(path, *index.automatic_path);
  index.automatic->entries_of(document, scratch);
  for (std::size_t i = 0; i < scratch.size(); ++i) {
    if (!scratch[i].starts_with(path)) continue;
    entries.push_back(std::string(scratch[i].substr(path.size())).append(document.id));
  }
  return entries;
}

Expected<std::vector<WalkedPart>> walked_parts(std::span<const Bookmark::Left> left,
                                               std::span<const Candidate> candidates) {
  std::vector<WalkedPart> parts;
  for (const Bookmark::Left& one : left) {
    WalkedPart part{.identity = one.identity, .index = {}, .ranges = {}, .down = one.down, .key = one.key};
    if (!one.identity.empty()) {
      const auto found = std::ranges::find_if(candidates, [&](const Candidate& candidate) {
        return candidate.index && candidate.index->definition->identity == one.identity;
      });
      if (found == candidates.end()) {
        return fail(ErrorCode::bad_request, "The bookmark belongs to an index that is not there any more.",
                    "invalid_bookmark");
      }
      part.index = found->index->definition;
      part.ranges = found->bounds.ranges;
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

std::optional<WalkedPart> walked_part(const Plan& plan, const IndexPosition& position) {
  if (!position.key || plan.branches.size() != 1 || plan.sort_in_memory) return std::nullopt;
  const Branch& branch = plan.branches[0];
  WalkedPart part;
  if (branch.index) {
    part.identity = branch.index->definition->identity;
    part.index = branch.index->definition;
    part.ranges = branch.bounds.ranges;
  }
  part.down = plan.descending;
  part.key = *position.key;
  return part;
}

std::string end_of(const Plan& plan) {
  OCTAVO_ASSERT(plan.branches.size() == 1);
  const Branch& branch = plan.branches[0];
  if (!branch.index) return plan.descending ? std::string() : std::string(1, '\xFF');  // no id begins with this byte
  const auto& ranges = branch.bounds.ranges;
  if (ranges.empty()) return {};
  return plan.descending ? ranges.front().begin : ranges.back().end;
}

bool was_walked(std::span<const WalkedPart> parts, const IndexedDocument& document) {
  AutomaticIndex::Entries scratch;
  return std::ranges::any_of(parts, [&](const WalkedPart& part) { return part.contains(document, scratch); });
}

}  // namespace octavo::query
