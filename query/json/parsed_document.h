#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <simdjson.h>

#include "base/error.h"
#include "query/json/large_integer.h"

namespace octavo::query {

/// Parses stored document bytes for reading, with buffers that are reused for the next document.
///
/// One per thread or per running query; not thread-safe. A 400-byte document takes about 0.3 µs and no allocation.
/// Buffers that grew for a huge document are freed at the next small one.
class DocumentParser {
 public:
  DocumentParser() = default;
  explicit DocumentParser(LargeIntegers integers) : integers_(integers) {}

  /// The root of `json`. It, and all views into it, live until the next call of `parse` or the end of the parser;
  /// `json` itself need not outlive the call. Numbers that simdjson cannot represent (integers beyond 64 bits, 1e400)
  /// are read as the nearest finite double; `large_integer` returns the digits of such integers if the parser is exact.
  /// Errors: corrupted if the text is not JSON (stored bytes always are).
  Expected<simdjson::dom::element> parse(std::string_view json);

 private:
  LargeIntegers integers_ = LargeIntegers::exact;
  simdjson::dom::parser parser_;
  std::vector<char> padded_;
  std::string digits_;  ///< of the document's large integers, as in internal/tape.h
};

/// Parses a request body, or any small text, into an owned tree. Nesting up to `json_depth_max`. Errors: bad_request
/// "invalid UTF-8 JSON: …".
Expected<boost::json::value> parse_json(std::string_view text, LargeIntegers integers = LargeIntegers::rounded);

/// The string of a member; empty if the object has no such member, or it is not a string.
std::string text_member(const boost::json::object& object, std::string_view name);

/// A value as JSON for replies and messages: numbers are as people write them (`1.5`, not `1.5E0`), and large integers
/// are numbers.
std::string readable_json(const boost::json::value& value);

}  // namespace octavo::query
