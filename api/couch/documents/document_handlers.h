#pragma once

#include <vector>

#include "api/couch/call/call.h"
#include "storage/document/revision_tree.h"

/// Handlers of single documents that are implemented in their own files, and functions that reading handlers share.
namespace octavo::api::couch {

Task<Expected<Reply>> put_document(Call& call);     // PUT /{db}/{docid}
Task<Expected<Reply>> create_document(Call& call);  // POST /{db}
Task<Expected<Reply>> delete_document(Call& call);  // DELETE /{db}/{docid}
Task<Expected<Reply>> copy_document(Call& call);    // COPY /{db}/{docid}

void add_document_routes(RouteList& routes);  ///< document.cpp: /{db}/{docid}, _design, _local

/// Error unless the document exists now; also for local documents. Errors: not_found, deleted.
Expected<void> check_document_exists(const partitioning::Database& database,
                                     const partitioning::DocumentTarget& target);

/// The leaves that answer a request for `revision`: itself if it is a leaf, otherwise, with `latest`, all leaves that
/// descend from it.
std::vector<const storage::RevisionTree::Node*> leaves_for(const storage::RevisionTree& tree,
                                                           const storage::Revision& revision, bool latest);

}  // namespace octavo::api::couch
