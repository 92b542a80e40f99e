// Every built-in function: what it gives, and when it is undefined. The examples are those of Azure Cosmos DB's
// reference where it has them.

#include <catch2/catch.hpp>

#include "unit/query/sql/sql_fixture.h"

using namespace octavo::tests;

TEST_CASE("CONCAT, UPPER, LOWER, REVERSE, LENGTH") {
  CHECK(value_of("CONCAT('a', 'b', 'c')") == R"("abc")");
  CHECK(value_of("CONCAT('a', 1)") == "undefined");
  CHECK(value_of("UPPER('Straße é')") == R"("STRAßE É")");  // character by character
  CHECK(value_of("UPPER('5 µm')") == R"("5 µM")");
  CHECK(value_of("LOWER('ADVENTURE É')") == R"("adventure é")");
  CHECK(value_of("LOWER(5)") == "undefined");
  CHECK(value_of("REVERSE('aé🙂')") == R"("🙂éa")");
  CHECK(value_of("LENGTH('aé🙂')") == "3");
  CHECK(value_of("LENGTH([1])") == "undefined");
}

TEST_CASE("CONTAINS, STARTSWITH, ENDSWITH, StringEquals, ignoring case when asked to") {
  CHECK(value_of("CONTAINS('Adventure', 'vent')") == "true");
  CHECK(value_of("CONTAINS('Adventure', 'VENT')") == "false");
  CHECK(value_of("CONTAINS('Adventure', 'VENT', true)") == "true");
  CHECK(value_of("CONTAINS('Adventure', '')") == "true");
  CHECK(value_of("STARTSWITH('Ünder', 'üN', true)") == "true");
  CHECK(value_of("STARTSWITH('abc', 'b')") == "false");
  CHECK(value_of("ENDSWITH('abc', 'BC')") == "false");
  CHECK(value_of("ENDSWITH('abc', 'BC', true)") == "true");
  CHECK(value_of("StringEquals('abc', 'ABC')") == "false");
  CHECK(value_of("STRINGEQUALS('abc', 'ABC', true)") == "true");
  CHECK(value_of("CONTAINS('abc', undefined)") == "undefined");
  CHECK(value_of("CONTAINS('abc', 'a', 1)") == "undefined");
}

TEST_CASE("CONTAINS_ANY and CONTAINS_ALL are CONTAINS joined by OR and by AND") {
  const std::string text = "'Have a nice day!', ";
  CHECK(value_of("CONTAINS_ANY_CI(" + text + "'HAVE', 'NICE')") == "true");
  CHECK(value_of("CONTAINS_ANY_CI(" + text + "'had', 'nicer')") == "false");
  CHECK(value_of("CONTAINS_ANY_CI(" + text + "undefined, 'nice')") == "true");
  CHECK(value_of("CONTAINS_ANY_CI(" + text + "undefined, 'had')") == "undefined");
  CHECK(value_of("CONTAINS_ANY_CS(" + text + "'HAVE', 'NICE', 'DAY!')") == "false");
  CHECK(value_of("CONTAINS_ANY_CS(" + text + "'had', 'nice')") == "true");
  CHECK(value_of("CONTAINS_ALL_CI(" + text + "'HAVE', 'NICE', 'DAY!')") == "true");
  CHECK(value_of("CONTAINS_ALL_CI(" + text + "'had', 'nice')") == "false");
  CHECK(value_of("CONTAINS_ALL_CI(" + text + "undefined, 'nice')") == "undefined");
  CHECK(value_of("CONTAINS_ALL_CI(" + text + "undefined, 'had')") == "false");
  CHECK(value_of("CONTAINS_ALL_CS(" + text + "'HAVE', 'nice')") == "false");
  CHECK(value_of("CONTAINS_ALL_CS(" + text + "'Have', 'nice')") == "true");
  CHECK(value_of("CONTAINS_ANY_CI('STRASSE', 'straße')") == "true");
  CHECK(value_of("CONTAINS_ANY_CS(5, '5')") == "undefined");
  CHECK(value_of("CONTAINS_ALL_CS(" + text + "1)") == "undefined");
}

TEST_CASE("INDEX_OF and its last") {
  CHECK(value_of("INDEX_OF('AdventureWorks', 'Works')") == "9");
  CHECK(value_of("INDEX_OF('AdventureWorks', 'Cosmos')") == "-1");
  CHECK(value_of("INDEX_OF('AdventureWorks', 'Works', 5)") == "9");
  CHECK(value_of("INDEX_OF('AdventureWorks', 'Adventure', 5)") == "-1");
  CHECK(value_of("INDEX_OF('éé🙂x', 'x')") == "3");
  CHECK(value_of("LastIndexOf('abab', 'ab')") == "2");
  CHECK(value_of("LastIndexOf('abcdeabc', 'abc', 6)") == "0");
  CHECK(value_of("LastIndexOf('abcdeabc', 'abc', 7)") == "5");
  CHECK(value_of("LastIndexOf('abcdeabc', 'abc', 700)") == "5");
  CHECK(value_of("LastIndexOf('abcdeabc', 'abc', 1)") == "-1");
  CHECK(value_of("LastIndexOf('abcdeabc', 'abc', -1)") == "-1");
  CHECK(value_of("LastIndexOf('éxéx', 'x', 2)") == "1");
  CHECK(value_of("LastIndexOf('abc', 'b', 'x')") == "undefined");
}

TEST_CASE("LEFT, RIGHT, SUBSTRING count characters") {
  CHECK(value_of("LEFT('éa🙂b', 3)") == R"("éa🙂")");
  CHECK(value_of("LEFT('abc', 100)") == R"("abc")");
  CHECK(value_of("LEFT('abc', -1)") == R"("")");
  CHECK(value_of("LEFT('abc', 1.5)") == "undefined");
  CHECK(value_of("RIGHT('éa🙂b', 2)") == R"("🙂b")");
  CHECK(value_of("RIGHT('abc', 0)") == R"("")");
  CHECK(value_of("SUBSTRING('AdventureWorks', 9, 5)") == R"("Works")");
  CHECK(value_of("SUBSTRING('AdventureWorks', 0, -1)") == R"("")");
  CHECK(value_of("SUBSTRING('abc', 1)") == R"("bc")");
  CHECK(value_of("SUBSTRING('abc', 7, 1)") == R"("")");
  CHECK(value_of("SUBSTRING('abc', -1, 1)") == R"("")");
}

TEST_CASE("TRIM, LTRIM, RTRIM of blanks or of given characters") {
  CHECK(value_of("TRIM('   AdventureWorks   ')") == R"("AdventureWorks")");
  CHECK(value_of("TRIM('---AdventureWorks---')") == R"("---AdventureWorks---")");
  CHECK(value_of("TRIM('-_-AdventureWorks-_-', '-_')") == R"("AdventureWorks")");
  CHECK(value_of("TRIM('-- AdventureWorks --', '-')") == R"(" AdventureWorks ")");
  CHECK(value_of("LTRIM('  a ')") == R"("a ")");
  CHECK(value_of("RTRIM('  a ')") == R"("  a")");
  CHECK(value_of("TRIM('éaé', 'é')") == R"("a")");
}

TEST_CASE("REPLACE and REPLICATE") {
  CHECK(value_of("REPLACE('aXbXc', 'X', '--')") == R"("a--b--c")");
  CHECK(value_of("REPLACE('abc', 'x', 'y')") == R"("abc")");
  CHECK(value_of("REPLACE('abc', '', 'y')") == "undefined");
  CHECK(value_of("REPLICATE('ab', 3)") == R"("ababab")");
  CHECK(value_of("REPLICATE('ab', 0)") == R"("")");
  CHECK(value_of("REPLICATE('ab', -1)") == "undefined");
  CHECK(value_of("REPLICATE('ab', 5001)") == "undefined");
  CHECK(value_of("REPLICATE('', 1e300)") == R"("")");
}

TEST_CASE("StringJoin and StringSplit") {
  CHECK(value_of("StringJoin(['a', 'b', 'c'], ', ')") == R"("a, b, c")");
  CHECK(value_of("StringJoin([], ',')") == R"("")");
  CHECK(value_of("StringJoin(['a', 1], ',')") == "undefined");
  CHECK(value_of("StringSplit('a,b,,c', ',')") == R"(["a","b","","c"])");
  CHECK(value_of("StringSplit('abc', '')") == R"(["abc"])");
  CHECK(value_of("StringSplit('', ',')") == R"([""])");
}

TEST_CASE("RegexMatch with its four modifiers") {
  CHECK(value_of("RegexMatch('abcd', 'ABC')") == "false");
  CHECK(value_of("RegexMatch('abcd', 'ABC', 'i')") == "true");
  CHECK(value_of("RegexMatch('abcd', 'ab.', '')") == "true");
  CHECK(value_of("RegexMatch('abcd', 'aB c', 'ix')") == "true");
  CHECK(value_of("RegexMatch('a\\nb', 'a.b')") == "false");
  CHECK(value_of("RegexMatch('a\\nb', 'a.b', 's')") == "true");
  CHECK(value_of("RegexMatch('a\\nb', '^b$', 'm')") == "true");
  CHECK(value_of("RegexMatch('a', '(')") == "undefined");
  CHECK(value_of("RegexMatch('a', 'a', 'q')") == "undefined");
}

TEST_CASE("ToString and the conversions back") {
  CHECK(value_of("ToString(125)") == R"("125")");
  CHECK(value_of("ToString(0.1234)") == R"("0.1234")");
  CHECK(value_of("ToString(2049537175849502700)") == R"("2049537175849502700")");
  CHECK(value_of("ToString(1e21)") == R"("1e+21")");
  CHECK(value_of("ToString(1.5e-7)") == R"("1.5e-7")");
  CHECK(value_of("ToString([1, 2, 3])") == R"("[1,2,3]")");
  CHECK(value_of("ToString({ \"department\": \"Bicycles\" })") == R"("{\"department\":\"Bicycles\"}")");
  CHECK(value_of("ToString('Hello')") == R"("Hello")");
  CHECK(value_of("ToString(null)") == R"("null")");
  CHECK(value_of("ToString(undefined)") == "undefined");
  CHECK(value_of("ToString(NaN)") == R"("NaN")");
  CHECK(value_of("ToString(-Infinity)") == R"("-Infinity")");
  CHECK(value_of("ToString([1.0, {\"1.0\": -0.50}, \"2.0\"])") == R"("[1,{\"1.0\":-0.5},\"2.0\"]")");
  CHECK(value_of("[StringToNumber('-1.5e2 '), StringToNumber('0x1') ?? 'none', StringToNumber('1.') ?? 'none']") ==
        R"([-150,"none","none"])");
  CHECK(value_of("[StringToBoolean(' true'), StringToBoolean('TRUE') ?? 'none', StringToNull('null')]") ==
        R"([true,"none",null])");
  CHECK(value_of("StringToArray('[ { \"types\": [ \"coats\" ] }, 76, false, null ]')") ==
        R"([{"types":["coats"]},76,false,null])");
  CHECK(value_of("StringToArray(\"['coats']\")") == "undefined");
  CHECK(value_of("StringToArray('{}')") == "undefined");
  CHECK(value_of("StringToObject('{\"a\": {\"b\": 1}}').a.b") == "1");
}

TEST_CASE("mathematical functions") {
  CHECK(value_of("[ABS(-2), CEILING(1.2), FLOOR(-1.2), SIGN(-5), SIGN(0), SQUARE(3), SQRT(16)]") ==
        "[2,2,-2,-1,0,9,4]");
  CHECK(value_of("[ROUND(2.4), ROUND(2.6), ROUND(2.5), ROUND(-2.4), ROUND(-2.6), ROUND(2.345, 2)]") ==
        "[2,3,3,-2,-3,2.35]");
  CHECK(value_of("[TRUNC(2.9), TRUNC(-2.9), POWER(2, 10), EXP(0), LOG(1), LOG(8, 2), LOG10(1000)]") ==
        "[2,-2,1024,1,0,3,3]");
  CHECK(value_of("[PI(), DEGREES(PI()), RADIANS(180)]") == "[3.141592653589793,180,3.141592653589793]");
  CHECK(value_of("[SIN(0), COS(0), TAN(0), ASIN(0), ACOS(1), ATAN(0), ATN2(0, 1)]") == "[0,1,0,0,0,0,0]");
  CHECK(value_of("ROUND(COT(1), 6)") == "0.642093");
  CHECK(value_of("RAND() < 1 AND RAND() >= 0") == "true");
  CHECK(value_of("ABS('1')") == "undefined");
  CHECK(value_of("ABS(undefined)") == "undefined");
}

TEST_CASE("NumberBin") {
  CHECK(value_of("[NumberBin(37.752, -100), NumberBin(37.752, 10), NumberBin(37.752), NumberBin(37.752, 0.01)]") ==
        "[100,30,37,37.75]");
  CHECK(value_of("NumberBin(37.752, 0)") == "undefined");
}

TEST_CASE("functions of 64-bit integers wrap around and take nothing else") {
  CHECK(value_of("[IntAdd(20, 10), IntSub(10, 20), IntMul(5, -2), IntDiv(10, -3), IntMod(12, 5)]") ==
        "[30,-10,-10,-3,2]");
  CHECK(value_of("[IntBitAnd(15, 25), IntBitOr(56, 100), IntBitXor(56, 100), IntBitNot(65)]") == "[9,124,92,-66]");
  CHECK(value_of("[IntBitLeftShift(16, 4), IntBitRightShift(-16, 2)]") == "[256,-4]");
  CHECK(value_of("IntDiv(10, 0)") == "undefined");
  CHECK(value_of("IntDiv(10, 0.1)") == "undefined");
  CHECK(value_of("IntBitLeftShift(1, 64)") == "undefined");
}

TEST_CASE("ARRAY_CONTAINS, wholly or by some members") {
  CHECK(value_of("ARRAY_CONTAINS(['coats', 'jackets'], 'coats')") == "true");
  CHECK(value_of("ARRAY_CONTAINS(['coats'], 'hoodies')") == "false");
  CHECK(value_of("ARRAY_CONTAINS([{ category: 'shirts', color: 'blue' }], { color: 'blue', category: 'shirts' })") ==
        "true");
  CHECK(value_of("ARRAY_CONTAINS([{ category: 'shirts', color: 'blue' }], { category: 'shirts' })") == "false");
  CHECK(value_of("ARRAY_CONTAINS([{ category: 'shirts', color: 'blue' }], { category: 'shirts' }, true)") == "true");
  CHECK(value_of("ARRAY_CONTAINS([{ a: { b: 1, c: 2 } }], { a: { b: 1 } }, true)") == "true");
  CHECK(value_of("ARRAY_CONTAINS([{ category: 'shirts' }], { category: 'shorts' }, true)") == "false");
  CHECK(value_of("ARRAY_CONTAINS('text', 't')") == "false");
  CHECK(value_of("ARRAY_CONTAINS(undefined, 't')") == "undefined");
  CHECK(value_of("ARRAY_CONTAINS(['t'], undefined)") == "undefined");
  CHECK(value_of("ARRAY_CONTAINS(['t'], 't', undefined)") == "undefined");
  CHECK(value_of("ARRAY_CONTAINS([1, 'a'], 1.0)") == "true");
}

TEST_CASE("ARRAY_CONTAINS_ANY and ARRAY_CONTAINS_ALL") {
  CHECK(value_of("ARRAY_CONTAINS_ANY([1, true, '3', [1,2,3]], 1, true, '3', [1,2,3])") == "true");
  CHECK(value_of("ARRAY_CONTAINS_ANY([1, 2, 3, 4], 1, undefined)") == "true");
  CHECK(value_of("ARRAY_CONTAINS_ANY([1, 2, 3, 4], 5, 6)") == "false");
  CHECK(value_of("ARRAY_CONTAINS_ANY([1, 2, 3, 4], 5, undefined)") == "undefined");
  CHECK(value_of("ARRAY_CONTAINS_ALL([1, 2, 3, 4], 2, 3, 4)") == "true");
  CHECK(value_of("ARRAY_CONTAINS_ALL([1, 2, 3, 4], 2, 3, 5)") == "false");
  CHECK(value_of("ARRAY_CONTAINS_ALL([1, 2], 1, undefined)") == "undefined");
}

TEST_CASE("SetEqual ignores order and repetition") {
  CHECK(value_of("SETEQUAL([1, 2, 3], [3, 2, 1])") == "true");
  CHECK(value_of("SETEQUAL([1, 2, 3, 3], [1, 2, 2, 3, 1, 2])") == "true");
  CHECK(value_of("SETEQUAL([], [1, 2, 3])") == "false");
  CHECK(value_of("SETEQUAL([1, 2, 3], [])") == "false");
  CHECK(value_of("SETEQUAL([], [])") == "true");
  CHECK(value_of("SETEQUAL([1, true, 'abc'], [true, 1, 'abc'])") == "true");
  CHECK(value_of("SETEQUAL([1, 1, 1, 1], [2, 3, 4])") == "false");
  CHECK(value_of("SETEQUAL([1, '1'], [1])") == "false");
  CHECK(value_of("SETEQUAL([1], 1)") == "undefined");
}

TEST_CASE("ARRAY_CONCAT, ARRAY_LENGTH, ARRAY_SLICE, CHOOSE") {
  CHECK(value_of("ARRAY_CONCAT([1], ['a', [2]], [])") == R"([1,"a",[2]])");
  CHECK(value_of("ARRAY_CONCAT([1], 2)") == "undefined");
  CHECK(value_of("[ARRAY_LENGTH([]), ARRAY_LENGTH([1, [2, 3]]), ARRAY_LENGTH([undefined, 1])]") == "[0,2,1]");
  CHECK(value_of("ARRAY_SLICE([70, 86, 92, 99], 1)") == "[86,92,99]");
  CHECK(value_of("ARRAY_SLICE([70, 86, 92, 99], -2, 1)") == "[92]");
  CHECK(value_of("ARRAY_SLICE([70, 86], 0, 12)") == "[70,86]");
  CHECK(value_of("ARRAY_SLICE([70, 86], -12)") == "[70,86]");
  CHECK(value_of("ARRAY_SLICE([70, 86], 5)") == "[]");
  CHECK(value_of("CHOOSE(1, 'abc', 1, true)") == R"("abc")");
  CHECK(value_of("CHOOSE(0, 'abc')") == "undefined");
  CHECK(value_of("CHOOSE(2, 'abc')") == "undefined");
}

TEST_CASE("ObjectToArray") {
  CHECK(value_of("ObjectToArray({ 'a': '12345', 'b': 67890 })") == R"([{"k":"a","v":"12345"},{"k":"b","v":67890}])");
  CHECK(value_of("ObjectToArray({ 'a': 1 }, 'name', 'value')") == R"([{"name":"a","value":1}])");
  CHECK(value_of("ObjectToArray([1])") == "undefined");
}

TEST_CASE("sets of array elements, and aggregates of an array") {
  CHECK(value_of("SetIntersect([1, 2, 3, 3], [3, 2, 4, 3])") == "[3,2]");
  CHECK(value_of("SetIntersect([1, 2, 'A', 'B'], ['A', 1])") == R"(["A",1])");
  CHECK(value_of("SetUnion([1, 2, 2], [2, 'a', {b: 1}])") == R"([1,2,"a",{"b":1}])");
  CHECK(value_of("SetDifference([1, 2, 3], [2])") == "[1,3]");
  CHECK(value_of("SetIntersect([{a: 1, b: 2}], [{b: 2, a: 1}])") == R"([{"b":2,"a":1}])");
  CHECK(
      value_of(
          "[ARRAY_SUM([1, 2, 3]), ARRAY_AVG([1, 2]), ARRAY_MIN([3, 1]), ARRAY_MAX([3, 1]), ARRAY_MEDIAN([5, 1, 3])]") ==
      "[6,1.5,1,3,3]");
  CHECK(value_of("ARRAY_AVG([])") == "undefined");
}

TEST_CASE("type checking") {
  CHECK(value_of("[IS_ARRAY([]), IS_OBJECT({}), IS_STRING(''), IS_NUMBER(1), IS_BOOL(false), IS_NULL(null)]") ==
        "[true,true,true,true,true,true]");
  CHECK(value_of("[IS_ARRAY({}), IS_OBJECT([]), IS_STRING(1), IS_NUMBER('1'), IS_BOOL(0), IS_NULL(undefined)]") ==
        "[false,false,false,false,false,false]");
  CHECK(
      value_of(
          "[IS_DEFINED(undefined), IS_DEFINED(null), IS_PRIMITIVE(undefined), IS_PRIMITIVE(null), IS_PRIMITIVE([])]") ==
      "[false,true,false,true,false]");
  CHECK(value_of("[IS_FINITE_NUMBER(1234.567), IS_FINITE_NUMBER(8.9 / 0.0), IS_FINITE_NUMBER(SQRT(-1.0))]") ==
        "[true,false,false]");
  CHECK(value_of("[IS_INTEGER(3), IS_INTEGER(3.5), IS_INTEGER('3'), IS_INTEGER(1e300)]") == "[true,false,false,false]");
  CHECK(value_of(
            "[IS_INTEGER(-9223372036854775808), IS_INTEGER(9223372036854775807), IS_INTEGER(9223372036854780000)]") ==
        "[true,true,false]");
  CHECK(value_of("IntAdd(9223372036854775807, 1)") == value_of("IntMul(4611686018427387904, 2)"));
  CHECK(value_of("[IIF(true, 1, 2), IIF(false, 1, 2), IIF(undefined, 1, 2), IIF('x', 1, 2)]") == "[1,2,2,2]");
}

TEST_CASE("parts of dates") {
  CHECK(value_of("DateTimeFromParts(2017, 4, 20, 13, 15, 20, 3456789)") == R"("2017-04-20T13:15:20.3456789Z")");
  CHECK(value_of("DateTimeFromParts(2017, 4, 20)") == R"("2017-04-20T00:00:00.0000000Z")");
  CHECK(value_of("DateTimeFromParts(-2000, -1, -1)") == "undefined");
  CHECK(value_of("DateTimeFromParts(2017, 2, 29)") == "undefined");
  CHECK(
      value_of(
          "[DateTimePart('yyyy', '2016-05-29T08:30:00.1301617'), DateTimePart('mm', '2016-05-29T08:30:00.1301617'), "
          "DateTimePart('d', '2016-05-29'), DateTimePart('hour', '2016-05-29 08:30:00'), "
          "DateTimePart('n', '2016-05-29T08:30:00Z'), DateTimePart('ms', '2016-05-29T08:30:00.1301617Z'), "
          "DateTimePart('mcs', '2016-05-29T08:30:00.1301617Z'), DateTimePart('ns', '2016-05-29T08:30:00.1301617Z')]") ==
      "[2016,5,29,8,30,130,130161,130161700]");
  CHECK(value_of("DateTimePart('week', '2016-05-29')") == "undefined");
  CHECK(value_of("DateTimePart('dd', '29.5.2016')") == "undefined");
  CHECK(
      value_of("[IS_DATETIME('2024-12-12Z'), IS_DATETIME('2024-12-12 20:21:25.5'), IS_DATETIME('2024-12-12T20:21')]") ==
      "[true,true,false]");
  CHECK(value_of("[YEAR('2024-12-12Z'), DAY('2024-12-12 20:21:25Z'), YEAR('2024-12-12T20:21') ?? 'none']") ==
        R"([2024,12,"none"])");
  CHECK(value_of("[YEAR('2016-05-29'), MONTH('2016-05-29'), DAY('2016-05-29'), IS_DATETIME('2016-13-01')]") ==
        "[2016,5,29,false]");
}

TEST_CASE("DateTimeAdd and DateTimeDiff") {
  CHECK(value_of("DateTimeAdd('mm', 1, '2020-07-09T23:20:13.4575530Z')") == R"("2020-08-09T23:20:13.4575530Z")");
  CHECK(value_of("DateTimeAdd('mm', 1, '2020-01-31')") == R"("2020-02-29T00:00:00.0000000Z")");
  CHECK(value_of("DateTimeAdd('yyyy', -1, '2020-02-29')") == R"("2019-02-28T00:00:00.0000000Z")");
  CHECK(value_of("DateTimeAdd('hh', -2, '2020-01-01T01:00:00Z')") == R"("2019-12-31T23:00:00.0000000Z")");
  CHECK(value_of("DateTimeAdd('hh', 1.5, '2020-01-01')") == "undefined");
  CHECK(value_of("DateTimeAdd('dd', 9e15, '2020-01-01')") == "undefined");
  const std::string past = ", '2019-02-04T16:00:00.0000000', '2018-03-05T05:00:00.0000000')";
  CHECK(value_of("[DateTimeDiff('yyyy'" + past + ", DateTimeDiff('mm'" + past + ", DateTimeDiff('hh'" + past +
                 ", DateTimeDiff('ss'" + past + "]") == "[-1,-11,-8075,-29070000]");
  CHECK(value_of("DateTimeDiff('diffDays'" + past) == "undefined");
  CHECK(value_of("DateTimeDiff('dd', '2020-01-01T23:59:59Z', '2020-01-02T00:00:00Z')") == "1");
}

TEST_CASE("DateTimeBin") {
  CHECK(value_of("DateTimeBin('2021-01-08T18:35:00.0000000', 'dd')") == R"("2021-01-08T00:00:00.0000000Z")");
  CHECK(value_of("DateTimeBin('2021-01-08T18:35:00.0000000', 'hh', 5)") == R"("2021-01-08T15:00:00.0000000Z")");
  CHECK(value_of("DateTimeBin('2021-01-08T18:35:00.0000000', 'dd', 7)") == R"("2021-01-07T00:00:00.0000000Z")");
  CHECK(value_of("DateTimeBin('2021-01-08T18:35:00.0000000', 'dd', 7, '1601-01-01T00:00:00.0000000')") ==
        R"("2021-01-04T00:00:00.0000000Z")");
  CHECK(value_of("DateTimeBin('2021-01-08T18:35:00', 'dd', 0)") == "undefined");
  CHECK(value_of("DateTimeBin('2021-01-08T18:35:00', 'yyyy')") == "undefined");
}

TEST_CASE("DateTimeFormat replaces runs of letters") {
  CHECK(value_of("DATETIMEFORMAT('2024-10-10 14:40:20', 'yyyyMMdd')") == R"("20241010")");
  CHECK(value_of("DATETIMEFORMAT('2024-10-10 14:40:20', 'yyyy-MM-dd [HH:mm:ss]')") == R"("2024-10-10 [14:40:20]")");
  CHECK(value_of(R"(DATETIMEFORMAT('2024-10-10 14:40:20', 'To\\da\\y i\\s: yyyy-MM-ddTHH:mm:ss.fff'))") ==
        R"("Today is: 2024-10-10T14:40:20.000")");
  CHECK(value_of("DATETIMEFORMAT('2024-10-10 14:40:20', 'HH:mm:ss.FFF')") == R"("14:40:20.")");
  CHECK(value_of("DATETIMEFORMAT('2024-01-02T03:04:05.6789', 'yy M d H h m s f FFFFFFF')") ==
        R"("24 1 2 3 3 4 5 6 6789")");
  CHECK(value_of("DATETIMEFORMAT('2024-01-02', 'hh')") == R"("12")");
  CHECK(value_of("DATETIMEFORMAT('2024-01-02', 'yyy')") == "undefined");
  CHECK(value_of("DATETIMEFORMAT('yesterday', 'yyyy')") == "undefined");
  CHECK(value_of("DATETIMEFORMAT('2024-01-02', 5)") == "undefined");
}

TEST_CASE("NOW and AGO") {
  CHECK(value_of("LENGTH(NOW()) = 28 AND NOW() >= GetCurrentDateTimeStatic()") == "true");
  CHECK(value_of("DateTimeDiff('dd', NOW(), NOW('dd', 3)) >= 3 AND DateTimeDiff('dd', NOW(), NOW('dd', 3)) <= 4") ==
        "true");
  CHECK(value_of("NOW('yyyy', -1) < AGO('mm', 11) AND AGO('mm', 11) < NOW() AND NOW() < AGO('hh', -1)") == "true");
  CHECK(value_of("NOW('dd')") == "undefined");
  CHECK(value_of("NOW('dd', 1.5)") == "undefined");
  CHECK(value_of("AGO('week', 1)") == "undefined");
  CHECK(value_of("AGO('yyyy', 9e15)") == "undefined");
}

TEST_CASE("ticks and timestamps") {
  CHECK(value_of("DateTimeToTicks('2020-07-05T23:25:55.01')") == "15939915550100000");
  CHECK(value_of("TicksToDateTime(15939915550100000)") == R"("2020-07-05T23:25:55.0100000Z")");
  CHECK(value_of("DateTimeToTimestamp('2020-07-05T23:25:55.011Z')") == "1593991555011");
  CHECK(value_of("TimestampToDateTime(1593991555011)") == R"("2020-07-05T23:25:55.0110000Z")");
  CHECK(value_of("TicksToDateTime(1e300)") == "undefined");
  CHECK(value_of("LENGTH(GetCurrentDateTime()) = 28 AND GetCurrentDateTimeStatic() <= GetCurrentDateTime()") == "true");
  CHECK(value_of("GetCurrentTimestamp() > 1600000000000 AND GetCurrentTicks() > GetCurrentTimestamp()") == "true");
  CHECK(value_of("GetCurrentTicksStatic() = GetCurrentTicksStatic() AND GetCurrentTimestampStatic() > 0") == "true");
}

TEST_CASE("LIKE: any characters, one, sets, and an escape") {
  const auto like = [](std::string_view condition) { return value_of(condition) == "true"; };
  CHECK(like("'fruit salad' LIKE 'fruit%'"));
  CHECK(like("'a fruit salad' LIKE '%fruit%'"));
  CHECK_FALSE(like("'Fruit' LIKE 'fruit'"));
  CHECK(like("'SOAPS' LIKE '%SO_PS%'"));
  CHECK(like("'SOxPS' LIKE '%SO[t-z]PS%'"));
  CHECK_FALSE(like("'SOaPS' LIKE '%SO[t-z]PS%'"));
  CHECK(like("'SOxPS' LIKE '%SO[^abc]PS%'"));
  CHECK_FALSE(like("'SObPS' LIKE '%SO[^abc]PS%'"));
  CHECK(like("'20-30%' LIKE '20-30[%]'"));
  CHECK(like("'up to 20% off' LIKE '%20^%%' ESCAPE '^'"));
  CHECK_FALSE(like("'up to 20 off' LIKE '%20^%%' ESCAPE '^'"));
  CHECK(like("'é🙂' LIKE '__'"));
  CHECK(like("'' LIKE '%'"));
  CHECK_FALSE(like("'' LIKE '_'"));
  CHECK(like("'aXbXc' LIKE 'a%b%c'"));
  CHECK(like("'x' NOT LIKE 'y%'"));
  CHECK(like("'[' LIKE '['"));
  CHECK(value_of("5 LIKE '5'") == "undefined");
}

TEST_CASE("spatial functions in metres on the ellipsoid") {
  const std::string atlanta = "{'type': 'Point', 'coordinates': [-84.38876194345323, 33.75682784306348]}";
  CHECK(value_of("ST_ISVALID(" + atlanta + ")") == "true");
  CHECK(value_of("ST_ISVALIDDETAILED({'type': 'Point', 'coordinates': [133.7, -184.4]})") ==
        R"({"valid":false,"reason":"Latitude values must be between -90 and 90 degrees."})");
  CHECK(value_of("ST_ISVALIDDETAILED(" + atlanta + ")") == R"({"valid":true})");
  CHECK(value_of("ST_ISVALID({'type': 'Polygon', 'coordinates': [[[0, 0], [1, 0], [1, 1]]]})") == "false");
  CHECK(value_of("ST_DISTANCE(" + atlanta + ", " + atlanta + ")") == "0");
  // One degree of latitude at the equator.
  CHECK(value_of(
            "ROUND(ST_DISTANCE({'type': 'Point', 'coordinates': [0, 0]}, {'type': 'Point', 'coordinates': [0, 1]}))") ==
        "110574");
  const std::string square = "{'type': 'Polygon', 'coordinates': [[[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]]]}";
  CHECK(value_of("ST_WITHIN({'type': 'Point', 'coordinates': [1, 1]}, " + square + ")") == "true");
  CHECK(value_of("ST_WITHIN({'type': 'Point', 'coordinates': [3, 1]}, " + square + ")") == "false");
  CHECK(value_of("ST_INTERSECTS({'type': 'LineString', 'coordinates': [[1, -1], [1, 3]]}, " + square + ")") == "true");
  CHECK(value_of("ST_INTERSECTS({'type': 'LineString', 'coordinates': [[5, -1], [5, 3]]}, " + square + ")") == "false");
  CHECK(value_of("ST_DISTANCE({'type': 'Point', 'coordinates': [1, 1]}, " + square + ")") == "0");
  CHECK(value_of("ST_DISTANCE(1, 2)") == "undefined");
}
