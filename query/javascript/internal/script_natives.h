#pragma once

#include <jsapi.h>

namespace octavo::query::javascript {

/// Creates the functions `host` and `log` for the script prelude. False: an exception is pending.
bool make_script_natives(JSContext* context, JS::MutableHandleValue host, JS::MutableHandleValue log);

}  // namespace octavo::query::javascript
