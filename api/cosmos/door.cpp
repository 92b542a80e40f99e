#include "api/cosmos/door.h"

#include <new>
#include <random>

#include <fmt/format.h>

#include "api/cosmos/container_definition.h"
#include "api/cosmos/errors.h"
#include "api/cosmos/item_shape.h"
#include "partitioning/request_charge.h"
#include "query/json/parsed_document.h"
#include "storage/read_failure.h"

namespace octavo::api::cosmos {

namespace {

// A random UUID. It need not be secret, only different.
std::string new_activity_id() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id = "00000000-0000-4000-8000-000000000000";
  std::uint64_t bits = random();
  for (std::size_t i = 0; i < id.size(); ++i) {
    if (i == 19) bits = random();
    if (id[i] == '-' || i == 14) continue;  // the version stays
    const std::uint64_t digit = i == 19 ? 8 | (bits & 3) : bits & 15;
    id[i] = kDigits[digit];
    bits >>= 4;
  }
  return id;
}

// Requests that change nothing: reading, and queries, where POST can be one. Anywhere else the headers of a query mean
// nothing, and a write that carries them is still a write.
bool only_reads(const Request& request, const ResourcePath& path) {
  if (request.method == Method::get || request.method == Method::head) return true;
  if (request.method != Method::post || !path.feed) return false;
  const bool is_query = has_flag(request, "x-ms-documentdb-isquery");
  switch (path.resource) {
    case Resource::item:
      return is_query || has_flag(request, "x-ms-cosmos-is-query-plan-request");
    case Resource::database:
    case Resource::container:
    case Resource::user:
    case Resource::permission:
      return is_query;
    case Resource::offer:
      return true;
    default:
      return false;
  }
}

Handled no_such_feature(std::string_view what) {
  co_return fail(ErrorCode::unsupported, std::string(what) + " are not available in this version.");
}

// The container's link as the client wrote it, by which it knows the container again.
std::string_view container_part(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  std::size_t end = 0;
  for (int segment = 0; segment < 4 && end != std::string_view::npos; ++segment) end = path.find('/', end + 1);
  return path.substr(0, end);
}

void add_common_headers(const Call& call, Reply& reply) {
  const Accounting& account = call.account;
  std::string& lines = reply.header_lines;
  lines.reserve(lines.size() + 512);
  // No value has a line break: those from the request are parts of its target, which has no control characters.
  const auto add = [&lines](std::string_view line, std::string_view value) {
    lines += line;
    lines += value;
  };
  add("\r\nx-ms-activity-id: ", call.activity_id);
  add("\r\nx-ms-request-charge: ", partitioning::format_charge(account.request_charge));
  lines += "\r\nx-ms-serviceversion: version=2.14.0.0\r\nx-ms-gatewayversion: version=2.14.0.0"
           "\r\nCache-Control: no-store, no-cache";
  if (account.container) {
    add("\r\nx-ms-content-path: ", account.container->shape->container_rid());
    add("\r\nx-ms-alt-content-path: ", container_part(call.request.raw_path));
  }
  if (!account.session_token.empty()) add("\r\nx-ms-session-token: ", account.session_token);
  if (account.sequence != 0) add("\r\nlsn: ", std::to_string(account.sequence));
}

}  // namespace

bool has_flag(const Request& request, std::string_view header) {
  const auto text = request.header(header);
  return text && text->size() == 4 && (text->front() == 't' || text->front() == 'T') &&
         (text->substr(1) == "rue" || text->substr(1) == "RUE");
}

bool Call::flag(std::string_view header) const {
  return has_flag(request, header);
}

std::unexpected<Error> method_not_allowed() {
  return fail(ErrorCode::bad_request, "The requested verb is not supported on this resource.", word::kMethod);
}

Reply resource_reply(int status, std::string json, std::string_view etag) {
  Reply reply;
  reply.status = status;
  reply.body = std::move(json);
  if (!etag.empty()) reply.headers.emplace_back("ETag", fmt::format("\"{}\"", etag));
  return reply;
}

Expected<boost::json::object> json_body(const Request& request) {
  auto value = query::parse_json(request.body);
  if (!value) return fail(ErrorCode::bad_request, "The request body is not JSON: " + value.error().reason);
  if (!value->is_object()) return fail(ErrorCode::bad_request, "The request body must be a JSON object.");
  return std::move(value->get_object());
}

Task<Expected<OpenContainer>> open_container(Call& call) {
  const std::string name = call.path.database_name();
  auto found = call.services.engine.database_if_open(name);
  if (!found) found = co_await call.services.engine.open_in_background(name);
  auto& opened = *found;
  if (!opened && opened.error().code != ErrorCode::not_found) co_return std::unexpected(std::move(opened).error());
  const auto no_container = [&] {
    return fail(ErrorCode::not_found,
                "Owner resource does not exist: there is no container '" + call.path.container + "' in database '" +
                    call.path.database + "'.",
                word::kOwnerMissing);
  };
  if (!opened) co_return no_container();
  auto definition = container_of(**opened);
  if (!definition && definition.error().code == ErrorCode::not_found) co_return no_container();
  if (!definition) co_return std::unexpected(std::move(definition).error());
  call.account.container = *definition;
  co_return OpenContainer{std::move(*opened), std::move(*definition)};
}

Door::Door(partitioning::Engine& engine, const config::Settings& settings, std::function<bool()> has_admins)
    : schema_(engine),
      authorization_(settings, engine, std::move(has_admins)),
      services_{.engine = engine, .settings = settings, .authorization = authorization_, .schema = schema_} {}

Task<Reply> Door::handle(Request& request) {
  Call call{.request = request, .services = services_, .path = {}, .account = {}, .activity_id = new_activity_id()};
  Expected<Reply> result;
  try {
    result = co_await dispatch(call);
  } catch (const std::bad_alloc&) {
    // What this request had is free again.
    result = fail(ErrorCode::overloaded, "The server is short of memory; try again later.");
  } catch (const storage::ReadFailure& failure) {
    result = std::unexpected(failure.error());
  }
  auto reply = result ? std::move(*result) : error_reply(result.error());
  add_common_headers(call, reply);
  co_return reply;
}

Handled Door::dispatch(Call& call) {
  auto path = ResourcePath::parse(call.request.segments);
  if (!path) co_return std::unexpected(std::move(path).error());
  call.path = std::move(*path);
  auto allowed = authorization_.check(call.request, call.path, only_reads(call.request, call.path));
  if (!allowed) co_return std::unexpected(std::move(allowed).error());
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
      co_return co_await serve_users(call);
    case Resource::operation:
      co_return co_await serve_operations(call);
    case Resource::stored_procedure:
      co_return co_await no_such_feature("Stored procedures");
    case Resource::trigger:
      co_return co_await no_such_feature("Triggers");
    case Resource::user_function:
      co_return co_await no_such_feature("User-defined functions");
    case Resource::conflict:
      co_return co_await no_such_feature("Conflict feeds");
  }
  co_return fail(ErrorCode::internal, "A resource without a handler.");
}

Reply Door::protocol_error(int status, std::string_view reason) const {
  const std::string_view code = status == 413   ? "RequestEntityTooLarge"
                                : status == 408 ? "RequestTimeout"
                                : status == 503 ? "ServiceUnavailable"
                                : status == 501 ? "NotImplemented"
                                : status < 500  ? "BadRequest"
                                                : "InternalServerError";
  auto reply = error_reply(status, code, reason);
  reply.headers.emplace_back("x-ms-activity-id", new_activity_id());
  return reply;
}

}  // namespace octavo::api::cosmos
