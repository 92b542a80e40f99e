// Requests about revisions without documents: _revs_diff, _missing_revs and _purge.
#include <algorithm>
#include <iterator>

#include <boost/json.hpp>

#include "api/couch/auth/users_database.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/purged_infos.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/documents/bulk_handlers.h"
#include "api/couch/documents/save.h"
#include "api/http/metrics.h"
#include "api/models/document_renderer.h"
#include "base/json_writer.h"

namespace octavo::api::couch {

namespace {

using storage::Revision;

constexpr std::size_t purge_documents_max = 100;  // as Apache CouchDB's [purge] defaults
constexpr std::size_t purge_revisions_max = 1000;

struct AskedRevisions {
  std::string id;
  std::vector<Revision> revisions;
};

// The number of revisions that a request names, counted before they are parsed.
std::size_t count_revisions(const boost::json::object& body) {
  std::size_t count = 0;
  for (const auto& [id, list] : body) count += list.is_array() ? list.get_array().size() : 0;
  return count;
}

// Parses `{"id": ["N-hash", …], …}`.
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

// The requested revisions that are not in the tree, in the order of the request.
std::vector<Revision> missing_from(const storage::RevisionTree& tree, const std::vector<Revision>& asked) {
  constexpr std::size_t looked_up_one_by_one = 16;
  std::vector<Revision> missing;
  if (asked.size() <= looked_up_one_by_one) {
    std::ranges::copy_if(asked, std::back_inserter(missing),
                         [&](const Revision& r) { return tree.find(r) == nullptr; });
    return missing;
  }
  std::vector<Revision> known;
  for (const auto& node : tree.nodes()) known.push_back(node.revision);
  std::ranges::sort(known);
  std::ranges::copy_if(asked, std::back_inserter(missing),
                       [&](const Revision& r) { return !std::ranges::binary_search(known, r); });
  return missing;
}

Expected<Difference> difference(const partitioning::Database& database, const AskedRevisions& asked) {
  OCTAVO_TRY(const auto snapshot, database.snapshot_for_document(asked.id));
  OCTAVO_TRY(const auto document, snapshot.find_record(asked.id));
  Difference result;
  if (!document) {
    result.missing = asked.revisions;
    return result;
  }
  OCTAVO_TRY(const auto tree, snapshot.revision_tree(*document));
  result.missing = missing_from(tree, asked.revisions);
  if (result.missing.empty()) return result;
  std::uint64_t newest = 0;
  for (const auto& revision : result.missing) newest = std::max(newest, revision.generation);
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
    append_json_key(out, entry.id);
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

struct DifferencesRequest {
  std::vector<AskedRevisions> asked;
  std::size_t lookups = 0;  // number of documents or revisions to look up
};

Expected<DifferencesRequest> parse_differences(const Call& call) {
  const std::size_t revisions_max = call.services.settings.documents_per_bulk_max;
  OCTAVO_TRY(const auto body, json_object_body(call.request));
  DifferencesRequest request;
  request.lookups = std::max(body.size(), count_revisions(body));
  if (request.lookups > revisions_max) {
    return fail(ErrorCode::too_large,
                "The request names more than " + std::to_string(revisions_max) + " revisions; send fewer at a time.");
  }
  OCTAVO_TRY(request.asked, parse_asked(body));
  return request;
}

// Runs many lookups on a worker: a replicator asks for hundreds at once.
Task<Expected<std::string>> differences(Call& call, bool with_ancestors) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  const auto parse = [&call] { return parse_differences(call); };
  OCTAVO_CO_TRY(const auto request, co_await work_on_body(call, parse));
  constexpr std::size_t inline_max = 100;
  auto work = [&] { return render_differences(*call.database, request.asked, with_ancestors); };
  if (request.lookups <= inline_max) co_return work();
  co_return co_await call.services.engine.workers().run_blocking(std::move(work));
}

Expected<std::vector<storage::PurgeRequest>> purge_requests(const boost::json::object& body) {
  if (body.size() > purge_documents_max) return fail(ErrorCode::bad_request, "Exceeded maximum number of documents.");
  if (count_revisions(body) > purge_revisions_max) {
    return fail(ErrorCode::bad_request, "Exceeded maximum number of revisions.");
  }
  OCTAVO_TRY(auto asked, parse_asked(body));
  std::vector<storage::PurgeRequest> requests;
  for (auto& entry : asked) {
    storage::PurgeRequest purge_request;
    purge_request.id = std::move(entry.id);
    purge_request.revisions = std::move(entry.revisions);
    requests.push_back(std::move(purge_request));
  }
  return requests;
}

// The JSON objects by which `_purged_infos` reports what was purged.
std::vector<std::string> infos_of(const std::vector<std::string>& ids,
                                  const std::vector<std::vector<Revision>>& purged) {
  std::vector<std::string> infos;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (purged[i].empty()) continue;
    std::string info = "{\"id\":";
    append_json_string(info, ids[i]);
    info += ",\"revs\":";
    append_list(info, purged[i]);
    info += '}';
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace

Task<Expected<Reply>> revs_diff(Call& call) {
  Reply reply;
  OCTAVO_CO_TRY(reply.body, co_await differences(call, true));
  reply.body += '\n';
  co_return reply;
}

Task<Expected<Reply>> missing_revs(Call& call) {
  OCTAVO_CO_TRY(const auto text, co_await differences(call, false));
  Reply reply;
  reply.body = "{\"missing_revs\":" + text + "}\n";
  co_return reply;
}

Task<Expected<Reply>> purge(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(auto requests, purge_requests(body));
  std::vector<std::string> ids;
  for (const auto& request : requests) ids.push_back(request.id);
  OCTAVO_CO_TRY(const auto purged, co_await call.database->purge(std::move(requests)));
  call.services.metrics.activity().add(Activity::purge_request);
  if (auto infos = infos_of(ids, purged); !infos.empty()) {
    call.services.metrics.activity().add(Activity::document_purge, infos.size());
    auto& engine = call.services.engine;
    auto remember = [&engine, &call, infos = std::move(infos)] {
      return add_purged_infos(engine.catalog(), *call.database, infos);
    };
    // The documents are gone, so an error here must not tell the client that they are not.
    static_cast<void>(co_await engine.workers().run_blocking(std::move(remember)));
  }

  Reply reply;
  reply.status = 201;
  reply.body = "{\"purge_seq\":null,\"purged\":{";
  for (std::size_t i = 0; i < ids.size(); ++i) {
    append_json_key(reply.body, ids[i]);
    append_list(reply.body, purged[i]);
    if (is_users_database(*call.database)) forget_user(call, ids[i]);
  }
  reply.body += "}}\n";
  co_return reply;
}

}  // namespace octavo::api::couch
