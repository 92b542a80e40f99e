#include "api/cosmos/feeds/former_keys.h"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/cosmos/call/authorization.h"
#include "api/http/worker_slices.h"
#include "api/models/errors.h"
#include "api/models/item_key.h"
#include "api/models/item_shape.h"
#include "base/json_writer.h"
#include "partitioning/throughput/request_charge.h"
#include "query/database/database_services.h"
#include "query/json/property_path.h"
#include "query/json/split.h"
#include "query/sql/compile/sql_query.h"
#include "query/sql/run/query_charge.h"
#include "query/sql/run/sql_execution.h"
#include "query/sql/run/sql_preparation.h"
#include "query/walk/plan_indexes.h"

namespace octavo::api::cosmos {

namespace {

namespace sql = query::sql;
using partitioning::MissingValue;
using partitioning::ScanBudget;
using partitioning::ScanState;
using partitioning::TypedKey;

std::optional<std::string_view> key_header(const Call& call) {
  const auto header = call.request.header("x-ms-documentdb-partitionkey");
  return header && !header->empty() ? header : std::nullopt;
}

std::string json_of(const partitioning::KeyValue& value) {
  if (const auto* const text = std::get_if<std::string>(&value)) {
    std::string json;
    append_json_string(json, *text);
    return json;
  }
  if (const auto* const number = std::get_if<double>(&value)) return fmt::format("{:.17g}", *number);
  if (const auto* const flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return "null";
}

/// `SELECT TOP 2 * FROM c WHERE …`: the items with these values at the beginning of the container's key paths, and with
/// this id, if there is one.
Expected<sql::SqlQuery::Ptr> query_for(const ContainerDefinition& container, const TypedKey& key,
                                       std::optional<std::string_view> id) {
  std::string text = "SELECT TOP 2 * FROM c WHERE true";
  std::vector<sql::SqlParameter> parameters;
  const auto add = [&](std::string value) {
    parameters.push_back({fmt::format("@p{}", parameters.size()), std::move(value)});
    return parameters.back().name;
  };
  if (id) text += " AND c.id = " + add(json_of(std::string(*id)));
  for (std::size_t i = 0; i < key.values().size(); ++i) {
    OCTAVO_TRY(const auto parts, query::split_property_path(container.key_path_texts[i]));
    std::string path = "c";
    for (const std::string& part : parts) {
      path += '[';
      append_json_string(path, part);
      path += ']';
    }
    const auto& value = key.values()[i];
    const bool is_missing = std::holds_alternative<MissingValue>(value);
    text += is_missing ? " AND NOT IS_DEFINED(" + path + ')' : " AND " + path + " = " + add(json_of(value));
  }
  auto parsed = sql::SqlQuery::parse(text, parameters, nullptr);
  if (!parsed) return fail(ErrorCode::bad_request, parsed.error().message);
  return *std::move(parsed);
}

/// The keys that these items have at present, at most two.
Task<Expected<std::vector<TypedKey>>> find_keys(Call& call, const OpenContainer& opened, sql::SqlQuery::Ptr query,
                                                sql::SqlScope scope) {
  OCTAVO_CO_TRY(auto* const services, query::required(opened.services()));
  auto& indexes = services->indexes();
  const auto prepare = [&](sql::SqlPlanning planning) {
    return sql::prepare_sql(indexes, query, scope, *opened.definition->shape, {}, planning);
  };
  OCTAVO_CO_TRY(auto prepared, co_await prepare({}));
  const auto without = [&] { return prepare({.explain = false, .ignore_global = true}); };
  OCTAVO_CO_TRY(prepared, co_await query::wait_or_prepare_without(indexes, prepared, without));
  sql::SqlExecution execution(opened.database, prepared, {});
  WorkerSlices slices(call.services.engine, call.request);
  const auto run_slice = [&] { return execution.run(ScanBudget::worker_slice()); };
  std::string found = "[";
  Expected<ScanState> state = ScanState::more;
  while (state && *state == ScanState::more) {
    state = co_await slices.run(run_slice);
    found += execution.output();
    execution.output().clear();
  }
  OCTAVO_CO_TRY_VOID(std::move(state));
  found += ']';
  call.account.lookup_charge +=
      partitioning::charge_of_scan(sql::scan_work_of(*opened.database, *prepared, execution.statistics()));
  std::vector<TypedKey> keys;
  OCTAVO_CO_TRY(const auto items, query::split_array(found));
  for (const auto item : items) {
    OCTAVO_CO_TRY(auto key, key_of_item(item, *opened.definition));
    keys.push_back(std::move(key));
  }
  co_return keys;
}

Task<Expected<std::vector<TypedKey>>> find_former(Call& call, const OpenContainer& opened, const TypedKey& former,
                                                  std::optional<std::string_view> id) {
  OCTAVO_CO_TRY(auto query, query_for(*opened.former->container, former, id));
  // Named: GCC 12 destroys such an argument twice if it is a temporary.
  sql::SqlScope everything;
  co_return co_await find_keys(call, opened, std::move(query), std::move(everything));
}

}  // namespace

bool is_there(const partitioning::Database& database, std::string_view id) {
  const auto target = database.target_of(std::string(id));
  const auto snapshot = database.snapshot(database.locate(target));
  if (!snapshot) return false;
  const auto record = snapshot->find_record(target.id());
  return record && *record && !(*record)->deleted;
}

std::unexpected<Error> refused_former_key(const OpenContainer& opened, std::string_view why) {
  return fail(ErrorCode::bad_request,
              fmt::format("{} The partition key of the container was {} until it was changed over, and is {} now: read "
                          "the container again, or start the client again.",
                          why, fmt::join(opened.former->container->key_path_texts, ", "),
                          fmt::join(opened.definition->key_path_texts, ", ")),
              word::key_mismatch);
}

void count_former_request(const OpenContainer& opened) {
  opened.former->requests.fetch_add(1, std::memory_order_relaxed);
}

bool knows_former_key(const Call& call, const OpenContainer& opened) {
  return opened.former && call.credential == Credential::account_key;
}

bool has_former_key(const Call& call, const OpenContainer& opened) {
  return knows_former_key(call, opened) && key_header(call);
}

Task<Expected<NamedKey>> find_by_key(Call& call, const OpenContainer& opened, std::string_view key_json,
                                     std::string_view id) {
  using Leads = NamedKey::Leads;
  auto present = parse_key(key_json, *opened.definition);
  if (present && is_complete(*present, *opened.definition) && is_there(*opened.database, document_id(*present, id))) {
    co_return NamedKey{Leads::to_present, *std::move(present)};
  }
  const auto& before = *opened.former->container;
  const auto former = parse_key(key_json, before);
  if (!former || !is_complete(*former, before)) co_return NamedKey{};
  OCTAVO_CO_TRY(auto keys, co_await find_former(call, opened, *former, id));
  if (keys.empty()) co_return NamedKey{};
  if (keys.size() > 1) co_return refused_former_key(opened, "Several items have this id and the former partition key.");
  co_return NamedKey{Leads::to_former, std::move(keys.front())};
}

Task<Expected<void>> find_by_former_key(Call& call, const OpenContainer& opened) {
  if (!has_former_key(call, opened)) co_return Expected<void>{};
  OCTAVO_CO_TRY(auto named, co_await find_by_key(call, opened, *key_header(call), call.path.id));
  if (named.leads != NamedKey::Leads::to_former) co_return Expected<void>{};
  count_former_request(opened);
  call.present_key = std::move(named.key);
  co_return Expected<void>{};
}

Expected<NamedKey::Leads> key_of_written(const OpenContainer& opened, std::string_view key_json, const Item& item) {
  const auto present = parse_key(key_json, *opened.definition);
  if (present && *present == item.key) return NamedKey::Leads::to_present;
  const auto& before = *opened.former->container;
  const auto former = parse_key(key_json, before);
  OCTAVO_TRY(const auto former_of_item, key_of_item(item.body, before));
  if (former && *former == former_of_item) return NamedKey::Leads::to_former;
  return refused_former_key(opened,
                            "PartitionKey extracted from document doesn't match the one specified in the header.");
}

Task<Expected<void>> check_written_key(Call& call, const OpenContainer& opened, const Item& item, bool creates) {
  OCTAVO_CO_TRY(const auto former, key_of_item(item.body, *opened.former->container));
  OCTAVO_CO_TRY(const auto keys, co_await find_former(call, opened, former, item.id));
  for (const auto& key : keys) {
    if (key == item.key) continue;
    if (creates) {
      co_return fail(ErrorCode::conflict, "Entity with the specified id already exists in the system.", word::exists);
    }
    co_return refused_former_key(opened, "The partition key of an item cannot be changed.");
  }
  co_return Expected<void>{};
}

Expected<std::string> turn_of_written(const OpenContainer& opened, const Item& item) {
  OCTAVO_TRY(const auto former, key_of_item(item.body, *opened.former->container));
  // No turn of a partition key has a colon.
  return "former:" + document_id(former, item.id);
}

Task<Expected<Turns::Turn>> take_written_key(Call& call, const OpenContainer& opened, const Item& item, bool creates) {
  OCTAVO_CO_TRY(auto name, turn_of_written(opened, item));
  OCTAVO_CO_TRY(auto turn, co_await opened.database->turns().take(std::move(name)));
  OCTAVO_CO_TRY_VOID(co_await check_written_key(call, opened, item, creates));
  co_return turn;
}

Task<Expected<void>> refuse_former_key(Call& call, const OpenContainer& opened) {
  if (!has_former_key(call, opened)) co_return Expected<void>{};
  const auto header = *key_header(call);
  const auto present = parse_key(header, *opened.definition);
  if (present && present->values().empty()) co_return Expected<void>{};
  const auto& before = *opened.former->container;
  const auto former = parse_key(header, before);
  if (!former || former->values().empty()) co_return Expected<void>{};
  if (present) {
    sql::SqlScope scope;
    if (is_complete(*present, *opened.definition)) scope.partition_key = present->encode();
    OCTAVO_CO_TRY(auto query, query_for(*opened.definition, *present, {}));
    OCTAVO_CO_TRY(const auto own, co_await find_keys(call, opened, std::move(query), std::move(scope)));
    if (!own.empty()) co_return Expected<void>{};
    OCTAVO_CO_TRY(const auto others, co_await find_former(call, opened, *former, {}));
    if (others.empty()) co_return Expected<void>{};
  }
  count_former_request(opened);
  co_return refused_former_key(opened, "No item has this partition key, but some had it.");
}

}  // namespace octavo::api::cosmos
