#include "api/cosmos/patch_condition.h"

#include "api/cosmos/errors.h"
#include "api/cosmos/item_shape.h"
#include "partitioning/engine.h"
#include "query/json/parsed_document.h"
#include "query/sql/sql_execution.h"
#include "query/sql/sql_preparation.h"
#include "query/sql/sql_query.h"

namespace octavo::api::cosmos {

namespace {

namespace sql = query::sql;

std::unexpected<Error> invalid_condition(std::string_view why) {
  return fail(ErrorCode::bad_request, "The condition of the patch is not valid: expected \"from c where …\". " +
                                          std::string(why));
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view skip_spaces(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

// Takes a word off the beginning.
std::string_view take_word(std::string_view& text) {
  text = skip_spaces(text);
  std::size_t end = 0;
  while (end < text.size() && is_word(text[end])) ++end;
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
}

// `from c where <expression>` → a query for the tag of the one item, if it meets the expression.
Expected<sql::SqlQuery::Ptr> condition_query(std::string_view condition, std::string_view item_id) {
  std::string_view rest = condition;
  if (!same_word(take_word(rest), "from")) return invalid_condition("");
  const std::string alias(take_word(rest));
  if (alias.empty() || !same_word(take_word(rest), "where")) return invalid_condition("");
  // On its own first, so that it cannot end the parentheses that are put around it.
  const auto alone = sql::SqlQuery::parse("SELECT VALUE 1 FROM " + alias + " WHERE " + std::string(rest));
  if (!alone) return invalid_condition(alone.error().message);
  if ((*alone)->is_grouped() || (*alone)->is_ordered() || (*alone)->is_distinct() || (*alone)->offset() ||
      (*alone)->limit()) {
    return invalid_condition("");
  }
  const std::vector<sql::SqlParameter> parameters{
      {"@octavo_item", boost::json::serialize(boost::json::value(item_id))}};
  auto query = sql::SqlQuery::parse("SELECT VALUE " + alias + "._etag FROM " + alias + " WHERE (" + std::string(rest) +
                                        "\n) AND " + alias + ".id = @octavo_item",
                                    parameters);
  if (!query) return invalid_condition(query.error().message);
  return std::move(*query);
}

}  // namespace

Task<Expected<void>> check_patch_condition(std::shared_ptr<partitioning::Database> database,
                                           const ContainerDefinition& container, ItemOperation& operation) {
  auto query = condition_query(*operation.patch.condition, item_id_of(operation.document_id));
  if (!query) co_return std::unexpected(std::move(query).error());
  sql::SqlScope scope;
  scope.partition_key = partitioning::partition_key_of(operation.document_id, true);
  auto prepared = co_await sql::prepare_sql(database, std::move(*query), std::move(scope), *container.shape);
  if (!prepared) co_return std::unexpected(std::move(prepared).error());
  sql::SqlOptions options;
  options.page_items_max = 1;
  sql::SqlExecution execution(database, std::move(*prepared), std::move(options));
  auto state = execution.run(partitioning::ScanBudget::inline_slice());
  while (state && *state == partitioning::ScanState::more) {
    state = co_await database->engine().run_blocking(
        [&] { return execution.run(partitioning::ScanBudget::worker_slice()); });
  }
  if (!state) co_return std::unexpected(std::move(state).error());
  if (execution.output().empty()) {
    const auto snapshot = database->snapshot_for_document(operation.document_id);
    if (!snapshot) co_return std::unexpected(snapshot.error());
    const auto document = snapshot->find(operation.document_id);
    if (document && (!*document || (*document)->deleted)) co_return fail(ErrorCode::not_found, "");
    co_return fail(ErrorCode::precondition_failed, "The item does not meet the condition of the patch.", word::kEtag);
  }
  const auto tag = query::parse_json(execution.output());
  if (!tag || !tag->is_string()) co_return fail(ErrorCode::internal, "A condition without a tag.");
  const auto met = MatchCondition::parse(std::string_view(tag->get_string()));
  if (operation.match.given && !operation.match.any && operation.match.revision != met.revision) {
    co_return fail(ErrorCode::precondition_failed, "", word::kEtag);
  }
  operation.match = met;
  co_return Expected<void>{};
}

}  // namespace octavo::api::cosmos
