// The body of a batch: a JSON array of operations or, from the .NET client, one HybridRow record for each.
#include "api/cosmos/items/batch_request.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "api/cosmos/feeds/feed_scope.h"
#include "api/cosmos/hybrid_row/batch_rows.h"
#include "api/cosmos/hybrid_row/record_io.h"
#include "api/models/container_definition.h"
#include "api/models/errors.h"
#include "query/json/split.h"

namespace octavo::api::cosmos {

namespace {

constexpr std::size_t batch_operations_max = 100;  // Azure Cosmos DB service limits
// What the .NET client fills a bulk request up to (its MaxDirectModeBatchRequestBodySizeInBytes): 2 MiB and a
// twentieth.
constexpr std::size_t batch_bytes_max = 2'202'010;
// Beside the item of a single operation that is larger.
constexpr std::size_t operation_overhead_bytes = 64ULL << 10;

Expected<std::string> string_member(const std::vector<query::JsonMember>& members, std::string_view name) {
  const auto raw = query::member_value(members, name);
  if (raw.empty() || raw == "null") return std::string();
  if (raw.front() != '"') {
    return fail(ErrorCode::bad_request, "'" + std::string(name) + "' of an operation must be a string.");
  }
  return query::decode_json_string(raw);
}

struct KindName {
  std::string_view name;   ///< in JSON
  std::int32_t row_value;  ///< in HybridRow: OperationType of the .NET client
  ItemOperation::Kind kind;
};
constexpr std::array<KindName, 6> operation_kinds{{{"Create", 0, ItemOperation::Kind::create},
                                                   {"Patch", 1, ItemOperation::Kind::patch},
                                                   {"Read", 2, ItemOperation::Kind::read},
                                                   {"Delete", 4, ItemOperation::Kind::remove},
                                                   {"Replace", 5, ItemOperation::Kind::replace},
                                                   {"Upsert", 20, ItemOperation::Kind::upsert}}};

template <typename T>
Expected<ItemOperation::Kind> operation_kind(T KindName::* member, const T& value) {
  const auto found = std::ranges::find(operation_kinds, value, member);
  if (found != operation_kinds.end()) return found->kind;
  return fail(ErrorCode::bad_request, "operationType must be one of Create, Upsert, Read, Replace, Delete and Patch.");
}

Expected<OperationText> operation_of_json(std::string_view json) {
  OCTAVO_TRY(const auto members, query::split_object(json));
  OperationText text;
  OCTAVO_TRY(const auto type, string_member(members, "operationType"));
  OCTAVO_TRY(text.kind, operation_kind<std::string_view>(&KindName::name, type));
  OCTAVO_TRY(auto key, string_member(members, "partitionKey"));
  if (!key.empty()) text.partition_key = std::move(key);
  OCTAVO_TRY(text.match, string_member(members, "ifMatch"));
  OCTAVO_TRY(text.none_match, string_member(members, "ifNoneMatch"));
  OCTAVO_TRY(text.id, string_member(members, "id"));
  text.body = query::member_value(members, "resourceBody");
  return text;
}

Expected<OperationText> operation_of_row(std::string_view record) {
  OCTAVO_TRY(const auto row, hybrid_row::read_operation(record));
  OperationText text;
  OCTAVO_TRY(text.kind, operation_kind(&KindName::row_value, row.operation_type));
  if (row.partition_key) text.partition_key = *row.partition_key;
  text.match = row.if_match;
  text.none_match = row.if_none_match;
  text.id = row.id;
  text.body = row.resource_body;
  text.shows_body = !row.minimal;
  return text;
}

Expected<void> fill_operation(const OperationText& text, const ContainerDefinition& container, std::size_t bytes_max,
                              std::optional<partitioning::TypedKey> key, ItemOperation& operation) {
  using Kind = ItemOperation::Kind;
  if (key && !is_complete(*key, container)) return incomplete_key();
  operation.item_id = text.id;
  if (operation.kind == Kind::read) {
    // The service answers a read with either condition 304 if it names the present ETag.
    operation.known_etag = text.none_match.empty() ? text.match : text.none_match;
  } else {
    operation.match = MatchCondition::parse(text.match);
  }
  if (text.has_item()) {
    if (text.body.empty()) return fail(ErrorCode::bad_request, "The operation needs a 'resourceBody'.");
    OCTAVO_TRY(auto item, parse_item(text.body, container, bytes_max, key));
    if (operation.kind == Kind::replace && item.id != operation.item_id) {
      OCTAVO_TRY_VOID(check_item_id(operation.item_id));
      operation.former_document_id = document_id(item.key, operation.item_id);
    }
    operation.item_id = std::move(item.id);
    operation.key = std::move(item.key);
    operation.body = std::move(item.body);
  } else {
    if (!key) return fail(ErrorCode::bad_request, "PartitionKey value must be supplied for this operation.");
    OCTAVO_TRY_VOID(check_item_id(operation.item_id));
    operation.key = std::move(*key);
    if (operation.kind == Kind::patch) {
      if (text.body.empty()) return fail(ErrorCode::bad_request, "The operation needs a 'resourceBody'.");
      OCTAVO_TRY(operation.patch, Patch::parse(text.body, container.computed));
    }
  }
  operation.document_id = document_id(operation.key, operation.item_id);
  return {};
}

// An operation of a batch of one key may name it again.
Expected<void> check_own_key(const Expected<OperationText>& text, const Batch& batch,
                             const ContainerDefinition& container) {
  if (!text || !text->partition_key || !batch.key || *text->partition_key == batch.key_json) return {};
  OCTAVO_TRY(const auto own, parse_key(*text->partition_key, container));
  if (own == *batch.key) return {};
  return fail(ErrorCode::bad_request, "All operations of a transactional batch must be of the batch's partition key.",
              word::key_mismatch);
}

// The operations, each as its text.
Expected<std::vector<std::string_view>> split_body(const Batch& batch, std::string_view body) {
  auto operations =
      batch.in_hybrid_row ? hybrid_row::read_records(body, batch_operations_max) : query::split_array(body);
  if (!operations) return std::unexpected(std::move(operations).error());
  if (operations->empty()) return fail(ErrorCode::bad_request, "Batch request has no operations.");
  if (operations->size() > batch_operations_max) {
    return fail(ErrorCode::bad_request,
                "Batch request has more operations than what is supported. A batch has at most 100.");
  }
  return *std::move(operations);
}

Expected<void> check_size(std::size_t bytes, std::size_t item_bytes_max) {
  const std::size_t bytes_max = std::max(batch_bytes_max, item_bytes_max + operation_overhead_bytes);
  if (bytes <= bytes_max) return {};
  return fail(ErrorCode::too_large, "Request size is too large. The batch has " + std::to_string(bytes) +
                                        " bytes; the limit is " + std::to_string(bytes_max) + " bytes.");
}

}  // namespace

Expected<Batch> divide_batch(const Call& call, const OpenContainer& opened) {
  Batch batch;
  const auto& request = call.request;
  batch.atomic = call.flag("x-ms-cosmos-batch-atomic");
  const auto continues = request.header("x-ms-cosmos-batch-continue-on-error");
  batch.continues_on_error = !continues || call.flag("x-ms-cosmos-batch-continue-on-error");
  batch.in_hybrid_row = hybrid_row::is_record_io(request.body);
  OCTAVO_TRY_VOID(check_size(request.body.size(), call.services.settings.cosmos_item_bytes_max));
  if (batch.atomic) {
    const auto header = request.header("x-ms-documentdb-partitionkey");
    if (!header) return fail(ErrorCode::bad_request, "PartitionKey value must be supplied for this operation.");
    batch.key_json = *header;
  } else if (const auto range = request.header("x-ms-documentdb-partitionkeyrangeid")) {
    OCTAVO_TRY(batch.partition_id, parse_range_id(*range, *opened.database));
  } else if (opened.database->physical_partition_count() > 1) {
    return fail(ErrorCode::bad_request,
                "A batch that is not atomic needs the header "
                "x-ms-documentdb-partitionkeyrangeid.");
  }
  OCTAVO_TRY(const auto operations, split_body(batch, request.body));
  for (const auto& one : operations) {
    batch.texts.push_back(batch.in_hybrid_row ? operation_of_row(one) : operation_of_json(one));
  }
  return batch;
}

Expected<void> read_batch_key(Batch& batch, const ContainerDefinition& container) {
  if (!batch.atomic) return {};
  OCTAVO_TRY(batch.key, parse_key(batch.key_json, container));
  if (!is_complete(*batch.key, container)) return incomplete_key();
  return {};
}

ItemOperation read_operation(const Expected<OperationText>& text, const Call& call, const OpenContainer& opened,
                             const std::optional<partitioning::TypedKey>& key) {
  ItemOperation operation;
  const auto& container = *opened.definition;
  const auto fill = [&]() -> Expected<void> {
    if (!text) return std::unexpected(text.error());
    operation.kind = text->kind;
    operation.shows_body = text->shows_body && !wants_no_body(call);
    std::optional<partitioning::TypedKey> of_item = key;
    if (!of_item && text->partition_key) {
      OCTAVO_TRY(of_item, parse_key(*text->partition_key, container));
    }
    return fill_operation(*text, container, call.services.settings.cosmos_item_bytes_max, std::move(of_item),
                          operation);
  };
  if (auto filled = fill(); !filled) operation.refused = std::move(filled).error();
  return operation;
}

void read_operations(Batch& batch, const Call& call, const OpenContainer& opened) {
  for (const auto& text : batch.texts) {
    auto& operation = batch.operations.emplace_back(read_operation(text, call, opened, batch.key));
    if (auto own = check_own_key(text, batch, *opened.definition); !own) operation.refused = std::move(own).error();
    if (!operation.refused && !batch.atomic &&
        opened.database->locate_document(operation.document_id) != batch.partition_id) {
      operation.refused = not_of_range();
    }
  }
}

Error not_of_range() {
  return {ErrorCode::partition_split, "The item is not of this partition key range.", {}};
}

}  // namespace octavo::api::cosmos
