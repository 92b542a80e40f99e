#include "query/javascript/internal/script_natives.h"

#include <algorithm>
#include <js/Array.h>
#include <js/CallArgs.h>
#include <js/PropertyAndElement.h>
#include <new>
#include <optional>
#include <string>

#include "base/memory_retry.h"
#include "base/read_failure.h"
#include "query/javascript/internal/json_text.h"
#include "query/javascript/internal/natives.h"
#include "query/javascript/internal/runtime.h"

namespace octavo::query::javascript {

namespace {

using Operation = ScriptHost::Operation;

constexpr double page_size_max = 9'007'199'254'740'992.0;  // 2^53: JavaScript's numbers are not exact above

bool optional_text(JSContext* context, JS::HandleValue value, std::optional<std::string>& text) {
  if (!value.isString()) return true;
  const JS::RootedString string(context, value.toString());
  return append_characters(context, string, text.emplace());
}

// host(operation, text, second, third, number): see script_prelude.js, which checks the arguments of users.
bool read_request(JSContext* context, const JS::CallArgs& arguments, ScriptHost::Request& request) {
  std::optional<std::string> first, second, third;
  if (!optional_text(context, arguments.get(1), first) || !optional_text(context, arguments.get(2), second) ||
      !optional_text(context, arguments.get(3), third)) {
    return false;
  }
  request.operation = static_cast<Operation>(arguments.get(0).toInt32());
  const auto number = arguments.get(4);
  switch (request.operation) {
    case Operation::read:
      request.link = std::move(first).value_or("");
      break;
    case Operation::query:
      request.body = std::move(first).value_or("");
      request.parameters = std::move(second).value_or("");
      request.continuation = std::move(third);
      // Limit the page size, because converting a larger number is undefined behaviour.
      if (number.isNumber()) request.page_size = static_cast<std::uint64_t>(std::min(number.toNumber(), page_size_max));
      break;
    case Operation::create:
    case Operation::upsert:
      request.body = std::move(first).value_or("");
      request.makes_id = !number.isInt32() || number.toInt32() != 0;
      break;
    case Operation::replace:
    case Operation::remove:
      request.body = std::move(first).value_or("");
      request.link = std::move(second).value_or("");
      request.etag = std::move(third);
      break;
  }
  return true;
}

bool text_value(JSContext* context, std::string_view text, JS::MutableHandleValue value) {
  JSString* string = JS_NewStringCopyUTF8N(context, JS::UTF8Chars(text.data(), text.size()));
  if (string == nullptr) return false;
  value.setString(string);
  return true;
}

// No exception may pass through SpiderMonkey. If memory runs out while documents are read or written, the error is the
// server's: the function must not be able to catch it. The same holds for a second failure here.
Expected<ScriptHost::Answer> ask(ScriptHost& host, const ScriptHost::Request& request) {
  try {
    return host.run(request);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const ReadFailure& failure) {
    return std::unexpected(copy_when_memory_suffices(failure.error()));
  }
}

bool host(JSContext* context, unsigned count, JS::Value* values) {
  const auto arguments = JS::CallArgsFromVp(count, values);
  auto& runtime = Runtime::of(context);
  auto* const script_host = runtime.call().host;
  if (script_host == nullptr) {
    JS_ReportErrorASCII(context, "there are no documents here");
    return false;
  }
  ScriptHost::Request request;
  if (!read_request(context, arguments, request)) return false;
  auto answer = ask(*script_host, request);
  if (runtime.stopped()) return false;  // a function called by the host exceeded a limit
  if (!answer) return runtime.stop(std::move(answer).error());
  if (!answer->accepted) {
    arguments.rval().setBoolean(false);
    return true;
  }
  JS::RootedValueArray<3> parts(context);
  parts[0].setInt32(answer->error);
  if (answer->error != 0) {
    if (!text_value(context, answer->message, parts[1])) return false;
  } else if (!answer->body.empty()) {
    if (!parse_json(context, answer->body, parts[1])) return false;
  }
  if (answer->continuation && !text_value(context, *answer->continuation, parts[2])) return false;
  JSObject* array = JS::NewArrayObject(context, parts);
  if (array == nullptr) return false;
  arguments.rval().setObject(*array);
  return true;
}

bool script_log(JSContext* context, unsigned count, JS::Value* values) {
  const auto arguments = JS::CallArgsFromVp(count, values);
  arguments.rval().setUndefined();
  auto& call = Runtime::of(context).call();
  if (call.script_log == nullptr || call.log_bytes_left == 0 || !arguments.get(0).isString()) return true;
  std::string text;
  const JS::RootedString string(context, arguments.get(0).toString());
  if (!append_characters(context, string, text)) return false;
  text += '\n';
  if (text.size() > call.log_bytes_left) {
    std::size_t end = call.log_bytes_left;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) --end;
    text.resize(end);
    call.log_bytes_left = 0;
  } else {
    call.log_bytes_left -= text.size();
  }
  *call.script_log += text;
  return true;
}

}  // namespace

bool make_script_natives(JSContext* context, JS::MutableHandleValue host_value, JS::MutableHandleValue log_value) {
  JSFunction* host_function = JS_NewFunction(context, native<host>, 5, 0, "host");
  if (host_function == nullptr) return false;
  host_value.setObject(*JS_GetFunctionObject(host_function));
  JSFunction* log_function = JS_NewFunction(context, native<script_log>, 1, 0, "log");
  if (log_function == nullptr) return false;
  log_value.setObject(*JS_GetFunctionObject(log_function));
  return true;
}

}  // namespace octavo::query::javascript
