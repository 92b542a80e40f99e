// /{db}/_projection: documents of a database that Octavo keeps as rows of another one.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/couch/auth/authenticator.h"
#include "api/couch/auth/security.h"
#include "api/couch/call/json_reply.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/call/wait_for.h"
#include "api/couch/databases/target_creation.h"
#include "api/couch/projections/routes.h"
#include "partitioning/engine.h"
#include "query/database/database_services.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;
namespace project = query::project;

std::unexpected<Error> no_projection() {
  return fail(ErrorCode::not_found, "There is no projection of this name.");
}

json::object join_json(const project::ProjectionDefinition::Join& join, const project::Projection::JoinStatus& status) {
  json::object input{{"db", join.database}, {"join", join.name}};
  if (!status.database) return input;  // it is missing
  input["sequence"] = status.database->format_sequence(status.checkpoint);
  input["current_through"] = status.database->format_sequence(status.current_through);
  input["behind"] = status.database->changes_after(status.current_through);
  return input;
}

/// A changed definition, while its rows become known.
json::value next_json(const project::Projections::View& view, const partitioning::Database& database) {
  if (!view.record.next) return nullptr;
  json::object next{{"rev", project::rev_of(*view.record.next)}, {"definition", view.record.next->definition.json}};
  if (const auto& target = view.record.next->target) next["target"] = target->name;
  if (view.next) {
    next["reason"] = view.next_failure ? json::value(*view.next_failure) : json::value();
    next["changes"] = view.next->changes;
    next["candidates"] = view.next->numbers.candidates;
    next["behind"] = database.changes_after(view.next->numbers.checkpoint);
  }
  return next;
}

json::object shown(const project::Projections::View& view, const partitioning::Database& database) {
  const auto& numbers = view.status.numbers;
  const auto behind = database.changes_after(view.current_through);
  json::object input{{"db", database.name()},
                     {"sequence", database.format_sequence(numbers.checkpoint)},
                     {"current_through", database.format_sequence(view.current_through)},
                     {"behind", behind}};
  json::array inputs{std::move(input)};
  for (std::size_t i = 0; i < view.status.joins.size(); ++i) {
    inputs.push_back(join_json(view.record.definition.joins[i], view.status.joins[i]));
  }
  json::object skipped{{"undefined_key", numbers.without_key},
                       {"errors", numbers.errors},
                       {"collisions", numbers.collisions},
                       {"occupied", numbers.occupied}};
  json::value last_error;
  if (view.status.last_error_s != 0) {
    last_error = json::object{{"doc", view.status.last_error_document},
                              {"error", view.status.last_error},
                              {"time", view.status.last_error_s}};
  }
  return {{"name", view.record.name},
          {"rev", project::rev_of(view.record)},
          {"state", view.state},
          {"reason", view.failure ? json::value(*view.failure) : json::value()},
          {"definition", view.record.definition.json},
          {"next", next_json(view, database)},
          {"inputs", std::move(inputs)},
          {"lag_seconds", std::round(view.status.lag_seconds * 1000) / 1000},
          {"rows", numbers.rows - std::min(numbers.rows, numbers.occupied)},
          {"candidates", numbers.candidates},
          {"pending_fan_outs", numbers.fan_outs},
          {"pending_writes", view.status.has_pending_writes ? numbers.outbox_rows : 0},
          {"state_bytes", view.status.state_bytes},
          {"skipped", std::move(skipped)},
          {"last_error", std::move(last_error)},
          {"since_start", json::object{{"changes", view.status.changes},
                                       {"writes", view.status.writes},
                                       {"worked_ms", view.times.worked.count()},
                                       {"rested_ms", view.times.rested.count()},
                                       {"request_units", std::round(view.status.request_units * 100) / 100}}}};
}

/// Runs a change of the projections, which waits for the disk.
template <class Change>
Task<Expected<void>> run_change(Call& call, Change change) {
  OCTAVO_CO_TRY(auto* const services, query::required(call.database_services()));
  auto work = [&] { return change(services->projections()); };
  co_return co_await call.services.engine.workers().run_blocking(std::move(work));
}

/// Users' passwords must not be copied to other readers, and documents of users have rules that rows would not obey.
Expected<void> refuse_system_database(std::string_view name) {
  if (!name.starts_with('_')) return {};
  return fail(ErrorCode::bad_request,
              fmt::format("A projection neither reads nor writes the system database {}.", name), "projection_syntax");
}

/// The target, or a joined database (`what`). Error not_found with the word `missing`.
Expected<std::shared_ptr<partitioning::Database>> open_other(const Call& call, const std::string& name,
                                                             std::string_view what, std::string_view missing) {
  OCTAVO_TRY_VOID(refuse_system_database(name));
  return open_administered(call, name, what, missing);
}

struct PutProjection {
  Call& call;
  const std::string& name;
  const json::object& body;
  project::ProjectionDefinition definition;
  bool is_new = false;

  Expected<void> run(project::Projections& projections) {
    const auto present = projections.view(name);
    is_new = !present;
    // The same request may be sent again.
    if (present && newest_definition(present->record).json == body && !present->record.removing) return {};
    const auto rev = call.request.parameter("rev");
    if (!present && rev) return fail(ErrorCode::conflict, "There is no projection of this name: leave out `rev`.");
    if (present && !rev) {
      return fail(ErrorCode::conflict,
                  "There is another projection of this name. To change its definition, name its newest `rev`.");
    }
    OCTAVO_TRY_VOID(refuse_system_database(definition.target));
    std::optional<TargetCreation> creation;
    if (definition.creation) {
      OCTAVO_TRY(creation, TargetCreation::parse(call.services, TargetCreation::of_projection, definition.target,
                                                 *definition.creation));
    }
    Databases joined;
    for (const auto& join : definition.joins) {
      OCTAVO_TRY(auto database, open_other(call, join.database, "joined database", "join_missing"));
      joined.push_back(std::move(database));
    }
    if (!present && creation) return add(projections, *creation, joined);
    OCTAVO_TRY(const auto target, open_other(call, definition.target, "target", "target_missing"));
    if (present && definition.swaps_target) return swap(projections, *rev, *target, joined);
    if (creation) OCTAVO_TRY_VOID(creation->check_fit(*target));
    if (!present) return projections.add(name, std::move(definition), *target, joined);
    return projections.replace(name, *rev, std::move(definition), *target, joined, nullptr);
  }

 private:
  using Databases = std::vector<std::shared_ptr<partitioning::Database>>;

  Expected<void> add(project::Projections& projections, const TargetCreation& creation, const Databases& joined) {
    OCTAVO_TRY(const auto created, create_missing(projections, creation, joined));
    if (!created) {
      OCTAVO_TRY(const auto target, open_other(call, definition.target, "target", "target_missing"));
      OCTAVO_TRY_VOID(creation.check_fit(*target));
      return projections.add(name, std::move(definition), *target, joined);
    }
    auto added = projections.add(name, std::move(definition), *created, joined);
    if (!added) remove_unused(call.services.engine, *created);
    return added;
  }

  /// Another database, which is created in the same way, takes the place of the target.
  Expected<void> swap(project::Projections& projections, std::string_view rev, partitioning::Database& target,
                      const Databases& joined) {
    if (!call.user.is_server_admin()) {
      return fail(ErrorCode::forbidden,
                  "A database takes the place of the target, and only a server admin creates databases.");
    }
    const auto parse = [&, member = *definition.creation](const std::string& as) {
      return TargetCreation::parse(call.services, TargetCreation::of_projection, as, member);
    };
    OCTAVO_TRY(const auto creation, parse(target.name()));
    const auto create = [&](const std::string& as) -> Expected<std::shared_ptr<partitioning::Database>> {
      OCTAVO_TRY(const auto under_name, parse(as));
      return under_name.create(call.services, partitioning::DatabaseOrigin::after(target));
    };
    const project::Projections::NewTarget new_target{creation.kind(), create};
    return projections.replace(name, rev, std::move(definition), target, joined, &new_target);
  }

  /// The new target; null if there is one.
  Expected<std::shared_ptr<partitioning::Database>> create_missing(project::Projections& projections,
                                                                   const TargetCreation& creation,
                                                                   const Databases& joined) {
    const auto target = call.services.engine.open_database(definition.target);
    if (target || target.error().code != ErrorCode::not_found) return nullptr;
    if (!call.user.is_server_admin()) {
      return fail(
          ErrorCode::forbidden,
          fmt::format("The target {} does not exist, and only a server admin creates databases.", definition.target));
    }
    OCTAVO_TRY_VOID(projections.check_new(name, definition, creation.kind(), joined));
    auto created = creation.create(call.services);
    if (!created && TargetCreation::is_taken(created.error())) return nullptr;
    return created;
  }

  static const project::ProjectionDefinition& newest_definition(const project::ProjectionRecord& record) {
    return record.next ? record.next->definition : record.definition;
  }
};

Task<Expected<Reply>> put_projection(Call& call) {
  const std::string& name = call.path("name");
  OCTAVO_CO_TRY_VOID(project::check_projection_name(name));
  OCTAVO_CO_TRY_VOID(refuse_system_database(call.database->name()));
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(auto definition, project::ProjectionDefinition::parse(body));
  PutProjection put{call, name, body, std::move(definition)};
  OCTAVO_CO_TRY_VOID(co_await run_change(call, [&](project::Projections& all) { return put.run(all); }));
  const auto view = call.database_services()->projections().view(name);
  if (!view) co_return no_projection();
  auto reply = json_reply(json::object{{"ok", true}, {"name", name}, {"rev", project::newest_rev_of(view->record)}});
  reply.status = put.is_new ? 201 : 200;
  co_return reply;
}

Task<Expected<Reply>> get_projections(Call& call) {
  json::array all;
  const auto show = [&](project::Projections& projections) -> Expected<void> {
    for (const auto& view : projections.views()) all.push_back(shown(view, *call.database));
    return {};
  };
  OCTAVO_CO_TRY_VOID(co_await run_change(call, show));
  co_return json_reply(json::object{{"projections", std::move(all)}});
}

Task<Expected<Reply>> get_projection(Call& call) {
  const std::string& name = call.path("name");
  OCTAVO_CO_TRY(auto* const services, query::required(call.database_services()));
  auto& projections = services->projections();
  OCTAVO_CO_TRY(const auto wanted, read_wait_for(call));
  if (wanted) {
    auto reached = co_await projections.wait_until_current(name, wanted->sequence, wanted->deadline());
    OCTAVO_CO_TRY_VOID(wanted->told(std::move(reached), "The rows are"));
  }
  std::optional<project::Projections::View> view;
  const auto show = [&](project::Projections& all) -> Expected<void> {
    view = all.view(name);
    return {};
  };
  OCTAVO_CO_TRY_VOID(co_await run_change(call, show));
  if (!view) co_return no_projection();
  co_return json_reply(shown(*view, *call.database));
}

Task<Expected<Reply>> delete_projection(Call& call) {
  const std::string& name = call.path("name");
  const auto rows = call.request.parameter("rows").value_or("remove");
  if (rows != "remove" && rows != "keep") {
    co_return fail(ErrorCode::bad_request, "`rows` must be `remove` or `keep`.", "query_parse_error");
  }
  const auto rev = call.request.parameter("rev");
  const auto remove = [&](project::Projections& all) { return all.remove(name, rev, rows == "keep"); };
  OCTAVO_CO_TRY_VOID(co_await run_change(call, remove));
  auto reply = json_reply(json::object{{"ok", true}});
  if (rows == "remove") reply.status = 202;
  co_return reply;
}

template <class Change>
Task<Expected<Reply>> change_projection(Call& call, Change change) {
  OCTAVO_CO_TRY_VOID(co_await run_change(call, change));
  co_return json_reply(json::object{{"ok", true}});
}

Task<Expected<Reply>> pause_projection(Call& call) {
  const auto pause = [&](project::Projections& all) { return all.pause(call.path("name"), true); };
  co_return co_await change_projection(call, pause);
}

Task<Expected<Reply>> resume_projection(Call& call) {
  const auto resume = [&](project::Projections& all) { return all.pause(call.path("name"), false); };
  co_return co_await change_projection(call, resume);
}

Task<Expected<Reply>> rebuild_projection(Call& call) {
  const auto rebuild = [&](project::Projections& all) { return all.begin_again(call.path("name")); };
  co_return co_await change_projection(call, rebuild);
}

}  // namespace

void add_projection_routes(RouteList& routes) {
  constexpr Access admin_access = Access::database_admin;
  routes.push_back({Method::get, "/{db}/_projection", admin_access, get_projections});
  routes.push_back({Method::get, "/{db}/_projection/{name}", admin_access, get_projection});
  routes.push_back({Method::put, "/{db}/_projection/{name}", admin_access, put_projection});
  routes.push_back({Method::del, "/{db}/_projection/{name}", admin_access, delete_projection});
  routes.push_back({Method::post, "/{db}/_projection/{name}/_pause", admin_access, pause_projection});
  routes.push_back({Method::post, "/{db}/_projection/{name}/_resume", admin_access, resume_projection});
  routes.push_back({Method::post, "/{db}/_projection/{name}/_rebuild", admin_access, rebuild_projection});
}

}  // namespace octavo::api::couch
