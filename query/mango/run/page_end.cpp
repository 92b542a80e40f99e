#include "query/mango/run/page_end.h"

#include "query/walk/gone_index.h"

namespace octavo::query {

namespace {

// What a union has returned, if its index should be gone when the part is read again.
std::string describe_side(const WalkedPart& part) {
  auto gone = part.index ? GoneIndex::of(*part.index, part.down) : std::nullopt;
  if (!gone) return {};
  gone->side = part.sides.size() - 1;
  return gone->to_text();
}

}  // namespace

void PageEnd::begin(std::size_t branch, std::size_t plan) {
  last_.emplace();
  last_->branch = branch;
  plan_ = plan;
  if (const auto& index = prepared_.plans[plan].branches[branch].index) last_->identity = index->definition->identity;
}

void PageEnd::move_to_sorted(std::string_view key, std::size_t plan) {
  last_.emplace();
  last_->kind = Bookmark::Kind::sorted;
  last_->key.assign(key);
  plan_ = plan;
}

void PageEnd::remember(std::string_view position, std::size_t branch) {
  has_seen_ = true;
  seen_.assign(position);
  seen_branch_ = branch;
}

bool PageEnd::move_to_seen(std::size_t plan) {
  if (has_seen_) move_to(seen_, seen_branch_, plan);
  return has_seen_;
}

std::optional<Bookmark> PageEnd::bookmark() const {
  if (!last_) return std::nullopt;
  Bookmark bookmark = *last_;
  const Plan& by = prepared_.plans[plan_];
  if (by.sort_in_memory) return bookmark;
  if (by.branches.size() > 1) {
    bookmark.kind = Bookmark::Kind::combined;
  } else {
    bookmark.kind = by.uses_primary() ? Bookmark::Kind::primary : Bookmark::Kind::index;
  }
  // The documents themselves are only described as a side of a union: another side may lose its index.
  if (const auto& index = by.branches[bookmark.branch].index) {
    bookmark.index = describe(*index->definition, by.descending);
  } else if (by.branches.size() > 1) {
    GoneIndex documents;
    documents.down = by.descending;
    bookmark.index = documents.to_text();
  }
  return bookmark;
}

std::string PageEnd::describe(const WalkedPart& part) const {
  if (!part.index) return {};
  return part.sides.empty() ? describe(*part.index, part.down) : describe_side(part);
}

// Empty: what the index has returned cannot be recognised without it. An automatic index may have several entries for a
// document, and a partial index named by the request returns less than the selector says.
std::string PageEnd::describe(const IndexDefinition& index, bool down) const {
  if (index.automatic || (index.partial_filter && !prepared_.request.use_index.empty())) return {};
  const auto gone = GoneIndex::of(index, down);
  return gone ? gone->to_text() : std::string();
}

}  // namespace octavo::query
