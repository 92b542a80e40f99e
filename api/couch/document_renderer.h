#pragma once

#include <string>
#include <string_view>

#include "storage/document.h"
#include "storage/physical_partition.h"
#include "storage/revision_tree.h"

/// Documents as JSON text, spliced from the stored bytes without re-serialising them. All functions append to `out`.
namespace octavo::api::couch {

/// What a reader may ask for beside the document itself.
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

/// The winner of `document` with what `options` ask for. Returns whether anything but `_revisions` was added: such a
/// reply has no ETag, as it can change while the revision stays. Error corrupted.
Expected<bool> append_document(std::string& out, const storage::DocumentView& document,
                               const storage::Snapshot& snapshot, const RenderOptions& options);

/// As above for the leaf `leaf` of the document's tree.
Expected<bool> append_leaf(std::string& out, const storage::DocumentView& document, const storage::Snapshot& snapshot,
                           const storage::RevisionTree& tree, const storage::RevisionTree::Node& leaf,
                           const RenderOptions& options);

/// `"N-hash"` with quotes. The text of a revision needs no escapes but a replicated one may.
void append_revision(std::string& out, const storage::Revision& revision);

}  // namespace octavo::api::couch
