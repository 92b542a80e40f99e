#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/executor/bookmark.h"
#include "query/executor/index_walk.h"
#include "query/index/automatic_index.h"
#include "query/index/index_definition.h"
#include "query/index/index_entry.h"
#include "query/planner/plan.h"

namespace octavo::query {

/// How far a walk has come that was left for another plan. What it has returned is told by this alone: a document is
/// done when one of the entries that it has now lies in the part of the index that was walked. Ties, directions,
/// further columns and arrays need nothing else, and no set of ids is kept; in a walk by order every remaining result
/// sorts at or after what was returned. A document that moves behind the walk meanwhile is missed, as in any walk by
/// key.
struct WalkedPart {
  /// A place in an index longer than this would make long bookmarks: such a walk is not left.
  static constexpr std::size_t key_bytes_max = 1'000;

  std::string identity;          ///< of the index; empty: the documents by id
  IndexDefinitionPtr index;      ///< null: the documents by id
  std::vector<KeyRange> ranges;  ///< that are walked
  bool down = false;
  /// Index: walking up the first key that is left, walking down the lowest that was walked. Documents: the last id.
  std::string key;

  bool contains(const IndexedDocument& document, AutomaticIndex::Entries& scratch) const;
};

/// The entries that the document has now in the index, or in the path that it is of. None: its filter leaves it out.
std::vector<std::string> entries_in(const IndexDefinition& index, const IndexedDocument& document,
                                    AutomaticIndex::Entries& scratch);

/// The parts that a bookmark names, by the candidates of its query. Errors: bad_request invalid_bookmark, where an
/// index is not there any more.
Expected<std::vector<WalkedPart>> walked_parts(std::span<const Bookmark::Left> left,
                                               std::span<const Candidate> candidates);

/// The part of `plan`, which has one branch, that lies behind `position`. nullopt: nothing was read yet.
std::optional<WalkedPart> walked_part(const Plan& plan, const IndexPosition& position);

/// The key behind all entries of `plan`, which has one branch, as bookmarks have it.
std::string end_of(const Plan& plan);

/// Whether one of `parts` has the document.
bool was_walked(std::span<const WalkedPart> parts, const IndexedDocument& document);

}  // namespace octavo::query
