#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "query/index/catalog/mango_indexes.h"
#include "query/index/catalog/query_cache.h"
#include "query/mango/find_request.h"
#include "query/mango/projection.h"
#include "query/plan/planner.h"
#include "query/walk/bookmark.h"
#include "query/walk/walked_part.h"

namespace octavo::query {

/// A query, parsed and planned: everything that is known before reading. Immutable, shared by the runs of equal
/// requests.
struct PreparedFind : CachedQuery {
  /// How a covering plan makes results from entries.
  struct Covering {
    std::vector<std::ptrdiff_t> columns;  ///< index column by number of the field in `request.fields`; -1 is `_id`
    Projection document;                  ///< makes a document of all columns, to test the selector on
  };

  FindRequest request;
  std::vector<Plan> plans;  ///< as in PlannerResult
  std::size_t sure = 0;
  std::vector<Covering> coverings;    ///< by plan
  std::vector<WalkedPart> walked;     ///< from the bookmark: of plans that were left, or whose index is gone
  std::vector<Candidate> candidates;  ///< for `_explain` only
  Projection projection;
  /// Where the page begins. nullopt: at the beginning, without what is in `walked`: the index of the request's bookmark
  /// may no longer exist.
  std::optional<Bookmark> bookmark;
  bool reads_revision = false;          ///< a selector uses `_rev`
  bool tests_conflicts = false;         ///< a selector uses `_conflicts`, and the request asks for them
  std::uint64_t planned_documents = 0;  ///< in the scope, when it was planned

  const Plan& sure_plan() const { return plans[sure]; }
};

/// Parses and plans a `_find` of the indexes' database. `partition_key` empty: all of it. With `explain`, all
/// candidates are examined and kept, and no index is waited for. Otherwise, if the best index is still being built,
/// waits for it some seconds (longer if `use_index` names it), and then plans without it. Does not wait until global
/// indexes are current: wait_for_indexes does. Errors: bad_request for bad requests, …
Task<Expected<std::shared_ptr<const PreparedFind>>> prepare_find(MangoIndexes& indexes, std::string_view body,
                                                                 std::string partition_key, bool explain,
                                                                 bool ignore_global = false);

}  // namespace octavo::query
