// Reading documents: GET and HEAD of /{db}/{docid}, local documents included. Also lists all document routes.
#include <algorithm>
#include <array>

#include <boost/json.hpp>

#include "api/couch/auth/users_database.h"
#include "api/couch/call/document_id.h"
#include "api/couch/call/json_reply.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/documents/document_handlers.h"
#include "api/couch/documents/open_revisions.h"
#include "api/http/metrics.h"
#include "api/http/worker_bodies.h"
#include "api/models/document_renderer.h"
#include "base/json_writer.h"
#include "partitioning/throughput/request_charge.h"
#include "query/json/parsed_document.h"

namespace octavo::api::couch {

namespace {

using partitioning::DocumentTarget;
using storage::Revision;
using storage::RevisionTree;

constexpr std::size_t open_revisions_max = 10'000;

struct ReadParameters {
  RenderOptions render;
  std::optional<Revision> revision;
  bool latest = false;
  std::optional<std::vector<Revision>> open;  // open_revs=[…]
};

Expected<std::vector<Revision>> parse_open_revisions(std::string_view text) {
  OCTAVO_TRY(const auto value, query::parse_json(text));
  if (!value.is_array()) return fail(ErrorCode::bad_request, "Invalid list of revisions");
  const auto& list = value.get_array();
  if (list.size() > open_revisions_max) return fail(ErrorCode::too_large, "Too many revisions in `open_revs`.");
  std::vector<Revision> revisions;
  revisions.reserve(list.size());
  for (const auto& entry : list) {
    if (!entry.is_string()) return fail(ErrorCode::bad_request, "Invalid rev format");
    OCTAVO_TRY(const auto revision, Revision::parse(entry.get_string()));
    revisions.push_back(revision);
  }
  return revisions;
}

Expected<ReadParameters> parse_read_parameters(const Request& request) {
  ReadParameters parameters;
  for (const auto& [name, value] : request.query) {
    if (name == "rev") {
      OCTAVO_TRY(parameters.revision, Revision::parse(value));
    } else if (name == "open_revs") {
      parameters.open.reset();
      if (value != "all") {
        OCTAVO_TRY(parameters.open, parse_open_revisions(value));
      }
    } else if (value != "true") {
      continue;
    } else if (name == "revs") {
      parameters.render.revisions = true;
    } else if (name == "revs_info") {
      parameters.render.revisions_info = true;
    } else if (name == "conflicts") {
      parameters.render.conflicts = true;
    } else if (name == "deleted_conflicts") {
      parameters.render.deleted_conflicts = true;
    } else if (name == "local_seq") {
      parameters.render.local_sequence = true;
    } else if (name == "meta") {
      parameters.render.revisions_info = true;
      parameters.render.conflicts = true;
      parameters.render.deleted_conflicts = true;
    } else if (name == "latest") {
      parameters.latest = true;
    }
  }
  return parameters;
}

std::string etag_of(const Revision& revision) {
  std::string etag;
  etag.reserve(40);
  etag += '"';
  revision.append_to(etag);
  etag += '"';
  return etag;
}

// nullopt: the document is large and must be read on a worker.
using WorkerReply = Expected<std::optional<Reply>>;

// Reads the winner without changes, the most frequent request: one snapshot, one lookup, one append.
WorkerReply read_winner(Call& call, const DocumentTarget& target, const RenderOptions& options, bool on_worker) {
  const auto& request = call.request;
  OCTAVO_TRY(const auto snapshot, call.database->snapshot(target));
  OCTAVO_TRY(const auto record, snapshot.find_record(target.id()));
  if (!record || record->deleted) {
    call.charge(target, partitioning::charge_of_miss());
    return fail(record ? ErrorCode::deleted : ErrorCode::not_found, "");
  }
  if (!on_worker && record->body.size() >= worker_body_bytes) return std::nullopt;

  auto etag = etag_of(record->revision);
  Reply reply;
  if (!options.any() && none_match_has(request, etag)) {
    call.charge(target, partitioning::charge_of_miss());
    return not_modified(std::move(etag));
  }
  OCTAVO_TRY(const auto document, snapshot.open(*record));
  if (!options.any()) {
    call.charge(target, partitioning::charge_of_read(document.body.size()));
    append_document(reply.body, document);
    reply.body += '\n';
    reply.headers.reserve(2);
    reply.headers.emplace_back("ETag", std::move(etag));
    return reply;
  }
  call.charge(target, partitioning::charge_of_read(document.body.size()));
  OCTAVO_TRY(const bool meta, append_document(reply.body, document, snapshot, options));
  reply.body += '\n';
  if (!meta) {
    if (none_match_has(request, etag)) return not_modified(std::move(etag));
    reply.headers.emplace_back("ETag", std::move(etag));
  }
  return reply;
}

// `rev=`: reads any leaf, and a replaced revision while it is kept. A deleted one is shown with `_deleted`.
WorkerReply read_revision(const Request& request, const partitioning::Database& database, const DocumentTarget& target,
                          const Revision& revision, const RenderOptions& options, bool on_worker) {
  OCTAVO_TRY(const auto snapshot, database.snapshot(target));
  OCTAVO_TRY(const auto record, snapshot.find_record(target.id()));
  if (!record) return fail(ErrorCode::not_found, "");
  if (!on_worker && record->body.size() >= worker_body_bytes) return std::nullopt;  // its other revisions, too, mostly
  OCTAVO_TRY(const auto tree, snapshot.revision_tree(*record));
  const auto* node = tree.find(revision);
  if (node == nullptr) return fail(ErrorCode::not_found, "");
  OCTAVO_TRY(const auto document, snapshot.open(*record));
  OCTAVO_TRY(const auto body, snapshot.body_of(document, *node));
  if (!body && !node->leaf) return fail(ErrorCode::not_found, "");
  if (!on_worker && body && body->size() >= worker_body_bytes) return std::nullopt;

  Reply reply;
  OCTAVO_TRY(const bool meta, append_node(reply.body, document, snapshot, tree, *node, options));
  reply.body += '\n';
  if (!meta) {
    auto etag = etag_of(revision);
    if (none_match_has(request, etag)) return not_modified(std::move(etag));
    reply.headers.emplace_back("ETag", std::move(etag));
  }
  return reply;
}

Expected<Reply> read_local(const Request& request, const partitioning::Database& database,
                           const DocumentTarget& target) {
  OCTAVO_TRY(const auto snapshot, database.snapshot(target));
  OCTAVO_TRY(const auto document, snapshot.find_local(target.id()));
  if (!document) return fail(ErrorCode::not_found, "");
  auto etag = "\"0-" + std::to_string(document->edit) + "\"";
  if (none_match_has(request, etag)) return not_modified(std::move(etag));
  Reply reply;
  append_local_document(reply.body, *document);
  reply.body += '\n';
  reply.headers.emplace_back("ETag", std::move(etag));
  return reply;
}

Expected<void> admit_read(Call& call, const DocumentTarget& target) {
  if (is_users_database(*call.database)) OCTAVO_TRY_VOID(check_user_document_read(call, target.id()));
  return call.database->meter().admit(target);
}

Expected<OpenRevisionsQuery> parse_open_revisions_query(Call& call, const DocumentTarget& target) {
  OpenRevisionsQuery query;
  OCTAVO_TRY_VOID(admit_read(call, target));
  OCTAVO_TRY(auto parameters, parse_read_parameters(call.request));
  query.revisions = std::move(parameters.open);
  query.latest = parameters.latest;
  query.render = parameters.render;
  return query;
}

WorkerReply read(Call& call, const DocumentTarget& target, bool on_worker) {
  const auto& request = call.request;
  const auto& database = *call.database;
  if (is_local_id(target.id())) return read_local(request, database, target);
  OCTAVO_TRY_VOID(admit_read(call, target));
  if (request.query.empty()) return read_winner(call, target, {}, on_worker);

  OCTAVO_TRY(const auto parameters, parse_read_parameters(request));
  // `latest` asks for the newest descendant of `rev`; the winner is shown.
  if (parameters.revision && !parameters.latest) {
    auto reply = read_revision(request, database, target, *parameters.revision, parameters.render, on_worker);
    if (reply && !*reply) return reply;
    call.charge(target, reply ? partitioning::charge_of_read((*reply)->body.size()) : partitioning::charge_of_miss());
    return reply;
  }
  return read_winner(call, target, parameters.render, on_worker);
}

Task<Expected<Reply>> get_document(Call& call) {
  const auto target = call.database->target_of(call.path("docid"));
  if (call.request.parameter("open_revs") && !is_local_id(target.id())) {
    OCTAVO_CO_TRY(auto query, parse_open_revisions_query(call, target));
    co_return co_await open_revisions_reply(call, target, std::move(query));
  }
  auto reply = read(call, target, false);
  if (reply && !*reply) {
    auto again = [&call, &target] { return read(call, target, true); };
    reply = co_await call.services.engine.workers().run_patiently(std::move(again));
  }
  if (!reply) co_return std::unexpected(std::move(reply).error());
  call.services.metrics.activity().add(Activity::document_read);
  co_return **std::move(reply);
}

Task<Expected<Reply>> post_document(Call& call) {
  OCTAVO_CO_TRY_VOID(check_id(call.path("docid"), *call.database));
  const auto type = call.request.header("Content-Type").value_or("");
  if (!type.starts_with("multipart/form-data")) {
    co_return fail(ErrorCode::bad_request, "Content-Type must be multipart/form-data", "bad_content_type");
  }
  co_return fail(ErrorCode::unsupported, "Uploads of forms are not supported: attachments are not supported yet.");
}

// Only paths that name no function get here: they have too few or too many segments, another method, or an encoded
// slash after `_design`, which hides the rest of the path from the router.
Expected<Reply> refuse_function(const Call& call, std::string_view name) {
  constexpr std::array<std::string_view, 6> function_endpoints{
      "_view", "_search", "_search_info", "_search_disk_size", "_update", "_info"};
  if (std::ranges::find(function_endpoints, name.substr(0, name.find('/'))) == function_endpoints.end()) {
    return fail(ErrorCode::not_found, "missing");
  }
  const std::string_view path = call.request.raw_path;
  const std::size_t encoded = std::min(path.find("/_design%2F"), path.find("/_design%2f"));
  const bool reads = call.request.method == Method::get || call.request.method == Method::head;
  if (encoded == std::string_view::npos || !reads) {
    return fail(ErrorCode::bad_request,
                "Only the paths and methods of its functions are allowed below a design document.",
                "method_not_allowed");
  }
  Reply reply;
  reply.status = 301;
  std::string location(call.request.target);
  location.replace(encoded, std::string_view("/_design%2F").size(), "/_design/");
  reply.headers.emplace_back("Location", std::move(location));
  return reply;
}

// The path after a document's id names an attachment or a function of a design document.
Task<Expected<Reply>> refuse_attachment(Call& call) {
  const auto& id = call.path("docid");
  const auto& name = call.path("attachment");
  if (is_local_id(id)) co_return fail(ErrorCode::bad_request, "_local documents do not accept attachments.");
  const bool writes = call.request.method == Method::put || call.request.method == Method::post;
  const bool is_function = is_design_id(id) && name.starts_with('_');  // `_view/…`, `_search/…`
  if (is_function || !writes) {
    OCTAVO_CO_TRY_VOID(check_document_exists(*call.database, call.database->target_of(id)));
  }
  if (is_function) co_return refuse_function(call, name);
  if (!writes) co_return fail(ErrorCode::not_found, "Document is missing attachment");
  co_return fail(ErrorCode::unsupported, "Attachments are not supported yet.");
}

Task<Expected<Reply>> refuse_bare_local(Call&) {
  co_return fail(ErrorCode::bad_request, "Invalid _local document id.");
}

}  // namespace

Expected<void> check_document_exists(const partitioning::Database& database, const DocumentTarget& target) {
  OCTAVO_TRY(const auto snapshot, database.snapshot(target));
  if (is_local_id(target.id())) {
    OCTAVO_TRY(const auto local, snapshot.find_local(target.id()));
    if (!local) return fail(ErrorCode::not_found, "");
    return {};
  }
  OCTAVO_TRY(const auto document, snapshot.find_record(target.id()));
  if (!document) return fail(ErrorCode::not_found, "");
  if (document->deleted) return fail(ErrorCode::deleted, "");
  return {};
}

std::vector<const RevisionTree::Node*> leaves_for(const RevisionTree& tree, const Revision& revision, bool latest) {
  std::vector<const RevisionTree::Node*> leaves;
  const auto* node = tree.find(revision);
  if (node == nullptr) return leaves;
  if (node->leaf) return {node};
  if (!latest) return leaves;
  const auto nodes = tree.nodes();
  const auto index_of = [&](const RevisionTree::Node* of) { return static_cast<std::size_t>(of - nodes.data()); };
  std::vector<bool> descends(nodes.size(), false);
  descends[index_of(node)] = true;
  // Parents precede their children in `nodes`.
  for (std::size_t i = index_of(node) + 1; i < nodes.size(); ++i) {
    descends[i] = nodes[i].parent >= 0 && descends[static_cast<std::size_t>(nodes[i].parent)];
  }
  for (const auto* leaf : tree.leaves()) {
    if (descends[index_of(leaf)]) leaves.push_back(leaf);
  }
  return leaves;
}

void add_document_routes(RouteList& routes) {
  constexpr std::string_view document_path = "/{db}/{docid}";
  constexpr std::string_view attachment_path = "/{db}/{docid}/{attachment*}";
  routes.push_back({Method::get, document_path, Access::database_member, get_document});
  routes.push_back({Method::put, document_path, Access::database_writer, put_document});
  routes.push_back({Method::del, document_path, Access::database_writer, delete_document});
  routes.push_back({Method::copy, document_path, Access::database_writer, copy_document});
  routes.push_back({Method::post, document_path, Access::database_writer, post_document});
  routes.push_back({Method::post, "/{db}", Access::database_writer, create_document});
  for (const auto method : {Method::get, Method::put, Method::post, Method::del}) {
    routes.push_back({method, attachment_path, Access::database_member, refuse_attachment});
  }
  for (const auto method : {Method::get, Method::put, Method::post, Method::del, Method::copy}) {
    routes.push_back({method, "/{db}/_local", Access::database_member, refuse_bare_local});
  }
}

}  // namespace octavo::api::couch
