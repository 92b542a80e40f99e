#include "query/sql/syntax/parser.h"

#include <string>

#include <catch2/catch.hpp>

#include "query/sql/syntax/syntax_text.h"
#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;
using query::sql::parse_query;

namespace {

/// The canonical text of a query; parsing that gives the same again.
std::string canonical(std::string_view text) {
  const auto parsed = parse_query(text);
  if (!parsed) return parsed.error().message;
  const std::string shown = query::sql::text_of(**parsed);
  const auto again = parse_query(shown);
  REQUIRE(again);
  REQUIRE(query::sql::text_of(**again) == shown);
  return shown;
}

std::string canonical_expression(std::string_view text) {
  const std::string shown = canonical("SELECT VALUE " + std::string(text));
  return shown.starts_with("SELECT VALUE ") ? shown.substr(13) : shown;
}

}  // namespace

TEST_CASE("all clauses of a query in their order") {
  CHECK(canonical(
            "select distinct top 3 c.a as x, c.b from Items c join t in c.tags where c.a > 1 order by c.a desc, c.b") ==
        "SELECT DISTINCT TOP 3 c.a AS x, c.b\nFROM Items AS c\nJOIN t IN c.tags\nWHERE (c.a > 1)\nORDER BY c.a DESC, "
        "c.b");
  CHECK(canonical("SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a OFFSET 1 LIMIT @n") ==
        "SELECT c.a, COUNT(1) AS n\nFROM c\nGROUP BY c.a\nOFFSET 1 LIMIT @n");
  CHECK(canonical("SELECT * FROM Families.children[0].pets AS p") == "SELECT *\nFROM Families.children[0].pets AS p");
  CHECK(canonical("SELECT VALUE t FROM (SELECT VALUE 1) AS t JOIN x IN (SELECT VALUE [2])") ==
        "SELECT VALUE t\nFROM (SELECT VALUE 1) AS t\nJOIN x IN (SELECT VALUE [2])");
}

TEST_CASE("operators bind as in JavaScript, NOT like a sign") {
  CHECK(canonical_expression("1 + 2 * 3 - 4") == "((1 + (2 * 3)) - 4)");
  CHECK(canonical_expression("a < b = c & d ^ e | f || g") == "((((((a < b) = c) & d) ^ e) | f) || g)");
  CHECK(canonical_expression("a | b & c ^ d") == "(a | ((b & c) ^ d))");
  CHECK(canonical_expression("a << 1 + 2 >>> b") == "((a << (1 + 2)) >>> b)");
  CHECK(canonical_expression("a OR b AND NOT c = d") == "(a OR (b AND ((NOT c) = d)))");
  CHECK(canonical_expression("a AND b AND c") == "(a AND b AND c)");
  CHECK(canonical_expression("a ?? b ? c : d ?? e") == "((a ?? b) ? c : (d ?? e))");
  CHECK(canonical_expression("-~+x") == "(-(~(+x)))");
  CHECK(canonical_expression("a NOT IN (1, 2) AND b NOT BETWEEN 1 AND 2 OR c NOT LIKE 'x'") ==
        "(((a NOT IN (1, 2)) AND (b NOT BETWEEN 1 AND 2)) OR (c NOT LIKE \"x\"))");
  CHECK(canonical_expression("a <> b") == "(a != b)");
}

TEST_CASE("literals of all forms") {
  CHECK(canonical_expression("[1, 1.5, .5, 2., 1e3, 1E-2, 0xFF, -7]") == "[1, 1.5, 0.5, 2, 1000, 0.01, 255, (-7)]");
  CHECK(canonical_expression("[true, FALSE, null, undefined]") == "[true, false, null, undefined]");
  CHECK(canonical_expression(R"(['it''s')") == "Syntax error, incorrect syntax near ''s''.");
  CHECK(canonical_expression(R"(['a"b', "c'd", "\u00e9\n", 'it\'s'])") == R"(["a\"b", "c'd", "é\n", "it's"])");
  CHECK(canonical_expression(R"({"a": 1, b: {}, 'c d': [], value: 2})") ==
        R"({"a": 1, "b": {}, "c d": [], "value": 2})");
}

TEST_CASE("names: keywords of any case, properties of any name") {
  CHECK(canonical_expression("c.order.Group[\"by x\"][\"plain\"][0][c.i]") ==
        "c[\"order\"][\"Group\"][\"by x\"][\"plain\"][0][c.i]");
  CHECK(canonical_expression("prénom.名前") == "prénom.名前");
  CHECK(canonical_expression("0x10.t") == "(16).t");
  CHECK(canonical_expression("11e308") == "1.7976931348623157e+308");
  CHECK(canonical_expression("LEFT(a, 1) || Right(b, 2)") == "(LEFT(a, 1) || Right(b, 2))");
  CHECK(canonical_expression("udf.tax(c.price, 1)") == "udf.tax(c.price, 1)");
  CHECK(canonical_expression("first.last.all") == "first[\"last\"][\"all\"]");
}

TEST_CASE("comments and white space are nothing") {
  CHECK(canonical("SELECT -- all of it\n * /* from\n there */ FROM c -- end") == "SELECT *\nFROM c");
}

TEST_CASE("subqueries as values") {
  CHECK(canonical_expression("(SELECT VALUE 1)") == "(SELECT VALUE 1)");
  CHECK(canonical_expression("EXISTS(SELECT VALUE t FROM t IN c.tags)") == "EXISTS(SELECT VALUE t\nFROM t IN c.tags)");
  CHECK(canonical_expression("ARRAY(SELECT 1) ?? ALL(SELECT 1) ?? FIRST(SELECT 1) ?? LAST(SELECT 1)") ==
        "(((ARRAY(SELECT 1) ?? ALL(SELECT 1)) ?? FIRST(SELECT 1)) ?? LAST(SELECT 1))");
}

TEST_CASE("a syntax error says where it is") {
  CHECK(sql_error("SELECT TOP -1 c.name FROM c") == "SC1001 at 11..12");
  CHECK(sql_error("SELECT c.name FROM c OFFSET -1 LIMIT 10") == "SC1001 at 28..29");
  CHECK(sql_error("SELECT * FROM c WHERE") == "SC1001 at 21..21");
  CHECK(sql_error("SELECT 'é🙂' x FROM c") == "SC1001 at 13..14");  // in UTF-16 units
  CHECK(sql_error("SELECT # FROM c") == "SC1010 at 7..8");
  CHECK(sql_error("SELECT 12ab FROM c") == "SC1011 at 7..11");
  CHECK(sql_error("SELECT 'open FROM c").starts_with("SC1012 at 7.."));
  CHECK(sql_error("SELECT '\\q'").starts_with("SC1012 at 7.."));
  CHECK(sql_error("") == "SC1001 at 0..0");
  CHECK(sql_error("SELECT 1 /* open") == "SC1010 at 9..16");
}

TEST_CASE("no-break spaces are white space, in names only within quotes") {
  CHECK(canonical("SELECT\u00A0c.x\u202FFROM c WHERE c.a =\u00A0false") ==
        canonical("SELECT c.x FROM c WHERE c.a = false"));
  CHECK(canonical("SELECT c['a\u00A0b'] FROM c") == "SELECT c[\"a\u00A0b\"]\nFROM c");
}

TEST_CASE("what cannot be resolved is refused at its place") {
  CHECK(sql_error("SELECT d.x FROM c") == "SC2001 at 7..8");
  CHECK(sql_error("SELECT c.x FROM c JOIN t IN d.tags") == "SC2001 at 28..29");
  CHECK(sql_error("SELECT @x") == "SC2001 at 7..9");
  CHECK(sql_error("SELECT 1 FROM c JOIN c IN c.tags").starts_with("SC2002"));
  CHECK(sql_error("SELECT BADFUNC(r.age) FROM Root r") == "SC2005 at 7..14");
  CHECK(sql_error("SELECT * FROM r WHERE STARTSWITH(r.key, 'a', 'b', 'c')").starts_with("SC2050"));
  CHECK(sql_error("SELECT VALUE ABS(1, 2)").starts_with("SC2007"));
  CHECK(sql_error("SELECT * FROM c JOIN t IN c.tags") == "SC2040 at 7..8");
  CHECK(sql_error("SELECT *") == "SC2040 at 7..8");
  CHECK(sql_error("SELECT * FROM c GROUP BY c.age") == "SC2041 at 7..8");
  CHECK(sql_error("SELECT TOP 4294967296 c.name FROM c") == "SC2060 at 11..21");
  CHECK(sql_error("SELECT c.name FROM c OFFSET 4294967296 LIMIT 10") == "SC2062 at 28..38");
  CHECK(sql_error("SELECT c.name, COUNT(1) FROM c") == "SC2102 at 7..13");
  CHECK(sql_error("SELECT c.name, c.age FROM c GROUP BY c.name") == "SC2102 at 15..20");
  CHECK(sql_error("SELECT VALUE MAX(MIN(r)) FROM r") == "SC2101 at 13..24");
  CHECK(sql_error("SELECT * FROM r OFFSET 0 LIMIT 3000000000").starts_with("SC2061"));
  CHECK(sql_error("SELECT * FROM c WHERE COUNT(1) > 1").starts_with("SC2103"));
  CHECK(sql_error("SELECT TOP 1 * FROM c OFFSET 1 LIMIT 1").starts_with("SC1001"));
  CHECK(sql_error("SELECT c.a FROM c ORDER BY RANK FullTextScore(c.text, ['swim'])").starts_with("SC3002"));
}

TEST_CASE("limits on what a query may be") {
  const auto repeated = [](std::string_view text, std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) out += text;
    return out;
  };
  CHECK(sql_error("SELECT " + repeated("(", 100) + "1" + repeated(")", 100)) == "no error");
  CHECK(sql_error("SELECT " + repeated("(", 200) + "1" + repeated(")", 200)).starts_with("SC3001"));
  CHECK(sql_error("SELECT " + repeated("[", 100'000)).starts_with("SC3001"));
  CHECK(sql_error("SELECT " + repeated("-", 1).append(repeated(" -", 100'000)) + "1").starts_with("SC3001"));
  CHECK(sql_error("SELECT " + repeated("NOT ", 100'000) + "1").starts_with("SC3001"));
  CHECK(sql_error("SELECT 1" + repeated(" + 1", 900)) == "no error");
  CHECK(sql_error("SELECT 1" + repeated(" + 1", 5'000)).starts_with("SC3001"));
  CHECK(sql_error("SELECT true" + repeated(" OR true", 20'000)) == "no error");
  CHECK(sql_error("SELECT 1 IN (1" + repeated(", 1", 5'999) + ")") == "no error");
  CHECK(sql_error("SELECT 1 IN (1" + repeated(", 1", 6'000) + ")").starts_with("SC3001"));
  CHECK(sql_error("SELECT " + repeated("(SELECT VALUE ", 90) + "1" + repeated(")", 90)).starts_with("SC3001"));
  CHECK(sql_error("SELECT 1 FROM c" + repeated(" JOIN (SELECT 1)", 11)).starts_with("SC3001"));
  CHECK(sql_error("SELECT [udf.a()" + repeated(", udf.a()", 10) + "]").starts_with("SC3001"));
  CHECK(sql_error("SELECT '" + repeated("x", 600'000) + "'").starts_with("SC3001"));
  CHECK(sql_error("SELECT '\xFF'").starts_with("SC1010"));
}
