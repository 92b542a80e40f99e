#include "query/javascript/transform.h"

#include <js/CallAndConstruct.h>
#include <jsapi.h>

#include "query/javascript/internal/json_text.h"
#include "query/javascript/internal/runtime.h"

namespace octavo::query::javascript {

Expected<std::string> transform(const ProgramPtr& program, std::string_view document, std::string_view joined) {
  std::string rows;
  auto result = Runtime::run(program, CallState{}, [&](JSContext* context, Runtime& runtime, World& world) {
    JS::RootedValueArray<3> arguments(context);
    JS::RootedValue returned(context);
    const JS::RootedValue runner(context, JS::ObjectValue(*world.runner()));
    if (!world.function(context, 0, arguments[0]) || !parse_json(context, document, arguments[1]) ||
        !parse_json(context, joined, arguments[2]) ||
        !JS::Call(context, JS::UndefinedHandleValue, runner, arguments, &returned) ||
        !append_json(context, returned, rows)) {
      return false;
    }
    return rows.size() <= runtime.call().output_bytes_max || runtime.stop(Stop::output);
  });
  if (result) return rows;
  // How deep calls may go depends on the thread. JavaScript has this kind of exception for its own limits only.
  if (result.error().word == "InternalError") result.error().code = ErrorCode::function_stopped;
  return std::unexpected(std::move(result).error());
}

Expected<void> check_transform(std::string_view source) {
  static const auto no_functions =
      std::make_shared<const Program>("", std::vector<Program::Function>{}, std::string(), Program::Kind::transform);
  auto checked = Runtime::run(no_functions, CallState{}, [&](JSContext* context, Runtime&, World&) {
    JS::RootedValue function(context);
    return compile_function(context, source, &function);
  });
  if (checked) return {};
  Error error = std::move(checked).error();
  if (error.code != ErrorCode::function_failed && error.code != ErrorCode::function_stopped) {
    return std::unexpected(std::move(error));
  }
  return fail(ErrorCode::bad_request, std::move(error.reason), "compilation_error");
}

}  // namespace octavo::query::javascript
