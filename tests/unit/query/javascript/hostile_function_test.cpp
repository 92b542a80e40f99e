// Functions that loop, allocate, recurse, throw or lie: each ends with an error, and the next call is as if nothing had
// been.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "query/javascript/functions.h"
#include "query/javascript/interruption.h"
#include "query/javascript/limits.h"
#include "support/patience.h"
#include "unit/query/javascript/programs.h"

using namespace octavo;
using namespace octavo::query::javascript;
using namespace std::chrono_literals;
using octavo::tests::patiently;

namespace {

class NarrowLimits {
 public:
  NarrowLimits() {
    set_limits({.call_time = 200ms, .heap_bytes = 32U << 20, .stack_bytes = 256U << 10, .output_bytes = 1U << 20});
  }
  ~NarrowLimits() { set_limits(before_); }

 private:
  const Limits before_ = limits();
};

/// Processor time of this thread: the machine may have other things to do.
std::chrono::milliseconds thread_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::seconds(now.tv_sec) +
                                                               std::chrono::nanoseconds(now.tv_nsec));
}

struct CallOutcome {
  std::string word;
  std::string reason;
  ErrorCode code = ErrorCode::function_failed;
  std::size_t rows = 0;
  std::chrono::milliseconds took{};
};

// What an honest function emits, or why it does not.
std::string honest_result() {
  const auto honest = program_of("function(doc) { emit(doc._id, [1].map(function(x) { return x + 1; })); }");
  MapOutput output;
  const auto mapped = map(honest, R"({"_id":"a"})", output);
  if (!mapped) return mapped.error().reason;
  return output.rows.size() == 1 ? std::string(output.value(output.rows[0])) : "no row";
}

// Runs on a thread of its own, which takes its limits when it begins, and has an honest function run there before and
// afterwards. Catch is not told of anything there: it is for one thread.
CallOutcome outcome_of(std::string_view source) {
  CallOutcome outcome;
  std::string before;
  std::string after;
  std::thread([&] {
    before = honest_result();
    const auto began = thread_time();
    MapOutput output;
    const auto result = map(program_of(source), R"({"_id":"b"})", output);
    outcome.took = thread_time() - began;
    outcome.rows = output.rows.size();
    if (!result) {
      outcome.word = result.error().word;
      outcome.reason = result.error().reason;
      outcome.code = result.error().code;
    }
    after = honest_result();
  }).join();
  CHECK(before == "[2]");
  CHECK(after == "[2]");
  const bool was_stopped = outcome.word == "resource_limit";
  CHECK(outcome.code == (was_stopped ? ErrorCode::function_stopped : ErrorCode::function_failed));
  if (!outcome.word.empty()) CHECK(outcome.rows == 0);
  return outcome;
}

const std::string too_long = "function 0: the function took too long (javascript.call_time)";
const std::string too_much_memory = "function 0: the function used too much memory (javascript.heap_bytes_max)";
const std::string too_much_output =
    "function 0: the function's output is too "
    "large (javascript.output_bytes_max)";

}  // namespace

TEST_CASE("an endless loop ends at the time limit") {
  const NarrowLimits limits;
  const auto outcome = outcome_of("function() { while (true) {} }");
  CHECK(outcome.word == "resource_limit");
  CHECK(outcome.reason == too_long);
  CHECK(outcome.took >= 190ms);
  CHECK(outcome.took < patiently(3s));
}

TEST_CASE("a call ends soon when it is no longer needed, and others continue") {
  std::atomic<bool> stopping{false};
  std::optional<Error> ended;
  std::optional<Error> refused;
  std::string outside;
  const auto began = std::chrono::steady_clock::now();
  std::thread owner([&] {
    MapOutput output;
    {
      const StoppableCalls calls(stopping);
      const auto endless =
          map(program_of("function() { while (true) { try { while (true) {} } finally { continue; } } }"),
              R"({"_id":"b"})", output);
      if (!endless) ended = endless.error();
      const auto next = map(program_of("function(doc) { emit(1); }"), R"({"_id":"b"})", output);
      if (!next) refused = next.error();
    }
    outside = honest_result();
  });
  std::this_thread::sleep_for(100ms);
  stopping = true;
  owner.join();
  CHECK(std::chrono::steady_clock::now() - began < patiently(3s));
  REQUIRE(ended);
  CHECK(ended->code == ErrorCode::overloaded);
  REQUIRE(refused);
  CHECK(refused->code == ErrorCode::overloaded);
  CHECK(outside == "[2]");
}

TEST_CASE("the time limit cannot be caught") {
  const NarrowLimits limits;
  CHECK(outcome_of("function() { while (true) { try { while (true) {} } catch "
                   "(e) {} finally { continue; } } }")
            .reason == too_long);
  CHECK(outcome_of("function() { for (;;) try { null.x; } catch (e) { emit(1); "
                   "} finally {} }")
            .word == "resource_limit");
}

TEST_CASE("work inside the engine ends at the time limit") {
  const NarrowLimits limits;
  // Ended by SpiderMonkey itself, which throws.
  CHECK(outcome_of("function() { "
                   "/^(a+)+$/"
                   ".test('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'); }")
            .took < 3s);
  CHECK(outcome_of("function() { while (true) { try { "
                   "/(x+x+)+y/.test('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'); } "
                   "catch (e) {} } }")
            .reason == too_long);
  CHECK(outcome_of("function() { var a = []; for (var i = 0; i < 20000; ++i) a.push(i); "
                   "a.sort(function(x, y) { for (var i = 0; i < 100000; ++i); return y "
                   "- x; }); }")
            .reason == too_long);
  CHECK(outcome_of("function() { function* g() { while (true) yield 1; } for "
                   "(var x of g()); }")
            .reason == too_long);
  CHECK(outcome_of("function() { emit({toJSON: function() { while (true); }}); }").reason == too_long);
  CHECK(outcome_of("function() { emit(new Proxy({}, {ownKeys: function() { "
                   "while (true); }})); }")
            .reason == too_long);
  CHECK(outcome_of("function() { throw {get reason() { while (true); }}; }").reason == too_long);
}

TEST_CASE("a source that loops while it is read ends at the time limit") {
  const NarrowLimits limits;
  CHECK(outcome_of("(function() { while (true); })()").word == "resource_limit");
}

TEST_CASE("endless allocation ends at the memory limit") {
  const NarrowLimits limits;
  for (const auto* source : {
           "function() { var a = []; while (true) a.push({x: [1, 2, 3]}); }",
           "function() { var s = 'x'; var kept = []; while (true) { s = s + "
           "s.slice(0, 100000); kept.push(s.split('').join('')); } }",
           "function() { var kept = []; while (true) kept.push(new "
           "Array(100000).fill(1.5)); }",
           "function() { var kept = []; while (true) kept.push(new "
           "Uint8Array(1000000).fill(7)); }",
           "function() { var m = new Map(); for (var i = 0; ; ++i) m.set(i, "
           "i); }",
           "function() { var o = {}; for (var i = 0; ; ++i) o['a' + i] = i; }",
           "function() { var a = []; while (true) { try { a.push(new "
           "Array(100000).fill({})); } catch (e) {} } }",
       }) {
    INFO(source);
    const auto outcome = outcome_of(source);
    CHECK(outcome.word == "resource_limit");
    CHECK((outcome.reason == too_much_memory || outcome.reason == too_long));
    CHECK(outcome.took < patiently(10s));
  }
}

TEST_CASE("one huge allocation is refused") {
  const NarrowLimits limits;
  for (const auto* source : {
           "function() { new ArrayBuffer(2000000000); emit(1); }",
           "function() { new Uint8Array(1900000000).fill(1); emit(1); }",
           "function() { var s = 'x'.repeat(1000000000); "
           "emit(s.charCodeAt(5)); }",
           "function() { var s = 'x'.repeat(500000000); "
           "emit(JSON.stringify([s, s]).length); }",
           "function() { new Array(200000000).fill(0); emit(1); }",
           "function() { emit('é€'.repeat(400000000).normalize('NFD').length); "
           "}",
           "function() { emit(new Array(30000000).join('ab').length); }",
       }) {
    INFO(source);
    const auto outcome = outcome_of(source);
    CHECK(outcome.word == "resource_limit");
    CHECK(outcome.took < patiently(3s));
  }
}

TEST_CASE("deep recursion ends with an error of the function") {
  const NarrowLimits limits;
  CHECK(outcome_of("function f(doc) { return f(doc) + 1; }").word.empty());  // thrown, logged, nothing emitted
  CHECK(outcome_of("function() { var a = []; for (var i = 0; i < 20000; ++i) a "
                   "= [a]; emit(a); }")
            .word.empty());
  CHECK(outcome_of("function() { function f() { try { f(); } finally { f(); } } f(); }").word == "resource_limit");
  CHECK(outcome_of("function() { new RegExp('('.repeat(100000) + "
                   "')'.repeat(100000)).test('a'); }")
            .word.empty());
  CHECK(outcome_of("function() { JSON.parse('['.repeat(1000000)); }").word.empty());
}

TEST_CASE("output is bounded") {
  const NarrowLimits limits;
  CHECK(outcome_of("function() { while (true) emit('0123456789', null); }").reason == too_much_output);
  CHECK(outcome_of("function() { emit('x'.repeat(2000000)); }").reason == too_much_output);
  CHECK(outcome_of("function() { for (;;) index('a', 'b'); }").reason == too_long);  // nothing takes the fields
  Expected<void> indexed;
  Expected<std::string> reduced;
  std::thread([&] {
    std::vector<IndexedField> fields;
    indexed = index(program_of("function() { for (;;) index('a', 'b'); }"), 0, "{}", fields);
    reduced = reduce(program_of("function() { return 'x'.repeat(2000000); }"), 0, "null", "[]", true);
  }).join();
  REQUIRE_FALSE(indexed);
  CHECK(indexed.error().reason == too_much_output);
  REQUIRE_FALSE(reduced);
  CHECK(reduced.error().reason == too_much_output);
}

TEST_CASE("logging is bounded") {
  const NarrowLimits limits;
  CHECK(outcome_of("function() { for (var i = 0; i < 100; ++i) log('log\\n'.repeat(1000)); emit(1); }").word.empty());
}

TEST_CASE("what is emitted cannot emit into its own row") {
  const auto program = program_of(
      "function(doc) { emit(1, {toJSON: function() { try { emit('x', 'y'); } catch (e) {} return 5; }}); emit(2, 3); "
      "}");
  MapOutput output;
  REQUIRE(map(program, R"({"_id":"a"})", output));
  REQUIRE(output.rows.size() == 2);
  CHECK(output.key(output.rows[0]) == "1");
  CHECK(output.value(output.rows[0]) == "5");
  CHECK(output.value(output.rows[1]) == "3");
}

TEST_CASE("values that run functions when they are written do so safely") {
  const NarrowLimits limits;
  CHECK(outcome_of("function() { emit({get a() { throw 'no'; }}); }").word.empty());
  CHECK(outcome_of("function() { emit({toJSON: function() { return emit(this); }}); }").word.empty());
  CHECK(outcome_of("function() { var o = {}; o.o = o; emit(o); }").word.empty());
  CHECK(outcome_of("function() { emit(10n); }").word.empty());
  CHECK(outcome_of("function() { var e = new Error('x'); Object.defineProperty(e, "
                   "'message', {get: function() { while (true); }}); throw e; }")
            .word.empty());
  CHECK(outcome_of("function() { throw new Proxy({}, {get: function() { throw 1; }}); }").word.empty());
  CHECK(outcome_of("function() { throw undefined; }").word.empty());
  CHECK(outcome_of("function() { throw Symbol('x'); }").word.empty());
  CHECK(outcome_of("function(doc) { doc._id = {}; throw doc; }").word.empty());
}

TEST_CASE("what a function does to its globals stays in its world") {
  const NarrowLimits limits;
  CHECK(outcome_of("function() { JSON.parse = JSON.stringify = null; JSON = 1; "
                   "Array.prototype.map = null; "
                   "Array.prototype.toJSON = Object.prototype.toJSON = "
                   "function() { return 'mine'; }; "
                   "Object.defineProperty(Object.prototype, '0', {get: "
                   "function() { throw 1; }}); "
                   "emit = log = sum = null; for (var n of "
                   "Object.getOwnPropertyNames(globalThis)) "
                   "{ try { delete globalThis[n]; } catch (e) {} } }")
            .word.empty());
}

TEST_CASE("globals that keep memory are let go before they hinder others") {
  const NarrowLimits limits;
  std::vector<std::string> words;
  Expected<void> mapped;
  MapOutput output;
  std::thread([&] {
    const auto hoarder = program_of(
        "function() { this.kept = this.kept || []; this.kept.push(new "
        "Array(200000).join('x').split('x')); emit(1); }");
    for (int i = 0; i < 100; ++i) {
      const auto hoarded = map(hoarder, "{}", output);
      if (!hoarded) words.emplace_back(hoarded.error().word);
    }
    mapped = map(program_of("function(doc) { emit(new Array(100000).join('x').split('x').length); }"), "{}", output);
  }).join();
  CHECK(std::ranges::count(words, "resource_limit") == std::ssize(words));
  REQUIRE(mapped);
  CHECK(output.rows.size() == 1);
}

TEST_CASE("a function is not stopped for what others keep, whenever memory is collected") {
  const NarrowLimits limits;
  const auto honest = program_of("function(doc) { emit(new Array(400000).join('x').split('x').length); }");
  for (int kept = 1; kept <= 24; ++kept) {
    const auto hoarder = program_of("function() { this.kept = this.kept || []; this.kept.push(new Array(" +
                                    std::to_string(90'000 + kept * 5'000) + ").join('x').split('x')); emit(1); }");
    CAPTURE(kept);
    Expected<void> mapped;
    MapOutput output;
    std::thread([&] {
      for (int i = 0; i < kept; ++i) static_cast<void>(map(hoarder, "{}", output));
      mapped = map(honest, "{}", output);
    }).join();
    REQUIRE(mapped);
    CHECK(output.rows.size() == 1);
  }
}

TEST_CASE("threads that run hostile functions do not hold up the others") {
  const NarrowLimits limits;
  std::array<int, 4> successes{};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < successes.size(); ++i) {
    threads.emplace_back([i, &successes] {
      MapOutput output;
      const auto program = program_of(i % 2 == 0 ? "function() { while (true); }" : "function(doc) { emit(doc._id); }");
      for (int round = 0; round < 5; ++round) successes[i] += map(program, R"({"_id":"a"})", output) ? 1 : 0;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(successes == std::array{0, 5, 0, 5});
}

TEST_CASE("an honest function has its time on a machine that is busy") {
  const NarrowLimits limits;
  std::atomic<bool> done{false};
  std::vector<std::thread> busy;
  for (unsigned i = 0; i < 8 * std::max(1U, std::thread::hardware_concurrency()); ++i) {
    busy.emplace_back([&done] {
      while (!done) {
      }
    });
  }
  std::string result;
  // About half of its time, and several times its time by the clock.
  std::thread([&] {
    MapOutput output;
    const auto mapped = map(
        program_of("function() { var until = Date.now() + 600; while (Date.now() < until); emit(1); }"), "{}", output);
    result = mapped ? "done" : mapped.error().reason;
  }).join();
  done = true;
  for (auto& thread : busy) thread.join();
  CHECK(result == "done");
}
