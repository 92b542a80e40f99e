// POST …/sprocs/{id}: runs a stored procedure on one logical partition, as one transaction.
#include <algorithm>

#include "api/cosmos/call/script_reply.h"
#include "api/cosmos/feeds/feed_scope.h"
#include "api/cosmos/feeds/former_keys.h"
#include "api/cosmos/functions/script_handlers.h"
#include "api/cosmos/items/item_functions.h"
#include "api/http/worker_bodies.h"
#include "api/models/container_definition.h"
#include "api/models/errors.h"
#include "api/models/item_key.h"
#include "api/scripts/item_model.h"
#include "api/scripts/procedure_run.h"
#include "api/scripts/script_store.h"

namespace octavo::api::cosmos {

Handled execute_procedure(Call& call) {
  OCTAVO_CO_TRY(const auto opened, co_await open_container(call));
  const auto& container = *opened.definition;
  OCTAVO_CO_TRY_VOID(co_await refuse_former_key(call, opened));
  OCTAVO_CO_TRY(auto key, required_key(call.request, container));
  const auto parse = [&call] { return scripts::parse_arguments(call.request.body); };
  OCTAVO_CO_TRY(auto arguments, co_await work_on_body(call, parse));
  OCTAVO_CO_TRY(const auto rules, rules_of(call, opened));

  auto& database = *opened.database;
  const auto& settings = call.services.settings;
  const std::string partition_key = key.encode();
  const auto target = database.target_of_partition_key(partition_key);
  OCTAVO_CO_TRY_VOID(call.admit(opened.database, target));
  const ItemModel model(container, std::move(key), call.path.container_link(), settings.cosmos_item_bytes_max);
  scripts::ProcedureCall procedure{.database = opened.database,
                                   .services = opened.services(),
                                   .target = target,
                                   .model = model,
                                   .arguments = std::move(arguments),
                                   .rules = rules ? &*rules : nullptr,
                                   .call_time = settings.javascript_call_time_ms,
                                   .find = {}};
  procedure.find = [&database, &id = call.path.id]() -> Expected<query::javascript::ProgramPtr> {
    constexpr auto procedure_kind = scripts::ScriptKind::stored_procedure;
    OCTAVO_TRY(auto script, scripts::ScriptStore(database).find(procedure_kind, id));
    if (!script) return fail(ErrorCode::not_found, "");
    return scripts::program_of(database, procedure_kind, id, std::move(script->body));
  };
  auto outcome = co_await scripts::run_procedure(std::move(procedure));
  call.account.request_charge = std::max(outcome.charge, partitioning::charge_of_metadata());
  OCTAVO_CO_TRY(auto result, std::move(outcome.result));

  call.account.sequence = std::max<std::uint64_t>(outcome.sequence, database.committed_sequence());
  call.account.session_token = session_token(call.account.partition_id, call.account.sequence);
  Reply reply = result.failure ? script_failure_reply(*result.failure) : Reply{};
  if (!result.failure) reply.body = result.response.empty() ? "\"\"" : std::move(result.response);
  if (call.flag("x-ms-documentdb-script-enable-logging")) add_script_log(reply, result.log);
  co_return reply;
}

}  // namespace octavo::api::cosmos
