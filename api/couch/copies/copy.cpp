// /{db}/_copy: the documents of a database in another one, under another partition key.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/couch/auth/authenticator.h"
#include "api/couch/auth/security.h"
#include "api/couch/call/json_reply.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/copies/routes.h"
#include "api/couch/databases/names.h"
#include "api/couch/databases/target_creation.h"
#include "api/models/database_properties.h"
#include "partitioning/engine.h"
#include "query/database/database_services.h"
#include "query/project/target/projection_target.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;
namespace copy = query::copy;

constexpr std::size_t timeout_default_ms = 60'000;
constexpr std::size_t timeout_max_ms = 600'000;

Expected<void> refuse_system_database(std::string_view name) {
  if (!name.starts_with('_')) return {};
  return fail(ErrorCode::bad_request, fmt::format("The system database {} is neither copied nor a copy.", name),
              "copy_syntax");
}

Expected<std::shared_ptr<partitioning::Database>> target_of(const Call& call, const copy::CopyRecord& record) {
  return query::project::open_target(call.services.engine, record.definition.target, record.target_tag);
}

std::uint64_t documents_in(const partitioning::Database& database) {
  const auto statistics = database.statistics();
  return statistics ? statistics->document_count : 0;
}

json::object shown(const Call& call, const copy::Copies::View& view) {
  json::object object{{"id", view.record.id},
                      {"state", view.state},
                      {"reason", view.failure ? json::value(*view.failure) : json::value()},
                      {"source", call.database->name()},
                      {"target", view.record.definition.target},
                      {"definition", view.record.definition.json},
                      {"created", view.record.created_s}};
  if (view.record.has_ended) return object;
  const auto target = target_of(call, view.record);
  const std::uint64_t copied = target ? documents_in(**target) : 0;
  const std::uint64_t expected = documents_in(*call.database);
  object["copied"] = copied;
  object["expected"] = expected;
  object["behind"] = view.behind;
  object["skipped"] = view.status.numbers.skipped;
  object["per_second"] = std::round(view.status.per_second);
  json::value eta;
  if (view.state == "copying" && view.status.per_second >= 1) {
    eta = std::ceil(static_cast<double>(expected - std::min(copied, expected)) / view.status.per_second);
  } else if (view.state == "following") {
    eta = 0;
  }
  object["eta_seconds"] = std::move(eta);
  if (view.record.definition.cuts_over) {
    object["cut_over"] =
        json::object{{"attempts", view.cut_over_attempts},
                     {"reason", view.cut_over_failure ? json::value(*view.cut_over_failure) : json::value()}};
  }
  return object;
}

/// Runs what waits for the disk.
template <class Work>
Task<Expected<void>> run_work(Call& call, Work work) {
  OCTAVO_CO_TRY(auto* const services, query::required(call.database_services()));
  auto run = [&] { return work(services->copies()); };
  co_return co_await call.services.engine.workers().run_blocking(std::move(run));
}

Expected<std::shared_ptr<partitioning::Database>> open_target(const Call& call, const std::string& name) {
  OCTAVO_TRY_VOID(refuse_system_database(name));
  OCTAVO_TRY(auto target, open_administered(call, name, "target", "target_missing"));
  if (target->instance_tag() == call.database->instance_tag()) {
    return fail(ErrorCode::bad_request, "A database cannot be copied into itself.", "copy_syntax");
  }
  return target;
}

/// The target that the copy creates, with positions above all of the source. `copies` has no copy with this definition.
Expected<std::shared_ptr<partitioning::Database>> create_target(const Call& call,
                                                                const copy::CopyDefinition& definition) {
  OCTAVO_TRY_VOID(refuse_system_database(definition.target));
  OCTAVO_TRY(const auto creation,
             TargetCreation::parse(call.services, TargetCreation::of_copy, definition.target, *definition.creation));
  if (!call.user.is_server_admin()) return fail(ErrorCode::forbidden, "Only a server admin creates databases.");
  auto created = creation.create(call.services, partitioning::DatabaseOrigin::after(*call.database));
  if (!created && TargetCreation::is_taken(created.error())) {
    return fail(ErrorCode::precondition_failed,
                fmt::format("{} exists already: `create` is for a target that does not.", definition.target),
                "file_exists");
  }
  return created;
}

Expected<std::string> add_copy(const Call& call, copy::Copies& copies, const copy::CopyDefinition& definition) {
  if (!definition.creation) {
    OCTAVO_TRY(const auto target, open_target(call, definition.target));
    return copies.add(definition, *target);
  }
  for (const auto& view : copies.views()) {
    // The same request may be sent again.
    if (view.record.definition.json == definition.json && target_of(call, view.record)) return view.record.id;
  }
  OCTAVO_TRY(const auto target, create_target(call, definition));
  auto added = copies.add(definition, *target);
  if (!added) remove_unused(call.services.engine, *target);
  return added;
}

Expected<void> check_change_over(const Call& call, const copy::ChangeOverRequest& wanted) {
  const bool has_key_in_body = is_container(call.database->definition()->text);
  if (wanted.grace && !has_key_in_body) {
    return fail(ErrorCode::bad_request,
                "`grace` is for containers: in a database of this API the key is a part of the ids.", "copy_syntax");
  }
  const bool is_named = !wanted.former_name.empty();
  return check_further_name(*call.database, is_named ? wanted.former_name : copy::former_name_of(*call.database));
}

Task<Expected<Reply>> post_copy(Call& call) {
  OCTAVO_CO_TRY_VOID(refuse_system_database(call.database->name()));
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(auto definition, copy::CopyDefinition::parse(body));
  if (definition.cuts_over) OCTAVO_CO_TRY_VOID(check_change_over(call, definition.change_over));
  std::string id;
  const auto add = [&](copy::Copies& copies) -> Expected<void> {
    OCTAVO_TRY(id, add_copy(call, copies, definition));
    return {};
  };
  OCTAVO_CO_TRY_VOID(co_await run_work(call, add));
  auto reply = json_reply(json::object{{"ok", true}, {"id", id}});
  reply.status = 202;
  co_return reply;
}

Task<Expected<Reply>> get_copies(Call& call) {
  json::array all;
  const auto show = [&](copy::Copies& copies) -> Expected<void> {
    for (const auto& view : copies.views()) all.push_back(shown(call, view));
    return {};
  };
  OCTAVO_CO_TRY_VOID(co_await run_work(call, show));
  co_return json_reply(json::object{{"copies", std::move(all)}});
}

Task<Expected<Reply>> get_copy(Call& call) {
  json::object found;
  const auto show = [&](copy::Copies& copies) -> Expected<void> {
    OCTAVO_TRY(const auto view, copies.view(call.path("id")));
    found = shown(call, view);
    return {};
  };
  OCTAVO_CO_TRY_VOID(co_await run_work(call, show));
  co_return json_reply(std::move(found));
}

Task<Expected<Reply>> finish_copy(Call& call) {
  OCTAVO_CO_TRY(auto* const services, query::required(call.database_services()));
  OCTAVO_CO_TRY(const auto timeout_ms, wanted_count(call.request, "timeout", timeout_default_ms, timeout_max_ms));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  const auto ended = co_await services->copies().finish(std::string(call.path("id")), deadline);
  if (!ended && ended.error().code == ErrorCode::timeout) {
    co_return fail(
        ErrorCode::timeout,
        fmt::format("The target is not that far after {} ms: try again, or with a longer `timeout`.", timeout_ms));
  }
  OCTAVO_CO_TRY_VOID(ended);
  co_return json_reply(json::object{{"ok", true}});
}

Expected<copy::ChangeOverRequest> read_cut_over(const Call& call, const json::object& body) {
  copy::ChangeOverRequest wanted;
  for (const auto& [member, value] : body) {
    OCTAVO_TRY(const bool is_known, wanted.read_member(member, value));
    if (is_known) continue;
    return fail(ErrorCode::bad_request,
                "The body of _cut_over has the members `former_name`, `pause_max` and `grace`; all may be left out.",
                "copy_syntax");
  }
  OCTAVO_TRY_VOID(check_change_over(call, wanted));
  return wanted;
}

Task<Expected<Reply>> cut_over(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(const auto wanted, read_cut_over(call, body));
  OCTAVO_CO_TRY(auto* const services, query::required(call.database_services()));
  OCTAVO_CO_TRY(const auto timeout_ms, wanted_count(call.request, "timeout", timeout_default_ms, timeout_max_ms));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  const std::string id = call.path("id");
  OCTAVO_CO_TRY(const auto done, co_await services->copies().change_over(id, wanted, deadline));
  co_return json_reply(json::object{{"ok", true},
                                    {"name", done.name},
                                    {"former_name", call.database->name()},
                                    {"pause_ms", static_cast<double>(done.paused.count()) / 1000}});
}

Task<Expected<Reply>> set_paused(Call& call, bool paused) {
  const auto pause = [&](copy::Copies& copies) { return copies.pause(call.path("id"), paused); };
  OCTAVO_CO_TRY_VOID(co_await run_work(call, pause));
  co_return json_reply(json::object{{"ok", true}});
}

Task<Expected<Reply>> pause_copy(Call& call) {
  co_return co_await set_paused(call, true);
}

Task<Expected<Reply>> resume_copy(Call& call) {
  co_return co_await set_paused(call, false);
}

// What was copied goes, too, unless the copy has ended: then the target is a database of its own.
Expected<void> cancel(Call& call, copy::Copies& copies, bool keeps_target) {
  OCTAVO_TRY(const auto view, copies.view(call.path("id")));
  const copy::CopyRecord& record = view.record;
  if (!keeps_target && !record.has_ended) {
    const auto target = target_of(call, record);
    if (target && !is_database_admin(call.user, **target, call.services.authenticator.has_admins())) {
      return fail(ErrorCode::forbidden,
                  fmt::format("You are not an administrator of the target {}.", record.definition.target));
    }
  }
  return copies.cancel(record.id, !keeps_target);
}

Task<Expected<Reply>> delete_copy(Call& call) {
  const auto target = call.request.parameter("target").value_or("remove");
  if (target != "remove" && target != "keep") {
    co_return fail(ErrorCode::bad_request, "`target` must be `remove` or `keep`.", "query_parse_error");
  }
  const auto work = [&](copy::Copies& copies) { return cancel(call, copies, target == "keep"); };
  OCTAVO_CO_TRY_VOID(co_await run_work(call, work));
  co_return json_reply(json::object{{"ok", true}});
}

}  // namespace

void add_copy_routes(RouteList& routes) {
  constexpr Access admin_access = Access::database_admin;
  routes.push_back({Method::get, "/{db}/_copy", admin_access, get_copies});
  routes.push_back({Method::post, "/{db}/_copy", admin_access, post_copy});
  routes.push_back({Method::get, "/{db}/_copy/{id}", admin_access, get_copy});
  routes.push_back({Method::del, "/{db}/_copy/{id}", admin_access, delete_copy});
  routes.push_back({Method::post, "/{db}/_copy/{id}/_finish", admin_access, finish_copy});
  routes.push_back({Method::post, "/{db}/_copy/{id}/_cut_over", Access::server_admin, cut_over});
  routes.push_back({Method::post, "/{db}/_copy/{id}/_pause", admin_access, pause_copy});
  routes.push_back({Method::post, "/{db}/_copy/{id}/_resume", admin_access, resume_copy});
}

}  // namespace octavo::api::couch
