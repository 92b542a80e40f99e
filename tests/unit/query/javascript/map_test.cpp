#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "query/javascript/functions.h"
#include "unit/query/javascript/programs.h"

using namespace octavo;
using namespace octavo::query::javascript;

namespace {

// What the functions emit for a document: `0: key → value`.
std::vector<std::string> emitted_by(const ProgramPtr& program, std::string_view document) {
  MapOutput output;
  const auto mapped = map(program, document, output);
  if (!mapped) return {"error: " + mapped.error().reason};
  std::vector<std::string> rows;
  for (const auto& row : output.rows) {
    rows.push_back(std::to_string(row.function) + ": " + std::string(output.key(row)) + " → " +
                   std::string(output.value(row)));
  }
  return rows;
}

using EmittedRows = std::vector<std::string>;

}  // namespace

TEST_CASE("a map function emits keys and values as JSON") {
  const auto program = program_of("function(doc) { emit(doc.price, [doc._id, {a: null}]); emit('b\"ä', 0.5); }");
  CHECK(emitted_by(program, R"({"_id":"x","_rev":"1-a","price":12})") ==
        EmittedRows{R"(0: 12 → ["x",{"a":null}])", R"(0: "b\"ä" → 0.5)"});
}

TEST_CASE("what is missing is emitted as null") {
  CHECK(emitted_by(program_of("function(doc) { emit(); emit(doc.a, NaN); emit(function() {}, 1/0); }"), "{}") ==
        EmittedRows{"0: null → null", "0: null → null", "0: null → null"});
}

TEST_CASE("numbers that a map emits are written as JavaScript writes them") {
  CHECK(emitted_by(program_of("function(doc) { emit(1e21, -0); emit(123456789012, 0.1); emit(doc.n, 1e-7); }"),
                   R"({"n":12345678901234567890})") ==
        EmittedRows{"0: 1e+21 → 0", "0: 123456789012 → 0.1", "0: 12345678901234567000 → 1e-7"});
}

TEST_CASE("all characters come through, and lone surrogates do no harm") {
  const auto program = program_of(R"(function(doc) {
    emit(doc.text, [doc.text]);
    emit('\ud800x', ['\udc00', '\\ud800', '\ud83d\ude00']);
    emit('\u0001\n', {'\u00e9': '\u20ac'});
  })");
  CHECK(emitted_by(program, R"({"text":"é€😀"})") ==
        EmittedRows{R"(0: "é€😀" → ["é€😀"])", R"(0: "�x" → ["�","\\ud800","😀"])", R"(0: "\u0001\n" → {"é":"€"})"});
}

TEST_CASE("all functions of a program see the document, each as it is stored") {
  const auto program = program_of(std::vector<std::string>{"function(doc) { doc.a = 2; delete doc.b; emit(1, doc.a); }",
                                                           "function(doc) { emit(2, [doc.a, doc.b.c]); }",
                                                           "function(doc) { doc.b.c = 7; emit(3, doc.b.c); }"});
  CHECK(emitted_by(program, R"({"a":1,"b":{"c":3}})") == EmittedRows{"0: 1 → 1", "1: 2 → [1,3]", "2: 3 → 3"});
}

TEST_CASE("a function that throws emits nothing for the document, and the others do") {
  const auto program =
      program_of(std::vector<std::string>{"function(doc) { emit(1, 1); doc.a.b; }", "function(doc) { emit(2, 2); }",
                                          "function(doc) { emit(3, 3); throw {why: 'not'}; }"});
  CHECK(emitted_by(program, "{}") == EmittedRows{"1: 2 → 2"});
  CHECK(emitted_by(program, R"({"a":{}})") == EmittedRows{"0: 1 → 1", "1: 2 → 2"});
}

TEST_CASE("functions come in all the ways that people write them") {
  const EmittedRows expected{"0: 1 → null"};
  CHECK(emitted_by(program_of("function(doc) { emit(1) }"), "{}") == expected);
  CHECK(emitted_by(program_of("function by_x(doc) { emit(1) }"), "{}") == expected);
  CHECK(emitted_by(program_of("(function(doc) { emit(1) })"), "{}") == expected);
  CHECK(emitted_by(program_of("doc => emit(1)"), "{}") == expected);
  CHECK(emitted_by(program_of("(doc) => { emit(1); }"), "{}") == expected);
  CHECK(emitted_by(program_of("  function(doc) { emit(1) };\n"), "{}") == expected);
  CHECK(emitted_by(program_of("function(doc) { emit(1) } ; // the end"), "{}") == expected);
  CHECK(emitted_by(program_of("// first\nfunction(doc) { emit(1) } /* then */;; /* end */"), "{}") == expected);
  CHECK(emitted_by(program_of("/* é€😀 */ function(doc) { emit(1) };"), "{}") == expected);
  CHECK(emitted_by(program_of("/* é€😀\n */ function(doc) {\n emit(1)\n };"), "{}") == expected);
  CHECK(emitted_by(program_of("function(doc) { emit(1) } // no more"), "{}") == expected);
  CHECK(emitted_by(program_of("var one = 1; (function(doc) { emit(one) })"), "{}") == expected);
  CHECK(emitted_by(program_of("function(doc) { const {a = 1} = doc; emit(a); }"), "{}") == expected);
}

TEST_CASE("a source that is no function is refused with the reason and the line") {
  const auto compile_error_of = [](std::string_view source) {
    const auto checked = check_function(source);
    return checked ? "" : checked.error().reason;
  };
  CHECK(compile_error_of("function(doc) { emit(1) }").empty());
  CHECK(compile_error_of("function(doc) {\n emit(1 }") ==
        "SyntaxError: missing ) after argument list (line 2) (function(doc) {\n emit(1 })");
  CHECK(compile_error_of("17") == "Error: Expression does not eval to a function. (17)");
  CHECK(compile_error_of("nonsense") == "ReferenceError: nonsense is not defined (line 1) (nonsense)");
  CHECK(check_function("{").error().word == "compilation_error");
  CHECK_FALSE(check_function("function(doc) { for ( ; }"));
  CHECK_FALSE(check_function("function(doc) { }; more"));
  CHECK_FALSE(check_function(""));
}

TEST_CASE("the helpers of CouchDB are there") {
  const auto program = program_of(R"(function(doc) {
    emit('sum', sum([1, 2, 3.5]));
    emit('isArray', [isArray([]), isArray({}), isArray('')]);
    emit('toJSON', toJSON({a: [1]}));
    emit('JSON', JSON.parse('{"a":1}').a);
    log('is heard'); log({an: 'object'}); log();
  })");
  CHECK(emitted_by(program, "{}") == EmittedRows{"0: \"sum\" → 6.5", "0: \"isArray\" → [true,false,false]",
                                                 R"(0: "toJSON" → "{\"a\":[1]}")", "0: \"JSON\" → 1"});
}

TEST_CASE("modules are found by their path, loaded once, and may need each other") {
  const std::string modules = R"({"views":{"lib":{
    "count":"exports.n = 0; exports.next = function() { return ++exports.n; };",
    "a":"exports.name = 'a'; exports.other = require('./b').name;",
    "b":"exports.name = 'b'; exports.other = require('../lib/a').name;",
    "deep":{"er":"module.exports = require('../count');","side":"exports.x = require('./er').n;"}}}})";
  const auto program = program_of({"function(doc) { var c = require('views/lib/count'); c.next(); emit(c.next()); }",
                                   "function(doc) { var a = require('views/lib/a'); emit(a.name, a.other); }",
                                   "function(doc) { emit(require('views/lib/deep/side').x); }"},
                                  modules);
  CHECK(emitted_by(program, "{}") == EmittedRows{"0: 2 → null", "1: \"a\" → \"b\"", "2: 2 → null"});
  CHECK(emitted_by(program, "{}") == EmittedRows{"0: 4 → null", "1: \"a\" → \"b\"", "2: 2 → null"});
}

TEST_CASE("a module that is not there, or fails, fails only the function that needs it") {
  const std::string modules = R"js({"lib":{"bad":"throw new Error('no')","text":"exports.ok = true","deep":{}}})js";
  const auto thrown_by = [&](std::string_view path) {
    const auto program = program_of(
        {"function() { try { require('" + std::string(path) + "'); } catch (e) { emit(e[1], e[2]); } }"}, modules);
    return emitted_by(program, "{}").at(0);
  };
  CHECK(thrown_by("lib/none") ==
        R"js(0: "invalid_require_path" → "Object has no property \"none\". {\"bad\":\"throw new Error('no')\",)js"
        R"js(\"text\":\"exports.ok = true\",\"deep\":{}}")js");
  CHECK(thrown_by("lib/deep") == R"(0: "invalid_require_path" → "Must require a JavaScript string, not: object")");
  CHECK(thrown_by("../up") == R"(0: "invalid_require_path" → "Object has no parent for \"..\"")");
  CHECK(thrown_by("./up") == R"(0: "invalid_require_path" → "Object has no parent for \".\"")");
  CHECK(thrown_by("toString") == R"js(0: "invalid_require_path" → "Object has no property \"toString\". )js"
                                 R"js({\"lib\":{\"bad\":\"throw new Error('no')\",\"text\":\"exports.ok = true\",)js"
                                 R"js(\"deep\":{}}}")js");
  CHECK(thrown_by("lib/bad") == R"js(0: "compilation_error" → "Module require('lib/bad') raised error Error: no")js");
}

TEST_CASE("worlds of different databases and programs share nothing") {
  const std::string source =
      "function(doc) { this.seen = (this.seen || 0) + 1; emit(this.seen, Array.prototype.mine); "
      "Array.prototype.mine = true; }";
  const auto one = std::make_shared<const Program>("db1", std::vector<Program::Function>{{"f", source}}, "");
  const auto two = std::make_shared<const Program>("db2", std::vector<Program::Function>{{"f", source}}, "");
  CHECK(one->identity() != two->identity());
  CHECK(emitted_by(one, "{}") == EmittedRows{"0: 1 → null"});
  CHECK(emitted_by(one, "{}") == EmittedRows{"0: 2 → true"});
  CHECK(emitted_by(two, "{}") == EmittedRows{"0: 1 → null"});
  std::thread([&] { CHECK(emitted_by(one, "{}") == EmittedRows{"0: 1 → null"}); }).join();
}

TEST_CASE("no file, network, timer or code from text is within reach") {
  CHECK(emitted_by(program_of(R"js(function(doc) {
    var names = ['load', 'read', 'print', 'quit', 'fetch', 'XMLHttpRequest', 'setTimeout', 'WebAssembly',
                 'SharedArrayBuffer', 'Worker', 'process', 'require', 'evalcx', 'readline'];
    names.forEach(function(name) { if (typeof globalThis[name] !== 'undefined') emit(name); });
    try { eval('emit("eval")'); } catch (e) {}
    try { new Function('emit("Function")')(); } catch (e) {}
    try { (async function() {}).constructor('emit("async")')(); } catch (e) {}
    Promise.resolve().then(function() { emit('then'); });
    (async function() { await 1; emit('awaited'); })();
    emit('done');
  })js"),
                   "{}") == EmittedRows{"0: \"done\" → null"});
}

TEST_CASE("many programs take turns in one thread") {
  std::vector<ProgramPtr> programs;
  for (int i = 0; i < 100; ++i) programs.push_back(program_of("function(doc) { emit(" + std::to_string(i) + "); }"));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 100; ++i)
      CHECK(emitted_by(programs[i], "{}") == EmittedRows{"0: " + std::to_string(i) + " → null"});
  }
}

TEST_CASE("reduce functions get keys, values and rereduce") {
  const auto program =
      program_of("function(keys, values, rereduce) { return {k: keys, s: sum(values), r: rereduce}; }");
  CHECK(reduce(program, 0, R"([["a","1"],["b","2"]])", "[1,2]", false) ==
        R"({"k":[["a","1"],["b","2"]],"s":3,"r":false})");
  CHECK(reduce(program, 0, "null", "[3,4]", true) == R"({"k":null,"s":7,"r":true})");
  CHECK(reduce(program_of("function() {}"), 0, "null", "[]", true) == "null");
  const auto failed = reduce(program_of("function(k, v) { return v.a.b; }"), 0, "null", "[]", true);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::function_failed);
  CHECK(failed.error().word == "TypeError");
  CHECK(failed.error().reason == "function 0: TypeError: v.a is undefined (line 1)");
}

TEST_CASE("search functions index fields with their options") {
  std::vector<IndexedField> fields;
  const auto program = program_of(R"(function(doc) {
    index('title', doc.title, {store: true, boost: 2.5});
    index('price', 1.5, {store: 'yes', facet: true});
    index('new', true, {index: false, store: 'YES'});
    index('plain', 'x');
  })");
  REQUIRE(index(program, 0, R"({"title":"Ä b"})", fields));
  REQUIRE(fields.size() == 4);
  CHECK(fields[0].name == "title");
  CHECK(std::get<std::string>(fields[0].value) == "Ä b");
  CHECK(fields[0].store);
  CHECK(fields[0].boost == 2.5);
  CHECK(std::get<double>(fields[1].value) == 1.5);
  CHECK(fields[1].facet);
  CHECK(fields[1].store);
  CHECK(std::get<bool>(fields[2].value));
  CHECK_FALSE(fields[2].index);
  CHECK(fields[3].index);
  CHECK_FALSE(fields[3].store);
  CHECK(fields[3].boost == 1.0);

  // A throw gives no fields; the first field is of the wrong type here.
  REQUIRE(index(program, 0, R"({})", fields));
  CHECK(fields.empty());
  REQUIRE(index(program_of("function() { index('a', 1); index('_b', 1); }"), 0, "{}", fields));
  CHECK(fields.empty());
}
