// POST /{db}/_bulk_get: reads many documents by id and revision; each result has the leaves or an error. The reply is
// JSON, or multipart if the client takes that and not JSON: each leaf and each error is a part.
#include <boost/json.hpp>

#include "api/couch/auth/users_database.h"
#include "api/couch/call/document_id.h"
#include "api/couch/call/errors.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/call/sliced_reply.h"
#include "api/couch/documents/bulk_handlers.h"
#include "api/couch/documents/document_handlers.h"
#include "api/couch/server/server.h"
#include "api/models/document_renderer.h"
#include "base/json_writer.h"
#include "partitioning/throughput/request_charge.h"

namespace octavo::api::couch {

namespace {

using storage::Revision;

struct Requested {
  std::optional<std::string> id;
  std::optional<Revision> revision;  // absent: all leaves
  std::string rejected_revision;     // the invalid `rev` as it was sent: JSON text
  std::optional<Error> error;
};

struct Options {
  RenderOptions render;
  bool latest = false;
};

Expected<Options> parse_options(const Request& request) {
  for (const std::string_view name : {"open_revs", "new_edits", "w", "rev", "atts_since"}) {
    if (request.parameter(name)) {
      return fail(ErrorCode::bad_request, "\"" + std::string(name) + "\" query parameter is not acceptable");
    }
  }
  Options options;
  const bool meta = is_true(request, "meta");
  options.render.revisions = is_true(request, "revs");
  options.render.revisions_info = meta || is_true(request, "revs_info");
  options.render.conflicts = meta || is_true(request, "conflicts");
  options.render.deleted_conflicts = meta || is_true(request, "deleted_conflicts");
  options.render.local_sequence = is_true(request, "local_seq");
  options.latest = is_true(request, "latest");
  return options;
}

Requested rejected(std::optional<std::string> id, Error error, std::string revision = "null") {
  return {.id = std::move(id), .revision = {}, .rejected_revision = std::move(revision), .error = std::move(error)};
}

Requested parse_wanted(const Call& call, const boost::json::value& entry) {
  const auto bad = [](std::string reason) { return Error{ErrorCode::bad_request, std::move(reason), {}}; };
  if (!entry.is_object() || entry.get_object().empty()) return rejected({}, bad("document must be a JSON object"));
  const auto& object = entry.get_object();
  const auto* id = object.if_contains("id");
  if (!id) return rejected({}, bad("document id missed"));
  if (!id->is_string()) {
    return rejected({}, Error{ErrorCode::bad_request, "Document id must be a string", "illegal_docid"});
  }
  Requested wanted;
  wanted.id = std::string(id->get_string());
  if (auto checked = check_id(*wanted.id, *call.database); !checked) {
    return rejected(std::move(wanted.id), std::move(checked).error());
  }
  if (is_users_database(*call.database)) {
    if (auto allowed = check_user_document_read(call, *wanted.id); !allowed) {
      return rejected(std::move(wanted.id), std::move(allowed).error());
    }
  }
  if (const auto* rev = object.if_contains("rev")) {
    auto revision = rev->is_string() ? Revision::parse(rev->get_string())
                                     : Expected<Revision>(fail(ErrorCode::bad_request, "Invalid rev format"));
    if (!revision) {
      return rejected(std::move(wanted.id), std::move(revision).error(), boost::json::serialize(*rev));
    }
    wanted.revision = *revision;
  }
  return wanted;
}

// The type of a multipart reply; empty: the reply is JSON.
std::string_view multipart_type(const Request& request) {
  if (accepts(request, "application/json")) return {};
  for (const std::string_view type : {"multipart/mixed", "multipart/related"}) {
    if (accepts(request, type)) return type;
  }
  return {};
}

class BulkGetProducer final : public SliceProducer {
 public:
  /// `boundary`: that of the multipart reply; empty for JSON.
  BulkGetProducer(std::shared_ptr<partitioning::Database> database, std::vector<Requested> wanted, Options options,
                  std::string boundary)
      : database_(std::move(database)), wanted_(std::move(wanted)), options_(options), boundary_(std::move(boundary)) {}

  Expected<bool> produce(std::string& out, partitioning::ScanBudget budget) override {
    if (next_ == 0 && is_json()) out += "{\"results\":[";
    for (std::size_t rows = 0; next_ < wanted_.size(); ++rows) {
      if (rows == budget.rows_max || out.size() >= partitioning::ScanBudget::output_bytes_max) return false;
      if (next_ > 0 && is_json()) out += ',';
      OCTAVO_TRY_VOID(append_result(out, wanted_[next_++]));
    }
    if (is_json()) {
      out += "]}\n";
    } else if (!wanted_.empty()) {  // without any part, CouchDB sends no boundary either
      out += "\r\n--" + boundary_ + "--\r\n";
    }
    return true;
  }

  double charge(std::uint64_t) const override { return charge_; }

 private:
  bool is_json() const { return boundary_.empty(); }

  void begin_part(std::string& out, bool error) const {
    out += "\r\n--" + boundary_ + "\r\nContent-Type: application/json";
    out += error ? "; error=\"true\"\r\n\r\n" : "\r\n\r\n";
  }

  Expected<void> append_result(std::string& out, const Requested& wanted) {
    if (is_json()) {
      out += "{\"id\":";
      append_id(out, wanted);
      out += ",\"docs\":[";
    }
    if (wanted.error) {
      append_error(out, wanted, wanted.rejected_revision, *wanted.error);
    } else {
      OCTAVO_TRY_VOID(append_documents(out, wanted));
    }
    if (is_json()) out += "]}";
    return {};
  }

  Expected<void> append_documents(std::string& out, const Requested& wanted) {
    OCTAVO_TRY(const auto snapshot, database_->snapshot_for_document(*wanted.id));
    OCTAVO_TRY(const auto document, snapshot.find(*wanted.id));
    charge_ += document ? partitioning::charge_of_read(document->body.size()) : partitioning::charge_of_miss();
    if (!document) return append_missing(out, wanted);
    OCTAVO_TRY(const auto tree, snapshot.revision_tree(*document));
    auto nodes = wanted.revision ? leaves_for(tree, *wanted.revision, options_.latest) : tree.leaves();
    if (const auto* replaced = wanted.revision ? tree.find(*wanted.revision) : nullptr; replaced && nodes.empty()) {
      OCTAVO_TRY(const auto body, snapshot.body_of(*document, *replaced));
      if (body) nodes.push_back(replaced);
    }
    if (nodes.empty()) return append_missing(out, wanted);
    bool first = true;
    for (const auto* node : nodes) {
      if (is_json()) {
        out += std::exchange(first, false) ? "{\"ok\":" : ",{\"ok\":";
      } else {
        begin_part(out, false);
      }
      OCTAVO_TRY_VOID(append_node(out, *document, snapshot, tree, *node, options_.render));
      if (is_json()) out += '}';
    }
    return {};
  }

  Expected<void> append_missing(std::string& out, const Requested& wanted) const {
    std::string revision = "\"undefined\"";
    if (wanted.revision) {
      revision.clear();
      append_revision(revision, *wanted.revision);
    }
    append_error(out, wanted, revision, Error{ErrorCode::not_found, "missing", {}});
    return {};
  }

  void append_error(std::string& out, const Requested& wanted, std::string_view revision, const Error& error) const {
    if (is_json()) {
      out += "{\"error\":";
    } else {
      begin_part(out, true);
    }
    out += "{\"id\":";
    append_id(out, wanted);
    out += ",\"rev\":";
    out += revision;
    out += ',';
    append_error_members(out, error);
    out += is_json() ? "}}" : "}";
  }

  static void append_id(std::string& out, const Requested& wanted) {
    if (wanted.id) {
      append_json_string(out, *wanted.id);
    } else {
      out += "null";
    }
  }

  std::shared_ptr<partitioning::Database> database_;
  std::vector<Requested> wanted_;
  Options options_;
  std::string boundary_;
  std::size_t next_ = 0;
  double charge_ = 0;
};

}  // namespace

Task<Expected<Reply>> bulk_get(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  const auto* docs = body.if_contains("docs");
  if (!docs) co_return fail(ErrorCode::bad_request, "Missing JSON list of 'docs'.");
  if (!docs->is_array()) co_return fail(ErrorCode::bad_request, "`docs` parameter must be an array.");
  OCTAVO_CO_TRY(const auto options, parse_options(call.request));
  if (docs->get_array().size() > call.services.settings.documents_per_bulk_max) {
    co_return fail(ErrorCode::too_large, std::to_string(call.services.settings.documents_per_bulk_max),
                   "max_bulk_get_count_exceeded");
  }
  std::vector<Requested> wanted;
  wanted.reserve(docs->get_array().size());
  for (const auto& entry : docs->get_array()) wanted.push_back(parse_wanted(call, entry));
  const auto multipart = multipart_type(call.request);
  const std::string boundary = multipart.empty() ? std::string() : new_uuid();
  auto producer = std::make_unique<BulkGetProducer>(call.database, std::move(wanted), options, boundary);
  auto reply = co_await sliced_reply(call, std::move(producer));
  if (reply && !multipart.empty()) {
    reply->content_type = {};
    reply->headers.emplace_back("Content-Type", std::string(multipart) + "; boundary=\"" + boundary + "\"");
  }
  co_return reply;
}

}  // namespace octavo::api::couch
