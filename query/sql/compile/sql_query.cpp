#include "query/sql/compile/sql_query.h"

#include <algorithm>
#include <map>

#include "base/fnv.h"
#include "query/json/normalize.h"
#include "query/json/split.h"
#include "query/sql/compile/compiler.h"
#include "query/sql/functions/function_table.h"
#include "query/sql/syntax/parser.h"
#include "query/sql/syntax/query_shape.h"
#include "query/sql/syntax/sql_limits.h"
#include "query/sql/syntax/syntax_text.h"

namespace octavo::query::sql {

namespace {

// The tree counts bytes; clients count UTF-16 units.
std::size_t utf16_units(std::string_view text, std::size_t bytes) {
  std::size_t units = 0;
  for (std::size_t i = 0; i < std::min(bytes, text.size()); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) units += byte >= 0xF0 ? 2 : 1;
  }
  return units;
}

SqlError in_characters(SqlError error, std::string_view text) {
  error.location = {utf16_units(text, error.location.start), utf16_units(text, error.location.end)};
  return error;
}

constexpr std::uint64_t fingerprint_start = fnv1a_64("");

std::uint64_t add_to_fingerprint(std::uint64_t hash, std::string_view text) {
  return fnv1a_64("\xFF", fnv1a_64(text, hash));
}

/// The traits of a query that decide how long one item may take.
struct Traits {
  bool calls_udf = false;
  bool has_subqueries = false;
  bool has_patterns = false;  ///< regular expressions, or LIKE whose pattern is not a short constant
  std::size_t calls = 0;
};

// At worst, LIKE takes time proportional to the size of the text times that of the pattern.
constexpr std::size_t short_pattern_bytes = 64;
constexpr std::size_t few_calls = 32;
constexpr std::size_t few_parameter_bytes = 16 * 1024;

void look_at(const Query& query, Traits& traits);

void look_at(const Expression& expression, Traits& traits) {
  if (expression.kind == ExpressionKind::call) {
    ++traits.calls;
    if (expression.flag) traits.calls_udf = true;
    const Function* function = expression.flag ? nullptr : find_function(expression.text);
    if (function && function->name == "REGEXMATCH") traits.has_patterns = true;
  } else if (expression.kind == ExpressionKind::like) {
    ++traits.calls;
    const Expression& pattern = *expression.operands[1];
    if (pattern.kind != ExpressionKind::string || pattern.text.size() > short_pattern_bytes) traits.has_patterns = true;
  }
  if (expression.subquery) {
    traits.has_subqueries = true;
    look_at(*expression.subquery, traits);
  }
  for (const ExpressionPtr& operand : expression.operands) look_at(*operand, traits);
}

void look_at(const Query& query, Traits& traits) {
  const auto look = [&traits](const ExpressionPtr& expression) {
    if (expression) look_at(*expression, traits);
  };
  for (const SelectItem& item : query.items) look(item.expression);
  for (const FromSource& source : query.sources) {
    if (source.subquery) look_at(*source.subquery, traits);
  }
  look(query.where);
  std::ranges::for_each(query.group_by, look);
  for (const OrderItem& item : query.order_by) look(item.expression);
}

}  // namespace

Expected<std::vector<SqlParameter>> parse_sql_parameters(std::string_view json) {
  OCTAVO_TRY(const auto elements, split_array(json));
  if (elements.size() > sql_parameters_max) {
    return fail(ErrorCode::bad_request,
                "The query has more than " + std::to_string(sql_parameters_max) + " parameters.", "invalid_sql");
  }
  std::vector<SqlParameter> parameters;
  for (const std::string_view element : elements) {
    OCTAVO_TRY(const auto members, split_object(element));
    const std::string_view name = member_value(members, "name");
    if (!name.starts_with('"')) {
      return fail(ErrorCode::bad_request, "A parameter must be an object with the members name and value.",
                  "invalid_sql");
    }
    SqlParameter parameter;
    OCTAVO_TRY(parameter.name, decode_json_string(name));
    if (!parameter.name.starts_with('@')) {
      return fail(ErrorCode::bad_request, "The name of a parameter must begin with @: " + parameter.name,
                  "invalid_sql");
    }
    const std::string_view value = member_value(members, "value");
    if (!value.empty()) OCTAVO_TRY_VOID(normalize_value(value, parameter.value));
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

std::expected<SqlQuery::Ptr, SqlError> SqlQuery::parse(std::string_view text, std::span<const SqlParameter> parameters,
                                                       ComputedProperties::Ptr computed,
                                                       std::span<const std::string> bound) {
  auto syntax = parse_query(text);
  if (!syntax) return std::unexpected(in_characters(std::move(syntax).error(), text));
  std::shared_ptr<SqlQuery> query(new SqlQuery());
  query->text_ = text;
  query->parameters_.assign(parameters.begin(), parameters.end());
  query->syntax_ = *std::move(syntax);
  query->computed_ = std::move(computed);
  Compiler compiler(query->parameters_, *query->constants_, query->computed_.get());
  auto program = compiler.run(*query->syntax_, bound);
  if (!program) return std::unexpected(in_characters(std::move(program).error(), text));
  query->program_ = *std::move(program);
  query->add_fingerprints();
  Traits traits;
  look_at(*query->syntax_, traits);
  for (std::size_t i = 0; i < query->program_->computed.size(); ++i) {
    if (query->program_->computed[i]) look_at(query->computed_->query(i), traits);
  }
  std::size_t parameter_bytes = 0;
  for (const SqlParameter& parameter : query->parameters_) parameter_bytes += parameter.value.size();
  query->calls_user_functions_ = traits.calls_udf;
  query->may_take_long_ = !query->program_->sources.empty() || traits.calls_udf || traits.has_subqueries ||
                          traits.has_patterns || traits.calls > few_calls || parameter_bytes > few_parameter_bytes;
  if (query->syntax_->top) query->top_ = query->program_->limit;
  if (query->syntax_->offset) {
    query->offset_ = query->program_->offset;
    query->limit_ = query->program_->limit;
  }
  return query;
}

void SqlQuery::add_fingerprints() {
  std::string ordered_text;
  if (is_ordered()) {
    // A position in an order does not depend on the condition, and clients that merge ordered ranges use another
    // condition for the rest of a range.
    auto where = std::move(syntax_->where);
    ordered_text = text_of(*syntax_);
    syntax_->where = std::move(where);
  }
  const std::string& text = is_ordered() ? ordered_text : text_;
  former_fingerprint_ = add_to_fingerprint(fingerprint_start, text);
  for (const SqlParameter& parameter : parameters_) {
    former_fingerprint_ = add_to_fingerprint(former_fingerprint_, parameter.name);
    former_fingerprint_ = add_to_fingerprint(former_fingerprint_, parameter.value);
  }
  fingerprint_ = former_fingerprint_;
  if (!parameters_.empty()) {
    // Clients may give parameters other names in each request: azure-spring-data-cosmos did so.
    std::map<std::string_view, std::string_view> values;
    for (const SqlParameter& parameter : parameters_) values.try_emplace(parameter.name, parameter.value);
    const NumberedParameters numbered = number_parameters(text);
    fingerprint_ = add_to_fingerprint(fingerprint_start, numbered.text);
    for (const std::string& name : numbered.names) fingerprint_ = add_to_fingerprint(fingerprint_, values[name]);
  }
  for (std::size_t i = 0; i < program_->computed.size(); ++i) {
    if (!program_->computed[i]) continue;
    fingerprint_ = add_to_fingerprint(fingerprint_, computed_->query_text(i));
    former_fingerprint_ = add_to_fingerprint(former_fingerprint_, computed_->query_text(i));
  }
}

bool SqlQuery::is_continued_by(std::uint64_t fingerprint) const {
  return fingerprint == fingerprint_ || fingerprint == former_fingerprint_;
}

SqlQuery::SqlQuery() : constants_(std::make_unique<Arena>(SIZE_MAX)) {}
SqlQuery::~SqlQuery() = default;

const std::string& SqlQuery::shape() const {
  return syntax_->shape;
}

bool SqlQuery::has_aggregates() const {
  return !program_->aggregates.empty();
}
bool SqlQuery::is_grouped() const {
  return program_->grouped;
}
bool SqlQuery::is_distinct() const {
  return program_->distinct;
}
bool SqlQuery::is_ordered() const {
  return !program_->order_by.empty();
}

}  // namespace octavo::query::sql
