#pragma once

#include <jsapi.h>
#include <string>
#include <string_view>

/// Converts exceptions to text. Runs no functions of the thrown value.
namespace octavo::query::javascript {

/// A thrown value, taken from the context.
struct Thrown {
  std::string_view kind;  ///< "TypeError", "SyntaxError", … for JavaScript's own errors (a literal); else empty
  std::string text;       ///< `TypeError: doc.x is undefined (line 3)`, or the JSON text of a value that is no error
  unsigned line = 0, column = 0;  ///< counted from 1 and from 0; line 0: unknown
};

/// Takes the pending exception; an empty text if no exception is pending. The first form stores the thrown value in
/// `value`.
Thrown take_exception(JSContext* context, JS::MutableHandleValue value);
Thrown take_exception(JSContext* context);

}  // namespace octavo::query::javascript
