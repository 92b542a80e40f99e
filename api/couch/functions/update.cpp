// Update functions of design documents. Also refuses shows, lists and rewrites, which CouchDB has deprecated, and
// temporary views, which it has removed.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "api/couch/auth/users_database.h"
#include "api/couch/call/document_id.h"
#include "api/couch/call/errors.h"
#include "api/couch/documents/function_request.h"
#include "api/couch/documents/save.h"
#include "api/couch/functions/routes.h"
#include "api/models/document_renderer.h"
#include "base/ascii_case.h"
#include "base/encoding.h"
#include "base/json_writer.h"
#include "query/database/database_services.h"
#include "query/javascript/functions.h"
#include "query/json/split.h"

namespace octavo::api::couch {

namespace {

std::unexpected<Error> bad_response(std::string reason) {
  return fail(ErrorCode::function_failed, std::move(reason), "external_response_error");
}

bool is_token(std::string_view name) {
  constexpr std::string_view token_symbols = "!#$%&'*+-.^_`|~";
  if (name.empty()) return false;
  return std::ranges::all_of(name, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           token_symbols.find(c) != std::string_view::npos;
  });
}

bool is_line(std::string_view value) {
  return std::ranges::all_of(value, [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F; });
}

// The value of a header: a string without its quotes; numbers, booleans and null unchanged.
Expected<std::string> header_value(std::string_view raw) {
  if (raw.starts_with('"')) return query::decode_json_string(raw);
  if (raw.starts_with('{') || raw.starts_with('[')) return bad_response("A header's value must be a string.");
  return std::string(raw);
}

Expected<void> add_headers(std::string_view raw, Reply& reply) {
  OCTAVO_TRY(const auto members, query::split_object(raw));
  for (const auto& member : members) {
    OCTAVO_TRY(auto value, header_value(member.raw));
    // Characters that could end the header are refused.
    if (!is_token(member.name) || !is_line(value)) return bad_response("Invalid header: " + member.name);
    reply.headers.emplace_back(member.name, std::move(value));
  }
  return {};
}

bool is_content_type(const std::pair<std::string, std::string>& header) {
  return equals_ignoring_case(header.first, "content-type");
}

// Converts `{code, headers, body | json | base64}`; without a code the status is `default_code`.
Expected<Reply> reply_of(std::string_view response, int default_code) {
  Reply reply;
  reply.status = default_code;
  reply.content_type = "";
  if (response.starts_with('"')) {
    reply.content_type = "text/html; charset=utf-8";
    OCTAVO_TRY(reply.body, query::decode_json_string(response));
    return reply;
  }
  OCTAVO_TRY(const auto members, query::split_object(response));
  for (const auto& member : members) {
    const auto is_string = member.raw.starts_with('"');
    if (member.name == "code") {
      constexpr int status_min = 200;
      constexpr int status_max = 599;
      const auto [end, error] = std::from_chars(member.raw.data(), member.raw.data() + member.raw.size(), reply.status);
      if (error != std::errc{} || end != member.raw.data() + member.raw.size() || reply.status < status_min ||
          reply.status > status_max) {
        return bad_response("Invalid code: " + std::string(member.raw));
      }
    } else if (member.name == "headers" && member.raw.starts_with('{')) {
      OCTAVO_TRY_VOID(add_headers(member.raw, reply));
    } else if (member.name == "json") {
      reply.content_type = "application/json";
      reply.body = member.raw;
      reply.body += '\n';
    } else if (member.name == "body" && is_string) {
      reply.content_type = "text/html; charset=utf-8";
      OCTAVO_TRY(reply.body, query::decode_json_string(member.raw));
    } else if (member.name == "base64" && is_string) {
      reply.content_type = "application/binary";
      OCTAVO_TRY(const auto text, query::decode_json_string(member.raw));
      auto bytes = crypto::base64_decode(text);
      if (!bytes) return bad_response("Invalid base64");
      reply.body = *std::move(bytes);
    } else if (member.name != "stop") {
      return bad_response("Invalid data from external server: " + member.name);
    }
  }
  if (std::ranges::any_of(reply.headers, is_content_type)) reply.content_type = "";
  return reply;
}

// The document that the URL names, in the form that functions get.
Expected<std::optional<std::string>> document_for_function(const Call& call, std::string_view id) {
  if (is_users_database(*call.database) && !is_local_id(id)) OCTAVO_TRY_VOID(check_user_document_read(call, id));
  OCTAVO_TRY(const auto snapshot, call.database->snapshot_for_document(id));
  std::string json;
  if (is_local_id(id)) {
    OCTAVO_TRY(const auto local, snapshot.find_local(id));
    if (!local) return std::nullopt;
    append_local_document(json, *local);
    return json;
  }
  OCTAVO_TRY(const auto document, snapshot.find(id));
  if (!document || document->deleted) return std::nullopt;
  OCTAVO_TRY_VOID(append_document(json, *document, snapshot, RenderOptions{.revisions = true, .conflicts = true}));
  return json;
}

struct UpdateFunction {
  query::javascript::ProgramPtr program;
  std::size_t index = 0;
};

Expected<UpdateFunction> find_update(const Call& call) {
  OCTAVO_TRY(auto* const services, query::required(call.database_services()));
  OCTAVO_TRY(const auto programs, services->design_functions().find(call.path("ddoc")));
  const auto& updates = programs->document->updates;
  const auto& name = call.path("function");
  for (std::size_t i = 0; i < updates.size(); ++i) {
    if (updates[i].name == name) return UpdateFunction{programs->updates, i};
  }
  return fail(ErrorCode::not_found, "missing updates function " + name + " on design doc " + programs->document->id);
}

// The edit that an update function returns, checked like one from a client.
Expected<storage::DocumentWrite> write_of(const Call& call, std::string_view json) {
  OCTAVO_TRY(auto document, parse_document(json, call.services.settings.document_bytes_max));
  if (!document.id) return fail(ErrorCode::bad_request, "Document id must not be empty", "illegal_docid");
  auto id = *document.id;
  OCTAVO_TRY_VOID(check_id(id, *call.database));
  if (is_local_id(id)) {
    return fail(ErrorCode::unsupported, "Update functions cannot write local documents.");
  }
  return make_write(std::move(id), std::move(document), true);
}

Task<Expected<Reply>> run_update(Call& call, std::optional<std::string> id) {
  OCTAVO_CO_TRY(const auto function, find_update(call));
  std::optional<std::string> document;
  if (id) {
    OCTAVO_CO_TRY_VOID(check_id(*id, *call.database));
    OCTAVO_CO_TRY(document, document_for_function(call, *id));
  }
  OCTAVO_CO_TRY(const auto request, request_json(call, id));

  auto run = [&] { return query::javascript::update(function.program, function.index, document, request); };
  OCTAVO_CO_TRY(const auto updated, co_await call.services.engine.workers().run_function(std::move(run)));
  constexpr int created_status = 201;
  // Convert the reply before writing: if it is invalid, nothing may be written.
  auto reply = reply_of(updated.response, updated.document ? created_status : 200);
  if (!reply || !updated.document) co_return reply;

  OCTAVO_CO_TRY(auto write, write_of(call, *updated.document));
  const auto written_id = write.id;
  const auto target = call.database->target_of(written_id);
  OCTAVO_CO_TRY(const auto revision, co_await save(call, target, std::move(write)));
  reply->headers.emplace_back("X-Couch-Update-NewRev", revision.to_string());
  reply->headers.emplace_back("X-Couch-Id", percent_encode(written_id));
  co_return reply;
}

Task<Expected<Reply>> update_without_document(Call& call) {
  return run_update(call, std::nullopt);
}

Task<Expected<Reply>> update_document(Call& call) {
  return run_update(call, call.path("docid"));
}

Task<Expected<Reply>> answer_gone(std::string_view reason) {
  constexpr int gone_status = 410;
  co_return error_reply(gone_status, "gone", reason);
}

Task<Expected<Reply>> show_is_gone(Call&) {
  return answer_gone("Show functions are not available: read the document and render it in the client or a service.");
}
Task<Expected<Reply>> list_is_gone(Call&) {
  return answer_gone(
      "List functions are not available: query the view and transform its rows in the client or a service.");
}
Task<Expected<Reply>> temporary_view_is_gone(Call&) {
  return answer_gone("Temporary views are not supported: put the function into a design document, or use _find.");
}
Task<Expected<Reply>> rewrite_is_gone(Call&) {
  return answer_gone("Rewrites are not available: rewrite URLs in a reverse proxy.");
}

}  // namespace

void add_update_routes(RouteList& routes) {
  constexpr std::string_view update_path = "/{db}/_design/{ddoc}/_update/{function}";
  constexpr std::string_view update_document_path = "/{db}/_design/{ddoc}/_update/{function}/{docid*}";
  for (const auto method : {Method::post, Method::put, Method::del}) {
    routes.push_back({method, update_path, Access::database_writer, update_without_document});
    routes.push_back({method, update_document_path, Access::database_writer, update_document});
  }
  routes.push_back({Method::post, "/{db}/_temp_view", Access::database_member, temporary_view_is_gone});
  struct Gone {
    std::string_view pattern;
    CouchHandler handler;
  };
  constexpr std::array gone_routes{
      Gone{"/{db}/_design/{ddoc}/_show/{function}", show_is_gone},
      Gone{"/{db}/_design/{ddoc}/_show/{function}/{docid*}", show_is_gone},
      Gone{"/{db}/_design/{ddoc}/_list/{function}/{view*}", list_is_gone},
      Gone{"/{db}/_design/{ddoc}/_rewrite", rewrite_is_gone},
      Gone{"/{db}/_design/{ddoc}/_rewrite/{path*}", rewrite_is_gone},
  };
  for (const auto& [pattern, handler] : gone_routes) {
    for (const auto method : {Method::get, Method::post, Method::put, Method::del}) {
      routes.push_back({method, pattern, Access::database_member, handler});
    }
  }
}

}  // namespace octavo::api::couch
