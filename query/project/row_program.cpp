#include "query/project/row_program.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "base/jobs/background_jobs.h"
#include "base/json_writer.h"
#include "config/value_text.h"
#include "partitioning/keys/partition_key.h"
#include "query/index/raw_field.h"
#include "query/json/split.h"
#include "query/project/internal/transform.h"
#include "query/sql/evaluate/value.h"
#include "query/sql/syntax/parser.h"

namespace octavo::query::project {

namespace {

// The line ends a comment in the expression.
std::string in_parentheses(const std::string& expression) {
  return "(" + expression + "\n)";
}

/// Parses `SELECT VALUE (expression) FROM c`, which also checks names, functions and numbers of arguments.
Expected<sql::SqlQuery::Ptr> parse_expression(std::string_view name, const std::string& expression,
                                              std::span<const std::string> bound) {
  const std::string text = "SELECT VALUE " + in_parentheses(expression) + " FROM c";
  const auto refused = [&](std::string_view why) {
    return fail(ErrorCode::bad_request, fmt::format("The expression of `{}` is not valid: {}", name.substr(0, 64), why),
                "projection_syntax");
  };
  const auto syntax = sql::parse_query(text);
  if (syntax) {
    if (const auto wrong = sql::wrong_in_expression_query(**syntax); !wrong.empty()) return refused(wrong);
  }
  auto whole = sql::SqlQuery::parse(text, {}, nullptr, bound);
  if (!whole) return refused(whole.error().to_error().reason);
  return *std::move(whole);
}

Expected<ItemCondition> parse_condition(std::string_view name, const std::string& expression) {
  if (expression.empty()) return ItemCondition();
  return parse_expression(name, expression, {});
}

Expected<void> check_join(const ProjectionDefinition::Join& join, const JoinedDatabase& joined) {
  // A name that cannot be used in an expression.
  const std::array<std::string, 1> bound{join.name};
  if (join.name == "c" || !parse_expression("joins", join.name, bound)) {
    return fail(ErrorCode::bad_request,
                fmt::format("A join cannot be named '{}': choose a name that can stand in an expression, other than c.",
                            join.name.substr(0, 64)),
                "projection_syntax");
  }
  if (join.is_count) return {};
  const bool needs_key = joined.form->keeps_key_in_body() || joined.database->partitioned();
  if (needs_key == join.key.has_value()) return {};
  return fail(ErrorCode::bad_request,
              needs_key
                  ? fmt::format("`key` of the join {} is missing: {} has partition keys.", join.name, join.database)
                  : fmt::format("`key` of the join {} is for databases with partition keys.", join.name),
              "key_template");
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

Expected<void> check_key(const ProjectionDefinition& definition, RowTarget into) {
  if (into.keeps_key_in_body) {
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
  if (into.is_partitioned != definition.key.has_value()) {
    return fail(ErrorCode::bad_request,
                into.is_partitioned ? "`key` is missing: the template for the partition keys of the rows."
                                    : "`key` is for partitioned databases, and the target is not partitioned.",
                "key_template");
  }
  return {};
}

// Templates are filled from the row.
Expected<void> check_template_fields(const ProjectionDefinition& definition) {
  if (definition.keeps_all || !definition.transform.empty()) return {};
  for (const auto* const used : {&definition.key, &definition.id}) {
    if (!*used) continue;
    for (const std::string& name : (*used)->fields()) {
      if (std::ranges::find(definition.fields, name, &ProjectionDefinition::Field::name) != definition.fields.end()) {
        continue;
      }
      return fail(ErrorCode::bad_request,
                  fmt::format("The template '{}' needs {}, which is not among the fields.", (*used)->text(), name),
                  "key_not_projected");
    }
  }
  return {};
}

// Others may be gone when the document is evaluated again.
bool is_of_document(const Error& error) {
  return error.code != ErrorCode::function_stopped && error.code != ErrorCode::corrupted && !may_pass(error);
}

}  // namespace

std::size_t ProjectedDocument::bytes() const {
  std::size_t sum = 0;
  for (const ProjectedRow& row : rows) sum += row.body.size();
  return sum;
}

Expected<std::shared_ptr<const RowProgram>> RowProgram::compile(ProjectionDefinition definition, RowTarget into,
                                                                std::span<const JoinedDatabase> joined) {
  OCTAVO_ASSERT(joined.size() == definition.joins.size());
  auto program = std::make_shared<RowProgram>();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < joined.size(); ++i) {
    const auto& join = definition.joins[i];
    OCTAVO_TRY_VOID(check_join(join, joined[i]));
    names.push_back(join.name);
    Join compiled;
    OCTAVO_TRY(compiled.when, parse_condition("joins." + join.name + ".when", join.when));
    OCTAVO_TRY(compiled.where, parse_condition("joins." + join.name + ".count.where", join.where));
    program->joins_.push_back(std::move(compiled));
  }
  OCTAVO_TRY_VOID(parse_condition("where", definition.where));
  for (const auto& field : definition.fields) OCTAVO_TRY_VOID(parse_expression(field.name, field.expression, names));
  OCTAVO_TRY_VOID(check_key(definition, into));
  OCTAVO_TRY_VOID(check_template_fields(definition));
  const bool has_id =
      definition.keeps_all || !definition.transform.empty() ||
      std::ranges::find(definition.fields, "id", &ProjectionDefinition::Field::name) != definition.fields.end();
  if (into.keeps_key_in_body && !has_id) {
    return fail(ErrorCode::bad_request, "`id` is not among the fields, and the items of a container need it.",
                "key_not_projected");
  }
  auto query = sql::SqlQuery::parse(query_text(definition), {}, nullptr, names);
  if (!query) return fail(ErrorCode::bad_request, query.error().to_error().reason, "projection_syntax");
  program->definition_ = std::move(definition);
  program->query_ = *std::move(query);
  return program;
}

bool RowProgram::is_named(std::string_view field) const {
  return std::ranges::find(definition_.fields, field, &ProjectionDefinition::Field::name) != definition_.fields.end();
}

ConditionEvaluator::ConditionEvaluator(ItemCondition condition, const sql::RowShape& shape)
    : condition_(std::move(condition)), shape_(shape) {}

Expected<bool> ConditionEvaluator::holds(const storage::DocumentView& document) {
  if (!condition_) return true;
  const sql::Program& program = condition_->program();
  if (!evaluation_) evaluation_ = std::make_unique<sql::Evaluation>(program.root_names, program.slots, &shape_);
  evaluation_->begin_item();
  evaluation_->arena.rewind({});
  evaluation_->row.bind(document);
  const bool holds = program.project(*evaluation_).is_true();
  if (!evaluation_->failed()) return holds;
  Error error = evaluation_->error();
  evaluation_.reset();
  return std::unexpected(std::move(error));
}

RowEvaluator::RowEvaluator(const RowProgram& program, Environment environment)
    : program_(program), environment_(std::move(environment)), joined_rows_(environment_.joined.size()) {
  for (std::size_t i = 0; i < environment_.joined.size(); ++i) {
    whens_.emplace_back(program.join(i).when, environment_.from.shape());
    wheres_.emplace_back(program.join(i).where, environment_.joined[i].form->shape());
  }
}

Expected<bool> RowEvaluator::is_selected(const storage::DocumentView& document) {
  if (document.deleted || !environment_.from.shape().is_row(document)) return false;
  if (document.owner != 0 && !program_.definition().include_derived) return false;
  const auto& selector = program_.definition().selector;
  if (!selector) return true;
  OCTAVO_TRY(const auto body, parser_.parse(document.body));
  return selector->matches(body, document.id, document.revision.to_string());
}

void RowEvaluator::begin(const storage::DocumentView& document) {
  const sql::Program& program = program_.query().program();
  if (!evaluation_) {
    evaluation_ = std::make_unique<sql::Evaluation>(program.root_names, program.slots, &environment_.from.shape());
  }
  evaluation_->begin_item();
  evaluation_->arena.rewind({});
  evaluation_->row.bind(document);
}

Expected<void> RowEvaluator::failure() {
  if (!evaluation_->failed()) return {};
  Error error = evaluation_->error();
  evaluation_.reset();
  return std::unexpected(std::move(error));
}

// Binds the document, if there is one that counts.
Expected<bool> RowEvaluator::look_up(std::size_t number, const std::string& id) {
  const JoinedDatabase& joined = environment_.joined[number];
  OCTAVO_TRY(const auto snapshot, joined.database->snapshot_for_document(id));
  // As stored: a document that expires is there until it is deleted, which its feed shows.
  OCTAVO_TRY(const auto record, snapshot.find_stored_record(id));
  if (!record || record->deleted) return false;
  if (record->owner != 0 && !program_.definition().joins[number].include_derived) return false;
  OCTAVO_TRY(const auto document, snapshot.open(*record));
  if (!joined.form->shape().is_row(document)) return false;
  std::string& text = joined_rows_[number];
  joined.form->shape().append_row(document, text);
  evaluation_->slots[number] = sql::Value::read(text, evaluation_->arena);
  return true;
}

Expected<bool> RowEvaluator::join(const storage::DocumentView& document, ProjectedDocument& result) {
  bool is_complete = true;
  for (std::size_t i = 0; i < environment_.joined.size(); ++i) {
    const auto& join = program_.definition().joins[i];
    evaluation_->slots[i] = {};
    joined_rows_[i].clear();
    auto& key = result.join_keys.emplace_back();
    OCTAVO_TRY(const bool applies, whens_[i].holds(document));
    if (applies && join.is_count) {
      key = join.equals->fill(document.body, document.id);
      if (!key) continue;
      OCTAVO_TRY(const std::uint64_t count, environment_.counts(i, *key));
      evaluation_->slots[i] = sql::Value::of(static_cast<double>(count));
      joined_rows_[i] = std::to_string(count);
    } else if (applies) {
      const DocumentForm& form = *environment_.joined[i].form;
      key = join.id->fill_plain(document.body, document.id);
      if (key && join.key && form.keeps_key_in_body()) {
        const auto partition_key = join.key->fill_json(document.body, document.id);
        key = partition_key ? form.find_id(*partition_key, *key) : std::nullopt;
      } else if (key && join.key) {
        const auto partition_key = join.key->fill_plain(document.body, document.id);
        key = partition_key ? std::optional(*partition_key + ":" + *key) : std::nullopt;
      }
      bool is_found = false;
      if (key) {
        OCTAVO_TRY(is_found, look_up(i, *key));
      }
      is_complete = is_complete && (is_found || !join.required);
    }
  }
  return is_complete;
}

Expected<std::optional<std::string>> RowEvaluator::counted_key(std::size_t join,
                                                               const storage::DocumentView& document) {
  const auto& definition = program_.definition().joins[join];
  if (document.deleted || !environment_.joined[join].form->shape().is_row(document)) return std::nullopt;
  if (document.owner != 0 && !definition.include_derived) return std::nullopt;
  OCTAVO_TRY(const bool counts, wheres_[join].holds(document));
  if (!counts) return std::nullopt;
  return definition.by->fill(document.body, document.id);
}

// The row as JSON text. The item and the joined values are bound.
Expected<std::string> RowEvaluator::make_row(const storage::DocumentView& document) {
  values_.clear();
  program_.query().program().append_projection(*evaluation_, values_);
  OCTAVO_TRY_VOID(failure());
  std::string row = "{";
  if (program_.definition().keeps_all) {
    bool has_id = false;
    OCTAVO_TRY(const auto members, split_object(document.body));
    for (const JsonMember& member : members) {
      has_id = has_id || member.name == "id";
      if (program_.is_named(member.name)) continue;
      append_json_key(row, member.name);
      row += member.raw;
    }
    const bool implies_id = !has_id && !program_.is_named("id");
    if (const auto id = implies_id ? environment_.from.implied_id(document.id) : std::nullopt) {
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

std::string RowEvaluator::joined_text() const {
  std::string text = "{";
  for (std::size_t i = 0; i < joined_rows_.size(); ++i) {
    if (joined_rows_[i].empty()) continue;
    append_json_key(text, program_.definition().joins[i].name);
    text += joined_rows_[i];
  }
  text += '}';
  return text;
}

// nullopt: the row lacks a part of its key.
Expected<std::optional<ProjectedRow>> RowEvaluator::place(std::string row, std::string_view source_id) const {
  const auto& definition = program_.definition();
  if (environment_.into.keeps_key_in_body()) {
    OCTAVO_TRY(auto placed, environment_.into.place(row, environment_.bytes_max));
    return ProjectedRow{std::move(placed.id), std::move(placed.body), {}};
  }
  auto id = definition.id->fill(row, source_id);
  if (!id) return std::nullopt;
  if (definition.key) {
    auto key = definition.key->fill_key(row, source_id);
    if (!key) return std::nullopt;
    id = *std::move(key) + ":" + *id;
  }
  OCTAVO_TRY_VOID(partitioning::check_document_id(*id, environment_.into_is_partitioned));
  if (row.size() > environment_.bytes_max) {
    return fail(
        ErrorCode::too_large,
        "The row " + config::over_limit(row.size(), environment_.bytes_max, "database.document_bytes_max") + ".");
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
  ByteWriter(rank).sized_bytes(partitioning::partition_key_of(row.id, environment_.into_is_partitioned));
  const auto& newest = program_.definition().newest;
  evaluation_->arena.rewind({});
  const sql::Value value = sql::Value::read(find_raw_field(row.body, newest->by), evaluation_->arena);
  if (!sql::append_order_key_descending(rank, value, environment_.bytes_max)) {
    return fail(ErrorCode::too_large, "The value of `newest.by` is too large.");
  }
  return rank;
}

Expected<void> RowEvaluator::add_row(std::string row, std::string_view source_id, ProjectedDocument& result) {
  OCTAVO_TRY(auto placed, place(std::move(row), source_id));
  if (!placed) {
    result.skip = ProjectedDocument::Skip::no_key;
    return {};
  }
  if (program_.definition().newest) {
    OCTAVO_TRY(placed->rank, rank_of(*placed));
  }
  result.rows.push_back(*std::move(placed));
  return {};
}

Expected<void> RowEvaluator::add_rows(const storage::DocumentView& document, ProjectedDocument& result) {
  if (!environment_.transform) {
    OCTAVO_TRY(std::string row, make_row(document));
    return add_row(std::move(row), document.id, result);
  }
  OCTAVO_TRY(auto rows, transformed_rows(environment_.transform, environment_.from.shape(), document, joined_text()));
  for (std::string& row : rows) OCTAVO_TRY_VOID(add_row(std::move(row), document.id, result));
  return check_distinct(result.rows);
}

Expected<ProjectedDocument> RowEvaluator::evaluate(const storage::DocumentView& document) {
  ProjectedDocument result;
  OCTAVO_TRY(const bool selected, is_selected(document));
  if (!selected) return result;
  begin(document);
  const sql::Program& program = program_.query().program();
  const bool holds = !program.where || program.where->evaluate(*evaluation_).is_true();
  OCTAVO_TRY_VOID(failure());
  if (!holds) return result;
  OCTAVO_TRY(const bool is_complete, join(document, result));
  if (!is_complete) return result;
  const auto added = add_rows(document, result);
  if (added) return result;
  const Error& error = added.error();
  if (!is_of_document(error)) return std::unexpected(error);
  if (program_.definition().stops_on_error) return fail(ErrorCode::bad_request, error.reason);
  result.rows.clear();
  result.skip = ProjectedDocument::Skip::error;
  result.reason = error.reason;
  return result;
}

}  // namespace octavo::query::project
