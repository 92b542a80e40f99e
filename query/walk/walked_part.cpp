#include "query/walk/walked_part.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "query/collation/sort_key.h"
#include "query/json/field_path.h"
#include "query/plan/planner.h"
#include "query/selector/match_budget.h"

namespace octavo::query {

namespace {

std::unexpected<Error> bookmark_of_gone_index() {
  return fail(ErrorCode::index_gone, "The bookmark belongs to an index that no longer exists.", "invalid_bookmark");
}

Expected<WalkedPart> part_that_was_left(const Bookmark::Left& left, std::span<const Candidate> candidates,
                                        const Selector& selector) {
  WalkedPart part{.identity = left.identity, .index = {}, .ranges = {}, .down = left.down, .key = left.key};
  auto gone = GoneIndex::from_text(left.index);
  if (gone && gone->side) {
    part.sides = sides_of_union(selector);
    if (*gone->side >= part.sides.size()) return bookmark_of_gone_index();
    part.sides.erase(part.sides.begin() + static_cast<std::ptrdiff_t>(*gone->side) + 1, part.sides.end());
  } else if (left.identity.empty()) {
    return part;
  }
  const auto found = std::ranges::find_if(candidates, [&](const Candidate& candidate) {
    return candidate.index && candidate.index->definition->identity == left.identity;
  });
  if (found != candidates.end()) {
    part.index = found->index->definition;
    part.ranges = found->bounds.ranges;
    return part;
  }
  if (!gone) return bookmark_of_gone_index();
  part.gone = std::move(gone);
  return part;
}

}  // namespace

Expected<std::size_t> first_matching_side(std::span<const Selector> sides, const IndexedDocument& document) {
  std::string revision;
  document.revision.append_to(revision);
  MatchBudget budget(match_steps_per_document_max);
  const SelectorSubject subject{
      .body = document.body, .id = document.id, .rev = revision, .deleted = false, .attachments = {}};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    OCTAVO_TRY(const bool is_match, matches_within(sides[i], subject, budget));
    if (is_match) return i;
  }
  return sides.size();
}

Expected<bool> WalkedPart::contains(const IndexedDocument& document, AutomaticIndex::Entries& scratch) const {
  const auto is_behind = [this](std::string_view entry) { return down ? entry >= key : entry < key; };
  if (!sides.empty()) {
    OCTAVO_TRY(const std::size_t side, first_matching_side(sides, document));
    if (side + 1 != sides.size()) return side < sides.size();
  }
  if (gone) {
    const auto entry = gone->entry_of(document);
    return entry && is_behind(*entry);
  }
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
    if (field) {
      entries = index.automatic->keys_of(field.value);
    } else if (index.absence) {
      append_sort_key(entries.emplace_back(), SortSentinel::missing);
    }
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
                                               std::span<const Candidate> candidates, const Selector& selector) {
  std::vector<WalkedPart> parts;
  for (const Bookmark::Left& one : left) {
    OCTAVO_TRY(auto part, part_that_was_left(one, candidates, selector));
    parts.push_back(std::move(part));
  }
  return parts;
}

std::optional<WalkedPart> walked_part(const Plan& plan, std::size_t branch_number, const IndexPosition& position) {
  OCTAVO_ASSERT(branch_number < plan.branches.size());
  if ((!position.key && branch_number == 0) || plan.sort_in_memory) return std::nullopt;
  const Branch& branch = plan.branches[branch_number];
  WalkedPart part;
  if (branch.index) {
    part.identity = branch.index->definition->identity;
    part.index = branch.index->definition;
    part.ranges = branch.bounds.ranges;
  }
  if (plan.branches.size() > 1) {
    for (std::size_t i = 0; i <= branch_number; ++i) part.sides.push_back(plan.branches[i].selector);
  }
  part.down = plan.descending;
  part.key = position.key.value_or("");
  return part;
}

std::optional<std::size_t> branch_that_continues(const Plan& plan, const WalkedPart& part) {
  if (part.gone || plan.sort_in_memory || part.down != plan.descending) return std::nullopt;
  if (part.sides.empty() != (plan.branches.size() == 1) || part.sides.size() > plan.branches.size()) {
    return std::nullopt;
  }
  const std::size_t branch = part.sides.empty() ? 0 : part.sides.size() - 1;
  const auto& index = plan.branches[branch].index;
  const bool is_same = part.identity == (index ? std::string_view(index->definition->identity) : std::string_view());
  return is_same ? std::optional(branch) : std::nullopt;
}

std::string end_of(const Plan& plan) {
  const Branch& branch = plan.branches.back();
  if (!branch.index) return plan.descending ? std::string() : std::string(1, '\xFF');  // no id begins with this byte
  const auto& ranges = branch.bounds.ranges;
  if (ranges.empty()) return {};
  return plan.descending ? ranges.front().begin : ranges.back().end;
}

Expected<bool> was_walked(std::span<const WalkedPart> parts, const IndexedDocument& document) {
  AutomaticIndex::Entries scratch;
  for (const WalkedPart& part : parts) {
    OCTAVO_TRY(const bool is_walked, part.contains(document, scratch));
    if (is_walked) return true;
  }
  return false;
}

}  // namespace octavo::query
