#include "query/mango/find_choice.h"

#include <algorithm>
#include <utility>

#include "query/mango/internal/find_preparation.h"
#include "query/search/syntax/search_request.h"

namespace octavo::query {

namespace {

// Whether a text index must answer the request if one can: nothing else serves `$text` or continues from its bookmark.
bool asks_for_text_index(const FindRequest& request, const FeedIndexCatalog& catalog) {
  if (request.text_selector || search::names_text_index(catalog, request.use_index)) return true;
  return request.bookmark && search::SearchBookmark::decode(*request.bookmark);
}

bool uses_index(const Plan& plan) {
  return std::ranges::any_of(plan.branches, [](const Branch& branch) { return branch.index.has_value(); });
}

}  // namespace

Task<Expected<FindChoice>> choose_find(MangoIndexes& indexes, FeedIndexes& feed_indexes, std::string_view body,
                                       std::string partition_key, bool explain) {
  partitioning::Database& database = indexes.database();
  if (!feed_indexes.is_loaded())
    co_await database.engine().workers().run_blocking([&] { return feed_indexes.catalog(); });
  const auto catalog = feed_indexes.catalog();
  const auto looks_for_text = [&] {
    return catalog && (search::has_text_index(**catalog) || body.find("$text") != std::string_view::npos);
  };
  bool may_be_textual = false;
  if (body.size() <= inline_query_bytes_max) {
    may_be_textual = looks_for_text();
  } else {
    may_be_textual = co_await work_on_find(database, body.size(), looks_for_text);
  }
  const FindPreparation preparation(indexes, body, partition_key, explain, false);
  auto prepared = preparation.earlier();
  if (prepared && !may_be_textual) co_return FindChoice(std::move(prepared));
  FindRequest request;
  if (prepared) {
    request = prepared->request;
    if (!partition_key.empty()) request.partition = partition_key;
  } else {
    OCTAVO_CO_TRY(request, co_await preparation.parse());
  }
  if (!may_be_textual) {
    OCTAVO_CO_TRY(prepared, co_await preparation.plan(std::move(request)));
    co_return FindChoice(std::move(prepared));
  }
  // A request that names a partition of a database without partitions is an error, whatever index it asks for.
  const bool has_scope = request.partition.empty() || database.partitioned();
  const bool asks = has_scope && asks_for_text_index(request, **catalog);
  if (!asks) {
    if (!prepared) {
      OCTAVO_CO_TRY(prepared, co_await preparation.plan(request));
    }
    if (uses_index(prepared->sure_plan())) co_return FindChoice(std::move(prepared));
  }
  const auto plan_by_text = [&] { return search::plan_text_find(**catalog, request); };
  OCTAVO_CO_TRY(auto by_text, co_await work_on_find(database, body.size(), plan_by_text));
  if (by_text) co_return FindChoice(*std::move(by_text));
  if (!prepared) {
    OCTAVO_CO_TRY(prepared, co_await preparation.plan(std::move(request)));
  }
  co_return FindChoice(std::move(prepared));
}

}  // namespace octavo::query
