// POST /{db}/_partition/{partition}/_sproc/{name}: runs a stored procedure on one partition, as one transaction.
//
// The name is that of a procedure that the Cosmos DB API stored with the database, or of one in a design document's
// `sprocs`: `ddoc/name`, or the name alone for the first design document that has it.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/couch/call/json_request.h"
#include "api/couch/call/partition_parameter.h"
#include "api/couch/documents/document_model.h"
#include "api/couch/documents/function_request.h"
#include "api/couch/functions/routes.h"
#include "api/models/container_definition.h"
#include "api/models/database_properties.h"
#include "api/scripts/item_model.h"
#include "api/scripts/procedure_run.h"
#include "api/scripts/script_store.h"
#include "query/functions/procedures.h"

namespace octavo::api::couch {

namespace {

namespace javascript = query::javascript;

// Containers show their documents as items in both APIs.
Expected<std::unique_ptr<scripts::DocumentModel>> model_of(const Call& call, const std::string& partition) {
  const auto& settings = call.services.settings;
  if (!is_container(call.database->definition()->text)) {
    return std::make_unique<PartitionModel>(*call.database, partition, settings);
  }
  OCTAVO_TRY(const auto container, cosmos::container_of(*call.database));
  OCTAVO_TRY(auto key, partitioning::TypedKey::decode(partition, container->hierarchical()));
  const std::string& name = call.database->name();
  const std::string link = "dbs/" + name.substr(0, name.find('/')) + "/colls/" + container->id;
  return std::make_unique<cosmos::ItemModel>(*container, std::move(key), link, settings.cosmos_item_bytes_max);
}

// Runs on a worker.
Expected<javascript::ProgramPtr> find_program(partitioning::Database& database, const std::string& name) {
  using scripts::ScriptKind;
  OCTAVO_TRY(auto script, scripts::ScriptStore(database).find(ScriptKind::stored_procedure, name));
  if (script) {
    return scripts::program_of(database, ScriptKind::stored_procedure, script->id, std::move(script->body));
  }
  OCTAVO_TRY(auto found, query::find_procedure(database, name));
  return scripts::program_of(database, ScriptKind::stored_procedure, found.name, std::move(found.source));
}

Task<Expected<Reply>> call_procedure(Call& call) {
  OCTAVO_CO_TRY_VOID(check_partition_parameter(call));
  const std::string& partition = call.path("partition");
  const auto target = call.database->target_of_partition_key(partition);
  OCTAVO_CO_TRY_VOID(call.database->meter().admit(target));
  OCTAVO_CO_TRY(const auto model, model_of(call, partition));
  const auto parse = [&call] { return scripts::parse_arguments(call.request.body); };
  OCTAVO_CO_TRY(auto arguments, co_await work_on_body(call, parse));
  OCTAVO_CO_TRY(auto validation, scripts::WriteRules::validation_of(call.database_services()));
  std::optional<scripts::WriteRules> rules;
  if (validation) rules.emplace(std::move(validation), user_context_json(call), security_json(call));

  scripts::ProcedureCall procedure{.database = call.database,
                                   .services = call.database_services(),
                                   .target = target,
                                   .model = *model,
                                   .arguments = std::move(arguments),
                                   .rules = rules ? &*rules : nullptr,
                                   .call_time = call.services.settings.javascript_call_time_ms,
                                   .find = {}};
  procedure.find = [&call] { return find_program(*call.database, call.path("name")); };
  auto outcome = co_await scripts::run_procedure(std::move(procedure));
  call.charge(target, outcome.charge);
  OCTAVO_CO_TRY(auto result, std::move(outcome.result));
  if (result.failure) co_return fail(ErrorCode::bad_request, std::move(result.failure->text), "procedure_failed");
  Reply reply;
  reply.body = result.response.empty() ? "null" : std::move(result.response);
  reply.body += '\n';
  co_return reply;
}

}  // namespace

void add_procedure_routes(RouteList& routes) {
  routes.push_back(
      {Method::post, "/{db}/_partition/{partition}/_sproc/{name*}", Access::database_writer, call_procedure});
}

}  // namespace octavo::api::couch
