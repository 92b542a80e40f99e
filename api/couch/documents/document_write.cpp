// Writing single documents: PUT, POST, DELETE and COPY, local documents included.
#include "api/couch/auth/users_database.h"
#include "api/couch/call/document_id.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/documents/document_handlers.h"
#include "api/couch/documents/save.h"
#include "api/couch/documents/saved_reply.h"
#include "api/couch/documents/validation.h"
#include "api/couch/server/server.h"
#include "api/http/metrics.h"
#include "api/http/worker_bodies.h"
#include "base/json_writer.h"

namespace octavo::api::couch {

namespace {

using partitioning::DocumentTarget;
using storage::Revision;

std::string quoted_revision(const Revision& revision) {
  return "\"" + revision.to_string() + "\"";
}

void add_location(Reply& reply, const Call& call, std::string_view id) {
  reply.headers.emplace_back("Location", location_of(call.request, call.database->name(), id));
}

// `batch=ok`: the reply is sent before the document is written.
Task<Expected<Reply>> write_unacknowledged(Call& call, DocumentTarget target, storage::DocumentWrite write) {
  if (needs_preparation(call, write.id)) {
    std::optional<query::IndexAllowance> allowance;
    OCTAVO_CO_TRY_VOID(co_await prepare_write(call, write, allowance));
  }
  OCTAVO_CO_TRY_VOID(co_await validate_one(call, target, write));
  Reply reply;
  reply.status = 202;
  reply.body = "{\"ok\":true,\"id\":";
  append_json_string(reply.body, write.id);
  reply.body += "}\n";
  OCTAVO_CO_TRY_VOID(call.database->write_unacknowledged(target, std::move(write)));
  co_return reply;
}

// Writes `document` under the target's id, and replies with `status` when it is durable. With `batch=ok` the reply is
// sent before that; COPY ignores this parameter.
Task<Expected<Reply>> write_and_reply(Call& call, DocumentTarget target, ParsedDocument document, bool new_edits,
                                      int status) {
  OCTAVO_CO_TRY(auto write, make_write(std::string(target.id()), std::move(document), new_edits));
  if (call.request.method != Method::copy && call.request.parameter("batch") == "ok") {
    co_return co_await write_unacknowledged(call, target, std::move(write));
  }
  OCTAVO_CO_TRY(const auto revision, co_await save(call, target, std::move(write)));
  Reply reply;
  reply.status = status;
  append_saved(reply.body, target.id(), revision);
  reply.body += '\n';
  reply.headers.reserve(4);
  reply.headers.emplace_back("ETag", quoted_revision(revision));
  if (call.request.method != Method::del) add_location(reply, call, target.id());
  co_return reply;
}

Task<Expected<Reply>> write_local(Call& call, DocumentTarget target, ParsedDocument document) {
  storage::LocalDocumentWrite write;
  write.id = target.id();
  write.deleted = document.deleted;
  write.body = std::move(document.body);
  // As in CouchDB, there is no precondition: the last writer wins, and the new revision number follows the `_rev` sent.
  write.base_edit = document.local_edit.value_or(0);
  OCTAVO_CO_TRY(const auto edit, co_await call.database->write_local(target, std::move(write)));
  call.services.metrics.activity().add(Activity::local_document_write);
  Reply reply;
  reply.status = document.deleted ? 200 : 201;
  const std::uint64_t kept_edit = document.deleted ? 0 : edit;
  reply.headers.emplace_back("ETag", "\"0-" + std::to_string(kept_edit) + "\"");
  append_saved_local(reply.body, target.id(), kept_edit);
  reply.body += '\n';
  if (!document.deleted) add_location(reply, call, target.id());
  co_return reply;
}

// Parses the document in the body; a large one is parsed on a worker.
Task<Expected<ParsedDocument>> read_body(Call& call) {
  auto parse = [&call] { return parse_document(call.request.body, call.services.settings.document_bytes_max); };
  if (call.request.body.size() < worker_body_bytes) co_return parse();
  co_return co_await call.services.engine.workers().run_patiently(std::move(parse));
}

bool has_new_edits(const Request& request) {
  const auto value = request.parameter("new_edits");
  return !(value && *value == "false");
}

}  // namespace

Task<Expected<Reply>> put_document(Call& call) {
  const auto& id = call.path("docid");
  OCTAVO_CO_TRY_VOID(check_id(id, *call.database));
  const bool new_edits = has_new_edits(call.request);
  const auto refused = [new_edits](Error error) {
    return std::unexpected(new_edits ? std::move(error) : refusal_of_replica(std::move(error)));
  };
  if (call.request.header("Content-Type").value_or("").starts_with("multipart/related")) {
    co_return refused(
        {ErrorCode::unsupported, "Attachments are not supported yet: send the document alone, as JSON.", {}});
  }
  auto read = co_await read_body(call);
  if (!read) co_return refused(std::move(read).error());
  ParsedDocument document = *std::move(read);
  if (document.id && *document.id != id) {  // as in CouchDB the URL's id is used, but the body's must be valid
    OCTAVO_CO_TRY_VOID(check_id(*document.id, *call.database));
  }
  const auto target = call.database->target_of(id);
  if (is_local_id(id)) co_return co_await write_local(call, target, std::move(document));

  if (new_edits || !document.revision) {
    OCTAVO_CO_TRY(document.revision, base_revision(call.request, document.revision));
  }
  const int status = document.deleted ? 200 : 201;
  co_return co_await write_and_reply(call, target, std::move(document), new_edits, status);
}

Task<Expected<Reply>> create_document(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(auto document, co_await read_body(call));
  if (!document.id) {
    document.id = new_uuid(call.services.settings);
    document.revision.reset();
  }
  const auto id = *document.id;
  OCTAVO_CO_TRY_VOID(check_id(id, *call.database));
  const auto target = call.database->target_of(id);
  if (is_local_id(id)) co_return co_await write_local(call, target, std::move(document));

  co_return co_await write_and_reply(call, target, std::move(document), true, 201);
}

namespace {

// The body of a COPY's source, copied out of the snapshot.
Expected<std::string> source_body(const Call& call, std::string_view id) {
  const auto& database = *call.database;
  if (is_users_database(database) && !is_local_id(id)) OCTAVO_TRY_VOID(check_user_document_read(call, id));
  OCTAVO_TRY(const auto revision, base_revision(call.request, std::nullopt));
  OCTAVO_TRY(const auto snapshot, database.snapshot_for_document(id));
  if (is_local_id(id)) {
    OCTAVO_TRY(const auto local, snapshot.find_local(id));
    if (!local) return fail(ErrorCode::not_found, "");
    return std::string(local->body);
  }
  OCTAVO_TRY(const auto document, snapshot.find(id));
  if (!document) return fail(ErrorCode::not_found, "");
  if (!revision) {
    if (document->deleted) return fail(ErrorCode::deleted, "");
    return std::string(document->body);
  }
  OCTAVO_TRY(const auto tree, snapshot.revision_tree(*document));
  const auto* node = tree.find(*revision);
  if (node == nullptr) return fail(ErrorCode::not_found, "");
  OCTAVO_TRY(const auto body, snapshot.body_of(*document, *node));
  if (!body) return fail(ErrorCode::not_found, "");
  return std::string(*body);
}

struct Destination {
  std::string id;
  std::optional<Revision> revision;
};

// `Destination: target` or `target?rev=N-hash`, percent-encoded. A full URL is refused, as in CouchDB.
Expected<Destination> parse_destination(const Request& request, bool plus_is_space) {
  const auto header = request.header("Destination");
  if (!header || header->empty()) return fail(ErrorCode::bad_request, "Destination header is mandatory for COPY.");
  if (header->starts_with("http://") || header->starts_with("https://")) {
    return fail(ErrorCode::bad_request, "Destination URL must be relative.");
  }
  Destination destination;
  const auto question = header->find("?rev=");
  if (question != std::string_view::npos) {
    OCTAVO_TRY(destination.revision, Revision::parse(header->substr(question + 5)));
  }
  auto id = percent_decode(header->substr(0, question), plus_is_space);
  if (!id) return fail(ErrorCode::bad_request, "Destination header is not a valid document id.");
  destination.id = std::move(*id);
  return destination;
}

}  // namespace

Task<Expected<Reply>> delete_document(Call& call) {
  const auto& id = call.path("docid");
  const auto& request = call.request;
  const auto target = call.database->target_of(id);
  OCTAVO_CO_TRY_VOID(check_document_exists(*call.database, target));
  ParsedDocument document;
  document.deleted = true;
  document.body = "{}";
  if (is_local_id(id)) co_return co_await write_local(call, target, std::move(document));

  OCTAVO_CO_TRY(document.revision, base_revision(request, std::nullopt));
  if (!document.revision) co_return fail(ErrorCode::conflict, "");
  co_return co_await write_and_reply(call, target, std::move(document), has_new_edits(request), 200);
}

Task<Expected<Reply>> copy_document(Call& call) {
  OCTAVO_CO_TRY(const auto destination, parse_destination(call.request, call.services.settings.decode_plus_to_space));
  OCTAVO_CO_TRY_VOID(check_id(destination.id, *call.database));
  ParsedDocument document;
  OCTAVO_CO_TRY(document.body, source_body(call, call.path("docid")));
  document.revision = destination.revision;
  const auto target = call.database->target_of(destination.id);
  if (is_local_id(target.id())) co_return co_await write_local(call, target, std::move(document));
  co_return co_await write_and_reply(call, target, std::move(document), true, 201);
}

}  // namespace octavo::api::couch
