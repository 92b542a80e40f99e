// POST …/docs with x-ms-cosmos-is-batch-request: up to a hundred operations, either on one partition key and all or
// nothing (x-ms-cosmos-batch-atomic), or on one partition key range and independent of each other.
#include <algorithm>

#include <fmt/format.h>

#include "api/cosmos/feeds/feed_scope.h"
#include "api/cosmos/feeds/former_keys.h"
#include "api/cosmos/hybrid_row/batch_rows.h"
#include "api/cosmos/hybrid_row/record_io.h"
#include "api/cosmos/items/batch_keys.h"
#include "api/cosmos/items/batch_request.h"
#include "api/cosmos/items/item_functions.h"
#include "api/cosmos/items/item_handlers.h"
#include "api/cosmos/items/item_operation.h"
#include "api/models/container_definition.h"
#include "api/models/errors.h"
#include "api/models/item_shape.h"
#include "base/json_writer.h"
#include "storage/partition/partition_transaction.h"

namespace octavo::api::cosmos {

namespace {

constexpr std::size_t batch_reply_bytes_max = 4ULL << 20;
// Each operation of a patch rewrites the whole item, on the writer's thread.
constexpr std::size_t batch_patched_bytes_max = 64ULL << 20;

constexpr int status_not_run = 424;

OperationResult not_run() {
  OperationResult result;
  result.status = status_not_run;
  result.error =
      Error{ErrorCode::precondition_failed, "Another operation of the batch failed.", word::failed_dependency};
  return result;
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
  OperationResult skipped = not_run();
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

// An atomic batch of a database that has validation rules, on a worker.
Task<Expected<void>> run_with_rules(const OpenContainer& opened, const Batch& batch, DocumentTarget target,
                                    const scripts::WriteRules& rules, std::size_t item_bytes_max,
                                    std::vector<OperationResult>& results) {
  const std::function<Expected<Verdict>(OptimisticTransaction&)> attempt =
      [&](OptimisticTransaction& transaction) -> Expected<Verdict> {
    scripts::ValidatedTransaction validated(transaction, &rules);
    OCTAVO_TRY(const bool kept, run_batch(validated, batch, *opened.definition, item_bytes_max, results));
    return kept ? Verdict::commit : Verdict::discard;
  };
  OCTAVO_CO_TRY(const auto done, co_await partitioning::run_optimistically(opened.database, target, false, attempt));
  if (!results.empty()) results.back().sequence = done.sequence;
  co_return Expected<void>{};
}

// One operation in a transaction of its own. `rules`: null for none.
Task<Expected<OperationResult>> run_alone(const OpenContainer& opened, const ItemOperation& operation,
                                          const scripts::WriteRules* rules, std::size_t item_bytes_max) {
  OperationResult result;
  const auto& container = *opened.definition;
  const std::string key = operation.key.encode();
  const auto target = opened.database->target_of_partition_key(key);
  if (rules != nullptr) {
    const std::function<Expected<Verdict>(OptimisticTransaction&)> attempt =
        [&](OptimisticTransaction& transaction) -> Expected<Verdict> {
      scripts::ValidatedTransaction validated(transaction, rules);
      OCTAVO_TRY(result, operation.run(validated, container, item_bytes_max));
      return result.error ? Verdict::discard : Verdict::commit;
    };
    OCTAVO_CO_TRY(const auto done, co_await partitioning::run_optimistically(opened.database, target, false, attempt));
    result.sequence = done.sequence;
    co_return result;
  }
  OCTAVO_CO_TRY_VOID(opened.database->meter().admit(target));
  storage::PhysicalPartition::TransactionTask task = [&](storage::PartitionTransaction& transaction) -> Expected<bool> {
    OCTAVO_TRY(result, operation.run(transaction, container, item_bytes_max));
    return !result.error;
  };
  OCTAVO_CO_TRY_VOID(co_await opened.database->run_transaction(target, std::move(task), operation.body.size()));
  co_return result;
}

// The operations of a batch that is not atomic, one after another. `by_keys`: any may have the former key, so that they
// lead to other ranges, too.
Task<Expected<void>> run_each(Call& call, const OpenContainer& opened, Batch& batch, const scripts::WriteRules* rules,
                              bool by_keys, std::vector<OperationResult>& results) {
  const std::size_t bytes_max = call.services.settings.cosmos_item_bytes_max;
  std::vector<std::size_t> partition_ids{batch.partition_id};
  for (std::size_t i = 0; i < batch.operations.size(); ++i) {
    auto& operation = batch.operations[i];
    HeldTurns turns;
    if (by_keys) {
      auto found = co_await find_operation(call, opened, batch, batch.texts[i], turns);
      if (found) {
        operation = *std::move(found);
      } else {
        operation.refused = std::move(found).error();
      }
    }
    auto& result = results.emplace_back();
    if (operation.refused) {
      result = failed_operation(*operation.refused);
    } else if (auto done = co_await run_alone(opened, operation, rules, bytes_max); done) {
      result = *std::move(done);
      const std::size_t partition_id = opened.database->locate_document(operation.document_id);
      if (std::ranges::find(partition_ids, partition_id) == partition_ids.end()) partition_ids.push_back(partition_id);
    } else {
      result.status = words_for(done.error()).status;
      result.error = std::move(done).error();
    }
    if (result.error && !batch.continues_on_error) break;
  }
  results.resize(batch.operations.size(), not_run());
  if (partition_ids.size() > 1) call.account.partition_ids = std::move(partition_ids);
  co_return Expected<void>{};
}

// Whether the result of an operation has the item.
bool shows_item(const ItemOperation& operation, const OperationResult& result) {
  if (result.error || result.status == 204 || result.status == 304 || result.body_left_out) return false;
  return operation.shows_body || operation.kind == ItemOperation::Kind::read;
}

void append_json(std::string& out, const ItemOperation& operation, const OperationResult& result,
                 const ContainerDefinition& container) {
  out += out.empty() ? '[' : ',';
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
    if (shows_item(operation, result)) {
      out += ",\"resourceBody\":";
      container.shape->append_item(out, operation.document_id, result.revision, result.modified_s, result.body);
    }
  }
  out += '}';
}

// The .NET client takes the message of an error from the body of the result, as it does from the reply to one item.
void append_hybrid_row(std::string& out, const ItemOperation& operation, const OperationResult& result,
                       const ContainerDefinition& container) {
  if (out.empty()) hybrid_row::append_segment(out);
  hybrid_row::ResultRow row;
  row.status = result.status;
  row.request_charge = result.charge;
  std::string etag;
  std::string body;
  if (result.error) {
    row.substatus = words_for(*result.error).substatus;
    row.retry_after_ms = static_cast<std::uint32_t>(result.error->retry_after_ms);
    if (result.status != status_not_run) body = error_reply(*result.error).body;
  } else if (result.status != 204) {
    etag = quoted_etag(result.revision);
    if (shows_item(operation, result)) {
      container.shape->append_item(body, operation.document_id, result.revision, result.modified_s, result.body);
    }
  }
  row.etag = etag;
  row.resource_body = body;
  std::string record;
  hybrid_row::append_result(record, row);
  hybrid_row::append_record(out, record);
}

}  // namespace

Handled serve_batch(Call& call) {
  OCTAVO_CO_TRY(const auto opened, co_await open_container(call));
  const auto& container = *opened.definition;
  OCTAVO_CO_TRY(auto batch, divide_batch(call, opened));
  const bool knows_former = knows_former_key(call, opened);
  HeldTurns turns;
  if (knows_former && batch.atomic) {
    OCTAVO_CO_TRY_VOID(co_await find_batch_key(call, opened, batch, turns));
  } else {
    OCTAVO_CO_TRY_VOID(read_batch_key(batch, container));
  }
  read_operations(batch, call, opened);
  const bool gives_other_ids = std::ranges::any_of(batch.operations, &ItemOperation::gives_other_id);
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
  const bool by_keys = knows_former && !batch.atomic && may_be_former(opened, batch);
  Expected<void> done;
  // An operation that gives its item another id is two writes, which are undone together.
  if (by_keys || ((rules || gives_other_ids) && !target)) {
    done = co_await run_each(call, opened, batch, rules ? &*rules : nullptr, by_keys, results);
  } else if (rules) {
    done = co_await run_with_rules(opened, batch, *target, *rules, bytes_max, results);
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
  if (batch.in_hybrid_row) reply.content_type = "application/octet-stream";
  call.account.request_charge = 0;
  bool failed = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto& result = results[i];
    // A write whose body does not fit into the reply has happened; only a read fails.
    const bool reads = batch.operations[i].kind == ItemOperation::Kind::read;
    const bool too_much = result.body_left_out || reply.body.size() + result.body.size() > batch_reply_bytes_max;
    if (too_much && reads && !result.error) {
      result.status = 413;
      result.error = Error{ErrorCode::too_large, "The reply of the batch is too large.", word::reply_too_large};
    }
    result.body_left_out = too_much;
    const auto append = batch.in_hybrid_row ? append_hybrid_row : append_json;
    append(reply.body, batch.operations[i], result, container);
    if (call.services.settings.advice_record) {
      const auto kind = reads ? PointRequests::Kind::read : PointRequests::Kind::write;
      opened.database->meter().point_requests().note(batch.operations[i].document_id, kind, result.charge);
    }
    call.account.request_charge += result.charge;
    call.account.sequence = std::max(call.account.sequence, result.sequence);
    failed = failed || result.error || result.status == 304;
  }
  if (!batch.in_hybrid_row) reply.body += ']';
  reply.status = failed ? 207 : 200;
  if (call.account.sequence == 0) call.account.sequence = opened.database->committed_sequence();
  call.account.session_token = session_token(call.account.partition_id, call.account.sequence);
  co_return reply;
}

}  // namespace octavo::api::cosmos
