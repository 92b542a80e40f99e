#include "api/scripts/user_functions.h"

#include "api/scripts/script_store.h"
#include "query/javascript/script.h"

namespace octavo::api::scripts {

namespace {

// Of all calls for one page of a query; each has javascript.call_time besides.
constexpr std::chrono::minutes kTimeMax{1};

}  // namespace

Expected<query::javascript::ProgramPtr> StoredFunctions::find(std::string_view name) {
  if (const auto known = programs_.find(name); known != programs_.end()) return known->second;
  OCTAVO_TRY(auto script, ScriptStore(*database_).find(ScriptKind::user_function, name));
  if (!script) {
    return fail(ErrorCode::bad_request, "There is no user-defined function '" + std::string(name) + "'.",
                "unknown_udf");
  }
  auto program = program_of(*database_, ScriptKind::user_function, name, std::move(script->body));
  programs_.emplace(name, program);
  return program;
}

Expected<std::string> StoredFunctions::call(std::string_view name, std::span<const std::string> arguments) {
  if (time_ > kTimeMax) {
    return fail(ErrorCode::timeout, "The user-defined functions of the query took more than a minute.",
                "resource_limit");
  }
  OCTAVO_TRY(const auto program, find(name));
  const auto started = std::chrono::steady_clock::now();
  auto result = query::javascript::call_function(program, arguments);
  time_ += std::chrono::steady_clock::now() - started;
  return result;
}

}  // namespace octavo::api::scripts
