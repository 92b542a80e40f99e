#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "partitioning/database.h"
#include "query/javascript/program.h"
#include "query/json/parsed_document.h"
#include "query/project/document_form.h"
#include "query/project/projection_definition.h"
#include "query/sql/compile/sql_query.h"
#include "query/sql/evaluate/evaluation.h"
#include "query/sql/evaluate/program.h"

namespace octavo::query::project {

/// An expression over one item that holds or not. Immutable and thread-safe; null: it always holds.
using ItemCondition = sql::SqlQuery::Ptr;

/// A database that a projection joins, while rows are evaluated.
struct JoinedDatabase {
  std::shared_ptr<partitioning::Database> database;
  std::shared_ptr<const DocumentForm> form;
};

/// What a definition must fit of the database into which its rows go.
struct RowTarget {
  bool keeps_key_in_body = false;  ///< DocumentForm::keeps_key_in_body()
  bool is_partitioned = false;
};

/// A projection's expressions, compiled. Immutable and thread-safe.
class RowProgram {
 public:
  /// `joined`: by join. Errors: bad_request with the word `projection_syntax`, `key_template` (a database without keys
  /// in its documents needs templates, another one has none), `key_not_projected`.
  static Expected<std::shared_ptr<const RowProgram>> compile(ProjectionDefinition definition, RowTarget into,
                                                             std::span<const JoinedDatabase> joined);

  const ProjectionDefinition& definition() const { return definition_; }
  const sql::SqlQuery& query() const { return *query_; }
  bool is_named(std::string_view field) const;
  struct Join {
    ItemCondition when;   ///< of documents of the source
    ItemCondition where;  ///< of documents that are counted
  };
  const Join& join(std::size_t number) const { return joins_[number]; }

 private:
  ProjectionDefinition definition_;
  sql::SqlQuery::Ptr query_;  ///< its one item is an object: the number of each field, and its value
  std::vector<Join> joins_;
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
  std::vector<ProjectedRow> rows;  ///< more than one by a transform only, with different ids
  Skip skip = Skip::none;          ///< why there is no row, or one is missing, unless the filter says so
  std::string reason;              ///< with Skip::error
  /// By join: the id of the document that was looked up, or the value that was counted; a change of that may change the
  /// row. nullopt: the document is not joined. Empty: none is.
  std::vector<std::optional<std::string>> join_keys;

  std::size_t bytes() const;  ///< of all rows
};

/// Runs conditions. One thread.
class ConditionEvaluator {
 public:
  ConditionEvaluator(ItemCondition condition, const sql::RowShape& shape);
  /// Error function_stopped: the expression took too long or too much memory.
  Expected<bool> holds(const storage::DocumentView& document);

 private:
  const ItemCondition condition_;
  const sql::RowShape& shape_;
  std::unique_ptr<sql::Evaluation> evaluation_;
};

/// Makes rows of source documents. One thread.
class RowEvaluator {
 public:
  /// How many documents a count has found.
  using Counts = std::function<Expected<std::uint64_t>(std::size_t join, std::string_view key)>;
  struct Environment {
    const DocumentForm& from;
    const DocumentForm& into;
    bool into_is_partitioned = false;
    std::span<const JoinedDatabase> joined;
    Counts counts;
    std::size_t bytes_max = 0;         ///< of a document
    javascript::ProgramPtr transform;  ///< of a definition that has one
  };
  /// `program`, and what the environment refers to, must outlive it.
  RowEvaluator(const RowProgram& program, Environment environment);

  /// Errors: function_stopped if an expression or the transform took too long or too much memory, which does not depend
  /// on the document alone; bad_request if the document cannot become a row and the definition says to stop then; those
  /// of reading joined documents.
  Expected<ProjectedDocument> evaluate(const storage::DocumentView& document);
  /// The value that a document counts for. nullopt: it is not counted.
  Expected<std::optional<std::string>> counted_key(std::size_t join, const storage::DocumentView& document);

 private:
  Expected<bool> is_selected(const storage::DocumentView& document);
  void begin(const storage::DocumentView& document);
  Expected<void> failure();
  /// False: a document that must be there is not.
  Expected<bool> join(const storage::DocumentView& document, ProjectedDocument& result);
  Expected<bool> look_up(std::size_t number, const std::string& id);
  Expected<std::string> make_row(const storage::DocumentView& document);
  /// The values of the joins as a JSON object. They are bound.
  std::string joined_text() const;
  Expected<void> add_rows(const storage::DocumentView& document, ProjectedDocument& result);
  Expected<void> add_row(std::string row, std::string_view source_id, ProjectedDocument& result);
  Expected<std::optional<ProjectedRow>> place(std::string row, std::string_view source_id) const;
  Expected<std::string> rank_of(const ProjectedRow& row);

  const RowProgram& program_;
  const Environment environment_;
  std::vector<ConditionEvaluator> whens_;        ///< by join
  std::vector<ConditionEvaluator> wheres_;       ///< by join
  std::unique_ptr<sql::Evaluation> evaluation_;  ///< made again after a failure
  DocumentParser parser_;
  std::string values_;                    ///< scratch, reused
  std::vector<std::string> joined_rows_;  ///< texts of the joined values; the evaluation refers to them
};

}  // namespace octavo::query::project
