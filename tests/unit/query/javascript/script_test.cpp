// Stored procedures and triggers: the server-side API, on a host of a few documents.
#include "query/javascript/script.h"

#include <chrono>
#include <functional>
#include <map>
#include <new>
#include <thread>

#include <catch2/catch.hpp>

#include "base/read_failure.h"
#include "query/javascript/limits.h"

using namespace octavo;
using namespace octavo::query::javascript;

namespace {

// Answers from a map; queries get all that is in it, page by page.
class MapHost final : public ScriptHost {
 public:
  std::map<std::string, std::string> documents;
  std::vector<std::string> calls;
  std::size_t accepts = 1'000;
  std::optional<Error> breaks;
  std::function<void()> throws;
  ProgramPtr inner;

  Expected<Answer> run(const Request& request) override {
    if (throws) throws();
    if (breaks) return std::unexpected(*breaks);
    Answer answer;
    answer.accepted = accepts > 0;
    if (!answer.accepted) return answer;
    --accepts;
    switch (request.operation) {
      case Operation::read: {
        calls.push_back("read " + request.link);
        const auto found = documents.find(request.link);
        if (found == documents.end()) {
          answer.error = 404;
          answer.message = "Resource Not Found.";
        } else {
          answer.body = found->second;
        }
        return answer;
      }
      case Operation::query: {
        calls.push_back("query " + request.body + request.parameters);
        if (inner) {
          const std::string argument = "21";
          OCTAVO_TRY(const auto result, call_function(inner, std::span(&argument, 1)));
          answer.body = "[" + result + "]";
          return answer;
        }
        std::size_t skip = request.continuation ? std::stoul(*request.continuation) : 0;
        std::size_t taken = 0;
        answer.body = "[";
        for (const auto& [id, document] : documents) {
          if (taken < skip) {
            ++taken;
            continue;
          }
          if (request.page_size && taken - skip == *request.page_size) {
            answer.continuation = std::to_string(taken);
            break;
          }
          answer.body += (taken > skip ? "," : "") + document;
          ++taken;
        }
        answer.body += "]";
        return answer;
      }
      case Operation::create:
      case Operation::upsert:
        calls.push_back((request.operation == Operation::create ? "create " : "upsert ") + request.body +
                        (request.makes_id ? "" : " as it is"));
        answer.body = request.body;
        return answer;
      case Operation::replace:
        calls.push_back("replace " + request.link + " " + request.body + request.etag.value_or(""));
        answer.body = request.body;
        return answer;
      case Operation::remove:
        calls.push_back("remove " + request.link + request.etag.value_or(""));
        return answer;
    }
    return answer;
  }
};

ProgramPtr script_of(std::string source, Program::Kind kind = Program::Kind::script) {
  std::vector<Program::Function> functions;
  functions.push_back({.name = "script", .source = std::move(source)});
  return std::make_shared<const Program>("database", std::move(functions), "", kind);
}

Expected<ScriptResult> run(MapHost& host, std::string source, ScriptCall call = {}) {
  call.self_link = "dbs/aa==/colls/bb=/";
  call.alt_link = "dbs/a/colls/b";
  return run_script(script_of(std::move(source)), host, call);
}

std::string response_of(std::string source, ScriptCall call = {}) {
  MapHost host;
  const auto result = run(host, std::move(source), call);
  REQUIRE(result);
  if (result->failure) return "thrown: " + result->failure->text;
  return result->response;
}

}  // namespace

TEST_CASE("a script gets its arguments and sets the response") {
  CHECK(response_of("function (a, b) { getContext().getResponse().setBody([a, b.c]); }",
                    {.parameters = "[1,{\"c\":\"x\"}]"}) == "[1,\"x\"]");
  CHECK(response_of("function () {}").empty());
  CHECK(response_of("function () { var r = getContext().getResponse(); r.setBody('a'); r.appendBody('b'); "
                    "r.appendBody({c: 1}); }") == "\"ab{\\\"c\\\":1}\"");
  CHECK(response_of(
            "() => __.response.setBody([__.getSelfLink(), __.getAltLink(), __ === getContext().getCollection()])") ==
        "[\"dbs/aa==/colls/bb=/\",\"dbs/a/colls/b\",true]");
  CHECK(response_of("function () { var r = getContext().getRequest(); __.response.setBody([r.getBody(), "
                    "r.getOperationType()]); }",
                    {.operation = "Create", .request_body = "{\"id\":\"1\"}"}) == "[{\"id\":\"1\"},\"Create\"]");
}

TEST_CASE("operations are done in the order of their calls, callbacks run when the caller has returned") {
  MapHost host;
  host.documents = {{"x", "{\"id\":\"x\"}"}};
  const auto result = run(host, R"(function () {
    var order = [];
    __.readDocument('x', function (err, doc) {
      order.push('read ' + doc.id);
      __.deleteDocument('x', {etag: '"1"'}, function () { order.push('deleted'); });
      order.push('after');
    });
    __.createDocument(__.getAltLink(), {id: 'y'}, {disableAutomaticIdGeneration: true}, function () { order.push('created'); });
    order.push('first');
    __.response.setBody(order);
  })");
  REQUIRE(result);
  CHECK(result->response == R"(["first","read x","after","created","deleted"])");
  CHECK(host.calls == std::vector<std::string>{"read x", "create {\"id\":\"y\"} as it is", "remove x\"1\""});
}

TEST_CASE("errors go to callbacks, and end a script that has none") {
  MapHost host;
  const auto caught = run(
      host, "function () { __.readDocument('no', function (err) { __.response.setBody([err.number, err.body]); }); }");
  REQUIRE(caught);
  CHECK(caught->response == R"([404,"{\"Errors\":[\"Resource Not Found.\"]}"])");
  const auto thrown = run(host, "function () { __.readDocument('no'); }");
  REQUIRE(thrown);
  REQUIRE(thrown->failure);
  CHECK(thrown->failure->number == 404);
  const auto rethrown = run(host, "function () { __.readDocument('no', function (err) { throw err; }); }");
  CHECK(rethrown->failure->number == 404);
  const auto own = run(host, "function () { throw {number: 409, text: 'mine'}; }");
  CHECK(own->failure->number == 409);
  CHECK(own->failure->text == R"({"number":409,"text":"mine"})");
  const auto aborted = run(host, "function () { try { getContext().abort(new Error('stop')); } catch (e) {} }");
  CHECK(aborted->failure->text.starts_with("Error: stop"));
}

TEST_CASE("what a script does not look for in its arguments is refused") {
  MapHost host;
  for (const std::string source :
       {"function () { __.readDocument(1); }", "function () { __.createDocument('dbs/x', {}); }",
        "function () { __.createDocument(__.getSelfLink(), 'text'); }",
        "function () { __.queryDocuments(__.getSelfLink()); }",
        "function () { __.queryDocuments(__.getSelfLink(), 'x', {pageSize: 0}); }", "function () { __.filter(1); }",
        "function () { __.createAttachment(); }"}) {
    CAPTURE(source);
    const auto result = run(host, source);
    REQUIRE(result);
    REQUIRE(result->failure);
    CHECK(result->failure->number == 400);
  }
  CHECK(host.calls.empty());
}

TEST_CASE("an operation that is not accepted says so, and its callback never runs") {
  MapHost host;
  host.accepts = 2;
  const auto result = run(host, R"(function () {
    var said = [];
    for (var i = 0; i < 4; ++i) said.push(__.upsertDocument(__.getSelfLink(), {n: i}, function () { said.push('called'); }));
    said.push(__.filter(function () { return true; }).isAccepted);
    __.response.setBody(said);
  })");
  REQUIRE(result);
  CHECK(result->response == R"([true,true,false,false,false,"called","called"])");
}

TEST_CASE("the query object works on pages and on everything") {
  MapHost host;
  for (int i = 0; i < 5; ++i) host.documents["d" + std::to_string(i)] = "{\"n\":" + std::to_string(i) + "}";
  const auto result = run(host, R"(function () {
    var out = [];
    __.chain().filter(function (d) { return d.n % 2 === 0; }).map(function (d) { return [d.n, [d.n]]; }).flatten(true)
      .value(function (e, r) { out.push(r); });
    __.filter(function (d) { return d.n > 0; }, {pageSize: 2}, function (e, r, o) {
      out.push(r.length, o.continuation);
      __.pluck('n', {pageSize: 2, continuation: o.continuation}, function (e, r) { out.push(r); __.response.setBody(out); });
    });
  })");
  REQUIRE(result);
  CHECK(result->response == R"([[0,[0],2,[2],4,[4]],1,"2",[2,3]])");
  // Without a callback the result is the response.
  CHECK(run(host, "function () { __.chain().pluck('n').value(); }")->response == "[0,1,2,3,4]");
}

TEST_CASE("a page may be larger than any number") {
  MapHost host;
  for (int i = 0; i < 5; ++i) host.documents["d" + std::to_string(i)] = "{\"n\":" + std::to_string(i) + "}";
  for (const std::string_view size : {"Infinity", "Number.MAX_VALUE", "1e19"}) {
    const auto result = run(host, "function () { __.pluck('n', {pageSize: " + std::string(size) +
                                      "}, function (e, r, o) { __.response.setBody([r, o.continuation]); }); }");
    REQUIRE(result);
    CHECK(result->response.starts_with("[[0,1,2,3,4]"));
  }
}

TEST_CASE("a trigger before its write has no response, and may change the request") {
  MapHost host;
  ScriptCall call{.operation = "Create", .request_body = "{\"a\":1}", .has_response = false};
  const auto changed =
      run(host, "function () { var r = getContext().getRequest(), b = r.getBody(); b.a++; r.setBody(b); }", call);
  REQUIRE(changed);
  CHECK(changed->request == "{\"a\":2}");
  CHECK(run(host, "function () { getContext().getResponse(); }", call)->failure);
}

TEST_CASE("console.log is kept up to its limit") {
  MapHost host;
  CHECK(run(host, "function () { console.log('a', 1, {b: []}); console.error('c'); }")->log == "a 1 {\"b\":[]}\nc\n");
  CHECK(run(host, "function () { console.log('%s is %d of %j, %%', 'a', 1, [2], 'rest'); }")->log ==
        "a is 1 of [2], % rest\n");
  CHECK(run(host, "function () { console.log('100%'); console.log('%s'); console.log('%s %s', 'a'); }")->log ==
        "100%\n%s\na %s\n");
  const auto much = run(host, "function () { for (var i = 0; i < 1e5; ++i) console.log('line ' + i); }");
  CHECK(much->log.size() <= limits().log_bytes);
  CHECK(much->log.size() > limits().log_bytes / 2);
}

TEST_CASE("globals that a script leaves are not there for the next run") {
  for (int i = 0; i < 3; ++i) {
    CHECK(response_of("function () { var had = typeof leaked; leaked = 1; __.response.setBody(had); }") ==
          "\"undefined\"");
  }
}

TEST_CASE("an error of the host ends a script, which cannot catch it") {
  MapHost host;
  host.breaks = Error{ErrorCode::io_failure, "the disk is gone", {}};
  const auto broken =
      run(host, "function () { try { __.readDocument('x'); } catch (e) {} __.response.setBody('survived'); }");
  REQUIRE_FALSE(broken);
  CHECK(broken.error().code == ErrorCode::io_failure);
  CHECK(response_of("function () { __.response.setBody(1); }") == "1");
}

TEST_CASE("what storage throws under a script ends the script with the server's error, and goes no further") {
  MapHost host;
  // Warm functions are machine code by then, which no exception can pass through.
  const std::string source =
      "function () { for (var i = 0; i < 20000; ++i) { try { __.readDocument('x', {}, function () {}); } catch (e) {} "
      "} }";
  int reads = 0;
  host.accepts = 1'000'000;
  host.throws = [&reads] {
    if (++reads == 15'000) throw std::bad_alloc();
  };
  const auto short_of_memory = run(host, source);
  REQUIRE_FALSE(short_of_memory);
  CHECK(short_of_memory.error().code == ErrorCode::overloaded);
  host.throws = [&reads] {
    if (++reads == 30'000) throw ReadFailure({ErrorCode::corrupted, "a page is damaged", {}});
  };
  const auto damaged = run(host, source);
  REQUIRE_FALSE(damaged);
  CHECK(damaged.error().code == ErrorCode::corrupted);
  CHECK(damaged.error().reason == "a page is damaged");
  CHECK(response_of("function () { __.response.setBody(1); }") == "1");
}

TEST_CASE("runaway scripts meet their limits") {
  auto short_limits = limits();
  short_limits.call_time = std::chrono::milliseconds(200);
  const auto before = limits();
  set_limits(short_limits);
  std::optional<Error> error;
  std::thread([&] {  // a thread keeps the limits it began with
    MapHost host;
    const auto endless = run(host, "function () { while (true) {} }");
    if (!endless) error = endless.error();
  })
      .join();
  set_limits(before);
  REQUIRE(error);
  CHECK(error->word == "resource_limit");
  MapHost host;
  CHECK(run(host, "function f() { f(); }")->failure->text.find("too much recursion") != std::string::npos);
}

TEST_CASE("a script's time also passes while it waits") {
  const auto before = limits();
  auto short_limits = before;
  short_limits.call_time = std::chrono::milliseconds(200);
  set_limits(short_limits);
  std::optional<Error> error;
  std::thread([&] {
    MapHost host;
    host.throws = [] { std::this_thread::sleep_for(std::chrono::milliseconds(400)); };
    const auto waited = run(host,
                            "function () { __.readDocument('x', {}, function () {});"
                            " for (var i = 0, s = 0; i < 100000; ++i) s += i; __.response.setBody(s); }");
    if (!waited) error = waited.error();
  }).join();
  set_limits(before);
  REQUIRE(error);
  CHECK(error->code == ErrorCode::timeout);
  CHECK(error->word == "resource_limit");
}

TEST_CASE("functions of values are called, also while a script waits") {
  const auto twice = script_of("function (n) { return n === undefined ? n : n * 2; }", Program::Kind::plain);
  const std::string argument = "21";
  CHECK(*call_function(twice, std::span(&argument, 1)) == "42");
  CHECK(call_function(twice, {})->empty());
  CHECK(call_function(script_of("function () { throw new Error('no'); }", Program::Kind::plain), {}).error().code ==
        ErrorCode::function_failed);
  MapHost host;
  host.inner = twice;
  CHECK(run(host,
            "function () { __.queryDocuments(__.getSelfLink(), 'q', function (e, r) { __.response.setBody(r); }); }")
            ->response == "[42]");
  host.inner = script_of("function () { throw new Error('inner'); }", Program::Kind::plain);
  CHECK_FALSE(run(host, "function () { __.queryDocuments(__.getSelfLink(), 'q', function () {}); }"));
  CHECK(response_of("function () { __.response.setBody('still here'); }") == "\"still here\"");
}
