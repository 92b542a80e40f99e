// What operators give for values of all types, undefined before all.

#include <catch2/catch.hpp>

#include "unit/query/sql/sql_fixture.h"

using namespace octavo::tests;

TEST_CASE("equality looks at the type first, and nothing is equal to undefined") {
  CHECK(value_of("[1 = 1.0, '1' = 1, null = null, null = false, 'a' = 'A']") == "[true,false,true,false,false]");
  CHECK(value_of("[{a: 1, b: [1, {c: 2}]} = {b: [1, {c: 2}], a: 1}, [1, 2] = [2, 1]]") == "[true,false]");
  CHECK(value_of("[1 != '1', null != 1, 1 != 1]") == "[true,true,false]");
  CHECK(value_of("undefined = undefined") == "undefined");
  CHECK(value_of("undefined != 1") == "undefined");
}

TEST_CASE("only two numbers, strings, booleans or nulls can be compared") {
  CHECK(value_of("[1 < 2, 'a' < 'b', 'Z' < 'a', false < true, null <= null]") == "[true,true,true,true,true]");
  CHECK(value_of("1 < '2'") == "undefined");
  CHECK(value_of("null < 1") == "undefined");
  CHECK(value_of("[1] < [2]") == "undefined");
  CHECK(value_of("undefined >= 1") == "undefined");
}

TEST_CASE("AND, OR and NOT know three truths") {
  CHECK(value_of("false AND undefined") == "false");
  CHECK(value_of("undefined AND false") == "false");
  CHECK(value_of("true AND undefined") == "undefined");
  CHECK(value_of("true OR undefined") == "true");
  CHECK(value_of("undefined OR true") == "true");
  CHECK(value_of("false OR undefined") == "undefined");
  CHECK(value_of("true AND 1") == "undefined");
  CHECK(value_of("NOT true") == "false");
  CHECK(value_of("NOT undefined") == "undefined");
  CHECK(value_of("NOT 0") == "undefined");
}

TEST_CASE("arithmetic is of doubles, bits of 32-bit integers as in JavaScript") {
  CHECK(value_of("[7 + 2, 7 - 2, 7 * 2, 7 / 2, 7 % 4, -7 % 4, 0.1 + 0.2]") == "[9,5,14,3.5,3,-3,0.30000000000000004]");
  CHECK(value_of("[5 & 3, 5 | 3, 5 ^ 3, ~5, 1 << 31, -16 >> 2, -16 >>> 28, 4294967297 & 3]") ==
        "[1,7,6,-6,-2147483648,-4,15,1]");
  CHECK(value_of("[1 / 0, -1 / 0, 0 / 0]") == R"(["Infinity","-Infinity","NaN"])");
  CHECK(value_of("1 + '1'") == "undefined");
  CHECK(value_of("'a' || 'b'") == R"("ab")");
  CHECK(value_of("'a' || 1") == "undefined");
  CHECK(value_of("-'a'") == "undefined");
}

TEST_CASE("SQL writes numbers as JavaScript writes them") {
  CHECK(value_of("[1.0, 100, 1e21, 1e20, 123456789012345680000, 1e-6, 1e-7, 0.5, -0, 5e-324]") ==
        "[1,100,1e+21,100000000000000000000,123456789012345680000,0.000001,1e-7,0.5,0,5e-324]");
}

TEST_CASE("conditions and coalescing") {
  CHECK(value_of("[true ? 1 : 2, false ? 1 : 2, undefined ? 1 : 2, 1 ? 1 : 2]") == "[1,2,2,2]");
  CHECK(value_of("[undefined ?? 1, null ?? 1, undefined ?? undefined ?? 3]") == "[1,null,3]");
}

TEST_CASE("BETWEEN and IN") {
  CHECK(value_of("[2 BETWEEN 1 AND 3, 1 BETWEEN 1 AND 1, 'b' BETWEEN 'a' AND 'c', 2 NOT BETWEEN 1 AND 3]") ==
        "[true,true,true,false]");
  CHECK(value_of("2 BETWEEN 'a' AND 'c'") == "undefined");
  CHECK(value_of("[2 IN (1, 2), 2 IN ('2'), 2 NOT IN (1), {a: 1} IN ({a: 1})]") == "[true,false,true,true]");
  CHECK(value_of("2 IN (undefined, 2)") == "true");
  CHECK(value_of("undefined IN (1)") == "undefined");
  CHECK(value_of("[7 IN (1, 2, 3, 4, 5, 6, 7, 8, 9), 'x' IN ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i')]") ==
        "[true,false]");
}

TEST_CASE("arrays and objects leave out what is undefined") {
  CHECK(value_of("[1, undefined, 2]") == "[1,2]");
  CHECK(value_of("{a: 1, b: undefined, c: {d: undefined}}") == R"({"a":1,"c":{}})");
  CHECK(value_of("[[1, [2, 3]][1][0], {a: {b: 5}}.a.b, {a: 1}['a'], [1, 2][5] ?? 'none', {a: 1}[0] ?? 'none']") ==
        R"([2,5,1,"none","none"])");
}

TEST_CASE("of members with the same name, the last one is kept") {
  CHECK(value_of("{a: 1, b: 3, a: 2}") == R"({"b":3,"a":2})");
  CHECK(value_of("(SELECT 1 AS a, 3 AS b, 2 AS a)") == R"({"b":3,"a":2})");
}

TEST_CASE("subqueries without items") {
  CHECK(value_of("(SELECT VALUE 1)") == "1");
  CHECK(value_of("(SELECT VALUE SUM(n) FROM (SELECT VALUE 5) AS n)") == "5");
  CHECK(value_of("ARRAY(SELECT VALUE n FROM n IN (SELECT VALUE [3, 1, 2]) ORDER BY n DESC)") == "[3,2,1]");
  CHECK(value_of("EXISTS(SELECT VALUE n FROM n IN (SELECT VALUE [3, 1]) WHERE n = 1)") == "true");
  CHECK(value_of("EXISTS(SELECT VALUE n FROM n IN (SELECT VALUE []))") == "false");
  CHECK(value_of("(SELECT VALUE n FROM n IN (SELECT VALUE [3, 1]))").starts_with("error: The cardinality of a scalar"));
  CHECK(value_of("FIRST(SELECT VALUE n FROM n IN (SELECT VALUE [3, 1]))") == "3");
  CHECK(value_of("LAST(SELECT VALUE n FROM n IN (SELECT VALUE [3, 1]))") == "1");
  CHECK(value_of("ARRAY(SELECT DISTINCT VALUE n FROM n IN (SELECT VALUE [1, 2, 1]))") == "[1,2]");
  CHECK(value_of("ARRAY(SELECT VALUE n FROM n IN (SELECT VALUE [1, 2, 3, 4]) OFFSET 1 LIMIT 2)") == "[2,3]");
  CHECK(value_of("ARRAY(SELECT n, COUNT(1) AS c FROM n IN (SELECT VALUE [1, 2, 1]) GROUP BY n)") ==
        R"([{"n":1,"c":2},{"n":2,"c":1}])");
}

TEST_CASE("work and memory for one item are bounded") {
  const std::string hundred = "(SELECT VALUE ARRAY_CONCAT(" + [] {
    std::string arrays = "[0,1,2,3,4,5,6,7,8,9]";
    for (int i = 0; i < 9; ++i) arrays += ",[0,1,2,3,4,5,6,7,8,9]";
    return arrays;
  }() + "))";
  CHECK(value_of("(SELECT VALUE COUNT(1) FROM a IN " + hundred + " JOIN b IN " + hundred + ")") == "10000");
  CHECK(value_of("(SELECT VALUE COUNT(1) FROM a IN " + hundred + " JOIN b IN " + hundred + " JOIN c IN " + hundred +
                 " JOIN d IN " + hundred + ")")
            .starts_with("error: The "));
  std::string doubled = "REPLICATE('x', 10000)";
  for (int i = 0; i < 20; ++i) doubled = "(SELECT VALUE CONCAT(s, s) FROM (SELECT VALUE " + doubled + ") AS s)";
  CHECK(value_of("LENGTH(" + doubled + ")").starts_with("error: The values that the query builds"));
}

TEST_CASE("ALL asks whether no element is against the condition") {
  SqlFixture db;
  db.put("a", R"({"t":[1,2]})");
  db.put("b", R"({"t":[1,"x"]})");
  db.put("c", R"({"t":[1,-2]})");
  db.put("d", R"({})");
  CHECK(db.ask("SELECT VALUE ALL(SELECT VALUE t FROM t IN c.t WHERE t > 0) FROM c") == "[true,true,false,true]");
  CHECK(db.ask("SELECT VALUE ALL(SELECT VALUE t FROM t IN c.t) FROM c") == "[true,true,true,true]");
}
