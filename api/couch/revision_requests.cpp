// Requests about revisions alone: _revs_diff, _missing_revs and _purge.
#include <algorithm>

#include <boost/json.hpp>

#include "api/couch/bulk_handlers.h"
#include "api/couch/document_renderer.h"
#include "api/couch/edit.h"
#include "api/couch/json_request.h"
#include "api/couch/query_parameters.h"
#include "api/couch/users_database.h"
#include "query/json/writer.h"

namespace octavo::api::couch {

namespace {

using storage::Revision;

constexpr std::size_t kPurgeDocumentsMax = 100;  // as Apache CouchDB's [purge] defaults
constexpr std::size_t kPurgeRevisionsMax = 1000;

struct AskedRevisions {
  std::string id;
  std::vector<Revision> revisions;
};

// `{"id": ["N-hash", …], …}`.
Expected<std::vector<AskedRevisions>> parse_asked(const boost::json::object& body) {
  std::vector<AskedRevisions> asked;
  asked.reserve(body.size());
  for (const auto& [id, list] : body) {
    if (!list.is_array()) return fail(ErrorCode::bad_request, "Invalid list of revisions");
    AskedRevisions entry{std::string(id), {}};
    for (const auto& text : list.get_array()) {
      if (!text.is_string()) return fail(ErrorCode::bad_request, "Invalid rev format");
      OCTAVO_TRY(const auto revision, Revision::parse(text.get_string()));
      entry.revisions.push_back(revision);
    }
    asked.push_back(std::move(entry));
  }
  return asked;
}

void append_list(std::string& out, const std::vector<Revision>& revisions) {
  out += '[';
  for (const auto& revision : revisions) {
    if (out.back() != '[') out += ',';
    append_revision(out, revision);
  }
  out += ']';
}

struct Difference {
  std::vector<Revision> missing;
  std::vector<Revision> possible_ancestors;  // leaves that are older than a missing revision
};

Expected<Difference> difference(const partitioning::Database& database, const AskedRevisions& asked) {
  OCTAVO_TRY(const auto snapshot, database.snapshot_for_document(asked.id));
  OCTAVO_TRY(const auto document, snapshot.find(asked.id));
  Difference result;
  if (!document) {
    result.missing = asked.revisions;
    return result;
  }
  OCTAVO_TRY(const auto tree, snapshot.revision_tree(*document));
  std::uint64_t newest = 0;
  for (const auto& revision : asked.revisions) {
    if (tree.find(revision) != nullptr) continue;
    result.missing.push_back(revision);
    newest = std::max(newest, revision.generation);
  }
  if (result.missing.empty()) return result;
  for (const auto* leaf : tree.leaves()) {
    if (leaf->revision.generation < newest) result.possible_ancestors.push_back(leaf->revision);
  }
  return result;
}

Expected<std::string> render_differences(const partitioning::Database& database,
                                         const std::vector<AskedRevisions>& asked, bool with_ancestors) {
  std::string out = "{";
  for (const auto& entry : asked) {
    OCTAVO_TRY(const auto found, difference(database, entry));
    if (found.missing.empty()) continue;
    query::append_json_key(out, entry.id);
    if (!with_ancestors) {
      append_list(out, found.missing);
      continue;
    }
    out += "{\"missing\":";
    append_list(out, found.missing);
    if (!found.possible_ancestors.empty()) {
      out += ",\"possible_ancestors\":";
      append_list(out, found.possible_ancestors);
    }
    out += '}';
  }
  out += '}';
  return out;
}

// Many lookups: a replicator asks for hundreds at once, so they run on a worker.
Task<Expected<std::string>> differences(Call& call, bool with_ancestors) {
  if (auto json = require_json_content_type(call.request); !json) co_return std::unexpected(std::move(json).error());
  auto body = co_await read_json_object(call);
  if (!body) co_return std::unexpected(std::move(body).error());
  auto asked = parse_asked(*body);
  if (!asked) co_return std::unexpected(std::move(asked).error());
  constexpr std::size_t kInlineMax = 100;
  if (asked->size() <= kInlineMax) co_return render_differences(*call.database, *asked, with_ancestors);
  auto work = [&] { return render_differences(*call.database, *asked, with_ancestors); };
  co_return co_await call.services.engine.run_blocking(std::move(work));
}

Expected<std::vector<storage::PurgeRequest>> purge_requests(const boost::json::object& body) {
  OCTAVO_TRY(auto asked, parse_asked(body));
  if (asked.size() > kPurgeDocumentsMax) return fail(ErrorCode::bad_request, "Exceeded maximum number of documents.");
  std::vector<storage::PurgeRequest> requests;
  std::size_t revisions = 0;
  for (auto& entry : asked) {
    revisions += entry.revisions.size();
    storage::PurgeRequest purge_request;
    purge_request.id = std::move(entry.id);
    purge_request.revisions = std::move(entry.revisions);
    requests.push_back(std::move(purge_request));
  }
  if (revisions > kPurgeRevisionsMax) return fail(ErrorCode::bad_request, "Exceeded maximum number of revisions.");
  return requests;
}

}  // namespace

Task<Expected<Reply>> revs_diff(Call& call) {
  auto text = co_await differences(call, true);
  if (!text) co_return std::unexpected(std::move(text).error());
  Reply reply;
  reply.body = std::move(*text);
  reply.body += '\n';
  co_return reply;
}

Task<Expected<Reply>> missing_revs(Call& call) {
  auto text = co_await differences(call, false);
  if (!text) co_return std::unexpected(std::move(text).error());
  Reply reply;
  reply.body = "{\"missing_revs\":" + *text + "}\n";
  co_return reply;
}

Task<Expected<Reply>> purge(Call& call) {
  if (auto json = require_json_content_type(call.request); !json) co_return std::unexpected(std::move(json).error());
  auto body = co_await read_json_object(call);
  if (!body) co_return std::unexpected(std::move(body).error());
  auto requests = purge_requests(*body);
  if (!requests) co_return std::unexpected(std::move(requests).error());
  std::vector<std::string> ids;
  for (const auto& request : *requests) ids.push_back(request.id);
  auto purged = co_await call.database->purge(std::move(*requests));
  if (!purged) co_return std::unexpected(std::move(purged).error());

  Reply reply;
  reply.status = 201;
  reply.body = "{\"purge_seq\":null,\"purged\":{";
  for (std::size_t i = 0; i < ids.size(); ++i) {
    query::append_json_key(reply.body, ids[i]);
    append_list(reply.body, (*purged)[i]);
    if (is_users_database(*call.database)) forget_user(call, ids[i]);
  }
  reply.body += "}}\n";
  co_return reply;
}

}  // namespace octavo::api::couch
