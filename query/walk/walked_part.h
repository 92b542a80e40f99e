#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/index/automatic_index.h"
#include "query/index/index_definition.h"
#include "query/index/index_entry.h"
#include "query/plan/plan.h"
#include "query/selector/selector.h"
#include "query/walk/bookmark.h"
#include "query/walk/gone_index.h"
#include "query/walk/index_walk.h"

namespace octavo::query {

/// How far a walk had come when the query left it for another plan, or when its index was deleted. This alone decides
/// what the walk has returned: every document with a current entry in the walked part of the index. So ties,
/// directions, further columns and arrays need no special handling, and no set of ids is kept. In a walk in sort order,
/// every remaining result sorts at or after the returned ones. A document that moves behind the walk meanwhile is
/// missed, as in any walk by key.
struct WalkedPart {
  /// A longer key would make long bookmarks: a walk at such a key is not left.
  static constexpr std::size_t key_bytes_max = 1'000;

  std::string identity;          ///< of the index; empty: the documents by id
  IndexDefinitionPtr index;      ///< null: the documents by id
  std::vector<KeyRange> ranges;  ///< the ranges that are walked
  bool down = false;
  /// Index: the first key that is left (walking up), or the lowest one that was walked (walking down). Documents: the
  /// last id.
  std::string key;
  /// The index no longer exists; it takes the place of `index`.
  std::optional<GoneIndex> gone = {};
  /// The walk was that of a union: its sides up to the one that was left. Earlier sides were walked completely.
  std::vector<Selector> sides = {};

  /// Errors: too_large if the sides are too expensive to test.
  Expected<bool> contains(const IndexedDocument& document, AutomaticIndex::Entries& scratch) const;
};

/// The number of the first of `sides` that the document matches: a union returns it there. sides.size(): it matches
/// none. Errors: too_large if the sides are too expensive to test.
Expected<std::size_t> first_matching_side(std::span<const Selector> sides, const IndexedDocument& document);

/// The document's current entries in the index, or in the path that `index` stands for. Empty: the filter of the index
/// leaves the document out.
std::vector<std::string> entries_in(const IndexDefinition& index, const IndexedDocument& document,
                                    AutomaticIndex::Entries& scratch);

/// The parts that a bookmark of a query for `selector` names, with the indexes of the query's candidates. Errors:
/// bad_request invalid_bookmark if an index no longer exists and the bookmark does not describe it.
Expected<std::vector<WalkedPart>> walked_parts(std::span<const Bookmark::Left> left,
                                               std::span<const Candidate> candidates, const Selector& selector);

/// The part of `plan` that lies behind `position` in its branch of that number, and in the branches before it. nullopt:
/// nothing was read yet, or the plan sorts.
std::optional<WalkedPart> walked_part(const Plan& plan, std::size_t branch_number, const IndexPosition& position);

/// The branch in which `plan` continues if it was left after `part`; nullopt: it is another walk.
std::optional<std::size_t> branch_that_continues(const Plan& plan, const WalkedPart& part);

/// The key behind all entries of the last branch of `plan`, in the form that bookmarks use.
std::string end_of(const Plan& plan);

/// Whether one of `parts` contains the document. Errors: as of WalkedPart::contains.
Expected<bool> was_walked(std::span<const WalkedPart> parts, const IndexedDocument& document);

}  // namespace octavo::query
