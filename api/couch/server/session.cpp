#include "api/couch/server/session.h"

#include <algorithm>
#include <map>

#include <boost/json.hpp>

#include "api/couch/auth/authenticator.h"
#include "api/couch/auth/session_cookie.h"
#include "base/json_writer.h"
#include "query/json/parsed_document.h"

namespace octavo::api::couch {

namespace {

constexpr std::size_t body_bytes_max = 64 * 1024;

using Form = std::map<std::string, std::string, std::less<>>;

void append_roles(std::string& out, const std::vector<std::string>& roles) {
  append_json_key(out, "roles");
  out += '[';
  for (const std::string& role : roles) {
    if (out.back() != '[') out += ',';
    append_json_string(out, role);
  }
  out += ']';
}

void append_name(std::string& out, std::string_view name) {
  append_json_key(out, "name");
  if (name.empty()) {
    out += "null";
  } else {
    append_json_string(out, name);
  }
}

Expected<Form> parse_form(std::string_view body) {
  Form form;
  for (std::size_t begin = 0; begin < body.size();) {
    const std::size_t end = std::min(body.find('&', begin), body.size());
    const std::string_view pair = body.substr(begin, end - begin);
    begin = end + 1;
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto name = percent_decode(pair.substr(0, equals), true);
    const auto value = percent_decode(equals < pair.size() ? pair.substr(equals + 1) : std::string_view(), true);
    if (!name || !value) return fail(ErrorCode::bad_request, "The form is not percent-encoded correctly.");
    form.insert_or_assign(*name, *value);
  }
  return form;
}

Expected<Form> parse_json_form(std::string_view body) {
  OCTAVO_TRY(const auto value, query::parse_json(body));
  if (!value.is_object()) return fail(ErrorCode::bad_request, "Request body must be a JSON object");
  Form form;
  for (const auto& [name, member] : value.get_object()) {
    if (!member.is_string()) {
      return fail(ErrorCode::bad_request, "The member " + std::string(name) + " must be a string.");
    }
    form.insert_or_assign(std::string(name), std::string(member.get_string()));
  }
  return form;
}

Expected<Form> read_form(const Request& request) {
  if (request.body.size() > body_bytes_max) return fail(ErrorCode::too_large, "");
  const std::string_view type = request.header("Content-Type").value_or("");
  if (type.starts_with("application/x-www-form-urlencoded")) return parse_form(request.body);
  if (type.starts_with("application/json")) return parse_json_form(request.body);
  return fail(ErrorCode::bad_request, "Content-Type must be 'application/x-www-form-urlencoded' or 'application/json'",
              "bad_content_type");
}

Expected<std::string> username_in(const Form& form) {
  const auto name = form.find("name");
  const auto username = form.find("username");
  if (name == form.end() && username == form.end()) {
    return fail(ErrorCode::bad_request, "request body must contain a username");
  }
  if (name != form.end() && username != form.end() && name->second != username->second) {
    return fail(ErrorCode::bad_request, "request body contains different usernames");
  }
  return name != form.end() ? name->second : username->second;
}

/// Makes the reply a redirect if the request has `parameter`. Only a path of this server is allowed, so that links to
/// this server cannot redirect to other sites.
Expected<void> redirect_if_asked(const Request& request, std::string_view parameter, Reply& reply) {
  const auto target = request.parameter(parameter);
  if (!target) return {};
  const bool is_path = target->starts_with('/') && !target->starts_with("//") && !target->starts_with("/\\");
  const bool clean = std::ranges::none_of(*target, [](char c) { return static_cast<unsigned char>(c) <= ' '; });
  if (!is_path || !clean) return fail(ErrorCode::bad_request, "path must begin with a /.");
  reply.status = 302;
  reply.headers.emplace_back("Location", std::string(*target));
  return {};
}

Task<Expected<Reply>> post_session(Call& call) {
  const Request& request = call.request;
  OCTAVO_CO_TRY(const auto form, read_form(request));
  OCTAVO_CO_TRY(const auto name, username_in(form));
  const auto password = form.find("password");
  const std::string_view secret = password == form.end() ? std::string_view() : std::string_view(password->second);

  Authenticator& authenticator = call.services.authenticator;
  const auto user = co_await authenticator.log_in(name, secret, request.peer_address);
  Reply reply;
  if (!user && user.error().code != ErrorCode::unauthorized) co_return std::unexpected(user.error());
  if (!user) {
    reply.status = 401;
    reply.headers.emplace_back("Set-Cookie", clear_session_cookie(call.services.settings, request.tls));
    reply.body = R"({"error":"unauthorized","reason":)";
    append_json_string(reply.body, user.error().reason);
    reply.body += '}';
    OCTAVO_CO_TRY_VOID(redirect_if_asked(request, "fail", reply));
    co_return reply;
  }
  reply.headers.emplace_back(
      "Set-Cookie", set_session_cookie(authenticator.issue_cookie(*user), call.services.settings, request.tls));
  reply.body = R"({"ok":true)";
  append_name(reply.body, user->name);
  append_roles(reply.body, user->roles);
  reply.body += '}';
  OCTAVO_CO_TRY_VOID(redirect_if_asked(request, "next", reply));
  co_return reply;
}

Task<Expected<Reply>> get_session(Call& call) {
  const UserContext& user = call.user;
  if (user.name.empty() && call.request.parameter("basic") == "true") {
    co_return fail(ErrorCode::unauthorized, "Please login.");
  }
  Reply reply;
  reply.body = R"({"ok":true,"userCtx":{)";
  append_name(reply.body, user.name);
  append_roles(reply.body, user.roles);
  reply.body += R"(},"info":{"authentication_handlers":["cookie",)";
  if (call.services.authenticator.accepts_proxy()) reply.body += R"("proxy",)";
  if (call.services.authenticator.accepts_jwt()) reply.body += R"("jwt",)";
  reply.body += R"("default"])";
  if (!user.method.empty()) {
    append_json_key(reply.body, "authenticated");
    append_json_string(reply.body, user.method);
  }
  reply.body += "}}";
  co_return reply;
}

Task<Expected<Reply>> delete_session(Call& call) {
  Reply reply;
  reply.headers.emplace_back("Set-Cookie", clear_session_cookie(call.services.settings, call.request.tls));
  reply.body = R"({"ok":true})";
  OCTAVO_CO_TRY_VOID(redirect_if_asked(call.request, "next", reply));
  co_return reply;
}

}  // namespace

void renew_session(const Services& services, const Request& request, const UserContext& user, Reply& reply) {
  if (user.method != "cookie") return;
  const bool sets_cookie =
      std::ranges::any_of(reply.headers, [](const auto& header) { return header.first == "Set-Cookie"; });
  if (sets_cookie) return;
  if (auto cookie = services.authenticator.renewed_cookie(request, user)) {
    reply.headers.emplace_back("Set-Cookie", std::move(*cookie));
  }
}

void add_session_routes(RouteList& routes) {
  routes.push_back({Method::get, "/_session", Access::anyone, get_session});
  routes.push_back({Method::post, "/_session", Access::anyone, post_session});
  routes.push_back({Method::del, "/_session", Access::anyone, delete_session});
}

}  // namespace octavo::api::couch
