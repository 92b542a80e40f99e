#include "query/javascript/internal/world.h"

#include <js/CallAndConstruct.h>
#include <js/CompilationAndEvaluation.h>
#include <js/CompileOptions.h>
#include <js/GlobalObject.h>
#include <js/Object.h>
#include <js/Realm.h>
#include <js/SourceText.h>
#include <jsfriendapi.h>
#include <optional>
#include <string>

#include "query/javascript/internal/json_text.h"
#include "query/javascript/internal/messages.h"
#include "query/javascript/internal/natives.h"
#include "query/javascript/internal/preludes.h"
#include "query/javascript/internal/script_natives.h"

namespace octavo::query::javascript {

namespace {

constexpr std::uint32_t world_slot = 0;  // the reserved slot of the global that points to its World

const JSClass global_class = {"global", JSCLASS_GLOBAL_FLAGS, &JS::DefaultGlobalClassOps, nullptr, nullptr, nullptr};

World& world_of(JSContext* context) {
  return *static_cast<World*>(JS::GetReservedSlot(JS::CurrentGlobalOrNull(context), world_slot).toPrivate());
}

bool evaluate(JSContext* context, const char* name, std::string_view source, JS::MutableHandleValue value) {
  JS::CompileOptions options(context);
  options.setFileAndLine(name, 1);
  JS::SourceText<mozilla::Utf8Unit> text;
  return text.init(context, source.data(), source.size(), JS::SourceOwnership::Borrowed) &&
         JS::Evaluate(context, options, text, value);
}

bool is_function(JS::HandleValue value) {
  return value.isObject() && JS::IsCallable(&value.toObject());
}

// Whether `source` consists of semicolons, white space and comments only.
bool says_nothing(std::string_view source) {
  for (std::size_t i = 0; i < source.size(); ++i) {
    const auto c = source[i];
    if (c == ';' || c == ' ' || (c >= '\t' && c <= '\r')) continue;
    if (source.substr(i).starts_with("//")) {
      i = source.find_first_of("\r\n", i);
    } else if (source.substr(i).starts_with("/*")) {
      i = source.find("*/", i + 2);
      if (i != std::string_view::npos) ++i;
    } else {
      return false;
    }
    if (i == std::string_view::npos) return true;
  }
  return true;
}

// The offset in `source` of a message's position: lines count from 1, columns from 0, in characters.
std::size_t offset_of(std::string_view source, unsigned line, unsigned column) {
  std::size_t at = 0;
  for (unsigned i = 1; i < line; ++i) {
    at = source.find('\n', at);
    if (at == std::string_view::npos) return source.size();
    ++at;
  }
  const auto is_continuation = [&](std::size_t i) { return (static_cast<unsigned char>(source[i]) & 0xC0U) == 0x80; };
  for (; column > 0 && at < source.size(); --column) {
    ++at;
    while (at < source.size() && is_continuation(at)) ++at;
  }
  return at;
}

bool evaluate_in_parentheses(JSContext* context, std::string_view source, JS::MutableHandleValue value) {
  std::string expression;
  expression.reserve(source.size() + 3);
  expression.append("(").append(source).append("\n)");  // a new line, because the source may end with a comment
  return evaluate(context, "function", expression, value);
}

bool modules_of_program(JSContext* context, unsigned count, JS::Value* values) {
  const auto arguments = JS::CallArgsFromVp(count, values);
  JS::RootedObject modules(context);
  if (!world_of(context).modules(context, &modules)) return false;
  arguments.rval().setObjectOrNull(modules);
  return true;
}

// compile_module(source, name): the module as a function (module, exports, require).
bool compile_module(JSContext* context, unsigned count, JS::Value* values) {
  const auto arguments = JS::CallArgsFromVp(count, values);
  const JS::RootedString source(context, arguments.get(0).toString());
  const JS::RootedString name(context, arguments.get(1).toString());
  std::string text, name_text;
  if (!append_characters(context, source, text) || !append_characters(context, name, name_text)) return false;
  JS::CompileOptions options(context);
  options.setFileAndLine(name_text.c_str(), 1);
  JS::SourceText<mozilla::Utf8Unit> body;
  if (!body.init(context, text.data(), text.size(), JS::SourceOwnership::Borrowed)) return false;
  constexpr const char* parameter_names[] = {"module", "exports", "require"};
  const JS::RootedObjectVector scopes(context);
  JSFunction* function = JS::CompileFunction(context, scopes, options, "module", 3, parameter_names, body);
  if (function == nullptr) return false;
  arguments.rval().setObject(*JS_GetFunctionObject(function));
  return true;
}

bool run_prelude(JSContext* context, bool has_modules) {
  JS::RootedValue prelude(context), ignored(context);
  if (!evaluate(context, "prelude", prelude_js, &prelude)) return false;
  JS::RootedValueArray<2> arguments(context);
  if (has_modules) {
    JSFunction* modules = JS_NewFunction(context, native<modules_of_program>, 0, 0, "modules_of_program");
    if (modules == nullptr) return false;
    arguments[0].setObject(*JS_GetFunctionObject(modules));
    JSFunction* compile = JS_NewFunction(context, native<compile_module>, 2, 0, "compile_module");
    if (compile == nullptr) return false;
    arguments[1].setObject(*JS_GetFunctionObject(compile));
  }
  return JS::Call(context, JS::UndefinedHandleValue, prelude, arguments, &ignored);
}

bool run_script_prelude(JSContext* context, JS::MutableHandleObject runner) {
  JS::RootedValue prelude(context), result(context);
  JS::RootedValueArray<2> arguments(context);
  if (!evaluate(context, "prelude", script_prelude_js, &prelude) ||
      !make_script_natives(context, arguments[0], arguments[1]) ||
      !JS::Call(context, JS::UndefinedHandleValue, prelude, arguments, &result)) {
    return false;
  }
  runner.set(&result.toObject());
  return true;
}

bool run_transform_prelude(JSContext* context, JS::MutableHandleObject runner) {
  JS::RootedValue prelude(context), result(context);
  if (!evaluate(context, "prelude", transform_prelude_js, &prelude) ||
      !JS::Call(context, JS::UndefinedHandleValue, prelude, JS::HandleValueArray::empty(), &result)) {
    return false;
  }
  runner.set(&result.toObject());
  return true;
}

JSObject* new_global(JSContext* context) {
  JS::RealmOptions options;
  // A separate zone is collected separately and freed as a whole.
  options.creationOptions().setNewCompartmentAndZone().setToSourceEnabled(true).setPreserveJitCode(true);
  return JS_NewGlobalObject(context, &global_class, nullptr, JS::FireOnNewGlobalHook, options);
}

}  // namespace

World::World(JSContext* context, ProgramPtr program, JSObject* global)
    : program_(std::move(program)), global_(context, global), modules_(context), runner_(context), request_(context) {
  const std::size_t count = program_ ? program_->functions().size() : 0;
  for (std::size_t i = 0; i < count; ++i) functions_.emplace_back(context);
}

std::unique_ptr<World> World::create(JSContext* context, ProgramPtr program) {
  const JS::RootedObject global(context, new_global(context));
  if (!global) return nullptr;
  const bool has_modules = program && !program->modules().empty();
  std::unique_ptr<World> world(new World(context, std::move(program), global));
  const JSAutoRealm realm(context, global);
  JS::SetReservedSlot(global, world_slot, JS::PrivateValue(world.get()));
  switch (world->program_ ? world->program_->kind() : Program::Kind::design) {
    case Program::Kind::design:
      if (!define_natives(context, global) || !run_prelude(context, has_modules)) return nullptr;
      break;
    case Program::Kind::script: {
      JS::RootedObject runner(context);
      if (!run_script_prelude(context, &runner)) return nullptr;
      world->runner_ = runner;
      break;
    }
    case Program::Kind::transform: {
      JS::RootedObject runner(context);
      if (!run_transform_prelude(context, &runner)) return nullptr;
      world->runner_ = runner;
      break;
    }
    case Program::Kind::plain:
      break;
  }
  return world;
}

bool World::function(JSContext* context, std::size_t index, JS::MutableHandleValue function) {
  auto& compiled = functions_[index];
  if (!compiled) {
    if (!compile_function(context, program_->functions()[index].source, function)) return false;
    compiled = &function.toObject();
  }
  function.setObject(*compiled);
  return true;
}

bool World::modules(JSContext* context, JS::MutableHandleObject modules) {
  if (!modules_ && !program_->modules().empty()) {
    JS::RootedValue value(context);
    if (!parse_json(context, program_->modules(), &value)) return false;
    if (value.isObject()) modules_ = &value.toObject();
  }
  modules.set(modules_);
  return true;
}

bool World::request(JSContext* context, std::string_view text, JS::MutableHandleValue value) {
  if (request_text_ != text) {
    request_text_.clear();
    JS::RootedValue parsed(context);
    if (!parse_json(context, text, &parsed)) return false;
    request_ = parsed;
    request_text_ = text;
  }
  value.set(request_);
  return true;
}

bool compile_function(JSContext* context, std::string_view source, JS::MutableHandleValue function) {
  if (evaluate_in_parentheses(context, source, function)) {
    if (is_function(function)) return true;
    JS_ReportErrorASCII(context, "Expression does not eval to a function.");
    return false;
  }
  // No exception: the call has been stopped. An exception of another kind was thrown by the source itself.
  if (!JS_IsExceptionPending(context)) return false;
  JS::RootedValue error(context);
  const auto thrown = take_exception(context, &error);
  if (thrown.kind != "SyntaxError") {
    JS_SetPendingException(context, error);
    return false;
  }

  // `function(doc) {…};` is not an expression, but the part before the syntax error may be one.
  const auto end = offset_of(source, thrown.line, thrown.column - (thrown.line == 1 && thrown.column > 0 ? 1 : 0));
  if (end < source.size() && source[end] == ';' && says_nothing(source.substr(end))) {
    if (evaluate_in_parentheses(context, source.substr(0, end), function) && is_function(function)) return true;
    if (!JS_IsExceptionPending(context)) return false;
    JS_ClearPendingException(context);
  }
  if (evaluate(context, "function", source, function)) {
    if (is_function(function)) return true;
  } else {
    if (!JS_IsExceptionPending(context)) return false;
    JS_ClearPendingException(context);
  }
  JS_SetPendingException(context, error);
  return false;
}

}  // namespace octavo::query::javascript
