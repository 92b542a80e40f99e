#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/couch/call.h"
#include "api/couch/document_renderer.h"
#include "storage/revision.h"

namespace octavo::api::couch {

/// What `open_revs` asks for.
struct OpenRevisionsQuery {
  std::string id;
  std::optional<std::vector<storage::Revision>> revisions;  ///< none: all leaves
  bool latest = false;                                      ///< a revision stands for the leaves that came of it
  RenderOptions render;
};

/// The leaves of a document that are asked for and what is missing, each once, in the order in which they are first
/// mentioned: a JSON array, or multipart/mixed where the client names that. Errors: not_found for all leaves of a
/// document that is not there.
Task<Expected<Reply>> open_revisions_reply(Call& call, OpenRevisionsQuery query);

}  // namespace octavo::api::couch
