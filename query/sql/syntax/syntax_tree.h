#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "query/sql/syntax/sql_error.h"

/// The syntax tree of a query, as the parser makes it; nothing is resolved yet. Locations are in bytes.
namespace octavo::query::sql {

struct Query;
struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

enum class ExpressionKind : std::uint8_t {
  undefined,
  null,
  boolean,      ///< flag
  number,       ///< number
  string,       ///< text
  parameter,    ///< text: `@name`
  identifier,   ///< text
  property,     ///< operands[0].text; flag: written as ["text"]
  index,        ///< operands[0][operands[1]]
  array,        ///< operands
  object,       ///< names, operands
  unary,        ///< op, operands[0]
  binary,       ///< op, operands[0], operands[1]
  conjunction,  ///< operands, all joined by AND
  disjunction,  ///< operands, all joined by OR
  in,           ///< operands[0] IN (the others); flag: NOT
  between,      ///< operands[0] BETWEEN operands[1] AND operands[2]; flag: NOT
  like,         ///< operands[0] LIKE operands[1]; flag: NOT; text: the escape character
  conditional,  ///< operands[0] ? operands[1] : operands[2]
  coalesce,     ///< operands[0] ?? operands[1]
  call,         ///< text(operands); flag: udf.text(…)
  subquery,     ///< (subquery): one value
  exists,       ///< EXISTS(subquery)
  all,          ///< ALL(subquery)
  array_of,     ///< ARRAY(subquery)
  first,        ///< FIRST(subquery)
  last,         ///< LAST(subquery)
};

enum class SqlOperator : std::uint8_t {
  none,
  add,
  subtract,
  multiply,
  divide,
  modulo,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  shift_right_zero,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  concat,
  logical_not,
  bit_not,
  plus,
  minus,
};

struct Expression {
  ExpressionKind kind = ExpressionKind::undefined;
  SqlOperator op = SqlOperator::none;
  bool flag = false;
  unsigned depth = 1;  ///< of the subtree, including this node
  Location location;
  double number = 0;
  std::string text;
  std::vector<ExpressionPtr> operands;
  std::vector<std::string> names;
  std::unique_ptr<Query> subquery;

  Expression();
  ~Expression();
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;
};

struct SelectItem {
  ExpressionPtr expression;
  std::string alias;  ///< empty: none was given
};

/// A step of the path of a FROM source: a property, or an element of an array.
struct PathStep {
  std::string name;
  std::optional<std::uint64_t> index;
  bool quoted = false;  ///< written as ["name"]
};

/// One source of FROM: `root.path AS alias`, `alias IN root.path`, or a subquery in place of the path.
struct FromSource {
  bool iterates = false;  ///< `alias IN`
  std::string alias;      ///< empty: none was given
  std::string root;
  Location root_location;
  Location location;
  std::vector<PathStep> path;
  std::unique_ptr<Query> subquery;
};

struct OrderItem {
  ExpressionPtr expression;
  bool descending = false;
  bool direction_given = false;
};

/// A count of TOP, OFFSET or LIMIT: a number or a parameter.
struct Count {
  Location location;
  double number = 0;
  std::string parameter;
};

struct Query {
  enum class Selection : std::uint8_t { star, value, list };

  Location location;
  unsigned depth = 1;  ///< of the expressions and subqueries below
  std::string shape;   ///< of a whole query: shape_of(its text)
  bool distinct = false;
  std::optional<Count> top;
  Selection selection = Selection::star;
  Location star;
  std::vector<SelectItem> items;
  std::vector<FromSource> sources;
  ExpressionPtr where;
  std::vector<ExpressionPtr> group_by;
  std::vector<OrderItem> order_by;
  std::optional<Count> offset;
  std::optional<Count> limit;
};

}  // namespace octavo::query::sql
