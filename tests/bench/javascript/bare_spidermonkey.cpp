#include "bench/javascript/bare_spidermonkey.h"

#include <js/CallAndConstruct.h>
#include <js/CompilationAndEvaluation.h>
#include <js/GlobalObject.h>
#include <js/Initialization.h>
#include <js/JSON.h>
#include <js/SourceText.h>
#include <jsapi.h>
#include <stdexcept>

namespace octavo::bench {

namespace {

const JSClass global_class = {"global", JSCLASS_GLOBAL_FLAGS, &JS::DefaultGlobalClassOps, nullptr, nullptr, nullptr};

bool count_units(const char16_t*, std::uint32_t size, void* sum) {
  *static_cast<std::size_t*>(sum) += size;
  return true;
}

bool emit(JSContext* context, unsigned count, JS::Value* values) {
  const auto arguments = JS::CallArgsFromVp(count, values);
  void* sum = JS_GetContextPrivate(context);
  for (unsigned i = 0; i < 2; ++i) {
    JS::RootedValue value(context, arguments.get(i));
    if (!JS_Stringify(context, &value, nullptr, JS::NullHandleValue, count_units, sum)) return false;
  }
  arguments.rval().setUndefined();
  return true;
}

}  // namespace

struct BareSpiderMonkey::Parts {
  JSContext* context = nullptr;
  JS::PersistentRootedObject global;
  JS::PersistentRootedValue function;
  std::size_t emitted = 0;
};

// JS_Init is done by the code that is compared.
BareSpiderMonkey::BareSpiderMonkey(std::string_view function) : parts_(std::make_unique<Parts>()) {
  JSContext* context = JS_NewContext(128U << 20);
  if (context == nullptr || !JS::InitSelfHostedCode(context)) throw std::runtime_error("no JavaScript context");
  parts_->context = context;
  JS_SetContextPrivate(context, &parts_->emitted);
  parts_->global.init(context,
                      JS_NewGlobalObject(context, &global_class, nullptr, JS::FireOnNewGlobalHook, JS::RealmOptions()));
  const JSAutoRealm realm(context, parts_->global);
  JS_DefineFunction(context, parts_->global, "emit", emit, 2, 0);
  const std::string expression = "(" + std::string(function) + ")";
  JS::SourceText<mozilla::Utf8Unit> source;
  const JS::CompileOptions options(context);
  JS::RootedValue value(context);
  if (!source.init(context, expression.data(), expression.size(), JS::SourceOwnership::Borrowed) ||
      !JS::Evaluate(context, options, source, &value)) {
    throw std::runtime_error("the function does not compile");
  }
  parts_->function.init(context, value);
}

BareSpiderMonkey::~BareSpiderMonkey() {
  parts_->function.reset();
  parts_->global.reset();
  JS_DestroyContext(parts_->context);
}

bool BareSpiderMonkey::map(std::string_view document) {
  JSContext* context = parts_->context;
  const JSAutoRealm realm(context, parts_->global);
  const JS::RootedString text(context, JS_NewStringCopyN(context, document.data(), document.size()));
  JS::RootedValue value(context), ignored(context);
  return text && JS_ParseJSON(context, text, &value) &&
         JS::Call(context, JS::UndefinedHandleValue, parts_->function, JS::HandleValueArray(value), &ignored);
}

std::size_t BareSpiderMonkey::emitted_units() const {
  return parts_->emitted;
}

}  // namespace octavo::bench
