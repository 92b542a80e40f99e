#include "api/scripts/user_functions.h"

#include <algorithm>

#include "api/scripts/script_store.h"
#include "base/machine/processor_time.h"
#include "query/javascript/script.h"

namespace octavo::api::scripts {

namespace {

// For all calls of one page of a query; each call is also limited by javascript.call_time.
constexpr std::chrono::minutes time_max{1};
constexpr std::chrono::microseconds processor_asked_every{500};
constexpr std::chrono::microseconds long_call{200};

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
  if (time_ > time_max) {
    return fail(ErrorCode::timeout, "The user-defined functions of the query took more than a minute.",
                "resource_limit");
  }
  OCTAVO_TRY(const auto program, find(name));
  clock_.begin();
  auto result = query::javascript::call_function(program, arguments);
  time_ += clock_.end();
  return result;
}

void StoredFunctions::CallClock::begin() {
  begun_ = std::chrono::steady_clock::now();
  if (begun_ - asked_ < processor_asked_every && thread_ == std::this_thread::get_id()) return;
  asked_ = begun_;
  thread_ = std::this_thread::get_id();
  processor_begun_ = processor_time();
}

std::chrono::nanoseconds StoredFunctions::CallClock::end() const {
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begun_;
  return took < long_call ? took : std::min(took, processor_time() - processor_begun_);
}

}  // namespace octavo::api::scripts
