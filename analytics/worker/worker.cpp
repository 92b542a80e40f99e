#include "analytics/worker/worker.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "analytics/channel/batch.h"
#include "analytics/channel/channel.h"
#include "analytics/export/folder_export.h"
#include "analytics/sql/sql_query.h"
#include "analytics/table/document_table.h"
#include "analytics/table/sql_type.h"
#include "analytics/worker/instances.h"
#include "base/jobs/background_jobs.h"
#include "base/jobs/run_guarded.h"
#include "base/machine/resources.h"
#include "query/json/parsed_document.h"

namespace octavo::analytics {

namespace {

namespace json = boost::json;

// Of the address space: the library, the stacks of threads, what the allocator reserves. Beside it two databases may
// use all their memory at once.
constexpr std::uint64_t address_bytes = 4ULL << 30;
constexpr std::uint64_t memory_factor = 2;

// A sanitizer takes terabytes of the address space.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif
#else
constexpr bool is_sanitized = false;
#endif

// What cannot be had is done without: the process is a guest.
void set_bounds(const WorkerOptions& options) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The server ends the process by closing the socket; a terminal's signals are for the server.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
  std::ofstream("/proc/self/oom_score_adj") << "1000";
  if (!is_sanitized) {
    const rlim_t limit = address_bytes + memory_factor * options.memory_bytes;
    const rlimit bounds{limit, limit};
    ::setrlimit(RLIMIT_AS, &bounds);
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
}

// Not before the library is there. That takes a tenth of a second, or, with the lowest priority on a busy machine,
// longer than the server waits for it: then the process would never start.
void give_way() {
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_IDLE, &none);
}

struct WorkerState {
  Instances instances;
  std::chrono::milliseconds query_time_max;
  std::uint64_t temporary_bytes;
};

std::string state_payload(const DocumentTable& table) {
  const TableState& state = table.state();
  return json::serialize(json::object{{"checkpoint", state.checkpoint},
                                      {"purge_count", state.purge_count},
                                      {"built", state.built},
                                      {"reread_to", state.reread_to},
                                      {"is_beside", table.is_beside()},
                                      {"ended", table.builds_ended()}});
}

Expected<json::object> read_object(const Frame& frame) {
  OCTAVO_TRY(const auto parsed, query::parse_json(frame.payload));
  if (!parsed.is_object()) return fail(ErrorCode::internal, "A message is not an object.");
  return parsed.get_object();
}

std::uint64_t number_member(const json::object& object, std::string_view name) {
  const auto* const value = object.if_contains(name);
  if (value == nullptr || !value->is_number()) return 0;
  return value->is_uint64() ? value->get_uint64() : value->to_number<std::uint64_t>();
}

std::vector<std::string> texts_member(const json::object& object, std::string_view name) {
  std::vector<std::string> texts;
  const auto* const values = object.if_contains(name);
  if (values == nullptr || !values->is_array()) return texts;
  for (const auto& value : values->get_array()) texts.emplace_back(value.get_string());
  return texts;
}

Expected<std::string> answer(DocumentTable& table, const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::apply: {
      OCTAVO_TRY(const Batch batch, read_batch(frame.payload));
      // The reply to an earlier batch may have been lost: the server asks again from where the table is.
      if (batch.from == table.state().checkpoint)
        OCTAVO_TRY_VOID(table.apply(batch.changes, batch.reached, batch.complete));
      return state_payload(table);
    }
    case FrameKind::remove: {
      OCTAVO_TRY(const Removal removal, read_removal(frame.payload));
      OCTAVO_TRY_VOID(table.remove(removal.ids, removal.purge_count, removal.marks));
      return state_payload(table);
    }
    case FrameKind::expire: {
      OCTAVO_TRY(const auto request, read_object(frame));
      const ExpiredRows expired{
          .written_before_s = static_cast<std::int64_t>(number_member(request, "written_before_s")),
          .deleted = request.at("deleted").as_bool()};
      OCTAVO_TRY(const std::size_t removed, table.remove_expired(expired, number_member(request, "count")));
      return json::serialize(json::object{{"removed", removed}});
    }
    case FrameKind::take_place:
      OCTAVO_TRY_VOID(table.take_place());
      return std::string("{}");
    case FrameKind::list_ids: {
      OCTAVO_TRY(const auto request, read_object(frame));
      OCTAVO_TRY(const auto ids,
                 table.ids_after(query::text_member(request, "after"), number_member(request, "count")));
      return json::serialize(json::value_from(ids));
    }
    default:
      return fail(ErrorCode::internal, "An unknown message.");
  }
}

/// What fails here are our own statements: they meet those of another table that is opened, made or replaced at the
/// same time. The server tries again.
Error to_try_again(Error error) {
  const bool is_ours = error.code == ErrorCode::bad_request || error.code == ErrorCode::internal;
  if (is_ours) error.code = ErrorCode::overloaded;
  return error;
}

// Serves what follows one database, until the server closes the channel. `is_known`: the server has been told that the
// table is open.
Expected<void> follow(WorkerState& state, Channel& channel, const json::object& request, bool& is_known) {
  StoreRules rules;
  if (query::text_member(request, "mode") == full_fidelity) rules.documents.mode = InferenceMode::full_fidelity;
  rules.documents.include = texts_member(request, "include");
  if (const auto* const tables = request.if_contains("flatten"); tables != nullptr && tables->is_object()) {
    for (const auto& [text, table] : tables->get_object()) {
      auto path = ArrayPath::parse(text);
      if (!path) return fail(ErrorCode::internal, "A message has no path of arrays.");
      rules.flatten.push_back({*std::move(path), std::string(table.get_string())});
    }
  }
  const TableRole role{.build = number_member(request, "build"),
                       .ended = number_member(request, "ended"),
                       .building = number_member(request, "building"),
                       .is_beside = request.at("is_beside").as_bool()};
  // What is built has its place in the file of the table that answers, which may have been removed meanwhile.
  OCTAVO_TRY(const auto lease, state.instances.open(place_of_json(request), !role.is_beside));
  OCTAVO_TRY(auto connection, lease.connect());
  auto opened = DocumentTable::open(std::move(connection), rules, role, number_member(request, "beyond"),
                                    number_member(request, "rereads"));
  if (!opened) return std::unexpected(to_try_again(std::move(opened).error()));
  DocumentTable table = *std::move(opened);
  OCTAVO_TRY_VOID(channel.send(FrameKind::reply, state_payload(table)));
  is_known = true;
  while (true) {
    const auto frame = channel.receive(Channel::request_bytes_max);
    if (!frame) return {};  // closed
    const auto answered = run_guarded("a batch", [&]() -> Expected<std::string> { return answer(table, *frame); });
    const auto sent = answered ? channel.send(FrameKind::reply, *answered)
                               : channel.send(FrameKind::failure, failure_payload(to_try_again(answered.error())));
    if (!sent) return {};
  }
}

Expected<void> follow(WorkerState& state, Channel& channel, const Frame& first) {
  OCTAVO_TRY(const auto request, read_object(first));
  const TablePlace place = place_of_json(request);
  const bool makes = !Instances::has_file(place);
  bool is_known = false;
  auto followed = follow(state, channel, request, is_known);
  // The server may have removed the store, and its files, before this one was made.
  if (makes && !is_known) state.instances.remove_files(place);
  return followed;
}

TimeLimit export_time_of(const json::object& request) {
  return {std::chrono::milliseconds(number_member(request, "export_ms")), "analytics.export_timeout"};
}

Expected<Instances::Lease> open_asked(WorkerState& state, const json::object& request) {
  const auto* const group = request.if_contains("group");
  if (group == nullptr) return state.instances.open(place_of_json(request.at("table").as_object()), false);
  std::vector<TablePlace> places;
  for (const auto& place : group->as_array()) places.push_back(place_of_json(place.as_object()));
  return state.instances.open_group(places, query::text_member(request, "as"));
}

Expected<void> run_sql(WorkerState& state, Channel& channel, const Frame& first) {
  OCTAVO_TRY(const auto request, read_object(first));
  SqlQuery query;
  query.sql = query::text_member(request, "sql");
  if (const auto* const values = request.if_contains("parameters"); values != nullptr && values->is_array()) {
    query.parameters = values->get_array();
  }
  const std::string format = query::text_member(request, "format");
  query.format = format == "parquet"  ? ResultFormat::parquet
                 : format == "csv"    ? ResultFormat::csv
                 : format == "ndjson" ? ResultFormat::ndjson
                                      : ResultFormat::json;
  OCTAVO_TRY(const auto lease, open_asked(state, request));
  OCTAVO_TRY(auto connection, lease.connect());
  query.time = {state.query_time_max, "analytics.query_timeout"};
  if (request.contains("export_ms")) {
    query.time = export_time_of(request);
    query.tells_checkpoint = true;
  }
  return run_sql_query(connection, query, channel, state.temporary_bytes);
}

Expected<void> export_into_folder(WorkerState& state, Channel& channel, const Frame& first) {
  OCTAVO_TRY(const auto request, read_object(first));
  const TablePlace place = place_of_json(request.at("table").as_object());
  const FolderExport wanted{.parent = query::text_member(request, "parent"),
                            .folder = query::text_member(request, "folder"),
                            .owner = query::text_member(request, "owner"),
                            .table = {query::text_member(request, "name"), place.file.stem().string()},
                            .partition_by = texts_member(request, "partition_by")};
  OCTAVO_TRY(const auto lease, open_asked(state, request));
  OCTAVO_TRY(auto connection, lease.connect());
  return run_folder_export(connection, wanted, channel, export_time_of(request), state.temporary_bytes);
}

json::array shown_columns(const TableContent& table) {
  json::array columns;
  for (const Column& column : table.columns) {
    columns.push_back(
        json::object{{"name", column.name}, {"type", sql_name(column.type)}, {"values_dropped", column.dropped}});
  }
  return columns;
}

Expected<void> read_status(WorkerState& state, Channel& channel, const Frame& first) {
  OCTAVO_TRY(const auto request, read_object(first));
  OCTAVO_TRY(const auto lease, state.instances.open(place_of_json(request), false));
  OCTAVO_TRY(auto connection, lease.connect());
  OCTAVO_TRY(const TableStatus status, read_table_status(connection));
  json::object shown{{"checkpoint", status.state.checkpoint},
                     {"rows", status.documents.rows},
                     {"rows_deleted", status.rows_deleted},
                     {"columns", shown_columns(status.documents)}};
  if (!status.elements.empty()) {
    json::object tables;
    for (const TableContent& table : status.elements) {
      tables[table.name] = json::object{{"rows", table.rows}, {"columns", shown_columns(table)}};
    }
    shown["tables"] = std::move(tables);
  }
  return channel.send(FrameKind::reply, json::serialize(shown));
}

void serve(WorkerState& state, Descriptor socket) {
  Channel channel(std::move(socket));
  const auto done = run_guarded("an operation of the analytical store", [&]() -> Expected<void> {
    OCTAVO_TRY(const Frame first, channel.receive(Channel::request_bytes_max));
    switch (first.kind) {
      case FrameKind::open_table:
        return follow(state, channel, first);
      case FrameKind::run_sql:
        return run_sql(state, channel, first);
      case FrameKind::export_folder:
        return export_into_folder(state, channel, first);
      case FrameKind::read_status:
        return read_status(state, channel, first);
      default:
        return fail(ErrorCode::internal, "An unknown message.");
    }
  });
  if (!done) static_cast<void>(channel.send(FrameKind::failure, failure_payload(done.error())));
}

void report(const Descriptor& control, const std::string& text) {
  static_cast<void>(::send(control.get(), text.data(), text.size(), MSG_NOSIGNAL));
}

}  // namespace

int run_worker(const WorkerOptions& options) {
  set_bounds(options);
  const Descriptor control(control_descriptor);
  const auto api = duckdb::load_library(options.library, options.library_sha256);
  if (!api) {
    report(control, failure_payload(api.error()));
    return 1;
  }
  give_way();
  const duckdb::InstanceLimits limits{.memory_bytes = options.memory_bytes,
                                      .temporary_bytes = options.temporary_bytes,
                                      .threads = std::max<std::size_t>(1, available_resources().processors - 1)};
  WorkerState state{Instances(**api, limits), options.query_time_max, options.temporary_bytes};
  report(control, json::serialize(json::object{{"version", (*api)->library_version()}}));
  while (auto socket = receive_descriptor(control)) {
    try {
      std::thread([&state, passed = std::make_shared<Descriptor>(*std::move(socket))] {
        serve(state, std::move(*passed));
      }).detach();
    } catch (const std::exception& error) {
      // The channel is closed, which the server notices.
      static_cast<void>(std::fprintf(stderr, "octavo analytics: no thread for an operation: %s\n", error.what()));
    }
  }
  // Threads may still run: what they have not committed is lost, as in a crash.
  ::_exit(0);
}

}  // namespace octavo::analytics
