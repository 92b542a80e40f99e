// What one item may cost: a query of a few hundred bytes cannot take the machine's memory, nor a thread for long.

#include <ctime>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

constexpr std::string_view over_memory = "error: The values that the query builds for one item exceed their limit.";

struct LimitsFixture : SqlFixture {
  explicit LimitsFixture(std::size_t text_bytes = 1 << 20) : SqlFixture() {
    std::string body = R"({"s":")" + std::string(text_bytes, 'x') + R"(","arr":[0)";
    for (int i = 1; i < 1000; ++i) body += fmt::format(",{}", i);
    put("big", body + "]}");
  }
};

std::string parameter_text(std::string_view text) {
  return '"' + std::string(text) + '"';
}

std::string times_over(std::string_view text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

/// The value or the error of an expression with @text and @part, without an item.
std::string value_with(std::string_view expression, std::string_view text, std::string_view part,
                       std::chrono::milliseconds limit = sql::sql_item_time_max) {
  const auto query = parse_sql("SELECT VALUE " + std::string(expression),
                               {{"@text", parameter_text(text)}, {"@part", parameter_text(part)}});
  sql::Evaluation evaluation(query->program().root_names, query->program().slots, &sql::document_rows());
  evaluation.set_item_time_max(limit);
  std::string out;
  const bool defined = query->program().append_projection(evaluation, out);
  if (evaluation.failed()) return "error: " + evaluation.error().reason;
  return defined ? out : "undefined";
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace

TEST_CASE("values that share their parts are limited by the text that they would be") {
  std::string query = R"(SELECT VALUE ["0123456789"])";
  for (int level = 0; level < 9; ++level) {
    query = "SELECT VALUE [a, a, a, a, a, a, a, a, a, a] FROM (" + query + ") AS a";
  }
  const auto parsed = parse_sql(query);
  sql::Evaluation evaluation(parsed->program().root_names, parsed->program().slots, &sql::document_rows());
  sql::FromIterator from(parsed->program().sources, true);
  from.begin();
  REQUIRE(from.next(evaluation));
  std::string out;
  CHECK_FALSE(parsed->program().append_projection(evaluation, out));
  REQUIRE(evaluation.failed());
  CHECK("error: " + evaluation.error().reason == over_memory);
  CHECK(out.size() < 2 * sql::sql_item_bytes_max);
  CHECK(evaluation.error().word == "resource_limit");
}

TEST_CASE_METHOD(LimitsFixture, "one long property selected many times is a row over the limit") {
  std::string list = "c.s AS a0";
  for (int i = 1; i < 100; ++i) list += fmt::format(", c.s AS a{}", i);
  CHECK(ask("SELECT " + list + " FROM c") == over_memory);
  CHECK(ask("SELECT VALUE LENGTH(c.s) FROM c") == "[1048576]");
}

TEST_CASE_METHOD(LimitsFixture, "the keys of a subquery's ORDER BY, DISTINCT and GROUP BY count") {
  for (const char* subquery :
       {"SELECT VALUE x FROM x IN c.arr ORDER BY c.s", "SELECT VALUE x FROM x IN c.arr ORDER BY c.s DESC",
        "SELECT DISTINCT VALUE [x, c.s] FROM x IN c.arr", "SELECT x, COUNT(1) AS n FROM x IN c.arr GROUP BY x, c.s"}) {
    INFO(subquery);
    CHECK(ask("SELECT VALUE ARRAY_LENGTH(ARRAY(" + std::string(subquery) + ")) FROM c") == over_memory);
  }
  CHECK(ask("SELECT VALUE ARRAY(SELECT VALUE x FROM x IN c.arr WHERE x < 3 ORDER BY x DESC) FROM c") == "[[2,1,0]]");
}

TEST_CASE_METHOD(LimitsFixture, "what a subquery kept is given back at its end") {
  // 80 subqueries, each of which keeps a megabyte.
  CHECK(ask("SELECT VALUE (SELECT VALUE COUNT(1) FROM y IN c.arr WHERE y < 80 AND "
            "EXISTS(SELECT DISTINCT VALUE c.s FROM x IN c.arr WHERE x = y)) FROM c") == "[80]");
}

TEST_CASE_METHOD(LimitsFixture, "texts that functions put together count while they are made") {
  CHECK(ask("SELECT VALUE StringJoin(ARRAY(SELECT VALUE 'a' FROM x IN c.arr), c.s) FROM c") == over_memory);
  CHECK(ask("SELECT VALUE LENGTH(ToString(ARRAY(SELECT VALUE c.s FROM x IN c.arr))) FROM c") == over_memory);
  CHECK(ask("SELECT VALUE ARRAY(SELECT VALUE c.s FROM x IN c.arr) = ARRAY(SELECT VALUE c.s FROM x IN c.arr) FROM c") ==
        over_memory);
  CHECK(ask("SELECT VALUE LENGTH(StringJoin(['a', 'b'], c.s)) FROM c") == "[1048578]");
}

TEST_CASE("a long parameter named often is kept once") {
  const std::string text(1 << 20, 'x');
  std::string query = "SELECT VALUE 1 FROM c WHERE c.a IN (@p";
  for (int i = 0; i < 3000; ++i) query += ",@p";
  const double begun = processor_seconds();
  const auto parsed = parse_sql(query + ") OR c.b = @p", {{"@p", parameter_text(text)}});
  CHECK(parsed);
  CHECK(processor_seconds() - begun < 1);
}

TEST_CASE("functions over texts take time in proportion to them") {
  const std::string text(200'000, 'a');
  const double begun = processor_seconds();
  CHECK(value_with("LENGTH(TRIM(@text, @part))", text, std::string(100'000, 'b') + "a") == "0");
  CHECK(value_with("LENGTH(LTRIM(@text, @part))", "\xC3\xA4" + text, std::string(100'000, 'b') + "a\xC3\xA4") == "0");
  CHECK(value_with("LENGTH(RTRIM(@text, @part))", "b" + text, "a") == "1");
  CHECK(value_with("LastIndexOf(@text, @part)", text, "b" + std::string(100'000, 'a')) == "-1");
  CHECK(value_with("LastIndexOf(@text, @part)", "xaaxaa\xC3\xA4y", "aa") == "4");
  CHECK(value_with("LastIndexOf(@text, @part)", "abc", "") == "3");
  CHECK(processor_seconds() - begun < 1);
}

TEST_CASE("an item that takes too much time ends the query") {
  const std::string over_time = "error: The query takes too much time for one item; filter earlier, or ask for less.";
  const std::string text(200'000, 'a');
  constexpr std::chrono::milliseconds time_max{30};
  const double begun = processor_seconds();
  CHECK(value_with("@text LIKE @part", text, "%" + std::string(20'000, 'a') + "b%", time_max) == over_time);
  CHECK(value_with("@text LIKE @part", text, "%[" + times_over("bcdefghi", 100) + "]%", time_max) == over_time);
  const std::string hundred = "(SELECT VALUE [0" + times_over(",0", 99) + "])";
  CHECK(value_with("(SELECT VALUE COUNT(1) FROM x IN " + hundred + " JOIN y IN " + hundred + " JOIN z IN " + hundred +
                       " WHERE CONTAINS(@text, 'ab'))",
                   text, "", time_max) == over_time);
  CHECK(processor_seconds() - begun < 2);
}

TEST_CASE("a regular expression that is too long, or costs too much, ends the query") {
  CHECK(value_with("RegexMatch(@text, @part)", "a", std::string(8193, 'a')) ==
        "error: REGEXMATCH: The regular expression has 8193 bytes; at most 8192 are allowed.");
  CHECK(value_with("RegexMatch(@text, @part)", std::string(200'000, 'a'), std::string(8'000, 'a') + "b$|c$") ==
        "error: REGEXMATCH takes too much time for one text; use a simpler expression, or shorter texts.");
}

TEST_CASE_METHOD(SqlFixture, "a query that may be long for one item is known before it runs") {
  for (const char* query : {"SELECT * FROM c WHERE c.a = 1 AND CONTAINS(c.b, 'x') ORDER BY c.b",
                            "SELECT VALUE COUNT(1) FROM c", "SELECT * FROM c WHERE c.a LIKE 'abc%'"}) {
    INFO(query);
    CHECK_FALSE(parse_sql(query)->may_take_long());
  }
  for (const char* query : {"SELECT VALUE x FROM c JOIN x IN c.a", "SELECT VALUE x FROM x IN c.a",
                            "SELECT udf.f(c.a) FROM c", "SELECT * FROM c WHERE EXISTS(SELECT VALUE 1 FROM x IN c.a)",
                            "SELECT * FROM c WHERE c.a LIKE c.b", "SELECT * FROM c WHERE RegexMatch(c.a, 'a+b')"}) {
    INFO(query);
    CHECK(parse_sql(query)->may_take_long());
  }
  CHECK(parse_sql("SELECT * FROM c WHERE c.a = 1" + times_over(" OR CONTAINS(c.s, 'x')", 100))->may_take_long());
}

TEST_CASE("many names are told apart quickly; of two equal ones the later counts") {
  std::string list, object, properties;
  for (int i = 0; i < 20'000; ++i) {
    list += fmt::format("{}1 AS a{}", i ? "," : "", i);
    object += fmt::format("{}a{}:1", i ? "," : "", i);
    properties += fmt::format("{}c.a{}", i ? "," : "", i);
  }
  const double begun = processor_seconds();
  CHECK(parse_sql("SELECT " + list + " FROM c"));
  CHECK(parse_sql("SELECT VALUE {" + object + "} FROM c"));
  CHECK(parse_sql("SELECT " + properties + " FROM c"));
  CHECK(processor_seconds() - begun < 1.5);
  const auto query = parse_sql("SELECT 1 AS a, 2 AS b, 3 AS a");
  sql::Evaluation evaluation(query->program().root_names, query->program().slots, &sql::document_rows());
  std::string out;
  CHECK(query->program().append_projection(evaluation, out));
  CHECK(out == R"({"b":2,"a":3})");
  CHECK(value_of("{'a': 1, 'b': 2, 'a': 3}") == R"({"b":2,"a":3})");
}
