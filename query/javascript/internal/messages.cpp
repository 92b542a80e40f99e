#include "query/javascript/internal/messages.h"

#include <array>
#include <js/ErrorReport.h>
#include <js/Exception.h>
#include <jsfriendapi.h>

#include "query/javascript/internal/json_text.h"

namespace octavo::query::javascript {

namespace {

constexpr std::size_t text_bytes_max = 2'000;

std::string_view name_of(int type) {
  switch (type) {
    case JSEXN_INTERNALERR:
      return "InternalError";
    case JSEXN_AGGREGATEERR:
      return "AggregateError";
    case JSEXN_EVALERR:
      return "EvalError";
    case JSEXN_RANGEERR:
      return "RangeError";
    case JSEXN_REFERENCEERR:
      return "ReferenceError";
    case JSEXN_SYNTAXERR:
      return "SyntaxError";
    case JSEXN_TYPEERR:
      return "TypeError";
    case JSEXN_URIERR:
      return "URIError";
    default:
      return "Error";
  }
}

// Cuts at the boundary of a UTF-8 character.
void shorten(std::string& text) {
  if (text.size() <= text_bytes_max) return;
  std::size_t end = text_bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) --end;
  text.resize(end);
  text += "…";
}

}  // namespace

Thrown take_exception(JSContext* context, JS::MutableHandleValue value) {
  Thrown thrown;
  if (!JS_IsExceptionPending(context)) return thrown;
  JS::ExceptionStack stack(context);
  if (!JS::StealPendingExceptionStack(context, &stack)) {
    JS_ClearPendingException(context);
    return thrown;
  }
  value.set(stack.exception());
  if (stack.exception().isObject()) {
    const JS::RootedObject object(context, &stack.exception().toObject());
    if (const auto* report = JS_ErrorFromException(context, object)) {
      thrown.kind = name_of(report->exnType);
      thrown.line = report->lineno;
      thrown.column = report->column;
      thrown.text = thrown.kind;
      if (report->message()) thrown.text.append(": ").append(report->message().c_str());
      shorten(thrown.text);
      if (report->lineno > 0) thrown.text += " (line " + std::to_string(report->lineno) + ")";
      return thrown;
    }
  }
  if (stack.exception().isString()) {
    const JS::RootedString string(context, stack.exception().toString());
    if (!append_characters(context, string, thrown.text)) JS_ClearPendingException(context);
  } else if (!append_json(context, stack.exception(), thrown.text)) {
    JS_ClearPendingException(context);
    thrown.text = "something that cannot be shown";
  }
  shorten(thrown.text);
  return thrown;
}

Thrown take_exception(JSContext* context) {
  JS::RootedValue value(context);
  return take_exception(context, &value);
}

}  // namespace octavo::query::javascript
