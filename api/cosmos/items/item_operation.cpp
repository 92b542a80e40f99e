#include "api/cosmos/items/item_operation.h"

#include "api/cosmos/items/patch_condition.h"
#include "api/http/entity_tag.h"
#include "api/models/container_definition.h"
#include "api/models/errors.h"
#include "api/models/item_shape.h"
#include "partitioning/keys/partition_key.h"
#include "partitioning/throughput/request_charge.h"

namespace octavo::api::cosmos {

namespace {

Expected<OperationResult> write(storage::DocumentTransaction& transaction, storage::DocumentWrite edit,
                                bool conditional, int status_replaced, int status_created) {
  edit.partition_key = partitioning::partition_key_of(edit.id, true);
  OCTAVO_TRY(const auto written, transaction.apply(edit));
  if (!written) return failed_operation(in_cosmos_words(written.error(), conditional));
  OperationResult result;
  result.status = written->created ? status_created : status_replaced;
  result.revision = written->revision;
  result.modified_s = written->modified_s;
  result.sequence = written->sequence;
  result.charge = partitioning::charge_of_write({edit.body.size(), written->index_rows});
  result.body = std::move(edit.body);
  return result;
}

// The item is deleted under its former id and created under the new one. On Azure `_rid` stays; here it is made of the
// id.
Expected<OperationResult> move_item(storage::DocumentTransaction& transaction, const ItemOperation& operation) {
  OCTAVO_TRY(const auto removed,
             write(transaction, deleting_write(operation.former_document_id, operation.match), true, 204, 204));
  if (removed.error) return removed;
  OCTAVO_TRY(auto result, write(transaction, creating_write(operation.document_id, operation.body), false, 200, 200));
  result.charge += removed.charge;
  return result;
}

}  // namespace

OperationResult failed_operation(Error error) {
  OperationResult result;
  result.status = words_for(error).status;
  result.error = std::move(error);
  result.charge = partitioning::charge_of_miss();
  return result;
}

Expected<OperationResult> ItemOperation::run(storage::DocumentTransaction& transaction,
                                             const ContainerDefinition& container, std::size_t item_bytes_max) const {
  if (refused) return failed_operation(*refused);
  switch (kind) {
    case Kind::create:
      return write(transaction, creating_write(document_id, body), false, 201, 201);
    case Kind::upsert:
    case Kind::replace: {
      if (gives_other_id()) return move_item(transaction, *this);
      auto edit = replacing_write(document_id, body, kind == Kind::replace, match);
      return write(transaction, std::move(edit), true, 200, 201);
    }
    case Kind::remove: {
      OCTAVO_TRY(auto result, write(transaction, deleting_write(document_id, match), true, 204, 204));
      result.body.clear();
      return result;
    }
    case Kind::read:
    case Kind::patch:
      break;
  }
  OCTAVO_TRY(const auto document, transaction.find(document_id));
  if (!document || document->deleted) return failed_operation({ErrorCode::not_found, "", {}});
  if (kind == Kind::read) {
    OperationResult result;
    result.status = 200;
    result.revision = document->revision;
    if (!known_etag.empty() &&
        (known_etag == "*" || unquoted_tag(known_etag) == unquoted_tag(quoted_etag(result.revision)))) {
      result.status = 304;
      result.charge = partitioning::charge_of_miss();
      return result;
    }
    result.modified_s = document->modified_s;
    result.body = document->body;
    result.charge = partitioning::charge_of_read(result.body.size());
    return result;
  }
  if (patch.condition) {
    const auto meets = meets_condition(*patch.condition, *document, *container.shape);
    if (!meets) return failed_operation(meets.error());
    if (!*meets) {
      return failed_operation(
          {ErrorCode::precondition_failed, "The item does not meet the condition of the patch.", word::etag});
    }
  }
  auto patched = patch.apply(document->body);
  if (!patched) return failed_operation(patched.error());
  if (auto same = check_same_item(document->body, *patched, container, item_bytes_max); !same) {
    return failed_operation(same.error());
  }
  auto edit = replacing_write(document_id, *std::move(patched), true, match);
  return write(transaction, std::move(edit), true, 200, 200);
}

}  // namespace octavo::api::cosmos
