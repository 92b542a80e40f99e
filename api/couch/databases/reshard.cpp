// /_reshard: splits of physical partitions, with the paths and JSON of CouchDB's resharding.
// https://docs.couchdb.org/en/stable/api/server/common.html#reshard
#include <algorithm>
#include <charconv>
#include <chrono>

#include <boost/json.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "api/couch/call/json_reply.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/databases/routes.h"
#include "api/couch/databases/shards.h"
#include "api/couch/server/server.h"
#include "base/encoding.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;
using partitioning::SplitQueue;
using partitioning::SplitStage;

constexpr std::string_view id_prefix = "001-";

std::string job_id(std::uint64_t number) {
  return fmt::format("{}{:016x}", id_prefix, number);
}

std::optional<std::uint64_t> job_number(std::string_view id) {
  if (!id.starts_with(id_prefix)) return std::nullopt;
  id.remove_prefix(id_prefix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number, 16);
  if (error != std::errc{} || end != id.data() + id.size()) return std::nullopt;
  return number;
}

std::string time_text(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", std::chrono::floor<std::chrono::seconds>(time));
}

std::string shard_name(const storage::PartitionMapEntry& range, std::string_view database) {
  return fmt::format("shards/{}/{}", shard_range(range), database);
}

std::string_view state_name(SplitQueue::State state) {
  switch (state) {
    case SplitQueue::State::queued:
      return "new";
    case SplitQueue::State::running:
      return "running";
    case SplitQueue::State::completed:
      return "completed";
    case SplitQueue::State::failed:
      return "failed";
    case SplitQueue::State::stopped:
      return "stopped";
  }
  return "";
}

std::string_view stage_name(SplitStage stage) {
  switch (stage) {
    case SplitStage::waiting:
      return "new";
    case SplitStage::copying:
      return "initial_copy";
    case SplitStage::catching_up:
      return "topoff1";
    case SplitStage::switching:
      return "update_shardmap";
    case SplitStage::done:
      return "completed";
  }
  return "";
}

json::object shown(const SplitQueue::Job& job) {
  json::object info{{"documents_copied", job.copied}, {"documents_expected", job.expected}};
  if (!job.failure.empty()) info["reason"] = job.failure;
  json::array targets;
  for (const auto& target : job.targets) targets.push_back(json::string(shard_name(target, job.database)));
  json::array history{json::object{{"timestamp", time_text(job.created)}, {"type", "new"}, {"detail", nullptr}}};
  if (job.state != SplitQueue::State::queued) {
    history.push_back(json::object{{"timestamp", time_text(job.updated)},
                                   {"type", state_name(job.state)},
                                   {"detail", job.failure.empty() ? json::value(nullptr) : json::value(job.failure)}});
  }
  return {{"id", job_id(job.number)},
          {"type", "split"},
          {"job_state", state_name(job.state)},
          {"split_state", stage_name(job.stage)},
          {"state_info", std::move(info)},
          {"node", node_name},
          {"db", job.database},
          {"source", shard_name(job.source, job.database)},
          {"target", std::move(targets)},
          {"start_time", time_text(job.created)},
          {"update_time", time_text(job.updated)},
          {"history", std::move(history)}};
}

json::value reason_json(const std::optional<std::string>& reason) {
  return reason ? json::value(*reason) : json::value(nullptr);
}

std::unexpected<Error> no_job() {
  return fail(ErrorCode::not_found, "There is no such job.");
}

std::optional<SplitQueue::Job> job_of(const Call& call) {
  const auto number = job_number(call.path("id"));
  return number ? call.services.engine.splits().job(*number) : std::nullopt;
}

Task<Expected<Reply>> get_summary(Call& call) {
  std::array<std::uint64_t, 5> counts{};
  const auto jobs = call.services.engine.splits().jobs();
  const auto reason = call.services.engine.splits().pause_reason();
  for (const auto& job : jobs) ++counts[static_cast<std::size_t>(job.state)];
  const auto count = [&](SplitQueue::State state) { return counts[static_cast<std::size_t>(state)]; };
  co_return json_reply(json::object{{"state", reason ? "stopped" : "running"},
                                    {"state_reason", reason_json(reason)},
                                    {"total", jobs.size()},
                                    {"new", count(SplitQueue::State::queued)},
                                    {"running", count(SplitQueue::State::running)},
                                    {"completed", count(SplitQueue::State::completed)},
                                    {"failed", count(SplitQueue::State::failed)},
                                    {"stopped", count(SplitQueue::State::stopped)}});
}

Task<Expected<Reply>> get_state(Call& call) {
  const auto reason = call.services.engine.splits().pause_reason();
  co_return json_reply(json::object{{"state", reason ? "stopped" : "running"}, {"reason", reason_json(reason)}});
}

/// The state that a PUT asks for.
struct WantedState {
  bool stopped = false;
  std::string reason;
};

Expected<WantedState> read_state(const json::object& body, std::string_view default_reason) {
  const json::value* state = body.if_contains("state");
  if (state == nullptr || state->is_null()) return fail(ErrorCode::bad_request, "Expected a `state` field");
  const bool runs = *state == "running";
  if (!runs && *state != "stopped") {
    return fail(ErrorCode::bad_request, "State field not `running` or `stopped`");
  }
  WantedState wanted{!runs, std::string(default_reason)};
  const json::value* reason = body.if_contains("reason");
  if (reason != nullptr && reason->is_string()) wanted.reason = std::string(reason->get_string());
  return wanted;
}

Task<Expected<Reply>> put_state(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(auto wanted, read_state(body, "Cluster-wide resharding stopped by the user"));
  auto& splits = call.services.engine.splits();
  if (wanted.stopped) {
    splits.pause(std::move(wanted.reason));
  } else {
    splits.resume();
  }
  co_return json_reply(json::object{{"ok", true}});
}

Task<Expected<Reply>> get_jobs(Call& call) {
  json::array jobs;
  for (const auto& job : call.services.engine.splits().jobs()) jobs.push_back(shown(job));
  const std::size_t count = jobs.size();
  co_return json_reply(json::object{{"total_rows", count}, {"offset", 0}, {"jobs", std::move(jobs)}});
}

Task<Expected<Reply>> get_job(Call& call) {
  const auto job = job_of(call);
  if (!job) co_return no_job();
  co_return json_reply(shown(*job));
}

Task<Expected<Reply>> get_job_state(Call& call) {
  const auto job = job_of(call);
  if (!job) co_return no_job();
  co_return json_reply(
      json::object{{"state", state_name(job->state)},
                   {"reason", job->failure.empty() ? json::value(nullptr) : json::value(job->failure)}});
}

Task<Expected<Reply>> put_job_state(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(auto wanted, read_state(body, "Stopped by user"));
  const auto number = job_number(call.path("id"));
  auto& splits = call.services.engine.splits();
  const bool known =
      number && (wanted.stopped ? splits.stop_job(*number, std::move(wanted.reason)) : splits.resume_job(*number));
  if (!known) co_return no_job();
  co_return json_reply(json::object{{"ok", true}});
}

Task<Expected<Reply>> delete_job(Call& call) {
  const auto number = job_number(call.path("id"));
  if (!number || !call.services.engine.splits().forget(*number)) co_return no_job();
  co_return json_reply(json::object{{"ok", true}});
}

/// Whether the text has the form `00000000-7fffffff`.
bool is_range(std::string_view text) {
  const auto is_digit = [](char c) { return crypto::hex_value(c) >= 0; };
  return text.size() == 17 && text[8] == '-' && std::ranges::all_of(text.substr(0, 8), is_digit) &&
         std::ranges::all_of(text.substr(9), is_digit);
}

/// The physical partitions that a request names: `shard`, or `db` with or without `range`.
struct Wanted {
  std::string database;
  std::optional<std::string> range;
};

Expected<Wanted> read_wanted(const json::object& body) {
  const auto text = [&](std::string_view name) -> Expected<std::optional<std::string>> {
    const auto* value = body.if_contains(name);
    if (value == nullptr || value->is_null()) return std::nullopt;
    if (!value->is_string()) return fail(ErrorCode::bad_request, fmt::format("`{}` must be a string.", name));
    return std::string(value->get_string());
  };
  OCTAVO_TRY(const auto type, text("type"));
  if (type != "split") return fail(ErrorCode::bad_request, "`type` must be \"split\".");
  OCTAVO_TRY(const auto node, text("node"));
  if (node && *node != node_name) return fail(ErrorCode::bad_request, fmt::format("There is no node '{}'.", *node));
  OCTAVO_TRY(auto database, text("db"));
  OCTAVO_TRY(auto range, text("range"));
  OCTAVO_TRY(auto shard, text("shard"));
  if (!shard) {
    if (!database) return fail(ErrorCode::bad_request, "Either `db` or `shard` must name what to split.");
    if (range && !is_range(*range)) {
      return fail(ErrorCode::bad_request, "Invalid `range`; GET /{db}/_shards shows those of the database.");
    }
    return Wanted{*std::move(database), std::move(range)};
  }
  // shards/00000000-7fffffff/name
  constexpr std::string_view prefix = "shards/";
  const std::size_t slash = shard->find('/', prefix.size());
  if (!shard->starts_with(prefix) || slash == std::string::npos || database || range) {
    return fail(ErrorCode::bad_request,
                "`shard` must be as in `source` of a job, shards/{range}/{db}, without `db` and `range`.");
  }
  return Wanted{shard->substr(slash + 1), shard->substr(prefix.size(), slash - prefix.size())};
}

Task<Expected<Reply>> post_job(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(const auto wanted, read_wanted(body));
  auto& engine = call.services.engine;
  OCTAVO_CO_TRY(const auto opened, co_await engine.open_in_background(wanted.database));
  const auto& map = opened->partition_map();
  json::array made;
  for (std::size_t i = 0; i < map.size(); ++i) {
    const auto& range = map.ranges()[i];
    if (wanted.range && *wanted.range != shard_range(range)) continue;
    OCTAVO_CO_TRY(const auto number, engine.splits().add(opened, map.partition_ids()[i]));
    made.push_back(json::object{
        {"ok", true}, {"id", job_id(number)}, {"node", node_name}, {"shard", shard_name(range, wanted.database)}});
  }
  if (made.empty()) {
    co_return fail(ErrorCode::not_found, "The database has no such range; GET /{db}/_shards shows those it has.");
  }
  auto reply = json_reply(made);
  reply.status = 201;
  co_return reply;
}

}  // namespace

void add_reshard_routes(RouteList& routes) {
  routes.push_back({Method::get, "/_reshard", Access::server_admin, get_summary});
  routes.push_back({Method::get, "/_reshard/state", Access::server_admin, get_state});
  routes.push_back({Method::put, "/_reshard/state", Access::server_admin, put_state});
  routes.push_back({Method::get, "/_reshard/jobs", Access::server_admin, get_jobs});
  routes.push_back({Method::post, "/_reshard/jobs", Access::server_admin, post_job});
  routes.push_back({Method::get, "/_reshard/jobs/{id}", Access::server_admin, get_job});
  routes.push_back({Method::del, "/_reshard/jobs/{id}", Access::server_admin, delete_job});
  routes.push_back({Method::get, "/_reshard/jobs/{id}/state", Access::server_admin, get_job_state});
  routes.push_back({Method::put, "/_reshard/jobs/{id}/state", Access::server_admin, put_job_state});
}

}  // namespace octavo::api::couch
