// Design functions: any text as a function of any kind, over any document, within narrow limits. Each call ends soon,
// with a result that is well formed or an error that says why, and the next function in the same thread is as if
// nothing had been.
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>
#include <spdlog/spdlog.h>

#include "fuzz/target.h"
#include "query/javascript/functions.h"
#include "query/javascript/limits.h"
#include "query/json/normalize.h"
#include "query/json/parsed_document.h"

namespace {

using namespace octavo;
using namespace octavo::query;
using namespace octavo::query::javascript;
using namespace std::chrono_literals;
using octavo::fuzz::InputReader;
using octavo::fuzz::require;

// Few random texts are programs: most inputs are rows of these, a byte each.
constexpr std::string_view fragments[] = {
    "function(doc) {",
    "}",
    "function(doc, req) {",
    "function(keys, values, rereduce) {",
    "(",
    ")",
    "[",
    "]",
    "{",
    ";",
    ",",
    " = ",
    " + ",
    " == ",
    "return ",
    "throw ",
    "while (true) ",
    "for (var k in doc) ",
    "for (;;) ",
    "if (",
    "else ",
    "try {",
    "} catch (e) {",
    "} finally {",
    "emit(",
    "index('f', ",
    "log(",
    "sum(",
    "toJSON(",
    "isArray(",
    "require(",
    "getRow()",
    "provides('json', ",
    "send(",
    "start(",
    "doc",
    "doc._id",
    "req",
    "values",
    "keys",
    "null",
    "undefined",
    "true",
    "1",
    "0.5",
    "-0",
    "1e999",
    "'text'",
    "'x'.repeat(100000)",
    "'\\ud800'",
    "[1, 2, 3]",
    "{a: 1}",
    "var a = ",
    "a",
    "a.push(a)",
    "a[0]",
    "this",
    "globalThis",
    "new Array(1000000)",
    "new Uint8Array(1000000)",
    "new Map()",
    "new Proxy({}, {get: function() {",
    "Symbol('s')",
    "10n",
    "new Error('e')",
    "new Date()",
    ".reason",
    "{forbidden: 'no'}",
    "{unauthorized: 'no'}",
    "{toJSON: function() {",
    "{get a() {",
    "Object.prototype",
    "Array.prototype",
    "JSON.stringify(",
    "JSON.parse(",
    "Object.defineProperty(",
    "delete ",
    ".toString()",
    "/(a+)+b/.test(",
    "[doc, {body: 'b'}]",
    "[null, 'gone']",
    "arguments.callee",
    "eval(",
    "Function(",
    "function* g() {",
    "yield ",
    "async ",
    "await ",
    "class A {",
    "`${",
    "}`",
    "=> ",
    "...",
    "exports.x = ",
    "'views/lib/m'",
    "module",
};

std::string source_of(std::string_view bytes) {
  std::string source;
  for (const char c : bytes) source += fragments[static_cast<unsigned char>(c) % std::size(fragments)];
  return source;
}

void check_error(const Error& error) {
  require(error.code == ErrorCode::function_failed || error.code == ErrorCode::function_stopped ||
              error.code == ErrorCode::forbidden || error.code == ErrorCode::unauthorized,
          "an error is the function's");
  require(simdjson::validate_utf8(error.reason), "an error can be read");
}

ProgramPtr program_of(std::string name, std::string source, std::string modules) {
  return std::make_shared<const Program>(
      "database", std::vector<Program::Function>{{std::move(name), std::move(source)}}, std::move(modules));
}

/// JSON, but for what only SpiderMonkey writes: half a surrogate pair, depth.
void require_json(std::string_view text, const char* what) {
  require(!text.empty(), what);
  require(simdjson::validate_utf8(text), what);
}

void run(std::uint8_t kind, const ProgramPtr& program, std::string_view document) {
  static const std::string request = R"({"method":"POST","query":{"a":"b"},"body":"x"})";
  switch (kind % 7) {
    case 0: {
      MapOutput output;
      const auto mapped = map(program, document, output);
      if (!mapped) return check_error(mapped.error());
      for (const auto& row : output.rows) {
        require_json(output.key(row), "a key is JSON");
        require_json(output.value(row), "a value is JSON");
      }
      return;
    }
    case 1: {
      const auto reduced = reduce(program, 0, R"([["k","id"]])", "[1,2,3]", false);
      if (!reduced) return check_error(reduced.error());
      return require_json(*reduced, "a reduction is JSON");
    }
    case 2: {
      std::vector<IndexedField> fields;
      if (const auto indexed = index(program, 0, document, fields); !indexed) return check_error(indexed.error());
      for (const auto& field : fields) require(simdjson::validate_utf8(field.name), "a name can be read");
      return;
    }
    case 3: {
      const auto valid = validate(program, 0, document, document, R"({"db":"d","name":null,"roles":[]})", "{}");
      if (!valid) check_error(valid.error());
      return;
    }
    case 4: {
      const std::vector<std::string_view> documents{document, document};
      const auto passed = filter(program, 0, documents, request);
      if (!passed) return check_error(passed.error());
      return require(passed->size() == 2, "an answer for each document");
    }
    case 5: {
      const std::vector<std::string_view> documents{document, document};
      const auto passed = emits(program, 0, documents);
      if (!passed) return check_error(passed.error());
      return require(passed->size() == 2, "an answer for each document");
    }
    default: {
      const auto updated = update(program, 0, document, request);
      if (!updated) return check_error(updated.error());
      if (updated->document) require_json(*updated->document, "a document is JSON");
      return require_json(updated->response, "a response is JSON");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  spdlog::set_level(spdlog::level::off);
  const Limits narrow{
      .call_time = 50ms, .heap_bytes = 32U << 20, .stack_bytes = 256U << 10, .output_bytes = 256U << 10};
  Limits patient = narrow;  // the machine may be busy
  patient.call_time = 5s;
  set_limits(narrow);
  InputReader in(octavo::fuzz::text_of(data, size));
  const std::uint8_t kind = in.byte();
  static std::string body;
  body.clear();
  std::vector<SpecialField> special;
  if (!normalize_document(in.line(), body, special)) body = R"({"n":1.50,"tags":["a","b"],"deep":{"x":null}})";
  const std::string document = R"({"_id":"id","_rev":"1-a")" + (body.size() > 2 ? "," + body.substr(1) : "}");
  const bool plain = (kind & 0x80) != 0;
  const std::string source = plain ? std::string(in.rest()) : source_of(in.rest());
  if (!simdjson::validate_utf8(source)) return 0;

  if (const auto checked = check_function(source); !checked) {
    require(checked.error().code == ErrorCode::bad_request || checked.error().code == ErrorCode::function_failed,
            "what does not compile is refused");
    require(simdjson::validate_utf8(checked.error().reason), "with a reason");
  }
  run(kind & 0x7F, program_of("hostile", source, R"({"views":{"lib":{"m":"exports.x = 1;"}}})"), document);

  static const ProgramPtr honest =
      program_of("honest", "function(doc) { emit(doc._id, [1].map(function(x) { return x + 1; })); }", "");
  set_limits(patient);
  MapOutput output;
  require(map(honest, R"({"_id":"a"})", output).has_value(), "the next function runs");
  require(output.rows.size() == 1 && output.value(output.rows[0]) == "[2]", "as ever");
  return 0;
}
