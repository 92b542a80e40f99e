#include "query/javascript/functions.h"

#include <js/Array.h>
#include <js/CallAndConstruct.h>
#include <js/Conversions.h>
#include <js/PropertyAndElement.h>
#include <jsapi.h>

#include "query/javascript/internal/function_log.h"
#include "query/javascript/internal/json_text.h"
#include "query/javascript/internal/messages.h"
#include "query/javascript/internal/runtime.h"

namespace octavo::query::javascript {

namespace {

CallState call_of(std::size_t function) {
  CallState call;
  call.function = static_cast<std::uint32_t>(function);
  return call;
}

// The state for a call that a client waits for: the validation of a write, an update function, or the filter of a feed.
CallState awaited_call_of(std::size_t function) {
  auto call = call_of(function);
  call.clock_bound = Watchdog::ClockBound::strict;
  return call;
}

// Freezes a document that is passed to several functions, so that none can change what the next one sees.
bool parse_sealed(JSContext* context, std::string_view json, JS::MutableHandleValue value) {
  if (!parse_json(context, json, value)) return false;
  if (!value.isObject()) return true;
  const JS::RootedObject object(context, &value.toObject());
  return JS_DeepFreezeObject(context, object);
}

// Whether a failed function may be skipped: it threw an exception, and the call was not stopped.
bool threw(JSContext* context, const Runtime& runtime) {
  return !runtime.stopped() && JS_IsExceptionPending(context) && !JS_IsThrowingOutOfMemory(context);
}

// Logs the pending exception. False: the call was stopped while converting it to text.
bool log_thrown(JSContext* context, const Runtime& runtime, JS::HandleValue document) {
  const auto thrown = take_exception(context);
  if (runtime.stopped()) return false;
  std::string message = "function raised exception " + thrown.text;
  if (document.isObject()) {
    const JS::RootedObject object(context, &document.toObject());
    JS::RootedValue id(context);
    if (JS_GetProperty(context, object, "_id", &id) && id.isString()) {
      const JS::RootedString string(context, id.toString());
      message += " with doc._id ";
      if (!append_characters(context, string, message)) return false;
    }
  }
  log_from_function(runtime.function_name(), message);
  return true;
}

// Design functions have their design document as `this`.
bool call_with_modules(JSContext* context, World& world, std::size_t function, const JS::HandleValueArray& arguments,
                       JS::MutableHandleValue result) {
  JS::RootedValue compiled(context);
  JS::RootedObject modules(context);
  if (!world.function(context, function, &compiled) || !world.modules(context, &modules)) return false;
  JS::RootedValue self(context, modules ? JS::ObjectValue(*modules) : JS::UndefinedValue());
  return JS::Call(context, self, compiled, arguments, result);
}

// Appends a thrown reason, which may be any value, as text.
bool append_reason(JSContext* context, JS::HandleValue value, std::string& reason) {
  if (!value.isString()) return append_json(context, value, reason);
  const JS::RootedString string(context, value.toString());
  return append_characters(context, string, reason);
}

// Converts `throw {forbidden: …}`, `throw {unauthorized: …}` and other exceptions to the errors that CouchDB returns.
// False: the call was stopped, or reading the thrown value failed.
bool read_refusal(JSContext* context, Error& refusal) {
  JS::RootedValue value(context), reason(context);
  auto thrown = take_exception(context, &value);
  refusal = {.code = ErrorCode::function_failed, .reason = std::move(thrown.text), .word = "unknown_error"};
  if (!thrown.kind.empty()) refusal.word = thrown.kind;
  if (!value.isObject() || !thrown.kind.empty()) return true;
  const JS::RootedObject object(context, &value.toObject());
  struct Kind {
    const char* member;
    ErrorCode code;
  };
  for (const auto& kind : {Kind{"forbidden", ErrorCode::forbidden}, Kind{"unauthorized", ErrorCode::unauthorized}}) {
    if (!JS_GetProperty(context, object, kind.member, &reason)) return false;
    if (reason.isUndefined()) continue;
    refusal = {.code = kind.code, .reason = {}, .word = {}};
    return append_reason(context, reason, refusal.reason);
  }
  return true;
}

// As in JavaScript, `[document, response]` may be any object with the members 0 and 1.
bool read_update(JSContext* context, JS::HandleValue returned, UpdateResult& result, bool& has_response) {
  JS::RootedValue document(context), response(context);
  if (!returned.isObject()) return true;
  const JS::RootedObject object(context, &returned.toObject());
  if (!JS_GetElement(context, object, 0, &document) || !JS_GetElement(context, object, 1, &response)) return false;
  bool is_array = false;
  if (document.isObject()) {
    if (!JS::IsArrayObject(context, document, &is_array)) return false;
    if (!is_array && !append_json(context, document, result.document.emplace())) return false;
  }
  if (!response.isString()) {
    if (!response.isObject()) return true;
    if (!JS::IsArrayObject(context, response, &is_array)) return false;
    if (is_array) return true;
  }
  has_response = true;
  return append_json(context, response, result.response);
}

}  // namespace

std::string_view engine_version() {
  static const std::string version = std::to_string(MOZJS_MAJOR_VERSION);
  return version;
}

Expected<void> check_function(std::string_view source) {
  auto checked = Runtime::run(nullptr, CallState{}, [&](JSContext* context, Runtime&, World&) {
    JS::RootedValue function(context);
    return compile_function(context, source, &function);
  });
  if (checked) return {};
  auto error = std::move(checked).error();
  if (error.code != ErrorCode::function_failed && error.code != ErrorCode::function_stopped) {
    return std::unexpected(std::move(error));
  }
  return fail(ErrorCode::bad_request, error.reason + " (" + std::string(source) + ")", "compilation_error");
}

Expected<void> map(const ProgramPtr& program, std::string_view document, MapOutput& output) {
  output.clear();
  CallState call;
  call.rows = &output;
  auto result = Runtime::run(program, call, [&](JSContext* context, Runtime& runtime, World& world) {
    JS::RootedValue value(context), function(context), ignored(context);
    if (!parse_sealed(context, document, &value)) return false;
    for (std::size_t i = 0; i < program->functions().size(); ++i) {
      runtime.call().function = static_cast<std::uint32_t>(i);
      const auto rows = output.rows.size();
      const auto bytes = output.text.size();
      if (!world.function(context, i, &function)) return false;
      if (JS::Call(context, JS::UndefinedHandleValue, function, JS::HandleValueArray(value), &ignored)) continue;
      if (!threw(context, runtime) || !log_thrown(context, runtime, value)) return false;
      output.rows.resize(rows);
      output.text.resize(bytes);
    }
    return true;
  });
  if (!result) output.clear();
  return result;
}

Expected<std::string> reduce(const ProgramPtr& program, std::size_t function, std::string_view keys,
                             std::string_view values, bool rereduce) {
  std::string reduced;
  OCTAVO_TRY_VOID(Runtime::run(program, call_of(function), [&](JSContext* context, Runtime& runtime, World& world) {
    JS::RootedValueArray<3> arguments(context);
    JS::RootedValue compiled(context), result(context);
    if (!world.function(context, function, &compiled) || !parse_json(context, keys, arguments[0]) ||
        !parse_json(context, values, arguments[1])) {
      return false;
    }
    arguments[2].setBoolean(rereduce);
    if (!JS::Call(context, JS::UndefinedHandleValue, compiled, arguments, &result)) return false;
    if (!append_json(context, result, reduced)) return false;
    return reduced.size() <= runtime.call().output_bytes_max || runtime.stop(Stop::output);
  }));
  return reduced;
}

Expected<void> index(const ProgramPtr& program, std::size_t function, std::string_view document,
                     std::vector<IndexedField>& fields) {
  fields.clear();
  auto call = call_of(function);
  call.fields = &fields;
  auto result = Runtime::run(program, call, [&](JSContext* context, Runtime& runtime, World& world) {
    JS::RootedValue value(context), compiled(context), ignored(context);
    if (!parse_sealed(context, document, &value) || !world.function(context, function, &compiled)) return false;
    if (JS::Call(context, JS::UndefinedHandleValue, compiled, JS::HandleValueArray(value), &ignored)) return true;
    if (!threw(context, runtime) || !log_thrown(context, runtime, value)) return false;
    fields.clear();
    return true;
  });
  if (!result) fields.clear();
  return result;
}

Expected<void> validate(const ProgramPtr& program, std::size_t function, std::string_view new_document,
                        std::optional<std::string_view> old_document, std::string_view user_context,
                        std::string_view security) {
  std::optional<Error> refusal;
  OCTAVO_TRY_VOID(
      Runtime::run(program, awaited_call_of(function), [&](JSContext* context, Runtime& runtime, World& world) {
        JS::RootedValueArray<4> arguments(context);
        JS::RootedValue ignored(context);
        if (!parse_json(context, new_document, arguments[0]) ||
            !parse_json(context, old_document.value_or("null"), arguments[1]) ||
            !parse_json(context, user_context, arguments[2]) || !parse_json(context, security, arguments[3])) {
          return false;
        }
        if (call_with_modules(context, world, function, arguments, &ignored)) return true;
        return threw(context, runtime) && read_refusal(context, refusal.emplace());
      }));
  if (refusal) return std::unexpected(*std::move(refusal));
  return {};
}

Expected<std::vector<bool>> filter(const ProgramPtr& program, std::size_t function,
                                   std::span<const std::string_view> documents, std::string_view request) {
  std::vector<bool> passed;
  passed.reserve(documents.size());
  const auto call = awaited_call_of(function);
  OCTAVO_TRY_VOID(Runtime::run(program, call, [&](JSContext* context, Runtime& runtime, World& world) {
    JS::RootedValueArray<2> arguments(context);
    JS::RootedValue result(context);
    if (!world.request(context, request, arguments[1])) return false;
    for (const auto document : documents) {
      runtime.begin_next();
      if (!parse_json(context, document, arguments[0]) ||
          !call_with_modules(context, world, function, arguments, &result)) {
        return false;
      }
      passed.push_back(JS::ToBoolean(result));
    }
    return true;
  }));
  return passed;
}

Expected<std::vector<bool>> emits(const ProgramPtr& program, std::size_t function,
                                  std::span<const std::string_view> documents) {
  std::vector<bool> passed;
  passed.reserve(documents.size());
  const auto call = awaited_call_of(function);
  OCTAVO_TRY_VOID(Runtime::run(program, call, [&](JSContext* context, Runtime& runtime, World& world) {
    JS::RootedValue document_value(context), compiled(context), ignored(context);
    if (!world.function(context, function, &compiled)) return false;
    for (const auto document : documents) {
      runtime.begin_next();
      runtime.call().emitted = false;
      if (!parse_json(context, document, &document_value) ||
          !JS::Call(context, JS::UndefinedHandleValue, compiled, JS::HandleValueArray(document_value), &ignored)) {
        return false;
      }
      passed.push_back(runtime.call().emitted);
    }
    return true;
  }));
  return passed;
}

Expected<UpdateResult> update(const ProgramPtr& program, std::size_t function, std::optional<std::string_view> document,
                              std::string_view request) {
  UpdateResult result;
  bool has_response = false;
  OCTAVO_TRY_VOID(
      Runtime::run(program, awaited_call_of(function), [&](JSContext* context, Runtime& runtime, World& world) {
        JS::RootedValueArray<2> arguments(context);
        JS::RootedValue returned(context);
        if (!parse_json(context, document.value_or("null"), arguments[0]) ||
            !parse_json(context, request, arguments[1]) ||
            !call_with_modules(context, world, function, arguments, &returned) ||
            !read_update(context, returned, result, has_response)) {
          return false;
        }
        const auto bytes = result.response.size() + (result.document ? result.document->size() : 0);
        return bytes <= runtime.call().output_bytes_max || runtime.stop(Stop::output);
      }));
  if (!has_response) {
    return fail(ErrorCode::function_failed, "undefined response from update function", "render_error");
  }
  return result;
}

}  // namespace octavo::query::javascript
