#include "api/cosmos/cosmos_api.h"

#include <chrono>
#include <iterator>

#include <fmt/format.h>

#include "api/cosmos/call/binary_json.h"
#include "api/cosmos/call/feed_page.h"
#include "api/cosmos/call/operations.h"
#include "api/cosmos/functions/script_handlers.h"
#include "api/cosmos/items/item_handlers.h"
#include "api/cosmos/resources/named_path.h"
#include "api/cosmos/resources/resource_handlers.h"
#include "api/cosmos/resources/resource_query.h"
#include "api/http/caught_error.h"
#include "api/models/container_definition.h"
#include "api/models/errors.h"
#include "api/models/item_shape.h"
#include "api/models/resource_id.h"
#include "partitioning/throughput/request_charge.h"

namespace octavo::api::cosmos {

namespace {

// Requests that change nothing: reads, and queries where POST can be one. On other resources the headers of a query
// have no meaning, and a write with these headers is still a write.
bool only_reads(const Request& request, const ResourcePath& path) {
  if (request.method == Method::get || request.method == Method::head) return true;
  if (request.method != Method::post || !path.feed) return false;
  switch (path.resource) {
    case Resource::item:
      return is_query(request) || has_flag(request, "x-ms-cosmos-is-query-plan-request");
    case Resource::database:
    case Resource::container:
    case Resource::user:
    case Resource::permission:
    case Resource::encryption_key:
    case Resource::stored_procedure:
    case Resource::trigger:
    case Resource::user_function:
    case Resource::conflict:
      return is_query(request);
    case Resource::offer:
      return true;
    default:
      return false;
  }
}

// Writes of one item are serialised and the last one wins, so the feed of conflicts is always empty.
Handled serve_conflicts(Call& call) {
  OCTAVO_CO_TRY(const auto opened, co_await open_container(call));
  const Method method = call.request.method;
  const bool reads = method == Method::get || method == Method::head;
  const std::string& rid = opened.definition->shape->container_rid();
  if (call.path.feed && reads) co_return feed_reply(rid, "Conflicts", {}, std::nullopt);
  if (call.path.feed && method == Method::post && is_query(call.request)) {
    co_return co_await query_resources(call, rid, "Conflicts", {});
  }
  if (!call.path.feed && (reads || method == Method::del)) {
    co_return fail(ErrorCode::not_found, "Resource Not Found: there is no conflict '" + call.path.id + "'.");
  }
  co_return method_not_allowed();
}

// Of the container with this id, both as shown.
std::string database_rid_of(std::string_view container_rid) {
  const auto bytes = parse_rid(container_rid);
  return bytes ? show_rid(std::string_view(*bytes).substr(0, database_rid_bytes)) : std::string();
}

bool is_container_itself(const Call& call) {
  return call.path.resource == Resource::container;
}

// The link of names of the owner as the client wrote it: the database of a container, and the container of what is in
// it. Clients identify the container by it, and make their link to a container of it.
std::string owner_link(const Call& call) {
  std::string_view path = call.request.raw_path;
  while (path.starts_with('/')) path.remove_prefix(1);
  if (call.path.named_by_ids || path.find("//") != std::string_view::npos) {
    const std::string database = "dbs/" + percent_encode(call.path.database);
    return is_container_itself(call) ? database : database + "/colls/" + percent_encode(call.path.container);
  }
  std::size_t end = 0;
  const int segments = is_container_itself(call) ? 2 : 4;
  for (int segment = 0; segment < segments && end != std::string_view::npos; ++segment) end = path.find('/', end + 1);
  return std::string(path.substr(0, end));
}

void add_common_headers(const Call& call, std::chrono::microseconds duration, Reply& reply) {
  const Accounting& account = call.account;
  std::string& lines = reply.header_lines;
  lines.reserve(lines.size() + 512);
  // No value contains a line break: values from the request are parts of its target, which has no control characters.
  const auto add = [&lines](std::string_view line, std::string_view value) {
    lines += line;
    lines += value;
  };
  add("\r\nx-ms-activity-id: ", call.activity_id);
  add("\r\nx-ms-request-charge: ", partitioning::format_charge(account.request_charge));
  constexpr auto us_per_ms = 1000;
  fmt::format_to(std::back_inserter(lines), "\r\nx-ms-request-duration-ms: {}.{:03}", duration.count() / us_per_ms,
                 duration.count() % us_per_ms);
  lines +=
      "\r\nx-ms-serviceversion: version=2.14.0.0\r\nx-ms-gatewayversion: version=2.14.0.0"
      "\r\nCache-Control: no-store, no-cache";
  if (account.container) {
    const std::string& rid = account.container->shape->container_rid();
    add("\r\nx-ms-content-path: ", is_container_itself(call) ? database_rid_of(rid) : rid);
    add("\r\nx-ms-alt-content-path: ", owner_link(call));
  } else if (is_container_itself(call) && !call.path.database.empty()) {
    add("\r\nx-ms-alt-content-path: ", owner_link(call));  // of a container that is created
  }
  if (account.database && account.partition_ids.empty()) {
    add("\r\nx-ms-documentdb-partitionkeyrangeid: ", std::to_string(account.partition_id));
  }
  if (!account.session_token.empty()) add("\r\nx-ms-session-token: ", account.session_token);
  // Clients look for it beside the token of an item that an empty container does not have.
  const bool has_read_item = call.path.resource == Resource::item && !account.session_token.empty();
  if (account.sequence != 0 || (has_read_item && !call.path.feed)) {
    add("\r\nlsn: ", std::to_string(account.sequence));
  }
  if (account.item_sequence != 0) add("\r\nx-ms-item-lsn: ", std::to_string(account.item_sequence));
}

// The path under which the emulator offers its certificate. Everyone may read it, as each handshake shows it anyway.
bool is_certificate(const std::vector<std::string>& segments) {
  return segments.size() == 2 && segments[0] == "_explorer" && segments[1] == "emulator.pem";
}

// The paths by which the emulator says that it runs and that it is ready, to everyone. Here both are true as soon as
// the port is open: databases are opened before.
bool is_health_probe(const std::vector<std::string>& segments) {
  return segments.size() == 1 && (segments[0] == "alive" || segments[0] == "ready");
}

// The path at which clients ask whether and where they shall send telemetry. The answer is a constant, so it needs no
// key.
bool is_client_configuration(const std::vector<std::string>& segments) {
  return segments.size() == 1 && segments[0] == "clientconfigs";
}

void spend(const Accounting& account, bool reads) {
  if (account.database == nullptr) return;  // no database to charge
  using partitioning::PointRequests;
  if (account.recorded_item) {
    const auto kind = reads ? PointRequests::Kind::read : PointRequests::Kind::write;
    account.database->meter().point_requests().add(*account.recorded_item, kind, account.request_charge);
  }
  if (account.partition_ids.empty()) {
    account.database->meter().spend(account.partition_id, account.partition_key, account.request_charge);
  } else {
    account.database->meter().spend(account.partition_ids, account.request_charge);
  }
}

}  // namespace

CosmosApi::CosmosApi(partitioning::Engine& engine, const config::Settings& settings, std::function<bool()> has_admins,
                     std::function<std::string()> certificate_pem)
    : certificate_pem_(std::move(certificate_pem)),
      registry_(engine),
      authorization_(settings, engine, std::move(has_admins)),
      engine_(engine) {}

Task<Reply> CosmosApi::handle(Request& request) {
  const auto started = std::chrono::steady_clock::now();
  Services services{
      .engine = engine_, .settings = engine_.settings(), .authorization = authorization_, .registry = registry_};
  const CorsPolicy& cors = cors_.of(
      services.settings, [](const config::Settings& version) { return CorsPolicy(version, cosmos_cors_headers); });
  if (auto reply = cors.preflight(request)) co_return std::move(*reply);
  Call call{.request = request,
            .services = services,
            .path = {},
            .credential = Credential::resource_token,
            .account = {},
            .activity_id = new_uuid()};
  Expected<Reply> result;
  try {
    result = co_await dispatch(call);
  } catch (...) {
    result = std::unexpected(caught_error());
  }
  if (!result && result.error().code == ErrorCode::throttled) call.account.request_charge = 0;
  call.account.request_charge += call.account.lookup_charge;
  auto reply = result ? std::move(*result) : error_reply(result.error());
  spend(call.account, call.reads);
  const auto duration = std::chrono::steady_clock::now() - started;
  add_common_headers(call, std::chrono::duration_cast<std::chrono::microseconds>(duration), reply);
  cors.decorate(request, reply);
  co_return reply;
}

Task<Expected<void>> CosmosApi::authorize(Call& call) {
  const bool reads = call.reads = only_reads(call.request, call.path);
  auto checked = authorization_.check(call.request, call.path, reads);
  if (call.path.has_resource_ids()) {
    // Names are looked up only for holders of a key or a token. What a token covers is written in names.
    if (!checked && checked.error().code == ErrorCode::unauthorized) co_return std::unexpected(checked.error());
    OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking(
        [&] { return name_resources(call.services.engine, registry_, call.path); }));
    checked = authorization_.check(call.request, call.path, reads);
  }
  if (!checked) co_return std::unexpected(std::move(checked).error());
  call.credential = *checked;
  co_return Expected<void>{};
}

Expected<Reply> CosmosApi::certificate(const Request& request) const {
  if (request.method != Method::get && request.method != Method::head) return method_not_allowed();
  Reply reply;
  if (certificate_pem_) reply.body = certificate_pem_();
  if (reply.body.empty()) {
    return fail(ErrorCode::not_found, "Resource Not Found: this port has no certificate (cosmos.tls).");
  }
  reply.content_type = "application/x-pem-file";
  return reply;
}

Expected<Reply> CosmosApi::constant(const Request& request, std::string_view json) {
  if (request.method != Method::get && request.method != Method::head) return method_not_allowed();
  Reply reply;
  reply.body = json;
  return reply;
}

Handled CosmosApi::dispatch(Call& call) {
  if (is_certificate(call.request.segments)) co_return certificate(call.request);
  if (is_health_probe(call.request.segments)) co_return constant(call.request, R"({"status":"ok"})");
  if (is_client_configuration(call.request.segments)) {
    co_return constant(call.request, R"({"clientTelemetryConfiguration":{"isEnabled":false,"endpoint":null}})");
  }
  OCTAVO_CO_TRY(call.path, ResourcePath::parse(call.request.segments));
  if (!call.path.database.empty()) call.path.resolve_alias(registry_.resolve(call.path.database));
  OCTAVO_CO_TRY_VOID(co_await authorize(call));
  if (is_binary_json(call.request.body)) {
    OCTAVO_CO_TRY(call.body_text, text_of_binary_json(call.request.body));
    call.request.body = call.body_text;
  }
  switch (call.path.resource) {
    case Resource::account:
      co_return co_await serve_account(call);
    case Resource::database:
      co_return co_await serve_databases(call);
    case Resource::container:
      co_return co_await serve_containers(call);
    case Resource::item:
      co_return co_await serve_items(call);
    case Resource::range:
      co_return co_await serve_ranges(call);
    case Resource::offer:
      co_return co_await serve_offers(call);
    case Resource::user:
    case Resource::permission:
    case Resource::encryption_key:
      co_return co_await serve_users(call);
    case Resource::operation:
      co_return co_await serve_operations(call);
    case Resource::stored_procedure:
    case Resource::trigger:
    case Resource::user_function:
      co_return co_await serve_scripts(call);
    case Resource::conflict:
      co_return co_await serve_conflicts(call);
  }
  co_return fail(ErrorCode::internal, "A resource without a handler.");
}

Reply CosmosApi::protocol_error(int status, std::string_view reason) const {
  const std::string_view code = status == 413   ? "RequestEntityTooLarge"
                                : status == 408 ? "RequestTimeout"
                                : status == 503 ? "ServiceUnavailable"
                                : status == 501 ? "NotImplemented"
                                : status < 500  ? "BadRequest"
                                                : "InternalServerError";
  const std::string text = (status == 413 ? "Request size is too large. " : "") + std::string(reason);
  auto reply = error_reply(status, code, text);
  reply.headers.emplace_back("x-ms-activity-id", new_uuid());
  return reply;
}

}  // namespace octavo::api::cosmos
