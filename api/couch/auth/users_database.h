#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/couch/call/call.h"
#include "partitioning/engine.h"

/// The rules of the `_users` database, which CouchDB implements partly in code and partly in `_design/_auth`.
/// Document handlers call these functions only if `is_users_database(database)`.
namespace octavo::api::couch {

inline constexpr std::string_view users_database = "_users";
inline constexpr std::string_view replicator_database = "_replicator";
inline constexpr std::string_view user_id_prefix = "org.couchdb.user:";

/// Why requests to replicate are refused.
inline constexpr std::string_view no_replicator =
    "This server does not replicate yet. Let a client replicate (PouchDB, or a program that reads _changes and writes "
    "_bulk_docs), or another CouchDB that names this server as its source or target.";

bool is_users_database(const partitioning::Database& database);
bool is_replicator_database(const partitioning::Database& database);
/// Whether only admins may list the documents: `_users` and `_replicator`, whose documents contain passwords.
bool is_system_database(const partitioning::Database& database);

/// Creates `_users` and `_replicator` if they are missing. Blocking; called once, before the listeners start.
Expected<void> ensure_system_databases(partitioning::Engine& engine);

/// Must be called before each write to `_users`, also of design documents: validates the edit against the stored
/// document, and replaces `password` by its PBKDF2 hash (on a worker thread).
/// `body` is like DocumentWrite::body: a JSON object without _id, _rev, _deleted; the result is the body to store.
/// Errors: forbidden (with CouchDB's text), not_found (a user writes another user's document), bad_request.
Task<Expected<std::string>> prepare_user_document(Call& call, std::string_view id, bool deleted, std::string body);

/// Checks that the user may read a document of `_users`: users may read their own, admins may read all.
/// Errors: not_found for other users' documents (their existence is not revealed), forbidden for design documents.
Expected<void> check_user_document_read(const Call& call, std::string_view id);

/// Checks that the user may list or follow documents of a system database (`_all_docs`, `_changes`, `_find`, `_index`,
/// `_design_docs`, `_local_docs`, `_purge`): only admins may. Error forbidden, which names `endpoint`, e.g.
/// "_all_docs".
Expected<void> check_system_listing(const Call& call, std::string_view endpoint);

}  // namespace octavo::api::couch
