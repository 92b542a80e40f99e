// POST …/docs with x-ms-cosmos-is-batch-request: up to a hundred operations, either on one partition key and all or
// nothing (x-ms-cosmos-batch-atomic), or on one partition key range and independent of each other.
#include <fmt/format.h>

#include "api/cosmos/feeds/feed_scope.h"
#include "api/cosmos/items/item_functions.h"
#include "api/cosmos/items/item_handlers.h"
#include "api/cosmos/items/item_operation.h"
#include "api/models/container_definition.h"
#include "api/models/errors.h"
#include "api/models/item_shape.h"
#include "base/json_writer.h"
#include "query/json/split.h"
#include "storage/partition/partition_transaction.h"

namespace octavo::api::cosmos {

namespace {

constexpr std::size_t batch_operations_max = 100;  // Azure Cosmos DB service limits
constexpr std::size_t batch_bytes_max = 2ULL << 20;
constexpr std::size_t batch_reply_bytes_max = 4ULL << 20;
// Each operation of a patch rewrites the whole item, on the writer's thread.
constexpr std::size_t batch_patched_bytes_max = 64ULL << 20;

struct Batch {
  bool atomic = false;
  bool continues_on_error = true;
  bool shows_bodies = true;
  std::optional<partitioning::TypedKey> key;  ///< of all operations, when atomic
  std::size_t partition_id = 0;               ///< physical partition of all operations, when not atomic
  std::vector<ItemOperation> operations;
};

Expected<std::string> string_member(const std::vector<query::JsonMember>& members, std::string_view name) {
  const auto raw = query::member_value(members, name);
  if (raw.empty() || raw == "null") return std::string();
  if (raw.front() != '"') {
    return fail(ErrorCode::bad_request, "'" + std::string(name) + "' of an operation must be a string.");
  }
  return query::decode_json_string(raw);
}

Expected<ItemOperation::Kind> operation_kind(std::string_view name) {
  using Kind = ItemOperation::Kind;
  constexpr std::array<std::pair<std::string_view, Kind>, 6> kinds{{{"Create", Kind::create},
                                                                    {"Upsert", Kind::upsert},
                                                                    {"Read", Kind::read},
                                                                    {"Replace", Kind::replace},
                                                                    {"Delete", Kind::remove},
                                                                    {"Patch", Kind::patch}}};
  for (const auto& [known, kind] : kinds) {
    if (known == name) return kind;
  }
  return fail(ErrorCode::bad_request, "operationType must be one of Create, Upsert, Read, Replace, Delete and Patch.");
}

// Reads one operation. An error fails this operation, not the batch.
Expected<void> read_operation(std::string_view json, const ContainerDefinition& container, std::size_t bytes_max,
                              const std::optional<partitioning::TypedKey>& batch_key, ItemOperation& operation) {
  OCTAVO_TRY(const auto members, query::split_object(json));
  OCTAVO_TRY(const auto type, string_member(members, "operationType"));
  OCTAVO_TRY(operation.kind, operation_kind(type));
  OCTAVO_TRY(const auto key_text, string_member(members, "partitionKey"));
  std::optional<partitioning::TypedKey> key = batch_key;
  if (!key_text.empty()) {
    OCTAVO_TRY(auto own, parse_key(key_text, container));
    if (batch_key && own != *batch_key) {
      return fail(ErrorCode::bad_request,
                  "All operations of a transactional batch must be of the batch's partition key.", word::key_mismatch);
    }
    key = std::move(own);
  }
  if (key && !is_complete(*key, container)) return incomplete_key();
  OCTAVO_TRY(const auto match, string_member(members, "ifMatch"));
  operation.match = MatchCondition::parse(match);
  OCTAVO_TRY(operation.item_id, string_member(members, "id"));

  const auto body = query::member_value(members, "resourceBody");
  using Kind = ItemOperation::Kind;
  if (operation.kind == Kind::create || operation.kind == Kind::upsert || operation.kind == Kind::replace) {
    if (body.empty()) return fail(ErrorCode::bad_request, "The operation needs a 'resourceBody'.");
    OCTAVO_TRY(auto item, parse_item(body, container, bytes_max, key));
    if (operation.kind == Kind::replace && item.id != operation.item_id) {
      return fail(ErrorCode::bad_request, "The id in the body of a Replace must be the operation's 'id'.");
    }
    operation.item_id = std::move(item.id);
    operation.key = std::move(item.key);
    operation.body = std::move(item.body);
  } else {
    if (!key) return fail(ErrorCode::bad_request, "PartitionKey value must be supplied for this operation.");
    OCTAVO_TRY_VOID(check_item_id(operation.item_id));
    operation.key = std::move(*key);
    if (operation.kind == Kind::patch) {
      if (body.empty()) return fail(ErrorCode::bad_request, "The operation needs a 'resourceBody'.");
      OCTAVO_TRY(operation.patch, Patch::parse(body, container.computed));
    }
  }
  operation.document_id = document_id(operation.key, operation.item_id);
  return {};
}

Expected<Batch> parse_batch(const Call& call, const OpenContainer& opened) {
  Batch batch;
  const auto& request = call.request;
  const auto& container = *opened.definition;
  batch.atomic = call.flag("x-ms-cosmos-batch-atomic");
  const auto continues = request.header("x-ms-cosmos-batch-continue-on-error");
  batch.continues_on_error = !continues || call.flag("x-ms-cosmos-batch-continue-on-error");
  const auto prefer = request.header("Prefer");
  batch.shows_bodies = !prefer || prefer->find("return=minimal") == std::string_view::npos;
  if (request.body.size() > batch_bytes_max + (64ULL << 10)) {
    return fail(ErrorCode::too_large, "Request size is too large. The batch has " +
                                          std::to_string(request.body.size()) + " bytes; the limit is 2 MiB.");
  }
  if (batch.atomic) {
    const auto header = request.header("x-ms-documentdb-partitionkey");
    if (!header) return fail(ErrorCode::bad_request, "PartitionKey value must be supplied for this operation.");
    OCTAVO_TRY(batch.key, parse_key(*header, container));
    if (!is_complete(*batch.key, container)) return incomplete_key();
  } else if (const auto range = request.header("x-ms-documentdb-partitionkeyrangeid")) {
    OCTAVO_TRY(batch.partition_id, parse_range_id(*range, *opened.database));
  } else if (opened.database->physical_partition_count() > 1) {
    return fail(ErrorCode::bad_request,
                "A batch that is not atomic needs the header "
                "x-ms-documentdb-partitionkeyrangeid.");
  }
  OCTAVO_TRY(const auto operations, query::split_array(request.body));
  if (operations.empty()) return fail(ErrorCode::bad_request, "A batch needs at least one operation.");
  if (operations.size() > batch_operations_max) {
    return fail(ErrorCode::bad_request, "Batch request has more operations than what is supported: at most 100.");
  }
  for (const auto& json : operations) {
    auto& operation = batch.operations.emplace_back();
    auto read = read_operation(json, container, call.services.settings.cosmos_item_bytes_max, batch.key, operation);
    if (read && !batch.atomic && opened.database->locate_document(operation.document_id) != batch.partition_id) {
      read = fail(ErrorCode::partition_split, "The item is not of this partition key range.");
    }
    if (!read) operation.refused = std::move(read).error();
  }
  return batch;
}

OperationResult too_many_patches() {
  OperationResult result;
  result.error =
      Error{ErrorCode::too_large, "The patches of the batch change too much at once; send them in parts.", {}};
  result.status = words_for(*result.error).status;
  return result;
}

// Runs all operations and fills `results`. False: roll the transaction back.
Expected<bool> run_batch(storage::DocumentTransaction& transaction, const Batch& batch,
                         const ContainerDefinition& container, std::size_t item_bytes_max,
                         std::vector<OperationResult>& results) {
  const Error not_run{ErrorCode::precondition_failed, "Another operation of the batch failed.",
                      word::failed_dependency};
  OperationResult skipped;
  skipped.status = 424;
  skipped.error = not_run;
  results.assign(batch.operations.size(), skipped);
  std::size_t shown_bytes = 0;
  std::size_t patched_bytes = 0;
  for (std::size_t i = 0; i < batch.operations.size(); ++i) {
    const ItemOperation& operation = batch.operations[i];
    const bool patches = operation.kind == ItemOperation::Kind::patch;
    if (patches && patched_bytes > batch_patched_bytes_max) {
      results[i] = too_many_patches();
    } else {
      OCTAVO_TRY(results[i], operation.run(transaction, container, item_bytes_max));
    }
    if (patches) patched_bytes += results[i].body.size() * operation.patch.operations.size();
    shown_bytes += results[i].body.size();
    if (shown_bytes > batch_reply_bytes_max) {
      shown_bytes -= results[i].body.size();
      results[i].body_left_out = !results[i].body.empty();
      results[i].body = std::string();
    }
    if (!results[i].error) continue;
    if (batch.atomic) {
      // The operations before it are rolled back.
      for (std::size_t k = 0; k < i; ++k) {
        skipped.charge = results[k].charge;
        results[k] = skipped;
      }
      return false;
    }
    if (!batch.continues_on_error) return true;
  }
  return true;
}

using partitioning::DocumentTarget;
using partitioning::OptimisticTransaction;
using partitioning::Verdict;

// The same if the database has validation rules: on a worker, as one transaction or one per operation.
// `target`: the logical partition of an atomic batch.
Task<Expected<void>> run_with_rules(const OpenContainer& opened, const Batch& batch,
                                    std::optional<DocumentTarget> target, const scripts::WriteRules& rules,
                                    std::size_t item_bytes_max, std::vector<OperationResult>& results) {
  const auto& container = *opened.definition;
  if (target) {
    const std::function<Expected<Verdict>(OptimisticTransaction&)> attempt =
        [&](OptimisticTransaction& transaction) -> Expected<Verdict> {
      scripts::ValidatedTransaction validated(transaction, &rules);
      OCTAVO_TRY(const bool kept, run_batch(validated, batch, container, item_bytes_max, results));
      return kept ? Verdict::commit : Verdict::discard;
    };
    OCTAVO_CO_TRY(const auto done, co_await partitioning::run_optimistically(opened.database, *target, false, attempt));
    if (!results.empty()) results.back().sequence = done.sequence;
    co_return Expected<void>{};
  }
  for (const auto& operation : batch.operations) {
    OperationResult& result = results.emplace_back();
    const std::function<Expected<Verdict>(OptimisticTransaction&)> attempt =
        [&](OptimisticTransaction& transaction) -> Expected<Verdict> {
      scripts::ValidatedTransaction validated(transaction, &rules);
      OCTAVO_TRY(result, operation.run(validated, container, item_bytes_max));
      return result.error ? Verdict::discard : Verdict::commit;
    };
    const std::string key = operation.key.encode();
    const auto own_target = opened.database->target_of_partition_key(key);
    const auto done = co_await partitioning::run_optimistically(opened.database, own_target, false, attempt);
    if (done) {
      result.sequence = done->sequence;
    } else {
      result.error = done.error();
      result.status = words_for(done.error()).status;
    }
    if (result.error && !batch.continues_on_error) break;
  }
  const Error not_run{ErrorCode::precondition_failed, "Another operation of the batch failed.",
                      word::failed_dependency};
  while (results.size() < batch.operations.size()) {
    results.emplace_back().status = 424;
    results.back().error = not_run;
  }
  co_return Expected<void>{};
}

void append_result(std::string& out, const ItemOperation& operation, const OperationResult& result,
                   const ContainerDefinition& container, bool shows_bodies) {
  out += fmt::format("{{\"statusCode\":{},\"requestCharge\":{:.2f}", result.status, result.charge);
  if (result.error) {
    if (const int substatus = words_for(*result.error).substatus; substatus != 0) {
      out += fmt::format(",\"subStatusCode\":{}", substatus);
    }
    append_json_key(out, "message");
    append_json_string(out, error_message(*result.error));
  } else if (result.status != 204) {
    append_json_key(out, "eTag");
    append_json_string(out, quoted_etag(result.revision));
    if (shows_bodies) {
      out += ",\"resourceBody\":";
      container.shape->append_item(out, operation.document_id, result.revision, result.modified_s, result.body);
    }
  }
  out += '}';
}

}  // namespace

Handled serve_batch(Call& call) {
  OCTAVO_CO_TRY(const auto opened, co_await open_container(call));
  const auto& container = *opened.definition;
  OCTAVO_CO_TRY(const auto batch, parse_batch(call, opened));
  const std::string partition_key = batch.key ? batch.key->encode() : std::string();
  std::optional<DocumentTarget> target;
  if (batch.key) {
    target = opened.database->target_of_partition_key(partition_key);
    OCTAVO_CO_TRY_VOID(call.admit(opened.database, *target));
  } else {
    OCTAVO_CO_TRY_VOID(call.admit(opened.database, batch.partition_id));
  }
  std::vector<OperationResult> results;
  const std::size_t bytes_max = call.services.settings.cosmos_item_bytes_max;
  OCTAVO_CO_TRY(const auto rules, rules_of(call, opened));
  Expected<void> done;
  if (rules) {
    done = co_await run_with_rules(opened, batch, target, *rules, bytes_max, results);
  } else {
    storage::PhysicalPartition::TransactionTask task = [&](storage::PartitionTransaction& transaction) {
      return run_batch(transaction, batch, container, bytes_max, results);
    };
    // A batch of one partition key follows it after a split. Otherwise the client retries if the range was split.
    const std::size_t bytes = call.request.body.size();
    if (target) {
      done = co_await opened.database->run_transaction(*target, std::move(task), bytes);
    } else {
      done = co_await opened.database->run_transaction_in(batch.partition_id, std::move(task), bytes);
    }
  }
  OCTAVO_CO_TRY_VOID(std::move(done));

  using partitioning::PointRequests;
  Reply reply;
  reply.body = "[";
  call.account.request_charge = 0;
  bool failed = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto& result = results[i];
    if (i > 0) reply.body += ',';
    // A write whose body does not fit into the reply has happened; only a read fails.
    const bool reads = batch.operations[i].kind == ItemOperation::Kind::read;
    const bool too_much = result.body_left_out || reply.body.size() + result.body.size() > batch_reply_bytes_max;
    if (too_much && reads && !result.error) {
      result.status = 413;
      result.error = Error{ErrorCode::too_large, "The reply of the batch is too large.", word::reply_too_large};
    }
    append_result(reply.body, batch.operations[i], result, container, batch.shows_bodies && !too_much);
    if (call.services.settings.advice_record) {
      const auto kind = reads ? PointRequests::Kind::read : PointRequests::Kind::write;
      opened.database->meter().point_requests().note(batch.operations[i].document_id, kind, result.charge);
    }
    call.account.request_charge += result.charge;
    call.account.sequence = std::max(call.account.sequence, result.sequence);
    failed = failed || result.error;
  }
  reply.body += ']';
  reply.status = failed ? 207 : 200;
  if (call.account.sequence == 0) call.account.sequence = opened.database->committed_sequence();
  call.account.session_token = session_token(call.account.partition_id, call.account.sequence);
  co_return reply;
}

}  // namespace octavo::api::cosmos
