#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "storage/document/ancestry.h"
#include "storage/document/document.h"
#include "storage/document/revision_tree.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

/// How the revision tree of a document is stored: the newest ancestors of the winner in the document's own record,
/// which an edit writes anyway, older ones in blocks of generations, and the nodes beside that path in a row of their
/// own. An edit that extends the winner, as most do, costs the same however long the history is: it reads no tree, and
/// writes a block at every 16th edit.
///
/// Where each revision lies follows from the document's record, so that no row is searched for.
///
/// Format (rows of a document's history):
///   document id 00 number:u64be      → history block
///   document id 00 FFFFFFFFFFFFFFFF  → revision tree without the winner and its ancestors; only if there are conflicts
///
/// Format 1 had the whole revision tree of a document that was written more than once in one row of `revisions`. It is
/// read there until the document is next written.
namespace history {

struct Trees {
  Tree histories;
  Tree revisions;
};

using Rows = std::vector<std::pair<std::string, std::string>>;

/// What is stored of a history.
struct StoredHistory {
  Ancestry ancestry;  ///< belongs into the document's record
  Rows rows;          ///< keys and values
};

/// The whole tree. `document` is a record as stored, or as readers see it.
Expected<RevisionTree> read(const Transaction& transaction, const Trees& trees, const DocumentHead& document);
/// A tree with the same leaves, without the winner's ancestors: reads one row at most, and none without conflicts.
Expected<RevisionTree> read_branches(const Transaction& transaction, const Trees& trees, const DocumentHead& document);
/// Precondition: `tree` is not empty.
StoredHistory stored_form(std::string_view id, const RevisionTree& tree);
/// The keys of the rows that belong to `document`, whose tree can be read: a damaged record may speak of any number.
Expected<std::vector<std::string>> keys(const DocumentHead& document);

/// The beginning of `path` (a revision and its ancestors, newest first) that is new, if nothing else in the history
/// changes but that it grows above the winner by those: then extend() can store it. Else empty.
Expected<std::span<const Revision>> growth(const DocumentHead& before, std::span<const Revision> path,
                                           std::uint32_t revs_limit);
/// Stores that the winner `before` has the descendants `added`, newest first, of which the first one is the winner now.
/// Like replace(), it returns what belongs into the new record. Views of `before` must not point into the store.
Expected<Ancestry> extend(WriteTransaction& transaction, const Trees& trees, const DocumentHead& before,
                          std::span<const Revision> added, std::uint32_t revs_limit);
/// Stores `after` instead of the history of `before`; null: the document did not exist. Writes only rows that change.
Expected<Ancestry> replace(WriteTransaction& transaction, const Trees& trees, std::string_view id,
                           const DocumentHead* before, const RevisionTree& after);
Expected<void> remove(WriteTransaction& transaction, const Trees& trees, const DocumentHead& before);

}  // namespace history

}  // namespace octavo::storage
