// What edits and purges make of a document's history.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "storage/document/history.h"
#include "storage/document/revision_tree.h"
#include "storage/logs/purge_log.h"
#include "storage/partition/document_writer.h"

namespace octavo::storage {
namespace {

std::unexpected<Error> conflict() {
  return fail(ErrorCode::conflict, "Document update conflict.");
}

}  // namespace

Expected<void> DocumentWriter::read_tree(Before& before) const {
  if (before.tree) return {};
  if (before.exists) {
    OCTAVO_TRY(before.tree, history::read(transaction_, history_trees(), before.document));
  } else {
    before.tree.emplace();
  }
  return {};
}

Expected<Expected<std::optional<Revision>>> DocumentWriter::resolve_parent(const DocumentWrite& write,
                                                                           Before& before) const {
  using Parent = Expected<std::optional<Revision>>;
  const std::optional<Revision> winner = before.exists ? std::optional(before.document.revision) : std::nullopt;
  if (write.base != WriteBase::parent) {
    if (write.base == WriteBase::live_winner && !before.live) return Parent(fail(ErrorCode::not_found, ""));
    const bool is_compared = write.base != WriteBase::upserted || before.live;
    if (write.parent && is_compared && (!before.live || *write.parent != *winner)) return Parent(conflict());
    return Parent(winner);
  }
  // A deleted or expired document is written again on top of its last revision.
  if (!write.parent) return before.live ? Parent(conflict()) : Parent(winner);
  if (write.parent == winner) return Parent(winner);
  if (!before.exists || !before.document.has_conflicts) return Parent(conflict());
  OCTAVO_TRY_VOID(read_tree(before));
  return before.tree->is_leaf(*write.parent) ? Parent(write.parent) : Parent(conflict());
}

Refusal DocumentWriter::check_owner(const DocumentWrite& write, const Before& before) const {
  if (write.owner == copy_owner || write.is_expiry) return std::nullopt;
  if (environment_.owners == nullptr && write.owner == 0) return std::nullopt;
  const auto* const owner = before.live && before.document.owner != 0 && environment_.owners != nullptr
                                ? environment_.owners->find(before.document.owner)
                                : nullptr;
  if (write.owner != 0) {
    const bool is_of_client = before.live && before.document.owner == 0;
    const bool is_of_other = owner != nullptr && owner->number != write.owner;
    // A projection deletes only its own rows: another document is left as it is.
    if (write.deleted || (!is_of_client && !is_of_other)) return std::nullopt;
    return Error{ErrorCode::conflict, "The id is taken.", {}};
  }
  if (owner != nullptr) {
    return Error{ErrorCode::forbidden, "The document is a row of the " + owner->name + ", which alone changes it.",
                 "derived_document"};
  }
  const auto* const exclusive = environment_.owners->exclusive();
  if (exclusive != nullptr && (!write.deleted || exclusive->number == copy_owner) && !is_design_id(write.id)) {
    return Error{ErrorCode::forbidden,
                 "The " + exclusive->name +
                     " has this database to itself: clients write only design "
                     "documents and local documents.",
                 "derived_document"};
  }
  return std::nullopt;
}

Expected<bool> DocumentWriter::is_written_already(const DocumentWrite& write, Before& before) {
  OCTAVO_ASSERT(write.owner != 0 && !write.replicated);
  const bool is_own = before.live && before.document.owner == write.owner;
  if (write.deleted || !is_own) return write.deleted && !is_own;
  OCTAVO_TRY(const std::string_view json, open_body(before));
  return json == write.body;
}

Expected<Refusal> DocumentWriter::check(const DocumentWrite& write) {
  OCTAVO_TRY(Before before, load(write.id));
  if (auto refusal = check_owner(write, before)) return refusal;
  if (!write.replicated) {
    OCTAVO_TRY(auto parent, resolve_parent(write, before));
    if (!parent) return Refusal(std::move(parent).error());
  }
  if (write.deleted) return std::nullopt;
  OCTAVO_TRY(auto refusal, check_unique(write.id, write.partition_key, write.body));
  if (refusal) return refusal;
  return check_quota(write.partition_key, write.body.size(), before);
}

Expected<EditOutcome> DocumentWriter::apply(const DocumentWrite& write) {
  OCTAVO_TRY(Before before, load(write.id));
  if (auto refusal = check_owner(write, before)) return EditOutcome(std::unexpected(*std::move(refusal)));
  if (write.owner == copy_owner) {
    if (!before.exists || before.document.deleted) return EditOutcome(WrittenDocument{before.document.revision, 0});
  } else if (write.owner != 0) {
    OCTAVO_TRY(const bool done, is_written_already(write, before));
    if (done) return EditOutcome(WrittenDocument{before.document.revision, 0});
  }
  if (!write.deleted) {
    OCTAVO_TRY(auto quota, check_quota(write.partition_key, write.body.size(), before));
    if (quota) return EditOutcome(std::unexpected(*std::move(quota)));
  }

  Revision revision;
  std::vector<Revision> own_path;
  std::span<const Revision> path = write.history;
  if (write.replicated) {
    if (path.empty()) return EditOutcome(fail(ErrorCode::bad_request, "Invalid rev format"));
    revision = path.front();
  } else {
    OCTAVO_TRY(auto parent, resolve_parent(write, before));
    if (!parent) return EditOutcome(std::unexpected(std::move(parent).error()));
    const Sequence salt = write.dropped_through.value_or(counters_.dropped_through);
    revision = next_revision(*parent, write.deleted, write.body, salt);
    own_path.push_back(revision);
    if (*parent) own_path.push_back(**parent);
    path = own_path;
  }
  RevisionTree after(revision, write.deleted);
  std::span<const Revision> growth;
  if (before.exists) {
    OCTAVO_TRY(growth, history::growth(before.document, path, environment_.revs_limit));
  }
  if (growth.empty()) {
    OCTAVO_TRY_VOID(read_tree(before));
    after = *before.tree;
    if (!write.replicated && after.find(revision) != nullptr) return EditOutcome(conflict());
    const auto merged = after.merge(path, write.deleted);
    if (merged == RevisionTree::Merge::known) return EditOutcome(WrittenDocument{revision, 0});
    after.prune(environment_.revs_limit);
    if (merged == RevisionTree::Merge::completed) {
      if (after.history(revision) == before.tree->history(revision)) return EditOutcome(WrittenDocument{revision, 0});
      OCTAVO_TRY(const Sequence sequence,
                 store(write.id, write.partition_key, before, after, {}, std::nullopt, NewBody{}));
      return EditOutcome(WrittenDocument{revision, sequence});
    }
  }
  if (!write.deleted && environment_.unique_keys != nullptr && after.winner()->revision == revision) {
    OCTAVO_TRY(auto unique, check_unique(write.id, write.partition_key, write.body));
    if (unique) return EditOutcome(std::unexpected(*std::move(unique)));
  }
  const bool created = !before.live;
  OCTAVO_TRY(const NewBody body, body_of(write));
  OCTAVO_TRY(const Sequence sequence, store(write.id, write.partition_key, before, after, growth, revision, body));
  return EditOutcome(WrittenDocument{revision, sequence, created, environment_.now_s, index_rows_});
}

Expected<void> DocumentWriter::store_history(std::string_view id, const Before& before, const RevisionTree& after,
                                             std::span<const Revision> growth) {
  OCTAVO_TRY(
      const Ancestry ancestry,
      growth.empty()
          ? history::replace(transaction_, history_trees(), id, before.exists ? &before.document : nullptr, after)
          : history::extend(transaction_, history_trees(), before.document, growth, environment_.revs_limit));
  ancestry_.clear();
  encode_ancestry(ancestry_, ancestry);
  return {};
}

Expected<std::vector<Revision>> DocumentWriter::purge(const PurgeRequest& request) {
  std::vector<Revision> purged;
  OCTAVO_TRY(Before before, load(request.id));
  if (!before.exists) return purged;
  DocumentWrite removal;
  removal.id = request.id;
  removal.deleted = true;
  if (check_owner(removal, before)) return purged;
  OCTAVO_TRY_VOID(read_tree(before));
  RevisionTree after = *before.tree;
  for (const Revision& revision : request.revisions) {
    if (after.purge(revision)) purged.push_back(revision);
  }
  if (purged.empty()) return purged;
  ++counters_.purge_count;
  OCTAVO_TRY_VOID(replaced_.erase_of(before.document.sequence, request.id, environment_.now_s));
  // remove_all and place_leaf_bodies treat the purged leaves as no longer leaves.
  OCTAVO_TRY(const Sequence sequence,
             store(request.id, request.partition_key, before, after, {}, std::nullopt, NewBody{}));
  const std::string_view gone = after.empty() ? std::string_view(request.id) : std::string_view();
  OCTAVO_TRY_VOID(purge_log::append(transaction_, tree(PartitionTree::meta), counters_, sequence, gone));
  return purged;
}

Expected<void> DocumentWriter::drop(const Tombstone& tombstone) {
  OCTAVO_TRY(Before before, load(tombstone.id));
  if (!before.exists || !before.document.deleted || before.document.sequence != tombstone.sequence) return {};
  if (before.document.has_conflicts) OCTAVO_TRY_VOID(read_tree(before));
  OCTAVO_TRY_VOID(remove_all(tombstone.id, before));
  OCTAVO_TRY_VOID(move_in_feed(tombstone.partition_key, before, nullptr));
  OCTAVO_TRY_VOID(count(tombstone.id, tombstone.partition_key, before, nullptr));
  counters_.dropped_through = std::max(counters_.dropped_through, tombstone.sequence);
  return {};
}

}  // namespace octavo::storage
