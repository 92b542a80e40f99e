// POST …/sprocs/{id}: runs a stored procedure on one logical partition, as one transaction.
#include "api/cosmos/call.h"
#include "api/cosmos/container_definition.h"
#include "api/cosmos/errors.h"
#include "api/cosmos/feed_scope.h"
#include "api/cosmos/item_key.h"
#include "api/cosmos/item_model.h"
#include "api/cosmos/script_reply.h"
#include "api/scripts/script_session.h"
#include "api/scripts/script_store.h"
#include "api/scripts/user_functions.h"
#include "partitioning/optimistic_transaction.h"
#include "query/json/normalize.h"

namespace octavo::api::cosmos {

namespace {

namespace javascript = query::javascript;
using partitioning::OptimisticTransaction;
using partitioning::Verdict;

// The body: an array of the function's arguments.
Expected<std::string> arguments_of(const Request& request) {
  if (request.body.find_first_not_of(" \t\r\n") == std::string_view::npos) return "[]";
  std::string arguments;
  if (auto normalized = query::normalize_value(request.body, arguments); !normalized) {
    return fail(ErrorCode::bad_request, "The request body is not JSON: " + normalized.error().reason);
  }
  if (!arguments.starts_with('[')) {
    return fail(ErrorCode::bad_request, "The request body must be a JSON array with the procedure's arguments.");
  }
  return arguments;
}

}  // namespace

Handled execute_procedure(Call& call) {
  auto opened = co_await open_container(call);
  if (!opened) co_return std::unexpected(std::move(opened).error());
  const auto& container = *opened->definition;
  auto key = required_key(call.request, container);
  if (!key) co_return std::unexpected(std::move(key).error());
  const auto arguments = arguments_of(call.request);
  if (!arguments) co_return std::unexpected(arguments.error());

  const auto& settings = call.services.settings;
  const std::string partition_key = key->encode();
  const ItemModel model(container, *std::move(key), call.path.container_link(), settings.cosmos_item_bytes_max);
  const std::string self_link = model.self_link();
  const std::string alt_link = model.alt_link();
  const javascript::ScriptCall script_call{
      .parameters = *arguments, .self_link = self_link, .alt_link = alt_link, .operation = "Execute"};
  javascript::ProgramPtr program;
  javascript::ScriptResult result;
  double charge = 0;
  const std::function<Expected<Verdict>(OptimisticTransaction&)> attempt =
      [&](OptimisticTransaction& transaction) -> Expected<Verdict> {
    if (!program) {
      using scripts::ScriptKind;
      OCTAVO_TRY(auto script, scripts::ScriptStore(*opened->database).find(ScriptKind::stored_procedure, call.path.id));
      if (!script) return fail(ErrorCode::not_found, "");
      program = scripts::program_of(*opened->database, ScriptKind::stored_procedure, script->id, std::move(script->body));
    }
    scripts::StoredFunctions functions(opened->database);
    scripts::ScriptSession session(
        transaction, model, {.call_time = settings.javascript_call_time_ms, .user_functions = &functions});
    auto ran = javascript::run_script(program, session, script_call);
    charge = session.charge() + partitioning::charge_of_function(session.elapsed());
    if (!ran) return std::unexpected(std::move(ran).error());
    result = *std::move(ran);
    return result.failure ? Verdict::discard : Verdict::commit;
  };
  const auto committed = co_await partitioning::run_optimistically(opened->database, partition_key, true, attempt);
  if (committed) charge += committed->write_charge;
  call.account.request_charge = std::max(charge, partitioning::charge_of_metadata());
  if (!committed) co_return std::unexpected(committed.error());

  call.account.sequence = std::max<std::uint64_t>(committed->sequence, opened->database->committed_sequence());
  call.account.session_token =
      session_token(opened->database->locate_partition_key(partition_key), call.account.sequence);
  Reply reply = result.failure ? script_failure_reply(*result.failure) : Reply{};
  if (!result.failure) reply.body = result.response.empty() ? "\"\"" : std::move(result.response);
  if (call.flag("x-ms-documentdb-script-enable-logging")) add_script_log(reply, result.log);
  co_return reply;
}

}  // namespace octavo::api::cosmos
