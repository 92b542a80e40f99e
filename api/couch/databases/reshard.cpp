// /_reshard: splits and merges of physical partitions, with the paths and JSON of CouchDB's resharding.
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
using partitioning::MoveQueue;
using partitioning::MoveStage;

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

std::string_view state_name(MoveQueue::State state) {
  switch (state) {
    case MoveQueue::State::queued:
      return "new";
    case MoveQueue::State::running:
      return "running";
    case MoveQueue::State::completed:
      return "completed";
    case MoveQueue::State::failed:
      return "failed";
    case MoveQueue::State::stopped:
      return "stopped";
  }
  return "";
}

std::string_view stage_name(MoveStage stage) {
  switch (stage) {
    case MoveStage::waiting:
      return "new";
    case MoveStage::copying:
      return "initial_copy";
    case MoveStage::catching_up:
      return "topoff1";
    case MoveStage::switching:
      return "update_shardmap";
    case MoveStage::done:
      return "completed";
  }
  return "";
}

json::array shard_names(const std::vector<storage::PartitionMapEntry>& ranges, std::string_view database) {
  json::array names;
  for (const auto& range : ranges) names.push_back(json::string(shard_name(range, database)));
  return names;
}

json::object shown(const MoveQueue::Job& job) {
  json::object info{{"documents_copied", job.copied}, {"documents_expected", job.expected}};
  if (!job.failure.empty()) info["reason"] = job.failure;
  json::array sources = shard_names(job.sources, job.database);
  json::array history{json::object{{"timestamp", time_text(job.created)}, {"type", "new"}, {"detail", nullptr}}};
  if (job.state != MoveQueue::State::queued) {
    history.push_back(json::object{{"timestamp", time_text(job.updated)},
                                   {"type", state_name(job.state)},
                                   {"detail", job.failure.empty() ? json::value(nullptr) : json::value(job.failure)}});
  }
  return {{"id", job_id(job.number)},
          {"type", job.is_merge() ? "merge" : "split"},
          {"job_state", state_name(job.state)},
          {"split_state", stage_name(job.stage)},
          {"state_info", std::move(info)},
          {"node", node_name},
          {"db", job.database},
          {"source", job.is_merge() ? json::value(std::move(sources)) : std::move(sources.front())},
          {"target", shard_names(job.targets, job.database)},
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

std::optional<MoveQueue::Job> job_of(const Call& call) {
  const auto number = job_number(call.path("id"));
  return number ? call.services.engine.moves().job(*number) : std::nullopt;
}

Task<Expected<Reply>> get_summary(Call& call) {
  std::array<std::uint64_t, 5> counts{};
  const auto jobs = call.services.engine.moves().jobs();
  const auto reason = call.services.engine.moves().pause_reason();
  for (const auto& job : jobs) ++counts[static_cast<std::size_t>(job.state)];
  const auto count = [&](MoveQueue::State state) { return counts[static_cast<std::size_t>(state)]; };
  co_return json_reply(json::object{{"state", reason ? "stopped" : "running"},
                                    {"state_reason", reason_json(reason)},
                                    {"total", jobs.size()},
                                    {"new", count(MoveQueue::State::queued)},
                                    {"running", count(MoveQueue::State::running)},
                                    {"completed", count(MoveQueue::State::completed)},
                                    {"failed", count(MoveQueue::State::failed)},
                                    {"stopped", count(MoveQueue::State::stopped)}});
}

Task<Expected<Reply>> get_state(Call& call) {
  const auto reason = call.services.engine.moves().pause_reason();
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
  auto& moves = call.services.engine.moves();
  if (wanted.stopped) {
    moves.pause(std::move(wanted.reason));
  } else {
    moves.resume();
  }
  co_return json_reply(json::object{{"ok", true}});
}

Task<Expected<Reply>> get_jobs(Call& call) {
  json::array jobs;
  for (const auto& job : call.services.engine.moves().jobs()) jobs.push_back(shown(job));
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
  auto& moves = call.services.engine.moves();
  const bool known =
      number && (wanted.stopped ? moves.stop_job(*number, std::move(wanted.reason)) : moves.resume_job(*number));
  if (!known) co_return no_job();
  co_return json_reply(json::object{{"ok", true}});
}

Task<Expected<Reply>> delete_job(Call& call) {
  const auto number = job_number(call.path("id"));
  if (!number || !call.services.engine.moves().forget(*number)) co_return no_job();
  co_return json_reply(json::object{{"ok", true}});
}

/// Whether the text has the form `00000000-7fffffff`.
bool is_range(std::string_view text) {
  const auto is_digit = [](char c) { return crypto::hex_value(c) >= 0; };
  return text.size() == 17 && text[8] == '-' && std::ranges::all_of(text.substr(0, 8), is_digit) &&
         std::ranges::all_of(text.substr(9), is_digit);
}

/// The physical partitions that a request names. For a split: `shard`, or `db` with or without `range`. For a merge:
/// `db`, with or without two `ranges`.
struct Wanted {
  bool merge = false;
  std::string database;
  std::vector<std::string> ranges;  ///< empty: all, or for a merge the neighbours with the least bytes
};

std::unexpected<Error> invalid_range(std::string_view name) {
  return fail(ErrorCode::bad_request,
              fmt::format("Invalid `{}`; GET /{{db}}/_shards shows the ranges of the database.", name));
}

Expected<std::optional<std::string>> text_of(const json::object& body, std::string_view name) {
  const auto* value = body.if_contains(name);
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (!value->is_string()) return fail(ErrorCode::bad_request, fmt::format("`{}` must be a string.", name));
  return std::string(value->get_string());
}

Expected<Wanted> read_merge(const json::object& body) {
  Wanted wanted{.merge = true, .database = {}, .ranges = {}};
  OCTAVO_TRY(auto database, text_of(body, "db"));
  if (!database || body.contains("shard") || body.contains("range")) {
    return fail(ErrorCode::bad_request,
                "A merge is requested with `db` and perhaps `ranges`, which names two of them.");
  }
  wanted.database = *std::move(database);
  const auto* ranges = body.if_contains("ranges");
  if (ranges == nullptr || ranges->is_null()) return wanted;
  if (!ranges->is_array() || ranges->get_array().size() != 2) {
    return fail(ErrorCode::bad_request, "`ranges` must be an array of two ranges.");
  }
  for (const auto& range : ranges->get_array()) {
    if (!range.is_string() || !is_range(range.get_string())) return invalid_range("ranges");
    wanted.ranges.emplace_back(range.get_string());
  }
  return wanted;
}

Expected<Wanted> read_split(const json::object& body) {
  if (body.contains("ranges")) return fail(ErrorCode::bad_request, "`ranges` is for merges; a split has `range`.");
  OCTAVO_TRY(auto database, text_of(body, "db"));
  OCTAVO_TRY(auto range, text_of(body, "range"));
  OCTAVO_TRY(auto shard, text_of(body, "shard"));
  Wanted wanted;
  if (!shard) {
    if (!database) return fail(ErrorCode::bad_request, "Either `db` or `shard` must name what to split.");
    if (range && !is_range(*range)) return invalid_range("range");
    wanted.database = *std::move(database);
    if (range) wanted.ranges.push_back(*std::move(range));
    return wanted;
  }
  // shards/00000000-7fffffff/name
  constexpr std::string_view prefix = "shards/";
  const std::size_t slash = shard->find('/', prefix.size());
  if (!shard->starts_with(prefix) || slash == std::string::npos || database || range) {
    return fail(ErrorCode::bad_request,
                "`shard` must be as in `source` of a job, shards/{range}/{db}, without `db` and `range`.");
  }
  wanted.database = shard->substr(slash + 1);
  wanted.ranges.push_back(shard->substr(prefix.size(), slash - prefix.size()));
  return wanted;
}

Expected<Wanted> read_wanted(const json::object& body) {
  OCTAVO_TRY(const auto type, text_of(body, "type"));
  if (type != "split" && type != "merge") {
    return fail(ErrorCode::bad_request, "`type` must be \"split\" or \"merge\".");
  }
  OCTAVO_TRY(const auto node, text_of(body, "node"));
  if (node && *node != node_name) return fail(ErrorCode::bad_request, fmt::format("There is no node '{}'.", *node));
  return type == "merge" ? read_merge(body) : read_split(body);
}

std::optional<std::size_t> partition_id_of(const partitioning::PartitionMap& map, std::string_view range) {
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (range == shard_range(map.ranges()[i])) return map.partition_ids()[i];
  }
  return std::nullopt;
}

json::object made_job(std::uint64_t number) {
  return {{"ok", true}, {"id", job_id(number)}, {"node", node_name}};
}

// Blocking: reads the sizes of files.
Expected<json::array> queue_merge(partitioning::Engine& engine, const std::shared_ptr<partitioning::Database>& database,
                                  const Wanted& wanted) {
  std::pair<std::size_t, std::size_t> pair;
  const auto& map = database->partition_map();
  if (wanted.ranges.empty()) {
    OCTAVO_TRY(pair, MoveQueue::smallest_pair(*database));
  } else {
    const auto first = partition_id_of(map, wanted.ranges[0]);
    const auto second = partition_id_of(map, wanted.ranges[1]);
    if (!first || !second) {
      return fail(ErrorCode::bad_request, "The database has no such ranges; GET /{db}/_shards shows those it has.");
    }
    pair = {*first, *second};
  }
  OCTAVO_TRY(const auto number, engine.moves().add_merge(database, pair.first, pair.second));
  json::object made = made_job(number);
  json::array shards;
  if (const auto job = engine.moves().job(number)) shards = shard_names(job->sources, wanted.database);
  made["shards"] = std::move(shards);
  return json::array{std::move(made)};
}

Expected<json::array> queue_splits(partitioning::Engine& engine,
                                   const std::shared_ptr<partitioning::Database>& database, const Wanted& wanted) {
  const auto& map = database->partition_map();
  json::array made;
  for (std::size_t i = 0; i < map.size(); ++i) {
    const auto& range = map.ranges()[i];
    if (!wanted.ranges.empty() && wanted.ranges.front() != shard_range(range)) continue;
    OCTAVO_TRY(const auto number, engine.moves().add(database, map.partition_ids()[i]));
    json::object job = made_job(number);
    job["shard"] = shard_name(range, wanted.database);
    made.push_back(std::move(job));
  }
  if (made.empty()) {
    return fail(ErrorCode::not_found, "The database has no such range; GET /{db}/_shards shows those it has.");
  }
  return made;
}

Task<Expected<Reply>> post_job(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(const auto wanted, read_wanted(body));
  auto& engine = call.services.engine;
  OCTAVO_CO_TRY(const auto opened, co_await engine.open_in_background(wanted.database));
  Expected<json::array> made;
  if (wanted.merge) {
    made = co_await engine.workers().run_blocking([&] { return queue_merge(engine, opened, wanted); });
  } else {
    made = queue_splits(engine, opened, wanted);
  }
  if (!made) co_return std::unexpected(std::move(made).error());
  auto reply = json_reply(*made);
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
