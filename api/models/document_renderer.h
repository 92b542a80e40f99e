#pragma once

#include <string>
#include <string_view>

#include "query/json/document_text.h"
#include "storage/document/document.h"
#include "storage/document/revision_tree.h"
#include "storage/partition/snapshot.h"

/// Documents as JSON text, spliced from the stored bytes without re-serialising them. All functions append to `out`.
namespace octavo::api::couch {

/// The additional members that a reader may request.
struct RenderOptions {
  bool revisions = false;          ///< `_revisions`
  bool revisions_info = false;     ///< `_revs_info`
  bool conflicts = false;          ///< `_conflicts`, if any
  bool deleted_conflicts = false;  ///< `_deleted_conflicts`, if any
  bool local_sequence = false;     ///< `_local_seq`

  bool any() const { return revisions || revisions_info || conflicts || deleted_conflicts || local_sequence; }
};

/// `{"_id":…,"_rev":…,<body>}`, and `"_deleted":true` for a tombstone.
void append_document(std::string& out, std::string_view id, const storage::Revision& revision, bool deleted,
                     std::string_view body);
void append_document(std::string& out, const storage::DocumentView& document);
void append_local_document(std::string& out, const storage::LocalDocumentView& document);

/// The winner of `document` with the members that `options` request. Returns whether anything except `_revisions` was
/// added: such a reply has no ETag, because it can change without a new revision. Error corrupted.
Expected<bool> append_document(std::string& out, const storage::DocumentView& document,
                               const storage::Snapshot& snapshot, const RenderOptions& options);

/// The same for `node` of the document's tree: a leaf, or a former winner whose body is kept (Snapshot::body_of).
Expected<bool> append_node(std::string& out, const storage::DocumentView& document, const storage::Snapshot& snapshot,
                           const storage::RevisionTree& tree, const storage::RevisionTree::Node& node,
                           const RenderOptions& options);

using query::append_revision;

}  // namespace octavo::api::couch
