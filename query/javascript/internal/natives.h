#pragma once

#include <jsapi.h>
#include <new>

namespace octavo::query::javascript {

/// Wraps a native function for SpiderMonkey, which does not handle exceptions: reports bad_alloc as out of memory.
template <bool (*Function)(JSContext*, unsigned, JS::Value*)>
bool native(JSContext* context, unsigned count, JS::Value* values) {
  try {
    return Function(context, count, values);
  } catch (const std::bad_alloc&) {
    JS_ReportOutOfMemory(context);
    return false;
  }
}

/// Defines `emit`, `index` and `log` in the current realm. False: an exception is pending.
bool define_natives(JSContext* context, JS::HandleObject global);

}  // namespace octavo::query::javascript
