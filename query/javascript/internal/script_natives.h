#pragma once

#include <jsapi.h>

namespace octavo::query::javascript {

/// The functions `host` and `log` that the script prelude is given. False: an exception is pending.
bool make_script_natives(JSContext* context, JS::MutableHandleValue host, JS::MutableHandleValue log);

}  // namespace octavo::query::javascript
