#include "query/sql/run/client_merge_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/json_writer.h"
#include "query/sql/compile/select_items.h"
#include "query/sql/constraints/sql_constraints.h"
#include "query/sql/syntax/syntax_text.h"

namespace octavo::query::sql {

namespace {

namespace json = boost::json;

// The client replaces this with its own condition.
constexpr std::string_view order_filter = "({documentdb-formattableorderbyquery-filter})";
// Maximum number of combinations of partition key values that are listed as separate ranges.
constexpr std::size_t ranges_max = 2'000;

class PlanMaker {
 public:
  PlanMaker(const SqlQuery& query, const ContainerKey& key) : sql_(query), query_(query.syntax()), key_(key) {}

  std::expected<json::object, SqlError> run();

 private:
  std::expected<void, SqlError> check_aggregates() const;
  json::array make_ranges();
  void append_points(const std::vector<FixedProperty>& fixed, std::vector<json::value>& values, json::array& ranges);
  json::object make_query_info();

  bool merges_order() const { return !query_.order_by.empty() && !one_key_ && !sql_.is_grouped(); }
  bool merges_counts() const { return !(one_key_ && !sql_.is_grouped() && !query_.distinct); }

  std::string rewrite() const;
  std::string rewrite_order() const;
  std::string rewrite_groups() const;
  std::string rewrite_without_counts() const;
  void append_from_and_where(std::string& out, std::string_view more) const;
  void append_counts(std::string& out) const;
  static void append_aggregate(std::string& out, const Expression& call);
  void append_payload(std::string& out) const;
  std::string root_name() const;

  const SqlQuery& sql_;
  const Query& query_;
  const ContainerKey& key_;
  bool one_key_ = false;  ///< WHERE names one value of the whole partition key
};

bool is_aggregate(const Expression& expression) {
  return expression.kind == ExpressionKind::call && !expression.flag && aggregate_kind(expression.text).has_value();
}

// Clients can combine aggregates, but not values computed from them.
std::expected<void, SqlError> PlanMaker::check_aggregates() const {
  for (const SelectItem& item : query_.items) {
    if (!contains_aggregate(*item.expression) || is_aggregate(*item.expression)) continue;
    return std::unexpected(SqlError{item.expression->location, codes::aggregate_place,
                                    "Compositions of aggregates and other expressions are not allowed."});
  }
  return {};
}

// --- ranges ---

void PlanMaker::append_points(const std::vector<FixedProperty>& fixed, std::vector<json::value>& values,
                              json::array& ranges) {
  if (values.size() == fixed.size()) {
    const ContainerKey::Range range = key_.range_of(values);
    ranges.push_back(json::object{
        {"min", range.min}, {"max", range.max}, {"isMinInclusive", true}, {"isMaxInclusive", range.max_inclusive}});
    return;
  }
  for (const json::value& value : fixed[values.size()].values) {
    values.push_back(value);
    append_points(fixed, values, ranges);
    values.pop_back();
  }
}

json::array PlanMaker::make_ranges() {
  const std::vector<FixedProperty> all = fixed_properties(sql_);
  std::vector<FixedProperty> levels;  // the leading levels of the key that are fixed
  std::size_t combinations = 1;
  for (const auto& path : key_.paths) {
    const auto found = std::ranges::find(all, path, &FixedProperty::path);
    if (found == all.end()) break;
    FixedProperty level = *found;
    // A value that is listed twice gives one range.
    std::set<std::string> seen;
    std::erase_if(level.values, [&](const json::value& value) { return !seen.insert(json::serialize(value)).second; });
    combinations *= level.values.size();
    if (combinations > ranges_max) break;
    levels.push_back(std::move(level));
  }
  json::array ranges;
  if (levels.empty() || !key_.range_of) {
    ranges.push_back(json::object{{"min", ""}, {"max", "FF"}, {"isMinInclusive", true}, {"isMaxInclusive", false}});
    return ranges;
  }
  std::size_t points = 1;
  for (const FixedProperty& level : levels) points *= level.values.size();
  one_key_ = levels.size() == key_.paths.size() && points == 1;
  std::vector<json::value> values;
  append_points(levels, values, ranges);
  std::ranges::sort(ranges, {}, [](const json::value& range) { return range.at("min").as_string(); });
  return ranges;
}

// --- rewritten queries ---

void PlanMaker::append_from_and_where(std::string& out, std::string_view more) const {
  append_from_text(out, query_);
  if (!query_.where && more.empty()) return;
  out += "\nWHERE ";
  if (!query_.where) {
    out += more;
  } else if (more.empty()) {
    append_text(out, *query_.where);
  } else {
    out += '(';
    append_text(out, *query_.where);
    out.append(" AND ").append(more).append(")");
  }
}

// All the skipped rows may be in one partition.
void PlanMaker::append_counts(std::string& out) const {
  if (!query_.offset) return;
  out += "\nOFFSET 0 LIMIT ";
  append_json_number(out, *sql_.offset() + *sql_.limit());
}

// `{"item": COUNT(x)}` and the like, from which the results of two partitions can be combined.
void PlanMaker::append_aggregate(std::string& out, const Expression& call) {
  const std::string argument = text_of(*call.operands[0]);
  const auto of = [&](std::string_view function) { out.append(function).append("(").append(argument).append(")"); };
  const AggregateKind kind = *aggregate_kind(call.text);
  out += "{\"item\": ";
  switch (kind) {
    case AggregateKind::average:
      out += "{\"sum\": ";
      of("SUM");
      out += ", \"count\": ";
      of("COUNT");
      out += '}';
      break;
    case AggregateKind::minimum:
    case AggregateKind::maximum: {
      const bool least = kind == AggregateKind::minimum;
      of(least ? "MIN" : "MAX");
      out += least ? ", \"item2\": {\"min\": " : ", \"item2\": {\"max\": ";
      of(least ? "MIN" : "MAX");
      out += ", \"count\": ";
      of("COUNT");
      out += '}';
      break;
    }
    case AggregateKind::count:
      of("COUNT");
      break;
    case AggregateKind::count_if:
      of("COUNTIF");
      break;
    case AggregateKind::sum:
      of("SUM");
      break;
    case AggregateKind::make_list:
      of("MAKELIST");
      break;
    case AggregateKind::make_set:
      of("MAKESET");
      break;
  }
  out += '}';
}

// Appends the projection as one value.
void PlanMaker::append_payload(std::string& out) const {
  if (query_.selection == Query::Selection::star) {
    const FromSource& source = query_.sources[0];
    if (!source.alias.empty()) {
      out += source.alias;
    } else if (source.path.empty()) {
      out += source.root;
    } else {
      out += source.path.back().name;
    }
    return;
  }
  if (query_.selection == Query::Selection::value) {
    const Expression& value = *query_.items[0].expression;
    if (is_aggregate(value)) {
      out += '[';
      append_aggregate(out, value);
      out += ']';
    } else {
      append_text(out, value);
    }
    return;
  }
  const std::vector<std::string> names = item_names(query_);
  out += '{';
  for (std::size_t i = 0; i < query_.items.size(); ++i) {
    if (i > 0) out += ", ";
    append_json_string(out, names[i]);
    out += ": ";
    const Expression& value = *query_.items[i].expression;
    if (is_aggregate(value)) {
      append_aggregate(out, value);
    } else {
      append_text(out, value);
    }
  }
  out += '}';
}

std::string PlanMaker::root_name() const {
  const FromSource& source = query_.sources[0];
  if (!source.iterates && source.path.empty() && !source.alias.empty()) return source.alias;
  return source.root;
}

std::string PlanMaker::rewrite_order() const {
  std::string out = "SELECT ";
  if (query_.distinct) out += "DISTINCT ";
  if (query_.top) {
    out += "TOP ";
    append_json_number(out, *sql_.top());
    out += ' ';
  }
  out.append(root_name()).append("._rid, [");
  for (std::size_t i = 0; i < query_.order_by.size(); ++i) {
    if (i > 0) out += ", ";
    out += "{\"item\": ";
    append_text(out, *query_.order_by[i].expression);
    out += '}';
  }
  out += "] AS orderByItems, ";
  append_payload(out);
  out += " AS payload";
  std::string filter(order_filter);
  if (query_.selection == Query::Selection::value) {
    // An item without a value is no result, but without this condition it would be one without payload.
    filter.append(" AND IS_DEFINED(").append(text_of(*query_.items[0].expression)).append(")");
    if (!query_.where) filter = "(" + filter + ")";
  }
  append_from_and_where(out, filter);
  for (std::size_t i = 0; i < query_.order_by.size(); ++i) {
    out += i == 0 ? "\nORDER BY " : ", ";
    append_text(out, *query_.order_by[i].expression);
    if (query_.order_by[i].direction_given) out += query_.order_by[i].descending ? " DESC" : " ASC";
  }
  append_counts(out);
  return out;
}

std::string PlanMaker::rewrite_groups() const {
  std::string out = "SELECT ";
  if (!query_.group_by.empty()) {
    out += '[';
    for (std::size_t i = 0; i < query_.group_by.size(); ++i) {
      if (i > 0) out += ", ";
      out += "{\"item\": ";
      append_text(out, *query_.group_by[i]);
      out += '}';
    }
    out += "] AS groupByItems, ";
    append_payload(out);
    out += " AS payload";
  } else if (query_.selection == Query::Selection::value) {
    out += "VALUE ";
    append_payload(out);
  } else {
    append_payload(out);
    out += " AS payload";
  }
  append_from_and_where(out, "");
  for (std::size_t i = 0; i < query_.group_by.size(); ++i) {
    out += i == 0 ? "\nGROUP BY " : ", ";
    append_text(out, *query_.group_by[i]);
  }
  return out;
}

// Keeps the selection; TOP, OFFSET and LIMIT are kept only where each partition can apply them.
std::string PlanMaker::rewrite_without_counts() const {
  std::string out = query_.distinct ? "SELECT DISTINCT " : "SELECT ";
  if (query_.selection == Query::Selection::star) {
    out += '*';
  } else {
    if (query_.selection == Query::Selection::value) out += "VALUE ";
    for (std::size_t i = 0; i < query_.items.size(); ++i) {
      if (i > 0) out += ", ";
      append_text(out, *query_.items[i].expression);
      if (!query_.items[i].alias.empty()) out.append(" AS ").append(query_.items[i].alias);
    }
  }
  append_from_and_where(out, "");
  if (!query_.distinct) append_counts(out);
  return out;
}

std::string PlanMaker::rewrite() const {
  if (sql_.is_grouped()) return rewrite_groups();
  if (merges_order()) return rewrite_order();
  if (query_.distinct && (query_.top || query_.offset)) return rewrite_without_counts();
  if (query_.offset && merges_counts()) return rewrite_without_counts();
  return {};
}

// --- the plan ---

json::object PlanMaker::make_query_info() {
  json::object info;
  std::string_view distinct = "None";
  if (query_.distinct) {
    // If the order is by the distinct value, equal results follow each other.
    const bool ordered = merges_order() && query_.order_by.size() == 1 && query_.items.size() == 1 &&
                         text_of(*query_.order_by[0].expression) == text_of(*query_.items[0].expression);
    distinct = ordered ? "Ordered" : "Unordered";
  }
  info["distinctType"] = distinct;
  info["top"] = sql_.top() ? json::value(*sql_.top()) : json::value(nullptr);
  const bool counts = query_.offset && merges_counts();
  info["offset"] = counts ? json::value(*sql_.offset()) : json::value(nullptr);
  info["limit"] = counts ? json::value(*sql_.limit()) : json::value(nullptr);

  json::array order, order_expressions;
  if (merges_order()) {
    for (const OrderItem& item : query_.order_by) {
      order.push_back(item.descending ? "Descending" : "Ascending");
      order_expressions.push_back(json::value(text_of(*item.expression)));
    }
  }
  json::array group_expressions, group_aliases, aggregates;
  json::object alias_types;
  for (const auto& expression : query_.group_by) group_expressions.push_back(json::value(text_of(*expression)));
  if (sql_.is_grouped()) {
    const std::vector<std::string> names = item_names(query_);
    for (std::size_t i = 0; i < query_.items.size(); ++i) {
      const Expression& value = *query_.items[i].expression;
      const json::value type =
          is_aggregate(value) ? json::value(aggregate_name(*aggregate_kind(value.text))) : json::value(nullptr);
      if (query_.selection == Query::Selection::value) {
        if (!type.is_null()) aggregates.push_back(type);
      } else {
        group_aliases.push_back(json::value(names[i]));
        alias_types[names[i]] = type;
      }
    }
  }
  info["orderBy"] = std::move(order);
  info["orderByExpressions"] = std::move(order_expressions);
  info["groupByExpressions"] = std::move(group_expressions);
  info["groupByAliases"] = std::move(group_aliases);
  info["aggregates"] = std::move(aggregates);
  info["groupByAliasToAggregateType"] = std::move(alias_types);
  info["rewrittenQuery"] = rewrite();
  info["hasSelectValue"] = query_.selection == Query::Selection::value;
  info["hasNonStreamingOrderBy"] = false;
  info["dCountInfo"] = nullptr;
  return info;
}

std::expected<json::object, SqlError> PlanMaker::run() {
  OCTAVO_TRY_VOID(check_aggregates());
  if (sql_.program().has_distinct_source()) {
    return std::unexpected(SqlError{query_.sources[0].location, codes::unsupported,
                                    "The distinct results of a subquery in FROM cannot be merged by clients."});
  }
  json::array ranges = make_ranges();
  json::object plan;
  plan["partitionedQueryExecutionInfoVersion"] = 2;
  plan["queryInfo"] = make_query_info();
  plan["queryRanges"] = std::move(ranges);
  return plan;
}

}  // namespace

std::expected<json::object, SqlError> client_merge_plan(const SqlQuery& query, const ContainerKey& key) {
  return PlanMaker(query, key).run();
}

bool needs_client_merge_plan(const SqlQuery& query) {
  return query.is_grouped() || query.is_distinct() || query.is_ordered() || query.top() || query.offset();
}

bool merges_to_one_value(const SqlQuery& query) {
  const auto& syntax = query.syntax();
  return syntax.selection == Query::Selection::value && syntax.group_by.empty() &&
         std::ranges::all_of(syntax.items, [](const SelectItem& item) { return is_aggregate(*item.expression); });
}

}  // namespace octavo::query::sql
