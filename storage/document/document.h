#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/settings.h"
#include "storage/body/stored_body.h"
#include "storage/document/revision.h"
#include "storage/document/sequence_allocator.h"

namespace octavo::storage {

inline constexpr std::string_view design_prefix = "_design/";
inline bool is_design_id(std::string_view id) {
  return id.starts_with(design_prefix);
}

/// What is stored of the winning revision of a document, apart from its body. Views live as long as the snapshot it was
/// read from.
struct DocumentHead {
  std::string_view id;
  Revision revision;
  Sequence sequence = 0;
  std::int64_t modified_s = 0;  ///< Unix time of the write, in seconds
  bool deleted = false;
  bool has_conflicts = false;  ///< more than one leaf, live or deleted
  bool has_tree_row = false;   ///< its history has the form of format 1 (see history.h)
  std::string_view ancestry;   ///< encoded (see Ancestry); empty: the winner has no ancestors, or has_tree_row
  std::uint32_t owner = 0;     ///< number of the projection that wrote it (DocumentOwners); 0: a client did
};

/// The winning revision of a document as stored: for those who need no body, or decide whether they do.
struct DocumentRecord : DocumentHead {
  StoredBody body;
};

/// The winning revision of a document. Views live as long as the snapshot it was read from, unless its source says that
/// the body lives shorter.
struct DocumentView : DocumentHead {
  std::string_view body;  ///< minified JSON object without _id, _rev, _deleted; `{}` when there are no fields
};

inline DocumentRecord to_record(const DocumentView& document) {
  return {document, StoredBody::of_json(document.body)};
}
/// The views are those of `record`; a packed body is opened into `buffer`. Error corrupted: the body is damaged.
inline Expected<DocumentView> open_document(const DocumentRecord& record, BodyBuffer& buffer) {
  OCTAVO_TRY(const std::string_view body, record.body.open(buffer));
  return DocumentView{record, body};
}

/// One row of the change feed: the newest change of one document.
struct FeedRow {
  Sequence sequence = 0;
  std::string_view id;
  Revision revision;  ///< winner
  bool deleted = false;
  bool has_conflicts = false;
};

/// A local document (`_local/…`): never replicated, no history, not in the feed.
struct LocalDocumentView {
  std::string_view id;     ///< with the `_local/` prefix
  std::uint64_t edit = 0;  ///< shown as revision `0-<edit>`
  std::string_view body;
};

/// The revision that an edit is based on.
enum class WriteBase : std::uint8_t {
  parent,       ///< DocumentWrite::parent, any leaf; without it the document must not exist or must be deleted
  live_winner,  ///< the winner, which must be live (else not_found), and be `parent` if given (else conflict)
  any_winner,   ///< the winner, if any, live or not; if `parent` is given the winner must be that revision, and live
  upserted,     ///< the winner, if any, live or not; a live one must be `parent` if given (else conflict)
};

/// One edit. For `replicated` edits (`new_edits=false`) `history` is the revision and its ancestors, newest first; it
/// is merged into the tree whatever the tree's leaves are. Otherwise `parent` is the precondition; without it the
/// document must not exist or must be deleted.
struct DocumentWrite {
  std::string id;
  std::string_view partition_key;  ///< view into `id`; empty in databases without partitions and for design documents
  bool deleted = false;
  bool replicated = false;
  WriteBase base = WriteBase::parent;
  std::optional<Revision> parent;
  std::vector<Revision> history;
  std::string body;  ///< as DocumentView::body
  /// PartitionCounters::dropped_through when the caller read that the document does not exist: its first revision is
  /// derived from it (next_revision). Absent: the present value.
  std::optional<Sequence> dropped_through = {};
  /// pack_body(body), if the caller has packed it; else the writer does it, which is short of time.
  std::optional<std::string> packed = std::nullopt;
  /// Number of the projection that writes a row (DocumentOwners); 0: a client writes. A row may be put and deleted any
  /// number of times: what is there already does not change. A deletion leaves documents alone that are not rows of
  /// this projection. Error conflict: the id has a document of a client, or a row of another projection.
  std::uint32_t owner = 0;
  /// A deletion because the document's time to live is over: it does not matter who writes the document.
  bool is_expiry = false;
};

/// DocumentWrite::owner of a copy of another database (query/copy): it changes all documents, and belongs to none.
inline constexpr std::uint32_t copy_owner = 0xFFFFFFFF;

/// The projections that write documents of a database. Such a document belongs to its projection: clients cannot
/// change it. The row of a projection that no longer exists is an ordinary document. Immutable.
struct DocumentOwners {
  struct Owner {
    std::uint32_t number = 0;  ///< not 0; never given twice in a database
    std::string name;          ///< for messages: "projection front_page of blog/posts"
    bool exclusive = false;    ///< clients may write only design documents and local documents
  };
  std::vector<Owner> owners;

  const Owner* find(std::uint32_t number) const {
    const auto found = std::ranges::find(owners, number, &Owner::number);
    return found == owners.end() ? nullptr : &*found;
  }
  /// The one with the database to itself, if there is one: then it is the only one.
  const Owner* exclusive() const { return !owners.empty() && owners.front().exclusive ? &owners.front() : nullptr; }
};

struct LocalDocumentWrite {
  std::string id;  ///< with the `_local/` prefix
  bool deleted = false;
  std::uint64_t base_edit = 0;  ///< N of the `_rev` in the request (0: none): the new one is N + 1. Not a precondition
  std::string body;
};

struct PurgeRequest {
  std::string id;
  std::string_view partition_key;
  std::vector<Revision> revisions;
};

/// The tombstone of a deletion that had this sequence.
struct Tombstone {
  std::string id;
  std::string partition_key;  ///< empty in databases without partitions and for design documents
  Sequence sequence = 0;
};

struct WrittenDocument {
  Revision revision;
  Sequence sequence = 0;  ///< 0 if a replicated revision was known already
  bool created = false;   ///< there was no live document before
  std::int64_t modified_s = 0;
  std::uint32_t index_rows = 0;  ///< rows of local indexes and unique keys that it put and erased
};

/// What became of one edit: the document as written, or the error for which the edit was refused. A refused edit has
/// changed nothing. Functions that edit inside a transaction return Expected<EditOutcome>: an error of the Expected
/// itself fails the whole transaction (disk full, map full, corruption).
using EditOutcome = Expected<WrittenDocument>;

/// Why an edit would be refused; nullopt: it would be accepted.
using Refusal = std::optional<Error>;

struct WriteOptions {
  bool atomic = false;  ///< all or nothing; all ids in one logical partition, each id once
};

/// Numbers of one physical or logical partition.
struct DocumentStatistics {
  std::uint64_t document_count = 0;
  std::uint64_t deleted_count = 0;
  std::uint64_t external_bytes = 0;  ///< JSON bytes of the winning revisions: ids and bodies
};

}  // namespace octavo::storage
