// /dbs/{db}/colls/{coll}/docs and …/docs/{id}: single items.
#include <span>

#include <fmt/format.h>

#include "api/cosmos/feeds/feed_scope.h"
#include "api/cosmos/feeds/former_keys.h"
#include "api/cosmos/items/item_functions.h"
#include "api/cosmos/items/item_handlers.h"
#include "api/cosmos/items/item_operation.h"
#include "api/cosmos/items/other_id.h"
#include "api/cosmos/queries/query.h"
#include "api/http/worker_bodies.h"
#include "api/models/container_definition.h"
#include "api/models/errors.h"
#include "api/models/item.h"
#include "api/models/item_shape.h"
#include "api/models/resource_id.h"
#include "base/jobs/turns.h"
#include "partitioning/scan.h"
#include "partitioning/throughput/request_charge.h"
#include "storage/partition/partition_transaction.h"

namespace octavo::api::cosmos {

namespace {

using partitioning::DocumentTarget;
using partitioning::TypedKey;

// The partition key of the item that the request names.
Expected<TypedKey> named_key(const Call& call, const OpenContainer& opened) {
  return call.present_key ? Expected<TypedKey>(*call.present_key) : required_key(call.request, *opened.definition);
}

// The document id of the item that the request names.
Expected<std::string> requested_id(const Call& call, const OpenContainer& opened) {
  OCTAVO_TRY(const auto key, named_key(call, opened));
  return document_id(key, call.path.id);
}

// Finds the item whose resource id the path has, in the logical partition that the request names, and writes its name
// into the path. Reads the whole logical partition: the id is a hash of the name, and no index has it.
Task<Expected<void>> name_item(Call& call, const OpenContainer& opened) {
  const auto rid = parse_rid(call.path.id);
  if (!rid || !rid->starts_with(opened.definition->rid)) co_return Expected<void>{};
  OCTAVO_CO_TRY(const auto key, required_key(call.request, *opened.definition));
  const std::string same_name = document_id(key, call.path.id);
  OCTAVO_CO_TRY_VOID(call.admit(opened.database, opened.database->target_of(same_name)));
  partitioning::DocumentRange range;
  range.partition_key = key.encode();
  partitioning::DocumentScan scan(*opened.database, range);
  std::uint64_t keys = 0;
  std::string found;
  const auto visit = [&](const storage::DocumentRecord& document, const storage::Snapshot&) {
    ++keys;
    if (document.deleted) return partitioning::Visit::next;
    // A name that looks like a resource id is preferred.
    const bool is_named_so = document.id == same_name;
    if (is_named_so || item_rid(opened.definition->rid, document.id) == *rid) found = document.id;
    return is_named_so ? partitioning::Visit::stop : partitioning::Visit::next;
  };
  auto state = partitioning::ScanState::more;
  while (state == partitioning::ScanState::more) {
    OCTAVO_CO_TRY(state, co_await call.services.engine.workers().run_blocking(
                             [&] { return scan.run_records(partitioning::ScanBudget::worker_slice(), visit); }));
  }
  call.account.lookup_charge = partitioning::charge_of_scan(
      {.partitions = 1, .predicates = 0, .keys = keys, .documents = 0, .document_bytes = 0, .result_bytes = 0});
  if (!found.empty()) call.path.id = item_id_of(found);
  co_return Expected<void>{};
}

// The hot path: one snapshot, one lookup, one append. nullopt: the item is large and must be read on a worker.
Expected<std::optional<Reply>> read_item(Call& call, const OpenContainer& opened, const DocumentTarget& target,
                                         bool on_worker) {
  OCTAVO_TRY_VOID(call.admit(opened.database, target));
  const std::size_t partition_id = call.account.partition_id;
  call.account.sequence = opened.database->committed_sequence();
  call.account.session_token = session_token(partition_id, call.account.sequence);
  OCTAVO_TRY(const auto snapshot, opened.database->snapshot(partition_id));
  OCTAVO_TRY(const auto record, snapshot.find_record(target.id()));
  if (!record || record->deleted) {
    call.account.request_charge = partitioning::charge_of_miss();
    return fail(ErrorCode::not_found, "Entity with the specified id does not exist in the system.");
  }
  call.account.item_sequence = record->sequence;
  if (!on_worker && record->body.size() >= worker_body_bytes) return std::nullopt;
  Reply reply;
  std::string etag = quoted_etag(record->revision);
  const auto known = call.request.header("If-None-Match");
  if (known && (*known == etag || *known == "*" || *known == std::string_view(etag).substr(1, etag.size() - 2))) {
    call.account.request_charge = partitioning::charge_of_miss();
    reply.status = 304;
    reply.content_type = {};
  } else {
    OCTAVO_TRY(const auto document, snapshot.open(*record));
    call.account.request_charge = partitioning::charge_of_read(document.body.size());
    opened.definition->shape->append_item(reply.body, target.id(), document.revision, document.modified_s,
                                          document.body);
  }
  reply.headers.emplace_back("etag", std::move(etag));
  return reply;
}

Handled read_on_worker(Call& call, const OpenContainer& opened, DocumentTarget target) {
  auto read = [&call, &opened, &target] { return read_item(call, opened, target, true); };
  OCTAVO_CO_TRY(auto reply, co_await call.services.engine.workers().run_patiently(std::move(read)));
  co_return *std::move(reply);
}

// Parses the item in the body; large bodies are parsed on a worker.
Task<Expected<Item>> read_body(Call& call, const OpenContainer& opened, const std::optional<TypedKey>& named) {
  const auto parse = [&] {
    return parse_item(call.request.body, *opened.definition, call.services.settings.cosmos_item_bytes_max, named);
  };
  co_return co_await work_on_body(call, parse);
}

// Writes one document and makes the reply.
Handled write_item(Call& call, const OpenContainer& opened, storage::DocumentWrite write, bool conditional,
                   bool shows_body) {
  const auto& container = *opened.definition;
  const std::string id = write.id;
  const auto target = opened.database->target_of(id);
  OCTAVO_CO_TRY_VOID(call.admit(opened.database, target));
  const std::size_t partition_id = call.account.partition_id;
  const bool deletes = write.deleted;
  const std::size_t body_bytes = write.body.size();
  std::string body;
  if (shows_body) body = write.body;
  std::vector<storage::DocumentWrite> writes;
  writes.push_back(std::move(write));
  auto results = co_await opened.database->write(std::span(&target, 1), std::move(writes));
  auto& result = results.front();
  if (!result) co_return std::unexpected(in_cosmos_words(std::move(result).error(), conditional));

  call.account.sequence = result->sequence;
  call.account.session_token = session_token(partition_id, result->sequence);
  call.account.request_charge = partitioning::charge_of_write({body_bytes, result->index_rows});
  Reply reply;
  if (deletes) {
    reply.status = 204;
    reply.content_type = {};
    co_return reply;
  }
  reply.status = result->created ? 201 : 200;
  if (shows_body) {
    container.shape->append_item(reply.body, id, result->revision, result->modified_s, body, links_of_written(call));
  } else {
    reply.content_type = {};
  }
  reply.headers.emplace_back("etag", quoted_etag(result->revision));
  co_return reply;
}

Handled create_item(Call& call, const OpenContainer& opened) {
  const auto& container = *opened.definition;
  std::optional<TypedKey> named;
  const bool may_be_former = has_former_key(call, opened);
  if (const auto header = call.request.header("x-ms-documentdb-partitionkey");
      header && !header->empty() && !may_be_former) {
    OCTAVO_CO_TRY(named, parse_key(*header, container));
  }
  OCTAVO_CO_TRY(auto item, co_await read_body(call, opened, named));
  const bool upserts = call.flag("x-ms-documentdb-is-upsert");
  std::optional<Turns::Turn> turn;
  if (may_be_former) {
    OCTAVO_CO_TRY(const auto leads, key_of_written(opened, *call.request.header("x-ms-documentdb-partitionkey"), item));
    if (leads == NamedKey::Leads::to_former) {
      OCTAVO_CO_TRY(auto taken, co_await take_written_key(call, opened, item, !upserts));
      turn.emplace(std::move(taken));
      count_former_request(opened);
    }
  }
  const auto match = MatchCondition::parse(call.request.header("If-Match"));
  OCTAVO_CO_TRY(const auto functions, has_functions(call, opened));
  if (functions) {
    ItemRequest request{.kind = upserts ? ItemRequest::Kind::upsert : ItemRequest::Kind::create,
                        .key = std::move(item.key),
                        .id = std::move(item.id),
                        .body_id = {},
                        .body = std::move(item.body),
                        .patch = {},
                        .match = upserts ? match : MatchCondition{}};
    co_return co_await write_with_functions(call, opened, std::move(request));
  }
  std::string id = document_id(item.key, item.id);
  if (!upserts) {
    auto creation = creating_write(std::move(id), std::move(item.body));
    co_return co_await write_item(call, opened, std::move(creation), false, !wants_no_body(call));
  }
  auto write = replacing_write(std::move(id), std::move(item.body), false, match);
  co_return co_await write_item(call, opened, std::move(write), true, !wants_no_body(call));
}

// Runs one operation in a transaction on the writer's thread, and makes the reply. `bytes`: how much it writes, about.
Handled run_operation(Call& call, const OpenContainer& opened, const ItemOperation& operation, std::size_t bytes) {
  const auto& container = *opened.definition;
  const auto target = opened.database->target_of(operation.document_id);
  OCTAVO_CO_TRY_VOID(call.admit(opened.database, target));
  OperationResult result;
  const std::size_t bytes_max = call.services.settings.cosmos_item_bytes_max;
  storage::PhysicalPartition::TransactionTask task = [&](storage::PartitionTransaction& transaction) -> Expected<bool> {
    OCTAVO_TRY(result, operation.run(transaction, container, bytes_max));
    return !result.error;
  };
  OCTAVO_CO_TRY_VOID(co_await opened.database->run_transaction(target, std::move(task), bytes));
  call.account.request_charge = result.charge;
  if (result.error) co_return std::unexpected(*std::move(result.error));
  call.account.sequence = result.sequence;
  call.account.session_token = session_token(opened.database->locate(target), result.sequence);
  Reply reply;
  if (wants_no_body(call)) {
    reply.content_type = {};
  } else {
    container.shape->append_item(reply.body, operation.document_id, result.revision, result.modified_s, result.body,
                                 links_of_written(call));
  }
  reply.headers.emplace_back("etag", quoted_etag(result.revision));
  co_return reply;
}

Handled replace_item(Call& call, const OpenContainer& opened) {
  OCTAVO_CO_TRY(const std::optional<TypedKey> key, named_key(call, opened));
  OCTAVO_CO_TRY(auto item, co_await read_body(call, opened, key));
  const bool gets_other_id = item.id != call.path.id;
  std::optional<Turns::Turn> turn;
  if (gets_other_id) {
    OCTAVO_CO_TRY_VOID(check_other_id(call, item.id));
    OCTAVO_CO_TRY(auto held, co_await hold_other_id(call, opened, item));
    if (held) turn.emplace(*std::move(held));
  }
  const auto match = MatchCondition::parse(call.request.header("If-Match"));
  OCTAVO_CO_TRY(const auto functions, has_functions(call, opened));
  if (functions) {
    ItemRequest request{.kind = ItemRequest::Kind::replace,
                        .key = *key,
                        .id = call.path.id,
                        .body_id = std::move(item.id),
                        .body = std::move(item.body),
                        .patch = {},
                        .match = match};
    co_return co_await write_with_functions(call, opened, std::move(request));
  }
  if (gets_other_id) {
    ItemOperation operation;
    operation.kind = ItemOperation::Kind::replace;
    operation.document_id = document_id(*key, item.id);
    operation.former_document_id = document_id(*key, call.path.id);
    operation.body = std::move(item.body);
    operation.match = match;
    co_return co_await run_operation(call, opened, operation, 2 * call.request.body.size());
  }
  auto write = replacing_write(document_id(*key, item.id), std::move(item.body), true, match);
  co_return co_await write_item(call, opened, std::move(write), true, !wants_no_body(call));
}

Handled delete_item(Call& call, const OpenContainer& opened) {
  OCTAVO_CO_TRY(auto key, named_key(call, opened));
  const auto match = MatchCondition::parse(call.request.header("If-Match"));
  OCTAVO_CO_TRY(const auto functions, has_functions(call, opened));
  if (functions) {
    ItemRequest request{.kind = ItemRequest::Kind::remove,
                        .key = std::move(key),
                        .id = call.path.id,
                        .body_id = {},
                        .body = {},
                        .patch = {},
                        .match = match};
    co_return co_await write_with_functions(call, opened, std::move(request));
  }
  auto write = deleting_write(document_id(key, call.path.id), match);
  co_return co_await write_item(call, opened, std::move(write), true, false);
}

Handled patch_item(Call& call, const OpenContainer& opened) {
  const auto& container = *opened.definition;
  OCTAVO_CO_TRY(auto key, named_key(call, opened));
  ItemOperation operation;
  operation.kind = ItemOperation::Kind::patch;
  const auto parse = [&] { return Patch::parse(call.request.body, container.computed); };
  OCTAVO_CO_TRY(operation.patch, co_await work_on_body(call, parse));
  operation.document_id = document_id(key, call.path.id);
  operation.match = MatchCondition::parse(call.request.header("If-Match"));
  OCTAVO_CO_TRY(const auto functions, has_functions(call, opened));
  if (functions) {
    ItemRequest request{.kind = ItemRequest::Kind::patch,
                        .key = std::move(key),
                        .id = call.path.id,
                        .body_id = {},
                        .body = {},
                        .patch = std::move(operation.patch),
                        .match = operation.match};
    co_return co_await write_with_functions(call, opened, std::move(request));
  }
  co_return co_await run_operation(call, opened, operation, call.request.body.size() + 4096);
}

}  // namespace

Handled serve_items(Call& call) {
  const Method method = call.request.method;
  OCTAVO_CO_TRY(const auto opened, co_await open_container(call));
  if (call.path.feed) {
    if (method == Method::get || method == Method::head) co_return co_await serve_item_list(call);
    if (method != Method::post) co_return method_not_allowed();
    if (is_query(call.request) || call.flag("x-ms-cosmos-is-query-plan-request")) {
      co_return co_await serve_query(call);
    }
    if (call.flag("x-ms-cosmos-is-batch-request")) co_return co_await serve_batch(call);
    co_return co_await create_item(call, opened);
  }
  if (is_resource_id(call.path.id, inner_rid_bytes)) OCTAVO_CO_TRY_VOID(co_await name_item(call, opened));
  OCTAVO_CO_TRY_VOID(check_item_id(call.path.id));
  OCTAVO_CO_TRY_VOID(co_await find_by_former_key(call, opened));
  switch (method) {
    case Method::get:
    case Method::head: {
      OCTAVO_CO_TRY(const auto id, requested_id(call, opened));
      const auto target = opened.database->target_of(id);
      OCTAVO_CO_TRY(auto reply, read_item(call, opened, target, false));
      if (reply) co_return *std::move(reply);
      co_return co_await read_on_worker(call, opened, target);
    }
    case Method::put:
      co_return co_await replace_item(call, opened);
    case Method::del:
      co_return co_await delete_item(call, opened);
    case Method::patch:
      co_return co_await patch_item(call, opened);
    default:
      co_return method_not_allowed();
  }
}

}  // namespace octavo::api::cosmos
