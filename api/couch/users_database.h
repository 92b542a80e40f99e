#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/couch/call.h"
#include "partitioning/engine.h"

/// The rules of the `_users` database, which CouchDB keeps partly in code and partly in `_design/_auth`.
/// Document handlers ask here when `is_users_database(database)`; other databases are none of this file's business.
namespace octavo::api::couch {

inline constexpr std::string_view kUsersDatabase = "_users";
inline constexpr std::string_view kUserIdPrefix = "org.couchdb.user:";

bool is_users_database(const partitioning::Database& database);

/// Creates `_users` and `_replicator` where they are missing. Blocking; called once, before the listeners start.
Expected<void> ensure_system_databases(partitioning::Engine& engine);

/// To be called for each document written to `_users`, design documents included, before the write: validates the edit
/// against the document stored now, and replaces `password` by its PBKDF2 hash (on a worker thread).
/// `body` is as DocumentWrite::body: a JSON object without _id, _rev, _deleted; the result is the body to store.
/// Errors: forbidden (with CouchDB's text), not_found (a user touches the document of another), bad_request.
Task<Expected<std::string>> prepare_user_document(Call& call, std::string_view id, bool deleted, std::string body);

/// Whether the user may read a document of `_users`: their own, or any as an admin.
/// Errors: not_found for documents of others (they are not shown to exist), forbidden for design documents.
Expected<void> check_user_document_read(const Call& call, std::string_view id);

/// Whether the user may list or follow documents of `_users` (`_all_docs`, `_changes`, `_find`, `_index`,
/// `_design_docs`,
/// `_local_docs`, `_purge`): admins only. `endpoint` is named in the error, e.g. "_all_docs". Error forbidden.
Expected<void> check_users_listing(const Call& call, std::string_view endpoint);

}  // namespace octavo::api::couch
