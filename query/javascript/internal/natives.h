#pragma once

#include <jsapi.h>

namespace octavo::query::javascript {

/// Defines `emit`, `index` and `log` in the current realm. False: an exception is pending.
bool define_natives(JSContext* context, JS::HandleObject global);

}  // namespace octavo::query::javascript
