#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "api/couch/auth/admin_store.h"
#include "api/couch/auth/users_database.h"
#include "api/couch/call/errors.h"
#include "api/couch/server/server.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "base/json_writer.h"
#include "base/unix_time.h"
#include "config/version.h"
#include "partitioning/backup/server_backup.h"
#include "partitioning/engine.h"
#include "query/follow/active_tasks.h"

namespace octavo::api::couch {

namespace {

void append_text_member(std::string& out, std::string_view name, std::string_view value) {
  append_json_key(out, name);
  append_json_string(out, value);
}

template <class Number>
void append_count(std::string& out, std::string_view name, Number value) {
  append_json_key(out, name);
  append_json_number(out, value);
}

Task<Expected<Reply>> get_welcome(Call& call) {
  OCTAVO_CO_TRY(const auto uuid, load_server_uuid(call.services.engine.catalog()));
  Reply reply;
  std::string& out = reply.body;
  out = R"({"couchdb":"Welcome")";
  append_text_member(out, "version", couchdb_version);
  append_text_member(out, "git_sha", config::version());
  append_text_member(out, "uuid", uuid);
  out += R"(,"features":["partitioned","reshard","search"],"vendor":{"name":"Octavo")";
  append_text_member(out, "version", config::version());
  out += "}}";
  co_return reply;
}

/// Reads the catalog, which every request needs: an error here means that requests fail.
Expected<void> check_catalog(partitioning::Engine& engine) {
  OCTAVO_TRY(const auto fact, engine.catalog().fact("secrets", "server_uuid"));
  static_cast<void>(fact);
  return {};
}

Expected<void> check_databases(partitioning::Engine& engine) {
  OCTAVO_TRY(const auto users, engine.open_database(users_database));
  OCTAVO_TRY(const auto snapshot, users->snapshot(users->partition_ids().front()));
  OCTAVO_TRY(const auto sequence, snapshot.last_sequence());
  static_cast<void>(sequence);
  return {};
}

Reply not_serving(const Error& error) {
  Reply reply;
  reply.status = 503;
  reply.body = R"({"status":"unavailable")";
  append_text_member(reply.body, "reason", error_reason(error));
  reply.body += '}';
  return reply;
}

Task<Expected<Reply>> get_up(Call& call) {
  const auto checked = check_catalog(call.services.engine);
  if (!checked) co_return not_serving(checked.error());
  Reply reply;
  reply.body = R"({"status":"ok","seeds":{})";
  // The server is up, because it serves reads. The reply also reports failing writes, for monitoring of the disk.
  if (const auto failure = call.services.engine.disk_failure()) {
    append_text_member(reply.body, "writes", error_word(Error{*failure, {}, {}}));
  }
  reply.body += '}';
  co_return reply;
}

Task<Expected<Reply>> get_ready(Call& call) {
  auto checked = check_catalog(call.services.engine);
  if (checked) checked = check_databases(call.services.engine);
  if (!checked) co_return not_serving(checked.error());
  Reply reply;
  reply.body = R"({"status":"ready"})";
  co_return reply;
}

Task<Expected<Reply>> get_uuids(Call& call) {
  const std::uint64_t uuids_max = call.services.settings.uuids_max;
  std::uint64_t count = 1;
  if (const auto text = call.request.parameter("count")) {
    const auto end = std::from_chars(text->data(), text->data() + text->size(), count);
    if (end.ec == std::errc::result_out_of_range) count = uuids_max + 1;
    if ((end.ec != std::errc() && end.ec != std::errc::result_out_of_range) || end.ptr != text->data() + text->size()) {
      co_return fail(ErrorCode::bad_request, "count must be a positive integer");
    }
    if (count > uuids_max) co_return fail(ErrorCode::bad_request, "count parameter too large");
  }
  Reply reply;
  reply.body = R"({"uuids":[)";
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i > 0) reply.body += ',';
    append_json_string(reply.body, new_uuid(call.services.settings));
  }
  reply.body += "]}";
  const std::string tag = crypto::hex_encode(crypto::hash(crypto::Digest::sha256, reply.body)).substr(0, 32);
  reply.headers.emplace_back("Cache-Control", "must-revalidate, no-cache");
  reply.headers.emplace_back("Expires", "Mon, 01 Jan 1990 00:00:00 GMT");
  reply.headers.emplace_back("Pragma", "no-cache");
  reply.headers.emplace_back("ETag", "\"" + tag + "\"");
  co_return reply;
}

Task<Expected<Reply>> get_membership(Call&) {
  Reply reply;
  reply.body = "{";
  for (const std::string_view list : {"all_nodes", "cluster_nodes"}) {
    append_json_key(reply.body, list);
    reply.body += '[';
    append_json_string(reply.body, node_name);
    reply.body += ']';
  }
  reply.body += '}';
  co_return reply;
}

void append_task(std::string& out, const query::ActiveTask& task) {
  out += '{';
  append_text_member(out, "node", node_name);
  append_text_member(out, "pid", task.id);
  append_text_member(out, "type", task.type);
  append_text_member(out, "database", task.database);
  if (!task.design_document.empty()) append_text_member(out, "design_document", task.design_document);
  if (!task.index.empty()) append_text_member(out, "index", task.index);
  if (!task.phase.empty()) append_text_member(out, "phase", task.phase);
  append_count(out, "changes_done", task.changes_done);
  append_count(out, "total_changes", task.total_changes);
  append_count(out, "progress", task.progress_percent());
  if (const auto remaining = task.remaining_s(); remaining >= 0) append_count(out, "remaining_s", remaining);
  append_count(out, "started_on", task.started_on);
  append_count(out, "updated_on", task.updated_on);
  out += '}';
}

std::string_view phase_of(const storage::CompactionQueue::Progress& compaction) {
  using Stage = storage::StoreCompaction::Stage;
  if (compaction.is_preparing) return "preparing";
  if (!compaction.stage) return "merging";
  switch (*compaction.stage) {
    case Stage::copying:
      return "copying";
    case Stage::catching_up:
      return "catching up";
    case Stage::switching:
      return "switching";
  }
  return "";
}

query::ActiveTask task_of(const storage::CompactionQueue::Progress& compaction) {
  query::ActiveTask task;
  task.id = "compaction-" + std::to_string(compaction.number);
  task.type = compaction.design_document.empty() ? "database_compaction" : "view_compaction";
  task.database = compaction.database;
  task.design_document = compaction.design_document;
  task.phase = phase_of(compaction);
  task.changes_done = compaction.rows_done;
  task.total_changes = std::max(compaction.rows_expected, compaction.rows_done);
  task.started_on = std::chrono::system_clock::to_time_t(compaction.started);
  task.updated_on = unix_now_s();
  return task;
}

query::ActiveTask task_of(const partitioning::ServerBackup::Status& backup) {
  query::ActiveTask task;
  task.id = "backup";
  task.type = "backup";
  task.index = backup.folder;
  task.changes_done = backup.bytes_done;
  task.total_changes = std::max(backup.bytes_expected, backup.bytes_done);
  task.started_on = std::chrono::system_clock::to_time_t(backup.started);
  task.updated_on = unix_now_s();
  return task;
}

Task<Expected<Reply>> get_active_tasks(Call& call) {
  using partitioning::ServerBackup;
  std::vector<query::ActiveTask> tasks;
  if (const auto compaction = call.services.engine.compactions().running()) tasks.push_back(task_of(*compaction));
  if (call.services.backup != nullptr) {
    const auto backup = call.services.backup->status();
    if (backup && backup->state == ServerBackup::State::running) tasks.push_back(task_of(*backup));
  }
  if (call.services.active_tasks != nullptr)
    std::ranges::move(call.services.active_tasks->list(), std::back_inserter(tasks));
  Reply reply;
  reply.body = "[";
  for (const query::ActiveTask& task : tasks) {
    if (reply.body.size() > 1) reply.body += ',';
    append_task(reply.body, task);
  }
  reply.body += ']';
  co_return reply;
}

Task<Expected<Reply>> get_favicon(Call&) {
  Reply reply;
  reply.status = 204;
  reply.content_type = "";
  reply.headers.emplace_back("Cache-Control", "public, max-age=31536000");
  co_return reply;
}

Task<Expected<Reply>> get_utils(Call&) {
  Reply reply;
  reply.status = 404;
  reply.content_type = "text/plain; charset=utf-8";
  reply.body = "There is no web interface here. Any CouchDB client can be pointed at this server's root.\n";
  co_return reply;
}

}  // namespace

void add_server_info_routes(RouteList& routes) {
  routes.push_back({Method::get, "/", Access::anyone, get_welcome});
  routes.push_back({Method::get, "/_up", Access::anyone, get_up});
  routes.push_back({Method::get, "/_ready", Access::anyone, get_ready});
  routes.push_back({Method::get, "/_uuids", Access::anyone, get_uuids});
  routes.push_back({Method::get, "/_membership", Access::server_admin, get_membership});
  routes.push_back({Method::get, "/_active_tasks", Access::server_admin, get_active_tasks});
  routes.push_back({Method::get, "/favicon.ico", Access::anyone, get_favicon});
  routes.push_back({Method::get, "/_utils", Access::anyone, get_utils});
  routes.push_back({Method::get, "/_utils/{path*}", Access::anyone, get_utils});
}

}  // namespace octavo::api::couch
