// /_backup: backups of the running server, below the folder of the setting backup.folder. CouchDB has no such endpoint.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include <boost/json.hpp>
#include <fmt/chrono.h>

#include "api/couch/call/json_reply.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/server/server.h"
#include "partitioning/backup/server_backup.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;
using partitioning::ServerBackup;
using State = ServerBackup::State;

Expected<ServerBackup*> required(const Call& call) {
  if (call.services.backup != nullptr) return call.services.backup;
  return fail(ErrorCode::unsupported, "This server has no backups.", "backups_disabled");
}

std::string_view name_of(State state) {
  switch (state) {
    case State::running:
      return "running";
    case State::complete:
      return "complete";
    case State::failed:
      return "failed";
    case State::cancelled:
      return "cancelled";
  }
  return "";
}

std::string time_text(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", std::chrono::floor<std::chrono::seconds>(time));
}

json::object shown(const ServerBackup::Status& status) {
  const std::chrono::duration<double> elapsed = status.ended - status.started;
  json::object object{{"state", name_of(status.state)},
                      {"folder", status.folder},
                      {"started", time_text(status.started)},
                      {"seconds", std::round(elapsed.count() * 1'000) / 1'000},
                      {"databases", status.databases_done},
                      {"databases_total", status.databases_expected},
                      {"bytes", status.bytes_done}};
  if (status.state == State::running) object["bytes_total"] = std::max(status.bytes_expected, status.bytes_done);
  if (status.state != State::running) object["ended"] = time_text(status.ended);
  if (status.state == State::failed) object["reason"] = status.failure;
  return object;
}

Expected<std::string> folder_in(const json::object& body) {
  const auto* const folder = body.if_contains("folder");
  if (folder != nullptr && folder->is_string() && body.size() == 1) return std::string(folder->get_string());
  return fail(ErrorCode::bad_request, "The body of _backup has one member, the text `folder`.", "backup_syntax");
}

Task<Expected<Reply>> post_backup(Call& call) {
  OCTAVO_CO_TRY(auto* const backup, required(call));
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(const auto folder, folder_in(body));
  auto start = [&] { return backup->start(folder); };
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking(std::move(start)));
  auto reply = json_reply(json::object{{"ok", true}, {"folder", folder}});
  reply.status = 202;
  co_return reply;
}

Task<Expected<Reply>> get_backup(Call& call) {
  OCTAVO_CO_TRY(auto* const backup, required(call));
  const auto status = backup->status();
  co_return json_reply(status ? shown(*status) : json::object{{"state", "none"}});
}

Task<Expected<Reply>> delete_backup(Call& call) {
  OCTAVO_CO_TRY(auto* const backup, required(call));
  auto cancel = [&] { return backup->cancel(); };
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking(std::move(cancel)));
  co_return json_reply(json::object{{"ok", true}});
}

}  // namespace

void add_backup_routes(RouteList& routes) {
  routes.push_back({Method::get, "/_backup", Access::server_admin, get_backup});
  routes.push_back({Method::post, "/_backup", Access::server_admin, post_backup});
  routes.push_back({Method::del, "/_backup", Access::server_admin, delete_backup});
}

}  // namespace octavo::api::couch
