#include "api/scripts/procedure_run.h"

#include "api/scripts/script_session.h"
#include "api/scripts/user_functions.h"
#include "query/json/normalize.h"

namespace octavo::api::scripts {

namespace {

namespace javascript = query::javascript;
using partitioning::OptimisticTransaction;
using partitioning::Verdict;

}  // namespace

Expected<std::string> parse_arguments(std::string_view body) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) return "[]";
  std::string arguments;
  if (auto normalized = query::normalize_value(body, arguments); !normalized) {
    return fail(ErrorCode::bad_request, "The request body is not JSON: " + normalized.error().reason);
  }
  if (!arguments.starts_with('[')) {
    return fail(ErrorCode::bad_request, "The request body must be a JSON array with the procedure's arguments.");
  }
  return arguments;
}

Task<ProcedureOutcome> run_procedure(ProcedureCall call) {
  const std::string self_link = call.model.self_link();
  const std::string alt_link = call.model.alt_link();
  const javascript::ScriptCall script_call{
      .parameters = call.arguments, .self_link = self_link, .alt_link = alt_link, .operation = "Execute"};
  javascript::ProgramPtr program;
  javascript::ScriptResult result;
  ProcedureOutcome outcome;
  const std::function<Expected<Verdict>(OptimisticTransaction&)> attempt =
      [&](OptimisticTransaction& transaction) -> Expected<Verdict> {
    if (!program) {
      OCTAVO_TRY(program, call.find());
    }
    StoredFunctions functions(call.database);
    ScriptSession session(
        transaction, call.model,
        {.call_time = call.call_time, .services = call.services, .user_functions = &functions, .rules = call.rules});
    auto ran = javascript::run_script(program, session, script_call);
    outcome.charge = session.charge() + partitioning::charge_of_function(session.worked());
    if (!ran) return std::unexpected(std::move(ran).error());
    result = *std::move(ran);
    return result.failure ? Verdict::discard : Verdict::commit;
  };
  auto committed = co_await partitioning::run_optimistically(call.database, call.target, true, attempt);
  if (!committed) {
    outcome.result = std::unexpected(std::move(committed).error());
    co_return outcome;
  }
  outcome.charge += committed->write_charge;
  outcome.sequence = committed->sequence;
  outcome.result = std::move(result);
  co_return outcome;
}

}  // namespace octavo::api::scripts
