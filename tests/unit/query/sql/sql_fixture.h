#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "query/sql/compile/sql_query.h"
#include "query/sql/evaluate/evaluation.h"
#include "query/sql/evaluate/program.h"
#include "query/sql/evaluate/row_shape.h"
#include "query/sql/run/sql_execution.h"
#include "query/sql/run/sql_preparation.h"
#include "query/walk/plan_indexes.h"
#include "unit/query/mango/find_fixture.h"

namespace octavo::tests {

namespace sql = query::sql;

/// A query that must be right.
inline sql::SqlQuery::Ptr parse_sql(std::string_view text, std::vector<sql::SqlParameter> parameters = {}) {
  auto parsed = sql::SqlQuery::parse(text, parameters);
  if (!parsed) throw std::runtime_error(parsed.error().to_json());
  return *parsed;
}

/// `code at start..end` of a query that must be wrong.
inline std::string sql_error(std::string_view text) {
  const auto parsed = sql::SqlQuery::parse(text);
  if (parsed) return "no error";
  const auto& error = parsed.error();
  return std::string(error.code) + " at " + std::to_string(error.location.start) + ".." +
         std::to_string(error.location.end);
}

/// The value of an expression without any item, as JSON text; "undefined" when it is that.
inline std::string value_of(std::string_view expression) {
  const auto query = parse_sql("SELECT VALUE " + std::string(expression));
  sql::Evaluation evaluation(query->program().root_names, query->program().slots, &sql::document_rows());
  std::string out;
  const bool defined = query->program().append_projection(evaluation, out);
  if (evaluation.failed()) return "error: " + evaluation.error().reason;
  return defined ? out : "undefined";
}

/// A container with an automatic index of every property.
inline partitioning::CreateDatabaseOptions indexed_container(std::uint32_t q) {
  partitioning::CreateDatabaseOptions options;
  options.partitioned = true;
  options.q = q;
  options.definition = R"({"indexing_policy":{"includedPaths":[{"path":"/*"}]}})";
  return options;
}

/// A database that is asked in SQL, in slices as small as a test likes.
class SqlFixture : public FindFixture {
 public:
  using FindFixture::FindFixture;

  void put(std::string id, std::string_view body) { EngineFixture::put(*database, std::move(id), std::string(body)); }

  struct Page {
    std::string results;
    std::optional<std::string> continuation;
    sql::SqlStatistics statistics;
    std::string error;
  };

  Page page(const sql::SqlQuery::Ptr& query, sql::SqlScope scope, sql::SqlOptions options,
            std::optional<std::string> continuation = {}) {
    Page page;
    auto prepared = run_task(sql::prepare_sql(indexes(), query, scope, *shape, std::move(continuation)));
    if (!prepared) {
      page.error = prepared.error().reason;
      return page;
    }
    last = *prepared;
    if (const auto current = run_task(query::wait_for_indexes(indexes(), last)); !current) {
      page.error = current.error().reason;
      return page;
    }
    options.memory_bytes_max = std::min(options.memory_bytes_max, memory_bytes_max);
    sql::SqlExecution execution(database, last, options);
    while (true) {
      const auto state = execution.run({slice});
      if (!state) {
        page.error = state.error().reason;
        return page;
      }
      page.results += execution.output();
      execution.output().clear();
      if (*state == partitioning::ScanState::done) break;
    }
    page.continuation = execution.continuation();
    page.statistics = execution.statistics();
    return page;
  }

  /// All results, as text without blanks: `[…]`; an error as its reason.
  std::string ask(std::string_view text, std::vector<sql::SqlParameter> parameters = {}, sql::SqlScope scope = {}) {
    const Page all = page(parse_sql(text, std::move(parameters)), std::move(scope), {});
    if (!all.error.empty()) return "error: " + all.error;
    return joined(all.results);
  }

  /// The same by pages of `items` results each.
  std::string ask_by_pages(std::string_view text, std::uint64_t items, sql::SqlScope scope = {}) {
    const auto query = parse_sql(text);
    std::string results;
    std::optional<std::string> continuation;
    pages = 0;
    while (true) {
      sql::SqlOptions options;
      options.page_items_max = items;
      const Page next = page(query, scope, options, continuation);
      if (!next.error.empty()) return "error: " + next.error;
      if (next.statistics.results_returned > items) return "error: too many results on a page";
      if (!next.results.empty()) {
        if (!results.empty()) results += ",\n";
        results += next.results;
      }
      ++pages;
      continuation = next.continuation;
      if (!continuation) return joined(results);
    }
  }

  static std::string joined(const std::string& results) {
    std::string out = "[";
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] != '\n') out += results[i];
    }
    return out + "]";
  }

  bool used_index() const {
    return last && !last->plan().branches.empty() && last->plan().branches[0].index.has_value();
  }

  const sql::RowShape* shape = &sql::document_rows();
  std::size_t slice = 7;
  std::size_t memory_bytes_max = SIZE_MAX;
  std::size_t pages = 0;
  std::shared_ptr<const sql::PreparedSql> last;
};

/// Rows with a number that the test derives from the id. Clients that merge order equal rows by it.
class NumberedRows final : public sql::RowShape {
 public:
  using Number = std::uint64_t (*)(std::string_view id);
  explicit NumberedRows(Number number) : number_(number) {}

  bool is_system_property(std::string_view name) const override {
    return name == "_rid" || sql::document_rows().is_system_property(name);
  }
  void append_system_property(const storage::DocumentView& document, std::string_view name,
                              std::string& out) const override {
    if (name != "_rid") return sql::document_rows().append_system_property(document, name, out);
    out += std::to_string(number_(document.id));
  }
  void append_row(const storage::DocumentView& document, std::string& out) const override {
    sql::document_rows().append_row(document, out);
  }
  std::optional<query::FieldPath> field_path(std::span<const std::string> path) const override {
    return sql::document_rows().field_path(path);
  }
  std::optional<std::uint64_t> number_of(std::string_view id) const override { return number_(id); }

 private:
  Number number_;
};

/// Orders with numbers, strings, and some fields missing.
class SqlOrders : public SqlFixture {
 public:
  explicit SqlOrders(int count, partitioning::CreateDatabaseOptions options = {}) : SqlFixture(options) {
    for (int i = 0; i < count; ++i) {
      const std::string prefix = options.partitioned ? "p" + std::to_string(i % 3) + ":" : "";
      std::string body = R"({"n":)" + std::to_string(i) + R"(,"team":"t)" + std::to_string(i % 5) + R"(",)";
      if (i % 4 != 3) body += R"("score":)" + std::to_string((i * 7) % 10) + ",";
      body += R"("tags":["a",")" + std::to_string(i % 2) + R"(","é"]})";
      put(prefix + "o" + std::to_string(1000 + i), body);
    }
  }
};

}  // namespace octavo::tests
