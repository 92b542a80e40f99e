#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "api/couch/call/call.h"
#include "api/couch/changes/changes_query.h"
#include "query/javascript/program.h"
#include "query/json/parsed_document.h"
#include "query/mango/projection.h"
#include "query/selector/selector.h"
#include "storage/document/revision.h"

namespace octavo::api::couch {

/// Decides which rows of a change feed the client gets. Used by one thread at a time.
class ChangesFilter {
 public:
  /// The filter that the request names: none, `_doc_ids`, `_selector`, `_design`, `_view`, or `ddoc/name`. The feed
  /// uses the functions of the design document's current revision until it ends.
  /// Errors: bad_request and not_found with CouchDB's texts.
  static Expected<ChangesFilter> create(const Call& call, const ChangesQuery& query);

  /// Whether a row with this id may pass, as far as that can be decided without the document.
  bool may_pass(std::string_view id) const;
  bool needs_documents() const { return selector_ != nullptr || function_ != nullptr; }
  /// True if each row runs a function of a design document, which only workers may do.
  bool runs_functions() const { return function_ != nullptr; }
  /// True if testing one document may take long: a worker's task, and one that ends its slice after it.
  bool is_costly() const { return is_costly_; }
  /// Steps of a selector since the feed began; see MatchBudget.
  std::uint64_t match_steps() const { return match_steps_; }
  /// Whether a revision of the document passes; only for needs_documents(). Errors: function_failed, too_large.
  Expected<bool> passes(std::string_view id, const storage::Revision& revision, bool deleted, std::string_view body);

  /// Cuts the document that begins at `begin` of `out` to the `fields` of a `_selector` filter, if it has any.
  /// Errors: too_large, see Projection::check_cost.
  Expected<void> cut(std::string& out, std::size_t begin, std::string_view id) const;

  /// The ids of a `_doc_ids` filter; nullptr for other filters.
  const std::unordered_set<std::string>* ids() const { return ids_.get(); }

 private:
  bool design_only_ = false;
  std::shared_ptr<const std::unordered_set<std::string>> ids_;
  std::unique_ptr<query::Selector> selector_;
  std::unique_ptr<query::DocumentParser> parser_;
  query::Projection projection_;  ///< of the documents of a `_selector` filter
  std::string revision_text_;
  bool is_costly_ = false;
  std::uint64_t match_steps_ = 0;

  /// A filter function, or a view's map function.
  struct Function {
    query::javascript::ProgramPtr program;
    std::size_t index = 0;
    bool is_view = false;
    std::string request;   ///< JSON text, for filters
    std::string document;  ///< of the current row; a member to reuse its memory
  };
  static Expected<std::unique_ptr<Function>> find_function(const Call& call, std::string_view name, bool is_view);
  std::unique_ptr<Function> function_;
};

}  // namespace octavo::api::couch
