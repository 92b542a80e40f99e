#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "partitioning/database.h"
#include "query/json/parsed_document.h"
#include "query/project/document_form.h"
#include "query/project/projection_definition.h"
#include "query/sql/compile/sql_query.h"
#include "query/sql/evaluate/evaluation.h"
#include "query/sql/evaluate/program.h"

namespace octavo::query::project {

/// A projection's expressions, compiled. Immutable and thread-safe.
class RowProgram {
 public:
  /// `into`: the form of the target. Errors: bad_request with the word `projection_syntax`, `key_template` (a target
  /// without keys in its documents needs templates, another one has none), `key_not_projected`.
  static Expected<std::shared_ptr<const RowProgram>> compile(ProjectionDefinition definition, const DocumentForm& into,
                                                             bool into_is_partitioned);

  const ProjectionDefinition& definition() const { return definition_; }
  const sql::SqlQuery& query() const { return *query_; }
  bool is_named(std::string_view field) const;

 private:
  ProjectionDefinition definition_;
  sql::SqlQuery::Ptr query_;  ///< its one item is an object: the number of each field, and its value
};

/// A row that a source document gives.
struct ProjectedRow {
  std::string id;    ///< document id in the target
  std::string body;  ///< as it is stored there
  std::string rank;  ///< with `newest`: rows of one partition key are in this order, the newest first
};

/// What becomes of a source document.
struct ProjectedDocument {
  enum class Skip : std::uint8_t { none, no_key, error };
  std::optional<ProjectedRow> row;
  Skip skip = Skip::none;  ///< why there is no row, unless the filter says so
  std::string reason;      ///< with Skip::error
};

/// Makes rows of source documents. One thread.
class RowEvaluator {
 public:
  /// All arguments must outlive it. `bytes_max`: of a document.
  RowEvaluator(const RowProgram& program, const DocumentForm& from, const DocumentForm& into, bool into_is_partitioned,
               std::size_t bytes_max);

  /// Errors: function_stopped if an expression took too long or too much memory, which does not depend on the document
  /// alone; bad_request if the document cannot become a row and the definition says to stop then.
  Expected<ProjectedDocument> evaluate(const storage::DocumentView& document);

 private:
  Expected<bool> is_selected(const storage::DocumentView& document);
  Expected<std::string> make_row(const storage::DocumentView& document);
  Expected<std::optional<ProjectedRow>> place(std::string row, std::string_view source_id) const;
  Expected<std::string> rank_of(const ProjectedRow& row);

  const RowProgram& program_;
  const DocumentForm& from_;
  const DocumentForm& into_;
  const bool into_is_partitioned_;
  const std::size_t bytes_max_;
  std::unique_ptr<sql::Evaluation> evaluation_;  ///< made again after a failure
  DocumentParser parser_;
  std::string values_;  ///< scratch, reused
};

}  // namespace octavo::query::project
