#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "query/sql/compile/computed_properties.h"
#include "query/sql/syntax/sql_error.h"

/// Azure Cosmos DB's query language. How to use it:
///
///   auto query = SqlQuery::parse(text, parameters);               the query; SqlError with a position
///   auto plan  = client_merge_plan(**query, keys);                what a client that merges partitions needs
///   auto ready = co_await prepare_sql(database, *query, scope);   by which index it is run
///   SqlExecution run(database, *ready, options);                  slices of results, and a continuation
namespace octavo::query::sql {

class Arena;
struct Query;
struct Program;

/// `@name` and its value.
struct SqlParameter {
  std::string name;   ///< with the `@`
  std::string value;  ///< JSON text; empty: undefined
};

/// Parameters of a request body: `[{"name":"@x","value":…}]`, as JSON text. Errors: bad_request.
Expected<std::vector<SqlParameter>> parse_sql_parameters(std::string_view json);

/// A query, parsed, validated and compiled. Immutable and thread-safe; shared by its runs.
class SqlQuery {
 public:
  using Ptr = std::shared_ptr<const SqlQuery>;

  /// `computed`: the container's computed properties, null for none. `bound`: names that stand for values beside the
  /// item, which the caller who runs the program puts into the first slots of its Evaluation, in this order.
  static std::expected<Ptr, SqlError> parse(std::string_view text, std::span<const SqlParameter> parameters = {},
                                            ComputedProperties::Ptr computed = nullptr,
                                            std::span<const std::string> bound = {});
  ~SqlQuery();

  const std::string& text() const { return text_; }
  /// The text without literals and parameters (syntax/query_shape.h).
  const std::string& shape() const;
  const Query& syntax() const { return *syntax_; }
  const Program& program() const { return *program_; }
  /// Whether the top-level property of items is computed: a stored property of that name is then ignored.
  bool computes(std::string_view name) const { return computed_ && computed_->find(name); }
  /// Fingerprint of the text and the values of its parameters: continuations of other queries are rejected by it.
  std::uint64_t fingerprint() const { return fingerprint_; }
  /// Whether a continuation with this fingerprint belongs to the query. In those of earlier versions, the names of
  /// parameters count, too.
  bool is_continued_by(std::uint64_t fingerprint) const;

  /// The value of TOP, OFFSET or LIMIT, with parameters resolved.
  std::optional<std::uint64_t> top() const { return top_; }
  std::optional<std::uint64_t> offset() const { return offset_; }
  std::optional<std::uint64_t> limit() const { return limit_; }

  bool has_aggregates() const;
  bool is_grouped() const;  ///< aggregates or GROUP BY
  bool is_distinct() const;
  bool is_ordered() const;
  bool calls_user_functions() const { return calls_user_functions_; }
  /// Whether one item may take long, because of many rows, patterns or user-defined functions. Such a query must not
  /// run on a thread that others wait for.
  bool may_take_long() const { return may_take_long_; }
  const std::vector<SqlParameter>& parameters() const { return parameters_; }

 private:
  SqlQuery();
  void add_fingerprints();

  std::string text_;
  std::vector<SqlParameter> parameters_;
  std::unique_ptr<Arena> constants_;  ///< memory of the program's constants
  std::unique_ptr<Query> syntax_;
  ComputedProperties::Ptr computed_;
  std::unique_ptr<Program> program_;
  std::uint64_t fingerprint_ = 0;
  std::uint64_t former_fingerprint_ = 0;  ///< as earlier versions have made it
  bool calls_user_functions_ = false;
  bool may_take_long_ = false;
  std::optional<std::uint64_t> top_;
  std::optional<std::uint64_t> offset_;
  std::optional<std::uint64_t> limit_;
};

}  // namespace octavo::query::sql
