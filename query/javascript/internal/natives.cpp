#include "query/javascript/internal/natives.h"

#include <js/CallArgs.h>
#include <js/Conversions.h>
#include <js/ErrorReport.h>
#include <js/PropertyAndElement.h>
#include <limits>
#include <string>

#include "base/ascii_case.h"
#include "query/javascript/internal/function_log.h"
#include "query/javascript/internal/json_text.h"
#include "query/javascript/internal/runtime.h"

namespace octavo::query::javascript {

namespace {

// Appends the key and value of a row and records their positions. A toJSON or getter in them must not call emit, which
// would write a row into the middle of this one.
bool append_row(JSContext* context, const JS::CallArgs& arguments, CallState& call, MapOutput::Row& row) {
  if (call.emitting) {
    JS_ReportErrorASCII(context, "emit was called by what is being emitted");
    return false;
  }
  call.emitting = true;
  auto& text = call.rows->text;
  const auto key_begin = text.size();
  const bool has_key = append_json(context, arguments.get(0), text);
  const auto value_begin = text.size();
  const bool done = has_key && append_json(context, arguments.get(1), text);
  call.emitting = false;
  row.function = call.function;
  row.key_begin = static_cast<std::uint32_t>(key_begin);
  row.key_size = static_cast<std::uint32_t>(value_begin - key_begin);
  row.value_begin = static_cast<std::uint32_t>(value_begin);
  row.value_size = static_cast<std::uint32_t>(text.size() - value_begin);
  return done;
}

bool emit(JSContext* context, unsigned count, JS::Value* values) {
  const auto arguments = JS::CallArgsFromVp(count, values);
  arguments.rval().setUndefined();
  auto& runtime = Runtime::of(context);
  auto& call = runtime.call();
  call.emitted = true;
  if (call.rows == nullptr) return true;
  MapOutput::Row row;
  if (!append_row(context, arguments, call, row)) return false;
  if (call.rows->text.size() > call.output_bytes_max) return runtime.stop(Stop::output);
  // The rows themselves use memory, too, even if keys and values are short.
  if (call.rows->rows.size() * sizeof row > call.output_bytes_max) return runtime.stop(Stop::output);
  call.rows->rows.push_back(row);
  return true;
}

bool log(JSContext* context, unsigned count, JS::Value* values) {
  const auto arguments = JS::CallArgsFromVp(count, values);
  arguments.rval().setUndefined();
  auto& runtime = Runtime::of(context);
  auto& call = runtime.call();
  if (call.log_bytes_left == 0) return true;
  std::string text;
  if (arguments.get(0).isString()) {
    const JS::RootedString string(context, arguments.get(0).toString());
    if (!append_characters(context, string, text)) return false;
  } else if (!append_json(context, arguments.get(0), text)) {
    return false;
  }
  if (text.size() > call.log_bytes_left) text.resize(call.log_bytes_left);
  call.log_bytes_left -= text.size();
  log_from_function(runtime.function_name(), text);
  return true;
}

// The boolean members of `index`'s third argument, in the forms in use: true, "true", "yes".
enum class Choice : std::uint8_t { absent, no, yes };

bool choice_of(JSContext* context, JS::HandleObject options, const char* name, Choice& choice) {
  JS::RootedValue value(context);
  if (!JS_GetProperty(context, options, name, &value)) return false;
  choice = Choice::absent;
  if (value.isBoolean()) choice = value.toBoolean() ? Choice::yes : Choice::no;
  if (!value.isString()) return true;
  const JS::RootedString string(context, value.toString());
  std::string text;
  if (!append_characters(context, string, text)) return false;
  text = lower_case(text);
  if (text == "true" || text == "yes") choice = Choice::yes;
  if (text == "false" || text == "no") choice = Choice::no;
  return true;
}

bool read_options(JSContext* context, JS::HandleObject options, IndexedField& field) {
  auto store = Choice::absent;
  auto index = Choice::absent;
  auto facet = Choice::absent;
  if (!choice_of(context, options, "store", store) || !choice_of(context, options, "index", index) ||
      !choice_of(context, options, "facet", facet)) {
    return false;
  }
  field.store = store == Choice::yes;
  field.index = index != Choice::no;
  field.facet = facet == Choice::yes;
  JS::RootedValue boost(context);
  if (!JS_GetProperty(context, options, "boost", &boost)) return false;
  if (boost.isNumber()) field.boost = boost.toNumber();
  return true;
}

bool index(JSContext* context, unsigned count, JS::Value* values) {
  const auto arguments = JS::CallArgsFromVp(count, values);
  arguments.rval().setUndefined();
  auto& runtime = Runtime::of(context);
  auto& call = runtime.call();
  if (!arguments.get(0).isString()) {
    JS_ReportErrorASCII(context, "index: name must be a string");
    return false;
  }
  IndexedField field;
  const JS::RootedString name(context, arguments.get(0).toString());
  if (!append_characters(context, name, field.name)) return false;
  if (field.name.starts_with('_')) {
    JS_ReportErrorASCII(context, "index: name must not start with an underscore");
    return false;
  }
  const auto value = arguments.get(1);
  std::size_t bytes = field.name.size() + sizeof field;
  if (value.isString()) {
    const JS::RootedString string(context, value.toString());
    std::string text;
    if (!append_characters(context, string, text)) return false;
    bytes += text.size();
    field.value = std::move(text);
  } else if (value.isNumber()) {
    field.value = value.toNumber();
  } else if (value.isBoolean()) {
    field.value = value.toBoolean();
  } else {
    JS_ReportErrorASCII(context, "index: value must be a string, a number or boolean");
    return false;
  }
  const auto options = arguments.get(2);
  if (options.isObject()) {
    const JS::RootedObject object(context, &options.toObject());
    if (!read_options(context, object, field)) return false;
  } else if (JS::ToBoolean(options)) {
    JS_ReportErrorASCII(context, "index: options must be an object");
    return false;
  }
  if (call.fields == nullptr) return true;
  call.output_bytes += bytes;
  if (call.output_bytes > call.output_bytes_max) return runtime.stop(Stop::output);
  call.fields->push_back(std::move(field));
  return true;
}

}  // namespace

bool define_natives(JSContext* context, JS::HandleObject global) {
  static const JSFunctionSpec functions[] = {JS_FN("emit", native<emit>, 2, 0), JS_FN("index", native<index>, 3, 0),
                                             JS_FN("log", native<log>, 1, 0), JS_FS_END};
  return JS_DefineFunctions(context, global, functions);
}

}  // namespace octavo::query::javascript
