#include "api/couch/couch_api.h"

#include <algorithm>

#include "api/couch/advice/routes.h"
#include "api/couch/analytics/routes.h"
#include "api/couch/auth/authenticator.h"
#include "api/couch/auth/security.h"
#include "api/couch/call/document_id.h"
#include "api/couch/call/errors.h"
#include "api/couch/changes/routes.h"
#include "api/couch/cloudant/routes.h"
#include "api/couch/copies/routes.h"
#include "api/couch/databases/routes.h"
#include "api/couch/documents/bulk_handlers.h"
#include "api/couch/documents/document_handlers.h"
#include "api/couch/functions/routes.h"
#include "api/couch/projections/routes.h"
#include "api/couch/queries/routes.h"
#include "api/couch/server/server.h"
#include "api/couch/server/session.h"
#include "api/http/caught_error.h"
#include "api/http/trusted_host.h"
#include "config/validate.h"
#include "partitioning/throughput/request_charge.h"

namespace octavo::api::couch {

namespace {

bool has_header(const Reply& reply, std::string_view name) {
  return std::ranges::any_of(reply.headers, [&](const auto& header) { return header.first == name; });
}

// Requests that are allowed even if every request needs a user: health checks, and logging in.
bool is_open_to_all(const Request& request) {
  const auto& segments = request.segments;
  if (segments.size() != 1) return false;
  return segments[0] == "_up" || segments[0] == "_ready" ||
         (segments[0] == "_session" && request.method == Method::post);
}

bool is_database_access(Access access) {
  return access != Access::anyone && access != Access::user && access != Access::server_admin;
}

// The access that a request needs. Local documents are the checkpoints of replicators.
Access access_of(const Call& call, const Route& route) {
  const bool document = route.access == Access::database_writer && route.pattern == "/{db}/{docid}";
  return document && is_local_id(call.path("docid")) ? Access::database_replicator : route.access;
}

/// Clients behind proxies that let only GET and POST pass name the method in a header, in capitals as CouchDB demands.
void apply_method_override(Request& request) {
  const auto name = request.header("X-HTTP-Method-Override");
  if (!name) return;
  for (const auto method : {Method::get, Method::head, Method::post, Method::put, Method::del, Method::copy}) {
    if (*name == to_string(method)) request.method = method;
  }
}

// A name that begins with an underscore is a path of the server, or a database that only admins may use, as in CouchDB.
bool is_of_server(const Request& request) {
  const auto& segments = request.segments;
  return !segments.empty() && segments[0].starts_with('_') && segments[0] != "_users" && segments[0] != "_replicator";
}

// Requests that CouchDB takes for writes of a document if it does not know the path below the database.
bool is_document_write(const Request& request) {
  return request.method == Method::put || (request.method == Method::post && request.segments.size() == 2);
}

// Requests that change what a database has: none may be under way when another database takes over the name.
bool changes_content(const Route& route) {
  if (route.access == Access::database_writer || route.access == Access::database_replicator) return true;
  if (route.method == Method::get || route.method == Method::head) return false;
  constexpr std::string_view patterns[] = {"/{db}/_security", "/{db}/_properties", "/{db}/_revs_limit", "/{db}/_purge",
                                           "/{db}/_purged_infos_limit"};
  const bool is_definition =
      route.pattern.starts_with("/{db}/_index") || route.pattern.starts_with("/{db}/_projection");
  return is_definition || std::ranges::find(patterns, route.pattern) != std::end(patterns);
}

// Routes below `{db}` get an open database, except the route that creates it.
bool creates_database(const Route& route) {
  return route.method == Method::put && route.pattern == "/{db}";
}

}  // namespace

RouteList all_routes() {
  RouteList routes;
  add_server_routes(routes);
  add_session_routes(routes);
  add_security_routes(routes);
  add_database_routes(routes);
  add_properties_routes(routes);
  add_name_routes(routes);
  add_cosmos_name_routes(routes);
  add_document_routes(routes);
  add_bulk_routes(routes);
  add_all_docs_routes(routes);
  add_changes_routes(routes);
  add_find_routes(routes);
  add_index_routes(routes);
  add_update_routes(routes);
  add_view_routes(routes);
  add_sql_routes(routes);
  add_procedure_routes(routes);
  add_projection_routes(routes);
  add_copy_routes(routes);
  add_analytics_store_routes(routes);
  add_analytics_sql_routes(routes);
  add_analytics_export_routes(routes);
  add_search_routes(routes);
  add_partition_advisor_routes(routes);
  add_index_advisor_routes(routes);
  add_reshard_routes(routes);
  add_cloudant_routes(routes);
  return routes;
}

CouchApi::CouchApi(Services services) : services_(services), router_(all_routes()) {}

const CorsPolicy& CouchApi::cors(const config::Settings& settings) const {
  return cors_.of(settings, [](const config::Settings& version) { return CorsPolicy(version); });
}

Task<Reply> CouchApi::handle(Request& request) {
  Services services{.engine = services_.engine,
                    .authenticator = services_.authenticator,
                    .metrics = services_.metrics,
                    .settings = services_.engine.settings(),
                    .analytics = services_.analytics,
                    .active_tasks = services_.active_tasks,
                    .cosmos_databases = services_.cosmos_databases,
                    .backup = services_.backup};
  if (request.method == Method::options) {
    if (auto reply = cors(services.settings).preflight(request)) co_return std::move(*reply);
  }
  apply_method_override(request);
  if (services.settings.decode_plus_to_space) read_plus_as_space(request);
  Call call{.request = request, .services = services, .user = {}, .database = nullptr, .path_parameters = {}};
  Expected<Reply> result;
  try {
    result = co_await dispatch(call);
  } catch (...) {
    result = std::unexpected(caught_error());
  }
  auto reply = result ? std::move(*result) : error_reply(result.error());
  finish(call, reply);
  co_return reply;
}

bool CouchApi::host_may_ask(const Call& call) const {
  const auto& settings = call.services.settings;
  const auto host = call.request.header("Host");
  return !host || is_trusted_host(*host, settings.allowed_hosts) || services_.authenticator.has_admins() ||
         !config::is_loopback(settings.bind);
}

Task<Expected<Reply>> CouchApi::dispatch(Call& call) {
  auto& request = call.request;
  if (!host_may_ask(call)) {
    co_return fail(
        ErrorCode::forbidden,
        "The header Host is not a local name. A server without admins accepts only local names, so that no web page "
        "can reach it under a name of its own. Configure an admin, or add the name to server.allowed_hosts "
        "(OCTAVO_ALLOWED_HOSTS).");
  }
  OCTAVO_CO_TRY(call.user, co_await services_.authenticator.authenticate(request));
  // Browsers let any page send requests without credentials, and add cookies to them. A proxy may know users by those.
  const bool by_cookie = call.user.method == "cookie" || call.user.method == "proxy";
  if ((call.user.name.empty() || by_cookie) && cors(call.services.settings).is_foreign_write(request)) {
    co_return fail(ErrorCode::forbidden,
                   "A page of another site may not write here: the header Origin does not name this server. If it "
                   "should, set cors.enabled and add the origin to cors.origins.");
  }
  if (call.services.settings.require_valid_user && call.user.name.empty() && !call.user.is_server_admin() &&
      !is_open_to_all(request)) {
    co_return fail(ErrorCode::unauthorized, "Authentication required.");
  }

  auto match = router_.match(request.method, request.segments);
  const bool is_server_path = match.route != nullptr && !match.route->pattern.starts_with("/{db}");
  const bool creates = match.route != nullptr && creates_database(*match.route);
  const bool is_other_method = match.route == nullptr && match.database.empty() && !match.allowed_methods.empty();
  if (!is_server_path && !creates && !is_other_method && is_of_server(request)) {
    OCTAVO_CO_TRY_VOID(check_access(Access::server_admin, call.user, nullptr, services_.authenticator.has_admins()));
    if (!partitioning::Engine::check_database_name(request.segments[0])) {
      co_return fail(ErrorCode::not_found, "There is no such endpoint: /" + request.segments[0]);
    }
  }
  if (match.route == nullptr) co_return co_await refuse(call, std::move(match));
  const auto& route = *match.route;
  call.path_parameters = std::move(match.parameters);
  const bool server_has_admins = services_.authenticator.has_admins();
  if (!is_database_access(route.access)) {
    OCTAVO_CO_TRY_VOID(check_access(route.access, call.user, nullptr, server_has_admins));
  }
  if (route.pattern.starts_with("/{db}") && !creates_database(route)) {
    if (changes_content(route)) {
      OCTAVO_CO_TRY(auto opened, co_await services_.engine.open_for_writing(call.path("db")));
      call.database = std::move(opened.database);
      call.pass = std::move(opened.pass);
    } else {
      OCTAVO_CO_TRY(call.database, co_await open(call.path("db")));
    }
  }
  if (is_database_access(route.access)) {
    OCTAVO_CO_TRY_VOID(check_access(access_of(call, route), call.user, call.database.get(), server_has_admins));
  }
  co_return co_await route.handler(call);
}

Task<Expected<std::shared_ptr<partitioning::Database>>> CouchApi::open(const std::string& name) {
  auto found = services_.engine.databases().find(name);
  if (!found) found = co_await services_.engine.open_in_background(name);
  co_return *std::move(found);
}

Task<Expected<Reply>> CouchApi::refuse(const Call& call, Router::Match match) {
  const bool server_has_admins = services_.authenticator.has_admins();
  if (!match.database.empty()) {
    OCTAVO_CO_TRY(const auto database, co_await open(std::string(match.database)));
    OCTAVO_CO_TRY_VOID(check_access(Access::database_member, call.user, database.get(), server_has_admins));
    const bool names_document = !match.unknown_endpoint.empty() && is_document_write(call.request);
    if (names_document) OCTAVO_CO_TRY_VOID(check_id(match.unknown_endpoint, *database));
  } else if (match.other_method != nullptr) {
    OCTAVO_CO_TRY_VOID(check_access(match.other_method->access, call.user, nullptr, server_has_admins));
  }
  if (!match.unknown_endpoint.empty()) {
    co_return fail(ErrorCode::not_found, "There is no such endpoint: /{db}/" + std::string(match.unknown_endpoint));
  }
  if (match.allowed_methods.empty()) co_return fail(ErrorCode::not_found, "");
  auto reply = error_reply(405, "method_not_allowed", "Only " + match.allowed_methods + " allowed");
  reply.headers.emplace_back("Allow", std::move(match.allowed_methods));
  co_return reply;
}

void CouchApi::finish(const Call& call, Reply& reply) const {
  if (reply.content_type == "application/json" && !reply.stream && !reply.body.empty() && reply.body.back() != '\n') {
    reply.body += '\n';
  }
  if (!has_header(reply, "Cache-Control")) reply.headers.emplace_back("Cache-Control", "must-revalidate");
  if (reply.status == 401 && !has_header(reply, "WWW-Authenticate")) {
    // A client may choose the challenge, because browsers show their own log-in dialogue for the usual one.
    if (const auto wanted = call.request.header("X-CouchDB-WWW-Authenticate")) {
      reply.headers.emplace_back("WWW-Authenticate", *wanted);
    } else if (const std::string& challenge = call.services.settings.challenge; !challenge.empty()) {
      reply.headers.emplace_back("WWW-Authenticate", challenge);
    } else if (call.services.settings.require_valid_user) {
      reply.headers.emplace_back("WWW-Authenticate", "Basic realm=\"server\"");
    }
  }
  if (call.request_charge > 0) {
    reply.headers.emplace_back("X-Request-Charge", partitioning::format_charge(call.request_charge));
  }
  reply.log_user = call.user.name;
  renew_session(call.services, call.request, call.user, reply);
  cors(call.services.settings).decorate(call.request, reply);
}

Reply CouchApi::protocol_error(int status, std::string_view reason) const {
  struct Word {
    int status;
    std::string_view error;
  };
  constexpr Word words[] = {
      {400, "bad_request"},         {408, "timeout"},   {411, "length_required"},
      {413, "too_large"},           {414, "too_long"},  {415, "bad_content_type"},
      {417, "expectation_failed"},  {431, "too_large"}, {501, "not_implemented"},
      {503, "service unavailable"},
  };
  std::string_view error = status < 500 ? "bad_request" : "internal_server_error";
  for (const auto& word : words) {
    if (word.status == status) error = word.error;
  }
  // CouchDB's text comes first where people and programs know it.
  const std::string text = (status == 413 ? "the request entity is too large. " : "") + std::string(reason);
  auto reply = error_reply(status, error, text);
  reply.headers.emplace_back("Cache-Control", "must-revalidate");
  return reply;
}

}  // namespace octavo::api::couch
