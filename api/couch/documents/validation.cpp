#include "api/couch/documents/validation.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "api/couch/call/document_id.h"
#include "api/couch/documents/function_request.h"
#include "api/models/document_renderer.h"
#include "api/scripts/write_rules.h"
#include "query/javascript/functions.h"

namespace octavo::api::couch {

namespace {

using partitioning::DocumentTarget;
using storage::DocumentView;
using storage::DocumentWrite;
using storage::Revision;
using storage::Snapshot;

// After this time a worker is free for other requests.
constexpr std::chrono::milliseconds slice_time{20};

struct StoredRevision {
  Revision revision;
  bool deleted = false;
  std::string_view body;  ///< valid as long as the snapshot
};

// The stored state that a write is validated against.
struct Basis {
  bool needs_validation = true;       ///< false: the revision exists already, so nothing will be written
  std::optional<StoredRevision> old;  ///< the document before the write
};

std::unexpected<Error> conflict() {
  return fail(ErrorCode::conflict, "");
}

Expected<std::optional<StoredRevision>> leaf_of(const Snapshot& snapshot, const DocumentView& document,
                                                const storage::RevisionTree& tree, const Revision& revision) {
  const auto* node = tree.find(revision);
  if (node == nullptr || !node->leaf) return std::nullopt;
  OCTAVO_TRY(const auto body, snapshot.leaf_body(document, revision));
  if (!body) return std::nullopt;
  return StoredRevision{revision, node->deleted, *body};
}

Expected<Basis> basis_of(const Snapshot& snapshot, const DocumentWrite& write) {
  OCTAVO_TRY(const auto document, snapshot.find(write.id));
  if (!write.replicated) {
    if (!document) {
      if (write.parent) return conflict();
      return Basis{};
    }
    if (!write.parent) {
      if (!document->deleted) return conflict();
      return Basis{};
    }
    if (*write.parent == document->revision) {
      return Basis{.old = StoredRevision{document->revision, document->deleted, document->body}};
    }
    OCTAVO_TRY(const auto tree, snapshot.revision_tree(*document));
    OCTAVO_TRY(const auto leaf, leaf_of(snapshot, *document, tree, *write.parent));
    if (!leaf) return conflict();
    return Basis{.old = leaf};
  }
  if (!document) return Basis{};
  OCTAVO_TRY(const auto tree, snapshot.revision_tree(*document));
  if (tree.find(write.history.front()) != nullptr) return Basis{.needs_validation = false, .old = {}};
  // Find the nearest ancestor that has a body, which is a leaf. A revision's index in the history follows from its
  // generation.
  const std::uint64_t newest = write.history.front().generation;
  const Revision* nearest = nullptr;
  for (const auto* leaf : tree.leaves()) {
    const std::uint64_t below = newest - leaf->revision.generation;  // wraps beyond the history if it is newer
    if (below >= write.history.size() || write.history[below] != leaf->revision) continue;
    if (nearest == nullptr || leaf->revision.generation > nearest->generation) nearest = &leaf->revision;
  }
  if (nearest == nullptr) return Basis{};
  OCTAVO_TRY(const auto old, leaf_of(snapshot, *document, tree, *nearest));
  return Basis{.old = old};
}

std::string new_document_json(const DocumentWrite& write) {
  std::vector<Revision> history = write.history;
  if (!write.replicated && write.parent) history = {*write.parent};
  return scripts::document_for_validation(write.id, history, write.deleted, write.body);
}

// Runs the validation functions for the writes of one request.
class Validator {
 public:
  Validator(Call& call, std::shared_ptr<const query::Validation> validation, std::span<const DocumentTarget> targets,
            std::span<const DocumentWrite> writes)
      : database_(*call.database),
        validation_(std::move(validation)),
        targets_(targets),
        writes_(writes),
        user_context_(user_context_json(call)),
        security_(security_json(call)) {
    results_.reserve(writes.size());
  }

  bool done() const { return results_.size() == writes_.size(); }
  std::vector<Expected<void>> take_results() { return std::move(results_); }

  // Validates at least one write, then as many as fit into the slice time.
  void run_slice() {
    const auto until = std::chrono::steady_clock::now() + slice_time;
    do {
      results_.push_back(validate_next(targets_[results_.size()], writes_[results_.size()]));
    } while (!done() && std::chrono::steady_clock::now() < until);
  }

 private:
  Expected<void> validate_next(const DocumentTarget& target, const DocumentWrite& write) {
    if (is_design_id(write.id)) return {};
    // A function that exceeded a limit would probably exceed it again, and a request may have many documents.
    if (exhausted_) return std::unexpected(*exhausted_);
    std::optional<std::string> old;
    {
      OCTAVO_TRY(const auto snapshot, database_.snapshot(target));
      OCTAVO_TRY(const auto basis, basis_of(snapshot, write));
      if (!basis.needs_validation) return {};
      if (basis.old) {
        append_document(old.emplace(), write.id, basis.old->revision, basis.old->deleted, basis.old->body);
      }
    }
    const auto document = new_document_json(write);
    for (const auto& program : validation_->programs) {
      auto valid = query::javascript::validate(program, 0, document, old, user_context_, security_);
      if (valid) continue;
      if (valid.error().code == ErrorCode::function_stopped) exhausted_ = valid.error();
      return valid;
    }
    return {};
  }

  partitioning::Database& database_;
  const std::shared_ptr<const query::Validation> validation_;
  const std::span<const DocumentTarget> targets_;
  const std::span<const DocumentWrite> writes_;
  const std::string user_context_;
  const std::string security_;
  std::vector<Expected<void>> results_;
  std::optional<Error> exhausted_;
};

}  // namespace

Expected<std::shared_ptr<const query::Validation>> validation_of(const Call& call) {
  return scripts::WriteRules::validation_of(call.database_services());
}

Task<std::vector<Expected<void>>> validate(Call& call, std::shared_ptr<const query::Validation> validation,
                                           std::span<const DocumentTarget> targets,
                                           std::span<const storage::DocumentWrite> writes) {
  auto& engine = call.services.engine;
  Validator validator(call, std::move(validation), targets, writes);
  while (!validator.done()) co_await engine.workers().run_function([&validator] { validator.run_slice(); });
  co_return validator.take_results();
}

Task<Expected<void>> validate_one(Call& call, DocumentTarget target, const storage::DocumentWrite& write) {
  if (is_design_id(write.id)) co_return Expected<void>{};
  OCTAVO_CO_TRY(auto validation, validation_of(call));
  if (validation == nullptr) co_return Expected<void>{};
  auto results = co_await validate(call, std::move(validation), std::span(&target, 1), std::span(&write, 1));
  co_return std::move(results.front());
}

Task<Expected<void>> check_design_document(Call& call, const storage::DocumentWrite& write,
                                           std::optional<query::IndexAllowance>& allowance) {
  if (write.deleted) co_return Expected<void>{};
  auto check = [&]() -> Expected<void> {
    OCTAVO_TRY(const auto document, query::read_design_document(write.id, "", write.body));
    if (document) OCTAVO_TRY_VOID(query::check_functions(*document, write.replicated));
    if (write.replicated) return {};
    if (!allowance) allowance.emplace(*call.database, call.database_services());
    return allowance->take(write.id, write.body);
  };
  co_return co_await call.services.engine.workers().run_function(std::move(check));
}

}  // namespace octavo::api::couch
