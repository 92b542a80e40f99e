#pragma once

#include <optional>
#include <vector>

#include "api/couch/call/call.h"
#include "api/models/document_renderer.h"
#include "storage/document/revision.h"

namespace octavo::api::couch {

/// The parameters of a request with `open_revs`.
struct OpenRevisionsQuery {
  std::optional<std::vector<storage::Revision>> revisions;  ///< absent: all leaves
  bool latest = false;                                      ///< a revision means the leaves that descend from it
  RenderOptions render;
};

/// The requested leaves of a document and the missing revisions, each once, in the order of their first mention: a JSON
/// array, or multipart/mixed if the client's `Accept` names it. Errors: not_found if all leaves of a document that does
/// not exist are requested.
Task<Expected<Reply>> open_revisions_reply(Call& call, partitioning::DocumentTarget target, OpenRevisionsQuery query);

}  // namespace octavo::api::couch
