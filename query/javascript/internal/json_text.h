#pragma once

#include <js/TypeDecls.h>
#include <jsapi.h>
#include <string>
#include <string_view>

/// Converts JSON text to JavaScript values and back.
namespace octavo::query::javascript {

/// Parses valid JSON text. False: an exception is pending.
bool parse_json(JSContext* context, std::string_view text, JS::MutableHandleValue value);

/// Appends a value in the format of JSON.stringify, in UTF-8; undefined, functions and symbols become null, and lone
/// surrogates U+FFFD. False: an exception is pending, or the call has been stopped.
bool append_json(JSContext* context, JS::HandleValue value, std::string& out);

/// Appends a string's characters in UTF-8, without quotes.
bool append_characters(JSContext* context, JS::HandleString string, std::string& out);

}  // namespace octavo::query::javascript
