#include "query/search/syntax/query_syntax.h"

#include <limits>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

namespace octavo::query::search {
namespace {

// The query as nested text: what the parser understood.
std::string shown(const QueryNode& node) {
  using Kind = QueryNode::Kind;
  std::string text;
  switch (node.kind) {
    case Kind::everything:
      text = "*:*";
      break;
    case Kind::words:
      text = fmt::format("{}:{}", node.field, node.text);
      break;
    case Kind::phrase:
      text = fmt::format("{}:\"{}\"", node.field, node.text);
      if (node.slop > 0) text += fmt::format("~{}", node.slop);
      break;
    case Kind::prefix:
      text = fmt::format("{}:{}*", node.field, node.text);
      break;
    case Kind::wildcard:
      text = fmt::format("{}:w({})", node.field, node.text);
      break;
    case Kind::regex:
      text = fmt::format("{}:/{}/", node.field, node.text);
      break;
    case Kind::fuzzy:
      text = fmt::format("{}:{}~{}", node.field, node.text, node.similarity);
      break;
    case Kind::range:
      text = fmt::format("{}:{}{} TO {}{}", node.field, node.lower_inclusive ? '[' : '{', node.lower.value_or("*"),
                         node.upper.value_or("*"), node.upper_inclusive ? ']' : '}');
      break;
    case Kind::clauses:
      text = "(";
      for (const auto& clause : node.clauses) {
        if (text.size() > 1) text += ' ';
        if (clause.occur == QueryNode::Occur::must) text += '+';
        if (clause.occur == QueryNode::Occur::must_not) text += '-';
        text += shown(clause.node);
      }
      text += ")";
      break;
  }
  if (node.boost != 1) text += fmt::format("^{}", node.boost);
  return text;
}

std::string parsed(std::string_view text) {
  const auto node = parse_query(text);
  return node ? shown(*node) : "error: " + node.error().reason;
}

std::string first_line(std::string_view text) {
  const std::string whole = parsed(text);
  return whole.substr(0, whole.find('\n'));
}

TEST_CASE("words without a field are of the default field, and any of them will do") {
  CHECK(parsed("salter") == "default:salter");
  CHECK(parsed("salter scales red") == "(default:salter default:scales default:red)");
}

TEST_CASE("fields, also for several words in parentheses") {
  CHECK(parsed("name:salter") == "name:salter");
  CHECK(parsed("name : salter") == "name:salter");
  CHECK(parsed("name:(salter scales) red") == "((name:salter name:scales) default:red)");
  CHECK(parsed("a\\:b:c") == "a:b:c");
}

TEST_CASE("AND, OR, NOT and their signs") {
  CHECK(parsed("a AND b") == "(+default:a +default:b)");
  CHECK(parsed("a && b") == "(+default:a +default:b)");
  CHECK(parsed("a OR b") == "(default:a default:b)");
  CHECK(parsed("a || b") == "(default:a default:b)");
  CHECK(parsed("a AND b OR c") == "(+default:a +default:b default:c)");
  CHECK(parsed("a NOT b") == "(default:a -default:b)");
  CHECK(parsed("a AND NOT b") == "(+default:a -default:b)");
  CHECK(parsed("+a -b !c d") == "(+default:a -default:b -default:c default:d)");
  CHECK(parsed("-a") == "(-default:a)");
  CHECK(parsed("ANDROID NOTE ORDER") == "(default:ANDROID default:NOTE default:ORDER)");
}

TEST_CASE("grouping, and boosts of words and of groups") {
  CHECK(parsed("(a OR b) AND c") == "(+(default:a default:b) +default:c)");
  CHECK(parsed("a^2 b^0.5") == "(default:a^2 default:b^0.5)");
  CHECK(parsed("(a b)^3") == "(default:a default:b)^3");
  CHECK(parsed("\"a b\"^2") == "default:\"a b\"^2");
}

TEST_CASE("phrases and how far their words may be apart") {
  CHECK(parsed("\"kitchen scales\"") == "default:\"kitchen scales\"");
  CHECK(parsed("\"kitchen scales\"~4") == "default:\"kitchen scales\"~4");
  CHECK(parsed("\"a \\\"b\\\" c\"") == "default:\"a \"b\" c\"");
}

TEST_CASE("wildcards, but not in the first place") {
  CHECK(parsed("sal*") == "default:sal*");
  CHECK(parsed("s?l*r") == "default:w(s?l*r)");
  CHECK(parsed("sal*\\*") == "default:w(sal*\\*)");
  CHECK(parsed("sal\\*") == "default:sal*");
  CHECK(parsed("*:*") == "*:*");
  CHECK(parsed("*alter") == "error: Cannot parse '*alter': '*' or '?' not allowed as first character in WildcardQuery");
  CHECK(parsed("name:?x") ==
        "error: Cannot parse 'name:?x': '*' or '?' not allowed as first character in WildcardQuery");
  CHECK(parsed("*") == "error: Cannot parse '*': '*' or '?' not allowed as first character in WildcardQuery");
}

TEST_CASE("words that are spelled nearly so") {
  CHECK(parsed("salter~") == "default:salter~2");
  CHECK(parsed("salter~1") == "default:salter~1");
  CHECK(parsed("salter~0.8") == "default:salter~0.8");
  CHECK(parsed("salter~0.5^2") == "default:salter~0.5^2");
  CHECK(parsed("salter~1.5") == "error: Cannot parse 'salter~1.5': Fractional edit distances are not allowed!");
}

TEST_CASE("ranges with either bracket on either side, open ends, quotes") {
  CHECK(parsed("price:[10 TO 20]") == "price:[10 TO 20]");
  CHECK(parsed("price:{10 TO 20]") == "price:{10 TO 20]");
  CHECK(parsed("price:[10 TO 20}") == "price:[10 TO 20}");
  CHECK(parsed("price:[* TO 20]") == "price:[* TO 20]");
  CHECK(parsed("price:[10 TO *]") == "price:[10 TO *]");
  CHECK(parsed("price:[-Infinity TO Infinity]") == "price:[-Infinity TO Infinity]");
  CHECK(parsed("name:[\"a b\" TO \"c]d\"]") == "name:[a b TO c]d]");
  CHECK(parsed("date:[2019-01-01 TO 2019-02-01}^2") == "date:[2019-01-01 TO 2019-02-01}^2");
  CHECK(parsed("a:[TOM TO TOP]") == "a:[TOM TO TOP]");
}

TEST_CASE("regular expressions stand between slashes") {
  CHECK(parsed("name:/sal(t|m)er/ x") == "(name:/sal(t|m)er/ default:x)");
}

TEST_CASE("escapes of characters and of code points") {
  CHECK(parsed("a\\+b\\(c\\)") == "default:a+b(c)");
  CHECK(parsed("\\u00fcber") == "default:über");
  CHECK(first_line("a\\u12") == "error: Cannot parse 'a\\u12': Truncated unicode escape sequence.");
}

TEST_CASE("a sign before a space is a word of its own, as in Lucene") {
  CHECK(parsed("a + b") == "(default:a default:+  default:b)");
}

TEST_CASE("broken queries say what was met where") {
  CHECK(first_line("") == "error: Cannot parse '': Encountered \"<EOF>\" at line 1, column 0.");
  CHECK(first_line("a AND") == "error: Cannot parse 'a AND': Encountered \"<EOF>\" at line 1, column 5.");
  CHECK(first_line("a AND AND b") ==
        "error: Cannot parse 'a AND AND b': Encountered \" <AND> \"AND \"\" at line 1, column 6.");
  CHECK(first_line("(a") == "error: Cannot parse '(a': Encountered \"<EOF>\" at line 1, column 2.");
  CHECK(first_line("a)") == "error: Cannot parse 'a)': Encountered \" \")\" \") \"\" at line 1, column 1.");
  CHECK(first_line("a:b:c") == "error: Cannot parse 'a:b:c': Encountered \" \":\" \": \"\" at line 1, column 3.");
  CHECK(first_line("\"a").starts_with("error: Cannot parse '\"a': Lexical error at line 1, column 3."));
  CHECK(first_line("a\\").starts_with("error: Cannot parse 'a\\': Lexical error"));
  CHECK(first_line("a:[1 TO").starts_with("error: Cannot parse 'a:[1 TO'"));
  CHECK(first_line("a:[1 TO 2").starts_with("error: Cannot parse 'a:[1 TO 2'"));
  CHECK(first_line("a^").starts_with("error: Cannot parse 'a^': Encountered \"<EOF>\""));
}

TEST_CASE("messages are cut between characters") {
  CHECK(first_line("[a TO b 東]") ==
        "error: Cannot parse '[a TO b 東]': Encountered \" \"東\" \"東 \"\" at line 1, column 8.");
  CHECK(first_line("\\u00é東東") ==
        "error: Cannot parse '\\u00é東東': Non-hex character in Unicode escape sequence: 00é");
  CHECK(first_line("\\u0é東東") ==
        "error: Cannot parse '\\u0é東東': Non-hex character in Unicode escape sequence: 0é東");
}

TEST_CASE("hostile queries are refused at once") {
  CHECK(parsed(std::string(10'000, '(')).find("too deeply nested") != std::string::npos);
  std::string many;
  for (int i = 0; i < 1025; ++i) many += "w" + std::to_string(i) + " ";
  CHECK(parsed(many).ends_with("too many boolean clauses"));
  std::string groups;
  for (int i = 0; i < 900; ++i) groups += "(a b c d e f) ";
  CHECK(parsed(groups).ends_with("too many boolean clauses"));
  CHECK(parse_query(std::string(100'000, 'a')).error().code == ErrorCode::bad_request);
  CHECK(parse_query(std::string("\xFF\xC3\x00~^", 5)).has_value() == false);
}

TEST_CASE("numbers as Java reads them") {
  CHECK(parse_query_number("12") == 12.0);
  CHECK(parse_query_number("-1.5e3") == -1500.0);
  CHECK(parse_query_number("+.5") == 0.5);
  CHECK(parse_query_number("7d") == 7.0);
  CHECK(parse_query_number("-Infinity") == -std::numeric_limits<double>::infinity());
  CHECK(parse_query_number("1e999") == std::numeric_limits<double>::infinity());
  CHECK(parse_query_number("1e-999") == 0.0);
  CHECK_FALSE(parse_query_number("inf"));
  CHECK_FALSE(parse_query_number("nan"));
  CHECK_FALSE(parse_query_number("1a"));
  CHECK_FALSE(parse_query_number(""));
  CHECK_FALSE(parse_query_number("2019-01-01"));
}

}  // namespace
}  // namespace octavo::query::search
