#include "query/javascript/script.h"

#include <js/CallAndConstruct.h>
#include <js/PropertyAndElement.h>
#include <jsapi.h>

#include "query/javascript/internal/json_text.h"
#include "query/javascript/internal/messages.h"
#include "query/javascript/internal/runtime.h"

namespace octavo::query::javascript {

namespace {

constexpr int status_min = 100;
constexpr int status_max = 599;

bool set_text(JSContext* context, JS::HandleObject object, const char* name, std::string_view text) {
  const JS::RootedString string(context, JS_NewStringCopyUTF8N(context, JS::UTF8Chars(text.data(), text.size())));
  return string && JS_DefineProperty(context, object, name, string, JSPROP_ENUMERATE);
}

// Sets a property to a JSON value; leaves it unset if `json` is empty.
bool set_json(JSContext* context, JS::HandleObject object, const char* name, std::string_view json) {
  if (json.empty()) return true;
  JS::RootedValue value(context);
  return parse_json(context, json, &value) && JS_DefineProperty(context, object, name, value, JSPROP_ENUMERATE);
}

JSObject* call_object(JSContext* context, const ScriptCall& call) {
  const JS::RootedObject object(context, JS_NewPlainObject(context));
  const JS::RootedValue has_response(context, JS::BooleanValue(call.has_response));
  if (!object || !set_json(context, object, "parameters", call.parameters) ||
      !set_text(context, object, "selfLink", call.self_link) || !set_text(context, object, "altLink", call.alt_link) ||
      !set_text(context, object, "operation", call.operation) ||
      !set_json(context, object, "request", call.request_body) ||
      !set_json(context, object, "response", call.response_body) ||
      !JS_DefineProperty(context, object, "hasResponse", has_response, JSPROP_ENUMERATE)) {
    return nullptr;
  }
  return object;
}

// Reads a member as JSON; undefined leaves `out` empty.
bool read_member(JSContext* context, JS::HandleObject object, const char* name, std::string& out) {
  JS::RootedValue value(context);
  if (!JS_GetProperty(context, object, name, &value)) return false;
  return value.isUndefined() || append_json(context, value, out);
}

// The status in a thrown value. Reads only plain data properties.
int number_of(JSContext* context, JS::HandleValue thrown) {
  if (!thrown.isObject()) return 0;
  const JS::RootedObject object(context, &thrown.toObject());
  JS::RootedValue number(context);
  if (!JS_GetProperty(context, object, "number", &number)) {
    JS_ClearPendingException(context);
    return 0;
  }
  if (!number.isInt32() || number.toInt32() < status_min || number.toInt32() > status_max) return 0;
  return number.toInt32();
}

}  // namespace

Expected<ScriptResult> run_script(const ProgramPtr& program, ScriptHost& host, const ScriptCall& call) {
  ScriptResult result;
  CallState state;
  state.host = &host;
  state.clock_bound = Watchdog::ClockBound::strict;
  state.script_log = &result.log;
  bool timed_out = false;
  auto ran = Runtime::run(program, state, [&](JSContext* context, Runtime& runtime, World& world) {
    JS::RootedValueArray<2> arguments(context);
    JS::RootedValue returned(context);
    const JS::RootedValue runner(context, JS::ObjectValue(*world.runner()));
    JSObject* described = call_object(context, call);
    if (described == nullptr) return false;
    arguments[1].setObject(*described);
    if (!world.function(context, 0, arguments[0]) ||
        !JS::Call(context, JS::UndefinedHandleValue, runner, arguments, &returned)) {
      timed_out = runtime.stop_reason() == Stop::time;
      if (runtime.stopped() || !JS_IsExceptionPending(context) || JS_IsThrowingOutOfMemory(context)) return false;
      JS::RootedValue thrown(context);
      auto shown = take_exception(context, &thrown);
      if (runtime.stopped()) return false;
      result.failure.emplace(std::move(shown.text), number_of(context, thrown));
      return !runtime.stopped();
    }
    const JS::RootedObject parts(context, &returned.toObject());
    if (!read_member(context, parts, "response", result.response) ||
        !read_member(context, parts, "request", result.request)) {
      return false;
    }
    return result.response.size() + result.request.size() <= runtime.call().output_bytes_max ||
           runtime.stop(Stop::output);
  });
  if (ran) return result;
  if (timed_out) ran.error().code = ErrorCode::timeout;
  return std::unexpected(std::move(ran).error());
}

Expected<std::string> call_function(const ProgramPtr& program, std::span<const std::string> arguments) {
  std::string result;
  OCTAVO_TRY_VOID(Runtime::run(program, CallState{}, [&](JSContext* context, Runtime& runtime, World& world) {
    JS::RootedVector<JS::Value> values(context);
    if (!values.resize(arguments.size())) return false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i].empty() && !parse_json(context, arguments[i], values[i])) return false;
    }
    JS::RootedValue function(context), returned(context);
    if (!world.function(context, 0, &function) ||
        !JS::Call(context, JS::UndefinedHandleValue, function, values, &returned)) {
      return false;
    }
    if (!returned.isUndefined() && !append_json(context, returned, result)) return false;
    return result.size() <= runtime.call().output_bytes_max || runtime.stop(Stop::output);
  }));
  return result;
}

}  // namespace octavo::query::javascript
