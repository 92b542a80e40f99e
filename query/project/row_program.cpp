#include "query/project/row_program.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/byte_codec.h"
#include "base/json_writer.h"
#include "config/value_text.h"
#include "partitioning/keys/partition_key.h"
#include "query/index/raw_field.h"
#include "query/json/split.h"
#include "query/sql/evaluate/value.h"
#include "query/sql/syntax/parser.h"

namespace octavo::query::project {

namespace {

// The line ends a comment in the expression.
std::string in_parentheses(const std::string& expression) {
  return "(" + expression + "\n)";
}

Expected<void> check_expression(std::string_view name, const std::string& expression) {
  const std::string text = "SELECT VALUE " + in_parentheses(expression) + " FROM c";
  const auto refused = [&](std::string_view why) {
    return fail(ErrorCode::bad_request, fmt::format("The expression of `{}` is not valid: {}", name.substr(0, 64), why),
                "projection_syntax");
  };
  const auto syntax = sql::parse_query(text);
  if (syntax) {
    if (const auto wrong = sql::wrong_in_expression_query(**syntax); !wrong.empty()) return refused(wrong);
  }
  // Parsing as a query also checks names, functions and numbers of arguments.
  if (const auto whole = sql::SqlQuery::parse(text); !whole) return refused(whole.error().to_error().reason);
  return {};
}

std::string query_text(const ProjectionDefinition& definition) {
  std::string text = "SELECT VALUE {";
  for (std::size_t i = 0; i < definition.fields.size(); ++i) {
    if (i > 0) text += ',';
    text += fmt::format("\"{}\":{}", i, in_parentheses(definition.fields[i].expression));
  }
  text += "} FROM c";
  if (!definition.where.empty()) text += " WHERE " + in_parentheses(definition.where);
  return text;
}

Expected<void> check_key(const ProjectionDefinition& definition, const DocumentForm& into, bool into_is_partitioned) {
  if (into.keeps_key_in_body()) {
    if (definition.key || definition.id) {
      return fail(ErrorCode::bad_request,
                  "`key` and `id` are for databases of the CouchDB API: the rows of a container have both among their "
                  "fields.",
                  "key_template");
    }
    return {};
  }
  if (!definition.id) {
    return fail(ErrorCode::bad_request, "`id` is missing: the template for the ids of the rows, such as \"{_id}\".",
                "key_template");
  }
  if (into_is_partitioned != definition.key.has_value()) {
    return fail(ErrorCode::bad_request,
                into_is_partitioned ? "`key` is missing: the template for the partition keys of the rows."
                                    : "`key` is for partitioned databases, and the target is none.",
                "key_template");
  }
  return {};
}

}  // namespace

Expected<std::shared_ptr<const RowProgram>> RowProgram::compile(ProjectionDefinition definition,
                                                                const DocumentForm& into, bool into_is_partitioned) {
  if (!definition.where.empty()) OCTAVO_TRY_VOID(check_expression("where", definition.where));
  for (const auto& field : definition.fields) OCTAVO_TRY_VOID(check_expression(field.name, field.expression));
  OCTAVO_TRY_VOID(check_key(definition, into, into_is_partitioned));
  auto program = std::make_shared<RowProgram>();
  if (into.keeps_key_in_body() && !definition.keeps_all) {
    const bool has_id =
        std::ranges::find(definition.fields, "id", &ProjectionDefinition::Field::name) != definition.fields.end();
    if (!has_id) {
      return fail(ErrorCode::bad_request, "`id` is not among the fields, and the items of a container need it.",
                  "key_not_projected");
    }
  }
  auto query = sql::SqlQuery::parse(query_text(definition));
  if (!query) return fail(ErrorCode::bad_request, query.error().to_error().reason, "projection_syntax");
  program->definition_ = std::move(definition);
  program->query_ = *std::move(query);
  return program;
}

bool RowProgram::is_named(std::string_view field) const {
  return std::ranges::find(definition_.fields, field, &ProjectionDefinition::Field::name) != definition_.fields.end();
}

RowEvaluator::RowEvaluator(const RowProgram& program, const DocumentForm& from, const DocumentForm& into,
                           bool into_is_partitioned, std::size_t bytes_max)
    : program_(program), from_(from), into_(into), into_is_partitioned_(into_is_partitioned), bytes_max_(bytes_max) {}

Expected<bool> RowEvaluator::is_selected(const storage::DocumentView& document) {
  if (document.deleted || !from_.shape().is_row(document)) return false;
  if (document.owner != 0 && !program_.definition().include_derived) return false;
  const auto& selector = program_.definition().selector;
  if (!selector) return true;
  OCTAVO_TRY(const auto body, parser_.parse(document.body));
  return selector->matches(body, document.id, document.revision.to_string());
}

// The row as JSON text; empty: the filter does not let the document in.
Expected<std::string> RowEvaluator::make_row(const storage::DocumentView& document) {
  const sql::Program& program = program_.query().program();
  if (!evaluation_) {
    evaluation_ = std::make_unique<sql::Evaluation>(program.root_names, program.slots, &from_.shape());
  }
  evaluation_->begin_item();
  evaluation_->arena.rewind({});
  evaluation_->row.bind(document);
  std::string row;
  if (!program.where || program.where->evaluate(*evaluation_).is_true()) {
    values_.clear();
    if (!evaluation_->failed()) program.append_projection(*evaluation_, values_);
    row = "{";
  }
  if (evaluation_->failed()) {
    Error error = evaluation_->error();
    evaluation_.reset();
    return std::unexpected(std::move(error));
  }
  if (row.empty()) return row;
  if (program_.definition().keeps_all) {
    bool has_id = false;
    OCTAVO_TRY(const auto members, split_object(document.body));
    for (const JsonMember& member : members) {
      has_id = has_id || member.name == "id";
      if (program_.is_named(member.name)) continue;
      append_json_key(row, member.name);
      row += member.raw;
    }
    if (const auto id = has_id || program_.is_named("id") ? std::nullopt : from_.implied_id(document.id)) {
      append_json_key(row, "id");
      append_json_string(row, *id);
    }
  }
  OCTAVO_TRY(const auto values, split_object(values_));
  for (const JsonMember& value : values) {
    std::size_t number = 0;
    std::from_chars(value.name.data(), value.name.data() + value.name.size(), number);
    append_json_key(row, program_.definition().fields.at(number).name);
    row += value.raw;
  }
  row += '}';
  return row;
}

// nullopt: the row lacks a part of its key.
Expected<std::optional<ProjectedRow>> RowEvaluator::place(std::string row, std::string_view source_id) const {
  const auto& definition = program_.definition();
  if (into_.keeps_key_in_body()) {
    OCTAVO_TRY(auto placed, into_.place(row, bytes_max_));
    return ProjectedRow{std::move(placed.id), std::move(placed.body), {}};
  }
  auto id = definition.id->fill(row, source_id);
  if (!id) return std::nullopt;
  if (definition.key) {
    auto key = definition.key->fill(row, source_id);
    if (!key) return std::nullopt;
    id = *std::move(key) + ":" + *id;
  }
  OCTAVO_TRY_VOID(partitioning::check_document_id(*id, into_is_partitioned_));
  if (row.size() > bytes_max_) {
    return fail(ErrorCode::too_large,
                "The row " + config::over_limit(row.size(), bytes_max_, "database.document_bytes_max") + ".");
  }
  if (row.find("\"_") != std::string::npos) {
    OCTAVO_TRY(const auto members, split_object(row));
    for (const JsonMember& member : members) {
      if (!member.name.starts_with('_')) continue;
      return fail(ErrorCode::bad_request, fmt::format("A document of the CouchDB API cannot have a field named '{}'.",
                                                      member.name.substr(0, 64)));
    }
  }
  return ProjectedRow{*std::move(id), std::move(row), {}};
}

/// Format (rank of a row):
///   rank := partition key:sized order        descending order of the value (query/sql/evaluate/value.h)
Expected<std::string> RowEvaluator::rank_of(const ProjectedRow& row) {
  std::string rank;
  ByteWriter(rank).sized_bytes(partitioning::partition_key_of(row.id, into_is_partitioned_));
  const auto& newest = program_.definition().newest;
  evaluation_->arena.rewind({});
  const sql::Value value = sql::Value::read(find_raw_field(row.body, newest->by), evaluation_->arena);
  if (!sql::append_order_key_descending(rank, value, bytes_max_)) {
    return fail(ErrorCode::too_large, "The value of `newest.by` is too large.");
  }
  return rank;
}

Expected<ProjectedDocument> RowEvaluator::evaluate(const storage::DocumentView& document) {
  ProjectedDocument result;
  OCTAVO_TRY(const bool selected, is_selected(document));
  if (!selected) return result;
  OCTAVO_TRY(std::string text, make_row(document));
  if (text.empty()) return result;
  auto row = place(std::move(text), document.id);
  if (row && *row && program_.definition().newest) {
    if (auto rank = rank_of(**row)) {
      (*row)->rank = *std::move(rank);
    } else {
      row = std::unexpected(std::move(rank).error());
    }
  }
  if (row) {
    result.row = *std::move(row);
    if (!result.row) result.skip = ProjectedDocument::Skip::no_key;
    return result;
  }
  if (program_.definition().stops_on_error) return std::unexpected(std::move(row).error());
  result.skip = ProjectedDocument::Skip::error;
  result.reason = std::move(row).error().reason;
  return result;
}

}  // namespace octavo::query::project
