#include "api/models/document_renderer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json_writer.h"

namespace octavo::api::couch {

namespace {

using storage::Revision;
using storage::RevisionTree;

// Size of `{"_id":"","_rev":"","_deleted":true}` and a revision.
constexpr std::size_t envelope_bytes = 96;

void append_hash(std::string& out, const storage::RevisionHash& hash) {
  if (hash.is_digest()) {  // hexadecimal digits: no escapes
    out += '"';
    hash.append_text(out);
    out += '"';
    return;
  }
  std::string text;
  hash.append_text(text);
  append_json_string(out, text);
}

void append_revision_list(std::string& out, std::string_view name, const std::vector<Revision>& revisions) {
  out += ",\"";
  out += name;
  out += "\":[";
  bool first = true;
  for (const auto& revision : revisions) {
    if (!std::exchange(first, false)) out += ',';
    append_revision(out, revision);
  }
  out += ']';
}

void append_revisions(std::string& out, const std::vector<Revision>& history) {
  if (history.empty()) return;
  out += ",\"_revisions\":{\"start\":";
  append_json_number(out, history.front().generation);
  out += ",\"ids\":[";
  bool first = true;
  for (const auto& revision : history) {
    if (!std::exchange(first, false)) out += ',';
    append_hash(out, revision.hash);
  }
  out += "]}";
}

// `kept`: the former winners whose bodies are kept, in ascending order.
std::string_view status_of(const RevisionTree::Node* node, const std::vector<Revision>& kept) {
  if (node == nullptr) return "missing";
  if (!node->leaf && !std::ranges::binary_search(kept, node->revision)) return "missing";
  return node->deleted ? "deleted" : "available";
}

void append_revisions_info(std::string& out, const RevisionTree& tree, const std::vector<Revision>& history,
                           const std::vector<Revision>& kept) {
  out += ",\"_revs_info\":[";
  for (const auto& revision : history) {
    const bool newest = &revision == &history.front();
    if (!newest) out += ',';
    out += "{\"rev\":";
    append_revision(out, revision);
    out += ",\"status\":\"";
    // Without kept bodies the older revisions of a history need no lookup: they are never leaves.
    out += status_of(newest || !kept.empty() ? tree.find(revision) : nullptr, kept);
    out += "\"}";
  }
  out += ']';
}

std::vector<Revision> other_leaves(const RevisionTree& tree, const Revision& shown, bool deleted) {
  std::vector<Revision> revisions;
  for (const auto* leaf : tree.leaves()) {
    if (leaf->deleted == deleted && leaf->revision != shown) revisions.push_back(leaf->revision);
  }
  return revisions;
}

// Appends the members that `options` request to the open object at the end of `out`. True if any except `_revisions`.
Expected<bool> append_meta(std::string& out, const storage::DocumentView& document, const storage::Snapshot& snapshot,
                           const RevisionTree& tree, const Revision& shown, const RenderOptions& options) {
  bool meta = false;
  if (options.revisions || options.revisions_info) {
    const auto history = tree.history(shown);
    if (options.revisions) append_revisions(out, history);
    if (options.revisions_info) {
      OCTAVO_TRY(const auto kept, snapshot.replaced_revisions(document));
      append_revisions_info(out, tree, history, kept);
      meta = true;
    }
  }
  if (options.conflicts) {
    if (const auto conflicts = other_leaves(tree, shown, false); !conflicts.empty()) {
      append_revision_list(out, "_conflicts", conflicts);
      meta = true;
    }
  }
  if (options.deleted_conflicts) {
    if (const auto conflicts = other_leaves(tree, shown, true); !conflicts.empty()) {
      append_revision_list(out, "_deleted_conflicts", conflicts);
      meta = true;
    }
  }
  if (options.local_sequence) {
    out += ",\"_local_seq\":";
    append_json_number(out, document.sequence);
    meta = true;
  }
  return meta;
}

}  // namespace

void append_document(std::string& out, std::string_view id, const Revision& revision, bool deleted,
                     std::string_view body) {
  // Grow by doubling, because the rows of a long reply are appended one by one.
  const auto needed = out.size() + id.size() + body.size() + envelope_bytes;
  if (needed > out.capacity()) out.reserve(out.empty() ? needed : std::max(needed, 2 * out.capacity()));
  query::begin_document(out, id, revision, body);
  if (deleted) out += ",\"_deleted\":true";
  out += '}';
}

void append_document(std::string& out, const storage::DocumentView& document) {
  append_document(out, document.id, document.revision, document.deleted, document.body);
}

void append_local_document(std::string& out, const storage::LocalDocumentView& document) {
  out += "{\"_id\":";
  append_json_string(out, document.id);
  out += ",\"_rev\":\"0-";
  append_json_number(out, document.edit);
  out += '"';
  if (document.body.size() > 2) {
    out += ',';
    out.append(document.body, 1, document.body.size() - 2);
  }
  out += '}';
}

Expected<bool> append_document(std::string& out, const storage::DocumentView& document,
                               const storage::Snapshot& snapshot, const RenderOptions& options) {
  append_document(out, document);
  // Most documents have no conflicts; then the revision tree need not be read.
  const bool conflicts = document.has_conflicts && (options.conflicts || options.deleted_conflicts);
  if (!options.revisions && !options.revisions_info && !options.local_sequence && !conflicts) return false;
  const bool ancestors = options.revisions || options.revisions_info;
  OCTAVO_TRY(const auto tree, ancestors ? snapshot.revision_tree(document) : snapshot.revision_branches(document));
  out.pop_back();
  OCTAVO_TRY(const bool meta, append_meta(out, document, snapshot, tree, document.revision, options));
  out += '}';
  return meta;
}

Expected<bool> append_node(std::string& out, const storage::DocumentView& document, const storage::Snapshot& snapshot,
                           const RevisionTree& tree, const RevisionTree::Node& node, const RenderOptions& options) {
  OCTAVO_TRY(const auto body, snapshot.body_of(document, node));
  if (!body) return fail(ErrorCode::corrupted, "The body of revision " + node.revision.to_string() + " is missing.");
  append_document(out, document.id, node.revision, node.deleted, *body);
  if (!options.any()) return false;
  out.pop_back();
  OCTAVO_TRY(const bool meta, append_meta(out, document, snapshot, tree, node.revision, options));
  out += '}';
  return meta;
}

}  // namespace octavo::api::couch
